/** What the main thread and the thread of a feeder say to each other. All of it is plain, and copied. */
import type { EtcdSource } from '../plugin.js'
import type { ChangedKeys } from '../store/store.js'

/** What a feeder is started with. */
export interface FeederStart {
  /** Of the replica; its lock is the main thread's. */
  readonly folder: string
  readonly source: EtcdSource
  /** Which file the replica is that is read here; undefined before it is opened. */
  readonly file: string | undefined
  /** The URL of a module that knows what values are to be. */
  readonly judge: string | undefined
  /** Where the numbers are that it counts. */
  readonly numbers: SharedArrayBuffer
}

/** What a feeder says. */
export type FeederNews =
  /** The replica is open, and can be read. */
  | { readonly kind: 'open' }
  /** It cannot be opened, which ends the thread. */
  | { readonly kind: 'failed'; readonly problem: string }
  | { readonly kind: 'changed'; readonly keys: ChangedKeys }
  /** Why it is not in step with its cluster; undefined where it is. */
  | { readonly kind: 'why'; readonly why: string | undefined }
  | { readonly kind: 'log'; readonly level: 'info' | 'warn'; readonly text: string }

/** Said to a feeder to have it end. */
export const END = 'end'
