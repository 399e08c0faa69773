import { foldedOctet, type Key } from './key.js'
import type { ChangedKeys, Entry, Feed, StoreReader } from './store.js'

/** The hash of a subtree (FNV-1a over its folded segments, 32 bits): what a reply remembers of what it has read. */
export function traceOf(key: Key): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < key.length; index++) {
    const segment = key[index]!
    for (let i = 0; i < segment.length; i++) hash = Math.imul(hash ^ foldedOctet(segment.charCodeAt(i)), 0x01000193)
    hash = Math.imul(hash ^ 0x100, 0x01000193)
  }
  return hash >>> 0
}

/** Stands for all that a store has, in what is read of one that is fed: when it is told, all that rests on that store goes. No key has it but by chance. */
export const WHOLE = 0x5f3759df

/** Told of each key that is read and its hash, by whoever reads, while there is one. For explaining, which has only hashes otherwise. */
export type Witness = (hash: number, key: Key) => void

/** Those that there are now. */
export const witnesses = new Set<Witness>()

/**
 * The look-ups of one query. Each is remembered as "subtree at N", found or not: a change of a key flushes its own hash and
 * that of each of its ancestors, so whatever could change the answer is among them.
 */
export class TracedReading {
  readonly reads: number[] = []
  readonly revision: number
  readonly #reader: StoreReader

  constructor(reader: StoreReader) {
    this.#reader = reader
    this.revision = reader.revision
    if (reader.feed !== undefined) this.reads.push(WHOLE)
  }

  subtree(key: Key, limit?: number): Entry[] {
    this.#note(key)
    return this.#reader.subtree(key, limit)
  }

  at(key: Key): Entry[] {
    this.#note(key)
    return this.#reader.at(key)
  }

  has(key: Key): boolean {
    this.#note(key)
    return this.#reader.has(key)
  }

  #note(key: Key): void {
    const hash = traceOf(key)
    this.reads.push(hash)
    if (witnesses.size > 0) for (const witness of witnesses) witness(hash, key)
  }
}

/** The hashes of keys and of all that is above them: what a change of them flushes. */
export function tracesOf(keys: readonly Key[]): number[] {
  const hashes = new Set<number>()
  for (const key of keys) for (let length = key.length; length >= 0; length--) hashes.add(traceOf(key.slice(0, length)))
  return [...hashes]
}

/** A store whose reader is known only later, as plugins are lent it: not to be read before. */
export function traced(reader: () => StoreReader) {
  return {
    read: () => new TracedReading(reader()),
    watch: (key: Key, changed: (change: { keys: ChangedKeys; revision: number; hashes: number[] }) => void) =>
      reader().watch(key, (keys) => changed({ keys, revision: reader().revision, hashes: keys === undefined ? [WHOLE] : tracesOf(keys) })),
    get feed(): Feed | undefined {
      return reader().feed
    }
  }
}
