import { randomFillSync } from 'node:crypto'
import type { Random } from '../plugin.js'

/** Numbers from the system's generator, drawn many at a time: a draw costs as much as a hundred. */
export class SystemRandom implements Random {
  readonly #drawn = new Uint32Array(256)
  #used = 256

  below(limit: number): number {
    // Without a number below it the search would not end.
    if (!Number.isInteger(limit) || limit < 1 || limit > 2 ** 32) throw new RangeError(`no random number below ${limit}`)
    // Numbers above the last whole multiple of the limit would make the low ones likelier.
    const fair = Math.floor(2 ** 32 / limit) * limit
    for (;;) {
      const number = this.#next()
      if (number < fair) return number % limit
    }
  }

  #next(): number {
    if (this.#used === this.#drawn.length) {
      randomFillSync(this.#drawn)
      this.#used = 0
    }
    return this.#drawn[this.#used++]!
  }
}
