/** The middle of what was measured several times. */

/** The median of the numbers; the mean of the two in the middle where they are even in number. Throws where there are none. */
export function median(numbers: readonly number[]): number {
  if (numbers.length === 0) throw new RangeError('a median of no numbers')
  const sorted = numbers.toSorted((one, other) => one - other)
  const upper = Math.floor(sorted.length / 2)
  return sorted.length % 2 === 1 ? sorted[upper]! : (sorted[upper - 1]! + sorted[upper]!) / 2
}

/** The median of those that are there; undefined where none is. */
export function medianOfKnown(numbers: readonly (number | undefined)[]): number | undefined {
  const known = numbers.filter((number) => number !== undefined)
  return known.length === 0 ? undefined : median(known)
}

/** The servers in the order of a round: the one way, then the other, so that none always comes after the same one. */
export function alternated<T>(servers: readonly T[], round: number): readonly T[] {
  return round % 2 === 0 ? servers : servers.toReversed()
}
