import { type StoreClock, systemClock } from './clock.js'
import type { Key } from './key.js'
import { TableReader } from './reader.js'
import { readExpiry } from './record.js'
import type { Entry, StoreReader } from './store.js'
import { openTables, readRevision, type Tables } from './tables.js'
import { Watchers } from './watchers.js'

/** The store of a folder that another thread of this process has open, and writes: read alone here, with watchers told by whoever hears of its changes. */
export class FollowingStore implements StoreReader {
  readonly #tables: Tables
  readonly #reader: TableReader
  readonly #watchers: Watchers
  #revision: number
  /** When the next key vanishes. */
  #nearest: number

  static async open(folder: string, report: (error: unknown) => void, clock: StoreClock = systemClock): Promise<FollowingStore> {
    return new FollowingStore(await openTables(folder), report, clock)
  }

  private constructor(tables: Tables, report: (error: unknown) => void, clock: StoreClock) {
    this.#tables = tables
    this.#watchers = new Watchers(report)
    this.#revision = readRevision(tables)
    this.#nearest = nearestOf(tables)
    this.#reader = new TableReader(tables, () => (this.#nearest <= clock.now() ? clock.now() : undefined))
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

  watch(key: Key, changed: (keys: readonly Key[]) => void): () => void {
    return this.#watchers.add(key, changed)
  }

  /** These keys have changed: look-ups see it from now on. */
  follow(keys: readonly Key[]): void {
    // Each thread keeps a snapshot, of before.
    this.#tables.root.resetReadTxn()
    this.#revision = readRevision(this.#tables)
    this.#nearest = nearestOf(this.#tables)
    this.#watchers.tell(keys)
  }

  async close(): Promise<void> {
    await this.#tables.root.close()
  }
}

function nearestOf({ expiries }: Tables): number {
  for (const octets of expiries.getKeys({ start: Buffer.from([0]), limit: 1 })) return readExpiry(octets).expires
  return Infinity
}
