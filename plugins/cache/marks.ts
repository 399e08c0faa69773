/** How many places changes are noted at: two that meet there flush too much, nothing else. */
const PLACES = 65536

/**
 * When what answers rest on was changed last. Changes are counted, since an answer may have read what was changed before it came
 * here; revisions would not do, for those of two stores cannot be compared.
 */
export class Marks {
  /** How many changes there were. */
  count = 0
  readonly #last = new Float64Array(PLACES)

  /** Notes a change of what has these hashes. */
  add(hashes: readonly number[]): void {
    this.count++
    for (const hash of hashes) this.#last[hash & (PLACES - 1)] = this.count
  }

  /** Whether what has this hash may have been changed since there were `count` changes. */
  isLater(hash: number, count: number): boolean {
    return this.#last[hash & (PLACES - 1)]! > count
  }

  /** Whether any of these may have been changed since there were `count` changes. */
  touch(hashes: readonly number[], count: number): boolean {
    return count !== this.count && hashes.some((hash) => this.isLater(hash, count))
  }
}
