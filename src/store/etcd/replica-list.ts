import type { EtcdEntry, Position } from './client.js'
import type { Recent } from './mark.js'
import { newestOf } from './recent.js'
import { type Changed, nameOf, type ReplicaStore } from './replica-store.js'

/** Between so many keys others have their turn: etcd is asked meanwhile whether it lives. */
const KEYS_AT_ONCE = 2000

/**
 * Takes all keys of a cluster in place of those that a replica has, as one change. Only what differs is written; before the replica was
 * ever in step that is written as it comes, since nobody reads it yet.
 */
export class ReplicaList {
  readonly #store: ReplicaStore
  readonly #isFirst: boolean
  /** Those that were listed; undefined where there were none to be removed. */
  readonly #listed: Set<string> | undefined
  #different: EtcdEntry[] = []
  #recent: readonly Recent[] = []
  readonly #stop: AbortSignal

  /** @param stop ends it amid a page: a thread that is ended while it writes would leave the store locked */
  constructor(store: ReplicaStore, stop: AbortSignal) {
    this.#store = store
    this.#stop = stop
    this.#isFirst = store.mark === undefined
    this.#listed = store.keys === 0 ? undefined : new Set()
  }

  async page(entries: readonly EtcdEntry[]): Promise<void> {
    this.#recent = newestOf(entries, this.#recent)
    for (let from = 0; from < entries.length; from += KEYS_AT_ONCE) {
      this.#stop.throwIfAborted()
      for (const entry of entries.slice(from, from + KEYS_AT_ONCE)) {
        this.#listed?.add(nameOf(entry.path))
        if (!this.#store.has(entry)) this.#different.push(entry)
      }
      if (this.#isFirst) await this.#store.fill(this.#different.splice(0))
      else await new Promise(setImmediate)
    }
  }

  /** Has it all read from now on: as it was at this position, when the cluster was reached last at `contact`. */
  async finish(at: Position, contact: number): Promise<Changed> {
    const listed = this.#listed
    const isListed = listed === undefined ? () => true : (name: string): boolean => listed.has(name)
    return this.#store.replace({ different: this.#different, isListed, recent: this.#recent }, at, contact)
  }
}
