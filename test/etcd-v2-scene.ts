import { expect } from 'vitest'
import {
  type EtcdClient,
  type EtcdEntry,
  EtcdError,
  type EtcdEvent,
  type EtcdPatience,
  type EtcdWatch,
  type Position
} from '../src/store/etcd/client.js'
import type { EtcdSource } from '../src/store/etcd/source.js'
import { etcd2 } from '../src/store/etcd/v2.js'

/** Long enough for a busy machine, short enough for a test of what hangs. */
const patience: EtcdPatience = { callMs: 4_000, quietMs: 6_000 }

/** A client of v2 of what is below the path. */
export function clientOf(endpoint: string, path: string, source: Partial<EtcdSource> = {}, how: EtcdPatience = patience): EtcdClient {
  const whole = { version: 2 as const, endpoints: [endpoint], path, credentials: undefined, tls: undefined, expireMs: 60_000, ...source }
  return etcd2(whole, endpoint, how)
}

/** All entries of a list, the sizes of its pages, and its position. */
export async function listed(client: EtcdClient): Promise<{ entries: EtcdEntry[]; pages: number[]; position: Position }> {
  const entries: EtcdEntry[] = []
  const pages: number[] = []
  const position = await client.list((page) => {
    entries.push(...page)
    pages.push(page.length)
  })
  return { entries, pages, position }
}

/** What a watch has told: `put /a=1`, `delete /a`, `clear /a`, and `lost KIND MESSAGE` at its end. */
export interface Watching extends EtcdWatch {
  readonly told: string[]
  readonly events: EtcdEvent[]
  /** The revisions told of, with events or without. */
  readonly revisions: number[]
  readonly lost: Promise<EtcdError>
}

/** Watches from a revision on. */
export function watching(client: EtcdClient, revision: number): Watching {
  const told: string[] = []
  const events: EtcdEvent[] = []
  const revisions: number[] = []
  let lose: (error: EtcdError) => void = () => undefined
  const lost = new Promise<EtcdError>((resolve) => (lose = resolve))
  const watch = client.watch(revision, {
    events(changes, at) {
      told.push(...changes.map(shown))
      events.push(...changes)
      revisions.push(at)
    },
    progress: (at) => void revisions.push(at),
    lost(error) {
      told.push(`lost ${error.kind}`)
      lose(error)
    }
  })
  return { told, events, revisions, lost, cancel: () => watch.cancel() }
}

/** An expectation of what comes to be, on a busy machine too. */
export function eventually(what: () => unknown): ReturnType<typeof expect.poll> {
  // How far a watch is may take two of its checks to be told, which are up to eight seconds apart here.
  return expect.poll(what, { timeout: 30_000, interval: 20 })
}

/** An entry on a line, with what its life hangs on. */
export function shown(entry: EtcdEntry | EtcdEvent): string {
  const op = 'op' in entry ? `${entry.op} ` : ''
  if (!('value' in entry)) return `${op}${entry.path.toString()}`
  return `${op}${entry.path.toString()}=${entry.value.toString()}${entry.lease === undefined ? '' : ` on ${entry.lease}`}`
}

/** What a promise rejects with, as `KIND: MESSAGE`; what it resolves with where it does not. */
export async function failure(promise: Promise<unknown>): Promise<string> {
  try {
    return `resolved: ${JSON.stringify(await promise)}`
  } catch (error) {
    return error instanceof EtcdError ? `${error.kind}: ${error.message}` : String(error)
  }
}
