import { onTestFinished } from 'vitest'
import type { EtcdClient, EtcdError, EtcdEvent, EtcdPatience, EtcdWatch, Position } from '../src/store/etcd/client.js'
import type { EtcdSource } from '../src/store/etcd/source.js'
import { etcd3 } from '../src/store/etcd/v3.js'

export const patience: EtcdPatience = { callMs: 3000, quietMs: 1000 }

/** A client of the endpoint for keys below `/skydns`, closed with the test. */
export function clientOf(endpoint: string, over: Partial<EtcdSource> & Partial<EtcdPatience> = {}): EtcdClient {
  const { callMs = patience.callMs, quietMs = patience.quietMs, ...source } = over
  const all = { version: 3, endpoints: [endpoint], path: '/skydns', credentials: undefined, tls: undefined, expireMs: 0 } as const
  const client = etcd3({ ...all, ...source }, endpoint, { callMs, quietMs })
  onTestFinished(() => client.close())
  return client
}

/** All keys that a client lists, as text, and the sizes of the pages. */
export async function listed(client: EtcdClient): Promise<{ keys: Map<string, string>; pages: number[]; position: Position }> {
  const keys = new Map<string, string>()
  const pages: number[] = []
  const position = await client.list((entries) => {
    pages.push(entries.length)
    for (const { path, value } of entries) keys.set(path.toString(), value.toString())
  })
  return { keys, pages, position }
}

/** A watch whose news are kept. */
export interface Watched extends EtcdWatch {
  readonly batches: { readonly events: readonly EtcdEvent[]; readonly revision: number }[]
  readonly progress: number[]
  /** Resolves when the watch is lost. */
  readonly lost: Promise<EtcdError>
  /** Whether it was told, and how often. */
  losses(): number
}

export function watched(client: EtcdClient, revision: number): Watched {
  let lose: (error: EtcdError) => void = () => undefined
  const lost = new Promise<EtcdError>((resolve) => (lose = resolve))
  let losses = 0
  const batches: { events: readonly EtcdEvent[]; revision: number }[] = []
  const progress: number[] = []
  const watch = client.watch(revision, {
    events: (events, revision) => batches.push({ events, revision }),
    progress: (revision) => progress.push(revision),
    lost: (error) => {
      losses++
      lose(error)
    }
  })
  return { batches, progress, lost, losses: () => losses, cancel: () => watch.cancel() }
}

/** An event on a line: `put /skydns/a=one`. */
export function line(event: EtcdEvent): string {
  const path = event.path.toString()
  return event.op === 'put' ? `put ${path}=${event.value.toString()}` : `${event.op} ${path}`
}

/** What a promise rejects with, as `kind: message`. */
export async function failureOf(asked: Promise<unknown>): Promise<string> {
  try {
    return `none: ${JSON.stringify(await asked)}`
  } catch (error) {
    const { kind, message } = error as EtcdError
    return `${kind}: ${message}`
  }
}

/** Everything that can be asked, below `/skydns`; a watch fails as its loss does. */
export const questions: readonly [name: string, ask: (client: EtcdClient) => Promise<unknown>][] = [
  ['position', (client) => client.position()],
  ['list', (client) => client.list(() => undefined)],
  ['continues', (client) => client.continues({ cluster: 'a', revision: 1, keys: 1, recent: [] })],
  ['remaining', (client) => client.remaining('1')],
  ['put', (client) => client.put(Buffer.from('/skydns/a'), Buffer.from('x'), 1)],
  ['delete', (client) => client.delete(Buffer.from('/skydns/a'), true)],
  ['watch', (client) => watched(client, 0).lost.then((error) => Promise.reject(error))]
]

/** What all questions come to, and the milliseconds of the longest. */
export async function askAll(client: EtcdClient): Promise<{ said: string[]; ms: number }> {
  const begun = performance.now()
  const said = await Promise.all(questions.map(async ([name, ask]) => `${name}: ${await failureOf(ask(client))}`))
  return { said, ms: performance.now() - begun }
}
