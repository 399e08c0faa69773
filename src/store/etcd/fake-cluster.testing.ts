import { type EtcdClient, type EtcdEntry, EtcdError, type EtcdEvent, type Kept, type Position, type WatchListener } from './client.js'

/** What comes of asking a member that is not there. */
export const unreachable = new EtcdError('unreachable', 'connect ECONNREFUSED')

/** What it is of. */
export const SOURCE = {
  version: 3,
  endpoints: ['http://one:1', 'http://two:2'],
  path: '/skydns',
  credentials: undefined,
  tls: undefined,
  expireMs: 600_000
} as const

/** A cluster that does what a test says. */
export class FakeCluster {
  at: Position = { cluster: 'c1', revision: 10 }
  entries: EtcdEntry[] = []
  /** What is left of leases, in milliseconds. */
  leases = new Map<string, number>()
  /** Endpoints that cannot be reached, and why. */
  down = new Map<string, EtcdError>()
  isContinued = true
  /** The answer to how far it is, where that takes its time. */
  position: Promise<Position> | undefined
  /** Whether each watch is lost at once. */
  isLosing = false
  watchers: { endpoint: string; from: number; listener: WatchListener }[] = []
  readonly asked: string[] = []
  lists = 0

  readonly client = (_source: unknown, endpoint: string): EtcdClient => {
    const ask = async <T>(what: string, answer: () => T | Promise<T>): Promise<T> => {
      this.asked.push(what)
      const down = this.down.get(endpoint)
      if (down !== undefined) throw down
      return answer()
    }
    return {
      position: () => ask(`position ${endpoint}`, () => this.position ?? this.at),
      list: (page) =>
        ask('list', async () => {
          this.lists++
          const { at } = this
          await page(this.entries)
          return at
        }).then((at) => at),
      watch: (from, listener) => {
        const watcher = { endpoint, from, listener }
        this.watchers.push(watcher)
        if (this.isLosing) queueMicrotask(() => listener.lost(unreachable))
        return { cancel: () => void this.watchers.splice(this.watchers.indexOf(watcher) >>> 0, 1) }
      },
      continues: (_kept: Kept) => ask('continues', () => this.isContinued),
      remaining: (lease) => ask(`remaining ${lease}`, () => this.leases.get(lease)),
      get: () => Promise.reject(new Error('not here')),
      put: () => Promise.reject(new Error('not here')),
      delete: () => Promise.reject(new Error('not here')),
      close: () => {}
    }
  }

  change(revision: number, ...events: EtcdEvent[]): void {
    this.at = { ...this.at, revision }
    for (const { listener } of this.watchers) listener.events(events, revision)
  }

  lose(error: EtcdError): void {
    for (const { listener } of Array.from(this.watchers)) listener.lost(error)
  }
}
