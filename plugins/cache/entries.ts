import type { Entry } from './entry.js'

/**
 * Entries by key, bounded in number and memory. What goes first is what was not asked for since the hand last came by (the
 * "clock" algorithm). The hand is an iterator that stays: a fresh one would walk over everything that was deleted before.
 */
export class Entries {
  #capacity: number
  readonly #mostOctets: number
  #evictions: { value: number } = { value: 0 }
  readonly #entries = new Map<string, Entry>()
  readonly #byRead = new Map<number, Set<Entry>>()
  #hand = this.#entries.values()
  #octets = 0

  constructor(capacity: number, mostOctets: number) {
    this.#capacity = capacity
    this.#mostOctets = mostOctets
  }

  /** Bounds their number otherwise, and counts what goes elsewhere from now on. */
  bound(capacity: number, evictions: { value: number }, now: number): void {
    this.#capacity = capacity
    this.#evictions = evictions
    while (this.#entries.size > capacity) this.#evict(now)
  }

  get size(): number {
    return this.#entries.size
  }

  /** About how much memory all of it takes. */
  get octets(): number {
    return this.#octets
  }

  /** What holds at that time; what has ended is removed. */
  find(key: string, now: number): Entry | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    if (entry.holds(now)) return entry
    this.#remove(entry)
    return undefined
  }

  /** Keeps an entry in place of that with the same key, and evicts others where there is no room. */
  put(entry: Entry, now: number): void {
    this.delete(entry.key)
    if (entry.octets > this.#mostOctets) return
    while (this.#entries.size >= this.#capacity || this.#octets + entry.octets > this.#mostOctets) this.#evict(now)
    this.#entries.set(entry.key, entry)
    this.#octets += entry.octets
    for (const read of entry.reads) {
      const others = this.#byRead.get(read)
      if (others === undefined) this.#byRead.set(read, new Set([entry]))
      else others.add(entry)
    }
  }

  delete(key: string): void {
    const entry = this.#entries.get(key)
    if (entry !== undefined) this.#remove(entry)
  }

  /** Removes what has read any of these. */
  flush(hashes: readonly number[]): void {
    for (const hash of hashes) for (const entry of this.#byRead.get(hash) ?? []) this.#remove(entry)
  }

  clear(): void {
    this.#entries.clear()
    this.#byRead.clear()
    this.#octets = 0
  }

  /** Removes one; there is at least one. */
  #evict(now: number): void {
    for (;;) {
      const next = this.#hand.next()
      if (next.done === true) this.#hand = this.#entries.values()
      else if (next.value.isUsed && next.value.holds(now)) next.value.isUsed = false
      else {
        this.#remove(next.value)
        this.#evictions.value++
        return
      }
    }
  }

  #remove(entry: Entry): void {
    this.#entries.delete(entry.key)
    this.#octets -= entry.octets
    for (const read of entry.reads) {
      const others = this.#byRead.get(read)
      if (others === undefined) continue
      others.delete(entry)
      if (others.size === 0) this.#byRead.delete(read)
    }
  }
}
