import { foldedPart, parentOctets } from './key.js'
import { type Tables, unawaited } from './tables.js'

const KEYS_PER_COMMIT = 100_000

/**
 * Keeps the table that says which folded keys have anything below them: a look-up at one that has nothing needs no range of
 * entries, which costs ten times as much as one key.
 *
 * A folded key's row counts what stands directly below it: the folded keys with one segment more that have an entry or a row, and
 * the entries at the key itself in other spellings. Where that is nothing there is no row. The root has none.
 */
export class BelowCounts {
  readonly #tables: Tables
  /** What differs from the tables as they can be read: counts of folded keys, and whether these have an entry of their own. */
  readonly #counts = new Map<string, number>()
  readonly #entries = new Map<string, boolean>()

  constructor(tables: Tables) {
    this.#tables = tables
  }

  /** Notes that the entry of a spelling has come (1) or gone (-1). To be told of each in turn, before it can be read. */
  change(spelled: Buffer, by: 1 | -1): void {
    const folded = foldedPart(spelled)
    if (folded.length < spelled.length) return this.#count(folded, by)
    this.#entries.set(nameOf(folded), by > 0)
    if (this.#countOf(folded) === 0) this.#count(parentOctets(folded), by)
  }

  /** Puts what was noted among the writes of a batch. */
  write(): void {
    const { below } = this.#tables
    for (const [name, count] of this.#counts) {
      const folded = Buffer.from(name, 'latin1')
      if (count > 0) unawaited(below.put(folded, countOctets(count)))
      else unawaited(below.remove(folded))
    }
  }

  #count(folded: Buffer, by: 1 | -1): void {
    if (folded.length === 0) return
    const before = this.#countOf(folded)
    this.#counts.set(nameOf(folded), before + by)
    const isNews = before === 0 || before + by === 0
    if (isNews && !this.#hasEntry(folded)) this.#count(parentOctets(folded), by)
  }

  #countOf(folded: Buffer): number {
    return this.#counts.get(nameOf(folded)) ?? this.#tables.below.get(folded)?.readUInt32BE() ?? 0
  }

  #hasEntry(folded: Buffer): boolean {
    return this.#entries.get(nameOf(folded)) ?? this.#tables.entries.get(folded) !== undefined
  }
}

/** Makes the table anew, of a store that was written without it. */
export async function countBelow(tables: Tables, keysPerCommit = KEYS_PER_COMMIT): Promise<void> {
  const { root, entries, below } = tables
  await below.clearAsync()
  // Read as of now, while what is written meanwhile can be read too.
  const transaction = root.useReadTransaction()
  try {
    let counts = new BelowCounts(tables)
    let noted = 0
    const commit = async (): Promise<void> => {
      await root.batch(() => counts.write())
      root.resetReadTxn()
      counts = new BelowCounts(tables)
    }
    // In key order what is above a key comes before it, as if one was put after the other.
    for (const spelled of entries.getKeys({ start: Buffer.from([0]), transaction })) {
      counts.change(spelled, 1)
      if (++noted % keysPerCommit === 0) await commit()
    }
    await commit()
  } finally {
    transaction.done()
  }
}

function nameOf(folded: Buffer): string {
  return folded.toString('latin1')
}

function countOctets(count: number): Buffer {
  const octets = Buffer.allocUnsafe(4)
  octets.writeUInt32BE(count)
  return octets
}
