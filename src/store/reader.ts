import {
  foldedForNow,
  foldedKey,
  foldedOctets,
  isBelow,
  type Key,
  keyOfOctets,
  MAX_KEY_OCTETS,
  spelledOctets,
  spellingsOf,
  subtreeEnd
} from './key.js'
import { asDirectory, asEntry, copyStored, type Directory, expiresOf, readStored } from './record.js'
import type { Entry } from './store.js'
import type { Table, Tables } from './tables.js'

const FIRST = Buffer.from([0])

/** Look-ups in the tables, which leave out what has expired even where nobody has removed it yet. */
export class TableReader {
  readonly #tables: Tables
  readonly #lateSince: () => number | undefined
  /** False of a replica: then whatever has something below it is a directory. */
  readonly hasDirectories: boolean

  /** `lateSince` gives the time where something is due to vanish and still there; mostly it is not, and costs nothing. */
  constructor(tables: Tables, lateSince: () => number | undefined, hasDirectories = true) {
    this.#tables = tables
    this.#lateSince = lateSince
    this.hasDirectories = hasDirectories
  }

  /** The entries at or below `key`, whatever their case; the first `limit` of them. */
  subtree(key: Key, limit?: number): Entry[] {
    const folded = foldedForNow(key)
    if (folded === undefined) return []
    if (folded.length === 0) return this.#entries(FIRST, subtreeEnd(folded), limit)
    if (!this.#hasBelow(folded)) return this.#own(folded, key)
    const start = Buffer.from(folded)
    return this.#entries(start, subtreeEnd(start), limit)
  }

  /** The entries at exactly `key`, whatever their case. */
  at(key: Key): Entry[] {
    const folded = foldedForNow(key)
    if (folded === undefined || folded.length === 0) return []
    if (!this.#hasBelow(folded)) return this.#own(folded, key)
    const { start, end } = spellingsOf(folded)
    return [...this.#own(folded, key), ...this.#entries(start, end)]
  }

  /** Whether an entry is at or below `key`, whatever its case. */
  has(key: Key): boolean {
    const folded = foldedForNow(key)
    if (folded === undefined) return false
    if (this.#lateSince() !== undefined || folded.length === 0) return this.subtree(key, 1).length > 0
    return this.#hasBelow(folded) || this.#tables.entries.getBinaryFast(folded) !== undefined
  }

  /** The entry of exactly this spelling. */
  entry(key: Key): Entry | undefined {
    const octets = this.#get(this.#tables.entries, key)
    return octets && this.#kept(key, octets, this.#lateSince())
  }

  /** The directory of exactly this spelling. */
  directory(key: Key): Directory | undefined {
    if (!this.hasDirectories) return this.#isAbove(key) ? unmarked(key) : undefined
    const octets = this.#get(this.#tables.dirs, key)
    const kept = octets && this.#kept(key, octets, this.#lateSince())
    return kept && asDirectory(key, kept)
  }

  /** What is below exactly this spelling, a few hundred at a time, all of one moment: a large subtree makes no query wait. */
  async *below(key: Key): AsyncGenerator<{ entries: Entry[]; directories: Directory[] }> {
    const { root, entries, dirs } = this.#tables
    root.resetReadTxn()
    const transaction = root.useReadTransaction()
    try {
      for (const table of [dirs, entries]) {
        for (const page of this.#pages(table, key, transaction)) {
          yield table === entries
            ? { entries: page, directories: [] }
            : { entries: [], directories: page.map((each) => asDirectory(each.key, each)) }
          await new Promise(setImmediate)
        }
      }
    } finally {
      transaction.done()
    }
  }

  *#pages(table: Table, key: Key, transaction: ReturnType<Table['useReadTransaction']>): Generator<Entry[]> {
    const folded = foldedOctets(key)
    if (folded.length > MAX_KEY_OCTETS) return
    const late = this.#lateSince()
    let page: Entry[] = []
    let looked = 0
    const start = folded.length === 0 ? FIRST : folded
    for (const { key: octets, value } of table.getRange({ start, end: subtreeEnd(folded), transaction })) {
      const each = keyOfOctets(octets)
      const kept = isBelow(each, key) ? this.#kept(each, value, late) : undefined
      if (kept !== undefined) page.push(kept)
      if (++looked % 500 !== 0) continue
      yield page
      page = []
    }
    yield page
  }

  /** Whether there is anything below exactly this spelling. */
  #isAbove(key: Key): boolean {
    const folded = foldedOctets(key)
    for (const octets of this.#tables.entries.getKeys({ start: folded, end: subtreeEnd(folded) }))
      if (isBelow(keyOfOctets(octets), key)) return true
    return false
  }

  /** Whether there is anything below a folded key, or at it in another spelling. */
  #hasBelow(folded: Buffer): boolean {
    return this.#tables.below.getBinaryFast(folded) !== undefined
  }

  /** The entry of the folded spelling, if there is one. */
  #own(folded: Buffer, key: Key): Entry[] {
    const octets = this.#tables.entries.getBinaryFast(folded)
    if (octets === undefined) return []
    const late = this.#lateSince()
    // Before anything else is read into the same memory.
    const stored = copyStored(octets)
    if (late !== undefined && this.#isLate(key, stored.expires, late)) return []
    return [asEntry(foldedKey(key), stored)]
  }

  #entries(start: Buffer, end: Buffer, limit = Number.POSITIVE_INFINITY): Entry[] {
    const late = this.#lateSince()
    const found: Entry[] = []
    for (const { key, value } of this.#tables.entries.getRange({ start, end })) {
      const kept = this.#kept(keyOfOctets(key), value, late)
      if (kept !== undefined && found.push(kept) >= limit) break
    }
    return found
  }

  #get(table: Table, key: Key): Buffer | undefined {
    if (key.length === 0) return undefined
    const spelled = spelledOctets(key)
    return spelled.length > MAX_KEY_OCTETS ? undefined : table.get(spelled)
  }

  #kept(key: Key, octets: Buffer, late: number | undefined): Entry | undefined {
    const stored = readStored(octets)
    return late !== undefined && this.#isLate(key, stored.expires, late) ? undefined : asEntry(key, stored)
  }

  #isLate(key: Key, expires: number | undefined, late: number): boolean {
    return (expires !== undefined && expires <= late) || this.#isUnderExpired(key, late)
  }

  #isUnderExpired(key: Key, late: number): boolean {
    for (let length = 1; length < key.length; length++) {
      const octets = this.#get(this.#tables.dirs, key.slice(0, length))
      if (octets !== undefined && expiresOf(octets) <= late) return true
    }
    return false
  }
}

/** A directory that nobody has marked as one. */
export function unmarked(key: Key): Directory {
  return { key, created: 0, modified: 0, expires: undefined }
}
