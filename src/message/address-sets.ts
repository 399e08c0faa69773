/** The address sets of a message: records of one owner, class and type, A or AAAA, in one section (RFC 2181 §5). */
import type { ResourceRecord } from './record.js'

/** Random numbers that nobody can foresee. */
export interface ShuffleSource {
  /** A whole number in [0, limit). */
  below(limit: number): number
}

/**
 * The records with the members of each address set in random order among the places that the set holds; undefined where no set
 * has two. All other records stay where they are, so a CNAME stays before what it leads to.
 */
export function addressesShuffled(records: readonly ResourceRecord[], random: ShuffleSource): ResourceRecord[] | undefined {
  if (records.length < 2) return undefined
  let order: ResourceRecord[] | undefined
  for (const places of addressSets(records)) {
    order ??= [...records]
    shufflePlaces(order, places, random)
  }
  return order
}

const NONE: readonly number[][] = []

/** Where the members of each address set stand that has more than one. */
export function addressSets(records: readonly ResourceRecord[]): readonly number[][] {
  // Few messages have as many: a map for nothing would cost more than all else here.
  if (!hasTwoAddresses(records)) return NONE
  const sets = new Map<string, number[]>()
  for (const [index, record] of records.entries()) {
    if (!isAddress(record)) continue
    const key = `${record.type} ${record.class ?? 'IN'} ${record.owner.toLowerCase()}`
    const set = sets.get(key)
    if (set === undefined) sets.set(key, [index])
    else set.push(index)
  }
  return [...sets.values()].filter((places) => places.length > 1)
}

function hasTwoAddresses(records: readonly ResourceRecord[]): boolean {
  let count = 0
  for (const record of records) if (isAddress(record) && ++count === 2) return true
  return false
}

function isAddress({ type }: ResourceRecord): boolean {
  return type === 'A' || type === 'AAAA'
}

function shufflePlaces<T>(list: T[], places: readonly number[], random: ShuffleSource): void {
  for (let last = places.length - 1; last > 0; last--) {
    const one = places[last]!
    const other = places[random.below(last + 1)]!
    const item = list[one]!
    list[one] = list[other]!
    list[other] = item
  }
}
