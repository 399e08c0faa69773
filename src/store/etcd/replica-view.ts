import { type StoreClock, systemClock } from '../clock.js'
import { FollowingStore } from '../following.js'
import type { FolderLock } from '../lock.js'
import type { LockedStore } from '../locked.js'
import { StoreError } from '../store.js'
import { type OpenTables, openTables, type Table } from '../tables.js'
import { type OddPath, oddPaths, openOdd } from './odd-paths.js'

/** A replica as the process sees it that has its folder: another thread writes it, and nobody else may. */
export class ReplicaView extends FollowingStore implements LockedStore {
  readonly isWritable = false
  readonly lock: FolderLock
  readonly #odd: Table

  /** Takes over the lock. */
  static async openLocked(
    folder: string,
    lock: FolderLock,
    report: (error: unknown) => void,
    clock: StoreClock = systemClock
  ): Promise<ReplicaView> {
    return new ReplicaView(folder, lock, await openTables(folder), report, clock)
  }

  private constructor(folder: string, lock: FolderLock, tables: OpenTables, report: (error: unknown) => void, clock: StoreClock) {
    super(folder, tables, report, clock)
    this.lock = lock
    this.#odd = openOdd(tables)
  }

  /** Paths of etcd that can be no key of a store, each with why, in words. */
  odd(): Iterable<OddPath> {
    return oddPaths(this.#odd)
  }

  apply(): Promise<number> {
    return this.#refuse()
  }

  transact<T>(): Promise<T> {
    return this.#refuse()
  }

  override async close(): Promise<void> {
    await super.close()
    await this.lock.release()
  }

  #refuse(): Promise<never> {
    const problem = `the store ${this.folder} is a replica of etcd, and read-only: write to etcd itself, as \`skein kv put -to etcd\` does`
    return Promise.reject(new StoreError(problem))
  }
}
