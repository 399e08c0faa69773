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
  /** Calls `changed` after each change at or below `key`; returns what ends it. */
  watch(key: Key, changed: (keys: ChangedKeys) => void): () => void
  /** Undefined where nothing feeds it. */
  readonly feed?: Feed | undefined
}

/** The keys of a change; undefined where they are too many to be told, or where what all of them are worth has changed. */
export type ChangedKeys = readonly Key[] | undefined

/** How a store that an etcd cluster feeds stands to that. */
export interface Feed {
  /** `waiting`: nothing was ever read of the cluster. `stale`: it cannot be reached, and what is here may be old. */
  readonly state: 'waiting' | 'live' | 'stale'
  /** What it has the keys below of; undefined while it waits. */
  readonly path: string | undefined
  /** Why it is not `live`, in words, where this thread knows. */
  readonly why: string | undefined
}

/** Why a replica that waits cannot be read, in words. */
export function waitingText({ why }: Feed): string {
  return `nothing was read of etcd yet${why === undefined ? '' : `: ${why}`}`
}

/** The store is not to be had: in use, torn, foreign, not writable. The message is one line for the operator. */
export class StoreError extends Error {
  override readonly name = 'StoreError'
  readonly code = 'SKEIN_STORE'
}
