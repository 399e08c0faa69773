/** A replica of a cluster that does what a test says, on a clock that a test turns. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { FollowingStore } from '../following.js'
import { pathOfKey } from '../key.js'
import { ManualClock } from '../manual-clock.testing.js'
import type { EtcdEntry, EtcdEvent } from './client.js'
import { FakeCluster, SOURCE } from './fake-cluster.testing.js'
import { Replica } from './replica.js'
import { ReplicaNumbers } from './replica-numbers.js'
import { type Changed, ReplicaStore } from './replica-store.js'

/** Where it is. */
export let folder: string
/** Stands still. */
export let clock: ManualClock
/** What it follows. */
export let cluster: FakeCluster
/** What it counts. */
export let numbers: ReplicaNumbers
/** What it has logged. */
export let lines: string[]
/** What it has told that has changed. */
export let changed: Changed[]
/** Why it is not in step. */
export let why: string | undefined
/** What it writes. */
export let store: ReplicaStore
/** Reads that, as other threads do. */
export let reader: FollowingStore
/** The replica. */
export let replica: Replica
/** Resolves when it has stopped. */
export let running: Promise<void> | undefined

/** For each test. */
export async function setUp(): Promise<void> {
  folder = mkdtempSync(join(tmpdir(), 'skein-replica-'))
  clock = new ManualClock()
  cluster = new FakeCluster()
  numbers = new ReplicaNumbers()
  await open()
}

/** After each test. */
export async function tearDown(): Promise<void> {
  await close()
  rmSync(folder, { recursive: true, force: true })
}

/** Opens it, as a start does. */
export async function open(): Promise<void> {
  lines = []
  changed = []
  why = undefined
  store = await ReplicaStore.open(folder, SOURCE, () => {})
  reader = await FollowingStore.open(folder, () => {})
  replica = new Replica({
    source: SOURCE,
    store,
    makeClient: cluster.client,
    clock,
    random: () => 0,
    numbers,
    tell: {
      changed: (keys) => void changed.push(keys),
      log: (_level, text) => void lines.push(text),
      why: (text) => {
        why = text
      }
    }
  })
  await replica.begin()
  running = undefined
}

/** Stops and closes it. */
export async function close(): Promise<void> {
  replica.close()
  await running
  await reader.close()
  await store.close()
}

/** Has it follow the cluster. */
export function run(): void {
  running = replica.run()
}

/** Waits for what follows by itself, without the clock. */
export async function until(isSo: () => boolean): Promise<void> {
  for (let tries = 0; !isSo(); tries++) {
    if (tries === 400) throw new Error(`it did not come about: ${lines.join('; ')}`)
    await sleep(5)
  }
}

/** Lets time pass a second at a time, and what is done in it be done. */
export async function pass(seconds: number): Promise<void> {
  for (let i = 0; i < seconds; i++) {
    clock.pass(1000)
    await sleep(4)
  }
}

/** Has it follow the cluster, and waits until it does. */
export async function inStep(): Promise<void> {
  run()
  await until(() => replica.isInStep && cluster.watchers.length > 0)
}

/** A key, on a lease where one is given. */
export const entry = (path: string, lease?: string): EtcdEntry => ({
  path: Buffer.from(path),
  value: Buffer.from('x'),
  created: 5,
  modified: 5,
  lease,
  expires: undefined
})
/** That a key was set. */
export const put = (path: string, lease?: string): EtcdEvent => ({ op: 'put', ...entry(path, lease) })

/** The paths that can be read. */
export function content(): string[] {
  reader.follow(undefined)
  return reader.subtree([]).map(({ key }) => pathOfKey(key))
}

/** Seconds that are left of the first key. */
export function left(): number {
  reader.follow(undefined)
  return (reader.subtree([])[0]!.expires! - clock.now()) / 1000
}
