import { type StoreClock, systemClock } from './clock.js'
import { readReplicaMark } from './etcd/mark.js'
import type { Key } from './key.js'
import { TableReader } from './reader.js'
import { readExpiry } from './record.js'
import type { ChangedKeys, Entry, Feed, StoreReader } from './store.js'
import { type OpenTables, openTables, readRevision, type Tables } from './tables.js'
import { Watchers } from './watchers.js'

/** The store of a folder that another thread of this process has open, and writes: read alone here, with watchers told by whoever hears of its changes. */
export class FollowingStore implements StoreReader {
  readonly folder: string
  readonly clock: StoreClock
  readonly #tables: OpenTables
  readonly #reader: TableReader
  readonly #watchers: Watchers
  #revision: number
  /** When the next key vanishes. */
  #nearest: number
  #feed: Feed | undefined
  #why: string | undefined

  static async open(folder: string, report: (error: unknown) => void, clock: StoreClock = systemClock): Promise<FollowingStore> {
    return new FollowingStore(folder, await openTables(folder), report, clock)
  }

  protected constructor(folder: string, tables: OpenTables, report: (error: unknown) => void, clock: StoreClock) {
    this.folder = folder
    this.clock = clock
    this.#tables = tables
    this.#watchers = new Watchers(report)
    this.#revision = readRevision(tables)
    this.#nearest = nearestOf(tables)
    const lateSince = (): number | undefined => (this.#nearest <= clock.now() ? clock.now() : undefined)
    this.#reader = new TableReader(tables, lateSince, tables.kind === 'embedded')
    this.#feed = this.#readFeed()
  }

  /** A look at the tables as exactly spelled, directories too. */
  get exact(): TableReader {
    return this.#reader
  }

  get feed(): Feed | undefined {
    return this.#feed
  }

  /** Why what feeds it cannot reach its cluster; for {@link Feed.why}. */
  set why(why: string | undefined) {
    this.#why = why
    this.#feed = this.#readFeed()
  }

  get revision(): number {
    return this.#revision
  }

  subtree(key: Key, limit?: number): Entry[] {
    return this.#reader.subtree(key, limit)
  }

  at(key: Key): Entry[] {
    return this.#reader.at(key)
  }

  has(key: Key): boolean {
    return this.#reader.has(key)
  }

  watch(key: Key, changed: (keys: ChangedKeys) => void): () => void {
    return this.#watchers.add(key, changed)
  }

  /** These keys have changed: look-ups see it from now on. */
  follow(keys: ChangedKeys): void {
    // Each thread keeps a snapshot, of before.
    this.#tables.root.resetReadTxn()
    this.#revision = readRevision(this.#tables)
    this.#nearest = nearestOf(this.#tables)
    this.#feed = this.#readFeed()
    this.#watchers.tell(keys)
  }

  #readFeed(): Feed | undefined {
    if (this.#tables.kind === 'embedded') return undefined
    const mark = readReplicaMark(this.#tables)
    return { state: mark === undefined ? 'waiting' : mark.isStale ? 'stale' : 'live', path: mark?.path, why: this.#why }
  }

  async close(): Promise<void> {
    await this.#tables.root.close()
  }
}

function nearestOf({ expiries }: Tables): number {
  for (const octets of expiries.getKeys({ start: Buffer.from([0]), limit: 1 })) return readExpiry(octets).expires
  return Infinity
}
