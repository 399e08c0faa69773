/** The service store as plugins read it. */
import type { EtcdSource } from './etcd/source.js'
import type { Key } from './key.js'
import type { Entry, Feed } from './store.js'

/** How the service store is opened; equal in all users of one folder. */
export interface StoreOptions {
  /** A path of the configuration; a temporary one where it is left out, which needs `etcd`. */
  readonly folder: string | undefined
  /** Where the v2 keys API listens: `ADDRESS:PORT`, `unix:PATH` or `off`; what other users say, where left out. */
  readonly api?: string | undefined
  /** What a client of the API must show as bearer token. */
  readonly token?: string | undefined
  /** The cluster that feeds it, so that nobody else writes it; what other users say, where left out. */
  readonly etcd?: EtcdSource | undefined
  /** The URL of a module with a {@link JudgeModule}: whoever looks for values that are no use asks that. */
  readonly judge?: string | undefined
}

/** Knows what values are to be. */
export interface JudgeModule {
  /** What is wrong with a value, in words that follow on "the value of KEY"; undefined where it is right. */
  readonly problemOf: (value: Buffer) => string | undefined
}

/** A reader of the service store. Not to be read before `start`. */
export interface Store {
  /** Starts the look-ups of one query, which remember what they have read. */
  read(): Reading
  /** Calls `changed` after each change at or below `key`; returns what ends it. */
  watch(key: Key, changed: (change: StoreChange) => void): () => void
  /** Undefined where nothing feeds it: then what is read is what is true. */
  readonly feed?: Feed | undefined
}

/** One change of the store. */
export interface StoreChange {
  /** Undefined where they are too many, or where what all of them are worth has changed. */
  readonly keys: readonly Key[] | undefined
  readonly revision: number
  /** Hashes of the keys and of all their ancestors: an answer that has read one of them may be wrong now. */
  readonly hashes: readonly number[]
}

/** Hashes of the subtrees of the store that something rests on, and the revision at which they were read. */
export interface StoreTrace {
  readonly reads: readonly number[]
  readonly revision: number
}

/** Look-ups that leave a trace. */
export interface Reading extends StoreTrace {
  /** The entries at a key and below it, in key order; the first `limit` of them where given. */
  subtree(key: Key, limit?: number): Entry[]
  at(key: Key): Entry[]
  has(key: Key): boolean
}
