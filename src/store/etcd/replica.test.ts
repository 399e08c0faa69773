import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { FollowingStore } from '../following.js'
import { pathOfKey } from '../key.js'
import { ManualClock } from '../manual-clock.testing.js'
import { type EtcdEntry, EtcdError, type EtcdEvent } from './client.js'
import { FakeCluster, SOURCE, unreachable } from './fake-cluster.testing.js'
import { Replica } from './replica.js'
import { ReplicaNumbers } from './replica-numbers.js'
import { type Changed, ReplicaStore } from './replica-store.js'

let folder: string
let clock: ManualClock
let cluster: FakeCluster
let numbers: ReplicaNumbers
let lines: string[]
let changed: Changed[]
let why: string | undefined
let store: ReplicaStore
let reader: FollowingStore
let replica: Replica
let running: Promise<void> | undefined

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'skein-replica-'))
  clock = new ManualClock()
  cluster = new FakeCluster()
  numbers = new ReplicaNumbers()
  await open()
})

afterEach(async () => {
  await close()
  rmSync(folder, { recursive: true, force: true })
})

async function open(): Promise<void> {
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

async function close(): Promise<void> {
  replica.close()
  await running
  await reader.close()
  await store.close()
}

function run(): void {
  running = replica.run()
}

/** Waits for what follows by itself, without the clock. */
async function until(isSo: () => boolean): Promise<void> {
  for (let tries = 0; !isSo(); tries++) {
    if (tries === 400) throw new Error(`it did not come about: ${lines.join('; ')}`)
    await sleep(5)
  }
}

/** Lets time pass a second at a time, and what is done in it be done. */
async function pass(seconds: number): Promise<void> {
  for (let i = 0; i < seconds; i++) {
    clock.pass(1000)
    await sleep(4)
  }
}

async function inStep(): Promise<void> {
  run()
  await until(() => replica.isInStep && cluster.watchers.length > 0)
}

const entry = (path: string, lease?: string): EtcdEntry => ({
  path: Buffer.from(path),
  value: Buffer.from('x'),
  created: 5,
  modified: 5,
  lease,
  expires: undefined
})
const put = (path: string, lease?: string): EtcdEvent => ({ op: 'put', ...entry(path, lease) })

function content(): string[] {
  reader.follow(undefined)
  return reader.subtree([]).map(({ key }) => pathOfKey(key))
}

/** Seconds that are left of the first key. */
function left(): number {
  reader.follow(undefined)
  return (reader.subtree([])[0]!.expires! - clock.now()) / 1000
}

describe('a replica', () => {
  test('lists, watches from the next revision, and applies what comes', async () => {
    cluster.entries = [entry('/skydns/a')]
    await inStep()
    expect(cluster.watchers[0]?.from).toBe(10)
    expect(content()).toEqual(['/skydns/a'])
    cluster.change(12, put('/skydns/b'), { op: 'delete', path: Buffer.from('/skydns/a') })
    await until(() => numbers.get('revision') === 12)
    expect(content()).toEqual(['/skydns/b'])
    expect(changed.at(-1)).toEqual([
      ['skydns', 'b'],
      ['skydns', 'a']
    ])
    expect(['keys', 'events', 'lists', 'stale'].map((name) => numbers.get(name as 'keys'))).toEqual([1, 2, 1, 0])
  })

  test('applies what comes after any number of notices that nothing has changed', async () => {
    await inStep()
    for (let round = 0; round < 3; round++) {
      cluster.watchers[0]!.listener.progress(10)
      await sleep(5)
    }
    cluster.change(12, put('/skydns/b'))
    await until(() => numbers.get('revision') === 12)
    cluster.watchers[0]!.listener.progress(20)
    await until(() => numbers.get('revision') === 20)
    cluster.watchers[0]!.listener.progress(20)
    cluster.change(21, put('/skydns/c'))
    await until(() => numbers.get('revision') === 21)
  })

  test('takes no answer of before for data that were put back', async () => {
    await inStep()
    let answer = (): void => {}
    cluster.position = new Promise((resolve) => {
      const { at } = cluster
      answer = () => resolve(at)
    })
    clock.pass(1000)
    await until(() => cluster.asked.at(-1)?.startsWith('position') === true)
    cluster.change(12, put('/skydns/b'))
    await until(() => numbers.get('revision') === 12)
    answer()
    cluster.position = undefined
    await pass(3)
    expect([cluster.lists, numbers.get('connections')]).toEqual([1, 1])
  })

  test('is stale until what was missed is made up for', async () => {
    await inStep()
    for (const endpoint of SOURCE.endpoints) cluster.down.set(endpoint, unreachable)
    cluster.lose(unreachable)
    await pass(6)
    await until(() => numbers.get('stale') === 1)
    cluster.at = { cluster: 'c1', revision: 14 }
    cluster.down.clear()
    await until(() => cluster.watchers.length > 0)
    await sleep(50)
    expect(numbers.get('stale')).toBe(1)
    cluster.watchers[0]!.listener.events([put('/skydns/b')], 14)
    await until(() => numbers.get('stale') === 0)
    expect(content()).toEqual(['/skydns/b'])
  })

  test('is in step a second after the watch began where what has changed is not below its path', async () => {
    await inStep()
    cluster.at = { cluster: 'c1', revision: 14 }
    cluster.lose(unreachable)
    await until(() => !replica.isInStep && cluster.watchers.length > 0)
    await pass(3)
    await until(() => replica.isInStep)
    expect(numbers.get('revision')).toBe(10)
  })

  test('lists no faster and faster where the watch is lost at once each time', async () => {
    cluster.isContinued = false
    cluster.isLosing = true
    run()
    await sleep(700)
    // With pauses of 0.05, 0.1, 0.2, 0.4 s between two at a time.
    expect(cluster.lists).toBeLessThan(12)
  })

  test('goes on from where it was after the watch is lost, on another endpoint, and lists nothing', async () => {
    await inStep()
    cluster.change(12, put('/skydns/b'))
    await until(() => numbers.get('revision') === 12)
    const { endpoint } = cluster.watchers[0]!
    cluster.lose(unreachable)
    await until(() => cluster.watchers.some((watcher) => watcher.endpoint !== endpoint))
    expect(cluster.watchers.map(({ from }) => from)).toEqual([12])
    expect(cluster.lists).toBe(1)
  })

  test.each<[string, () => void]>([
    ['the cluster is another one', () => (cluster.at = { cluster: 'c2', revision: 50 })],
    ['the revision is lower', () => (cluster.at = { cluster: 'c1', revision: 3 })],
    ['its data do not go on from what was there', () => (cluster.isContinued = false)]
  ])('lists anew where %s', async (_title, happens) => {
    cluster.entries = [entry('/skydns/a')]
    await inStep()
    cluster.entries = [entry('/skydns/b')]
    happens()
    cluster.lose(unreachable)
    await until(() => cluster.lists === 2 && cluster.watchers.length > 0)
    expect(content()).toEqual(['/skydns/b'])
    expect(store.mark).toMatchObject(cluster.at)
  })

  test.each<[string, () => void | Promise<void>]>([
    ['the watch says that history has been compacted', () => cluster.lose(new EtcdError('compacted', 'compacted'))],
    [
      'a lower revision is seen while all is quiet',
      async () => {
        cluster.at = { cluster: 'c1', revision: 3 }
        await pass(2)
      }
    ]
  ])('lists anew on the same connection where %s', async (_title, happens) => {
    cluster.entries = [entry('/skydns/a')]
    await inStep()
    cluster.entries = []
    await happens()
    await until(() => cluster.lists === 2 && cluster.watchers.length > 0)
    expect(content()).toEqual([])
    expect(numbers.get('connections')).toBe(1)
  })

  test('that is silent for more than three seconds is stale, says so once a minute, and is live again at once', async () => {
    cluster.entries = [entry('/skydns/a')]
    await inStep()
    for (const endpoint of SOURCE.endpoints) cluster.down.set(endpoint, unreachable)
    cluster.lose(unreachable)
    await pass(2)
    expect(numbers.get('stale')).toBe(0)
    await pass(4)
    await until(() => numbers.get('stale') === 1)
    content()
    expect(reader.feed?.state).toBe('stale')
    expect(changed.at(-1)).toBe('all')
    expect(why).toMatch(/http:\/\/\w+:\d: connect ECONNREFUSED/)
    await pass(121)
    const minutes = lines.filter((line) => line.includes('has not been reached for'))
    expect(minutes).toEqual([
      'etcd has not been reached for 1 min: its 1 key of then is served, with a TTL of 30 s at most',
      'etcd has not been reached for 2 min: its 1 key of then is served, with a TTL of 30 s at most'
    ])
    expect(content()).toEqual(['/skydns/a'])
    cluster.down.clear()
    await until(() => numbers.get('stale') === 0)
    expect(why).toBeUndefined()
    expect(lines.at(-1)).toMatch(/^in step with etcd: 1 key, after \d+ s$/)
  })

  test('that loses the cluster again and again says why once a minute, and as often that it is back', async () => {
    await inStep()
    for (let times = 0; times < 90; times++) {
      cluster.lose(unreachable)
      await until(() => replica.isInStep && cluster.watchers.length > 0)
      clock.pass(1000)
    }
    expect(lines.filter((line) => line.includes('ECONNREFUSED')).length).toBeLessThanOrEqual(4)
    expect(lines.filter((line) => line.startsWith('in step')).length).toBeLessThanOrEqual(5)
  })

  test('that was never in step waits, and tells of each endpoint once, and of what is another problem', async () => {
    for (const endpoint of SOURCE.endpoints) cluster.down.set(endpoint, unreachable)
    run()
    await until(() => cluster.asked.length > 6)
    expect(lines.sort()).toEqual(['http://one:1: connect ECONNREFUSED', 'http://two:2: connect ECONNREFUSED'])
    expect(numbers.get('stale')).toBe(1)
    cluster.down.set('http://one:1', new EtcdError('denied', 'authentication failed'))
    await until(() => lines.includes('http://one:1: authentication failed'))
    cluster.down.clear()
    await until(() => replica.isInStep)
  })

  test('serves after a restart what it had, stale until the cluster is reached', async () => {
    cluster.entries = [entry('/skydns/a')]
    await inStep()
    await close()
    await open()
    expect(content()).toEqual(['/skydns/a'])
    expect(reader.feed?.state).toBe('stale')
    await inStep()
    content()
    expect(reader.feed?.state).toBe('live')
    expect(cluster.lists).toBe(1)
  })
})

describe('the life of a key', () => {
  test('is asked for once for all keys of a lease, and again when its time is over and they are there', async () => {
    cluster.leases.set('77', 20_000)
    await inStep()
    cluster.change(12, put('/skydns/a', '77'), put('/skydns/b', '77'), put('/skydns/c', '77'))
    await until(() => numbers.get('revision') === 12)
    expect(left()).toBe(20)
    await pass(19)
    const asked = (): number => cluster.asked.filter((what) => what === 'remaining 77').length
    expect(asked()).toBe(1)
    await pass(2)
    await until(() => left() > 15)
    expect(asked()).toBe(2)
    expect(content()).toHaveLength(3)
    expect(numbers.get('lives')).toBe(3)
  })

  test('is asked for after a list, no more than 50 leases in a quarter of a second', async () => {
    cluster.entries = Array.from({ length: 300 }, (_, i) => entry(`/skydns/n${i}`, String(i)))
    for (let i = 0; i < 300; i++) cluster.leases.set(String(i), 60_000)
    await inStep()
    const asked = (): number => cluster.asked.filter((what) => what.startsWith('remaining')).length
    expect(asked()).toBe(0)
    clock.pass(250)
    await sleep(50)
    expect(asked()).toBe(50)
    for (let i = 0; i < 100 && asked() < 300; i++) {
      clock.pass(250)
      await sleep(10)
    }
    expect(asked()).toBe(300)
    await sleep(100)
    clock.pass(250)
    await sleep(50)
    expect(asked()).toBe(300)
    expect(left()).toBeGreaterThan(40)
  })

  test('is not asked for again where a list has another key of a lease that is known', async () => {
    cluster.leases.set('77', 600_000)
    await inStep()
    cluster.change(12, put('/skydns/b', '77'))
    await until(() => numbers.get('revision') === 12)
    cluster.entries = [entry('/skydns/a', '77')]
    cluster.lose(new EtcdError('compacted', 'compacted'))
    await until(() => content().join() === '/skydns/a')
    expect(left()).toBe(600)
  })

  test('ends when etcd says so, and not when its time is over', async () => {
    cluster.leases.set('77', 5000)
    await inStep()
    cluster.change(12, put('/skydns/a', '77'))
    await until(() => numbers.get('revision') === 12)
    cluster.leases.delete('77')
    await pass(10)
    expect(content()).toEqual(['/skydns/a'])
    cluster.change(13, { op: 'delete', path: Buffer.from('/skydns/a') })
    await until(() => numbers.get('revision') === 13)
    expect(content()).toEqual([])
    expect(numbers.get('lives')).toBe(0)
  })

  test('does not end at once where it was away for longer than `expire`, and etcd takes a moment to answer', async () => {
    cluster.entries = [entry('/skydns/a', '77')]
    await inStep()
    await close()
    clock.set(clock.now() + 700_000)
    for (const endpoint of SOURCE.endpoints) cluster.down.set(endpoint, unreachable)
    await open()
    run()
    await pass(5)
    expect(content()).toEqual(['/skydns/a'])
    await pass(8)
    await until(() => content().length === 0)
  })

  test('does not end in a list that was broken off, of which nothing is served before it is whole', async () => {
    await store.fill([entry('/skydns/a', '77')])
    await close()
    for (const endpoint of SOURCE.endpoints) cluster.down.set(endpoint, unreachable)
    await open()
    run()
    await pass(15)
    reader.follow(undefined)
    expect(reader.feed?.state).toBe('waiting')
    expect(store.mark).toBeUndefined()
  })

  test('ends after `expire` where nobody can renew it; the others stay, and all is listed anew after that', async () => {
    cluster.entries = [entry('/skydns/a', '77'), entry('/skydns/b')]
    cluster.leases.set('77', 5000)
    await inStep()
    for (const endpoint of SOURCE.endpoints) cluster.down.set(endpoint, unreachable)
    cluster.lose(unreachable)
    await pass(595)
    expect(content()).toEqual(['/skydns/a', '/skydns/b'])
    await pass(10)
    await until(() => content().length === 1)
    expect(content()).toEqual(['/skydns/b'])
    expect(lines).toContain('etcd has not been reached for so long that 1 key with a lease is left out, which nobody can have renewed')
    cluster.down.clear()
    await until(() => replica.isInStep)
    expect(cluster.lists).toBe(2)
    expect(content()).toEqual(['/skydns/a', '/skydns/b'])
  })

  test('does not end sooner for a restart while nobody can renew it', async () => {
    cluster.entries = [entry('/skydns/a', '77')]
    await inStep()
    await pass(130)
    await close()
    for (const endpoint of SOURCE.endpoints) cluster.down.set(endpoint, unreachable)
    await open()
    run()
    await pass(500)
    expect(content()).toEqual(['/skydns/a'])
    await pass(110)
    await until(() => content().length === 0)
  })
})
