import type { StoreClock } from './clock.js'
import type { Draft } from './draft.js'
import type { Change } from './embedded.js'
import type { FolderLock } from './lock.js'
import type { TableReader } from './reader.js'
import type { StoreReader } from './store.js'

/** A store whose folder belongs to this process: what its users read and write by the command line and by HTTP. */
export interface LockedStore extends StoreReader {
  readonly folder: string
  /** Its server is the control socket. */
  readonly lock: FolderLock
  readonly clock: StoreClock
  /** A look at the tables as exactly spelled, directories too. */
  readonly exact: TableReader
  /** False where an etcd cluster feeds it: the two below reject then. */
  readonly isWritable: boolean
  /** Paths of that cluster that can be no key, each with why, in words. */
  odd?(): Iterable<{ readonly path: Buffer; readonly problem: string }>
  apply(changes: readonly Change[]): Promise<number>
  transact<T>(plan: (draft: Draft) => T): Promise<T>
  close(): Promise<void>
}
