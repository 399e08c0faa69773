import type { Key } from './key.js'

/** One key with its value. */
export interface Entry {
  /** As written. */
  readonly key: Key
  readonly value: Buffer
  /** The store's revision when it was first set, and when it was last set. */
  readonly created: number
  readonly modified: number
  /** When it vanishes, in milliseconds since 1970; undefined where it stays. */
  readonly expires: number | undefined
}

/** What every user of the store sees, whoever feeds it. Look-ups ignore case and go by whole segments. */
export interface StoreReader {
  /** Grows with every change. */
  readonly revision: number
  /** The entries at `key` and below it, in key order (by octets, without case), the first `limit` of them. Expired ones are left out. */
  subtree(key: Key, limit?: number): Entry[]
  /** The entries at exactly `key`: several where spellings differ. */
  at(key: Key): Entry[]
  /** Whether there is any entry at `key` or below it. */
  has(key: Key): boolean
  /** Calls `changed` after each change at or below `key`, with the keys; returns what ends it. */
  watch(key: Key, changed: (keys: readonly Key[]) => void): () => void
}

/** The store is not to be had: in use, torn, foreign, not writable. The message is one line for the operator. */
export class StoreError extends Error {
  override readonly name = 'StoreError'
  readonly code = 'SKEIN_STORE'
}
