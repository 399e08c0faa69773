import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { SystemRandom } from './random.js'

describe('random numbers', () => {
  const random = new SystemRandom()

  test('are whole and below their limit', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 2 ** 31 }), (limit) => {
        const number = random.below(limit)
        expect(Number.isInteger(number) && number >= 0 && number < limit).toBe(true)
      })
    )
  })

  test('fall everywhere equally often', () => {
    const draws = 60_000
    const counts = [0, 0, 0, 0, 0, 0]
    for (let i = 0; i < draws; i++) counts[random.below(6)]!++
    // Each count is 10 000 give or take 91; eight times that is out of any luck.
    for (const count of counts) expect(Math.abs(count - draws / 6)).toBeLessThan(8 * Math.sqrt(draws * (1 / 6) * (5 / 6)))
  })

  test('are not likelier at the low end of a limit that divides 2^32 badly', () => {
    const limit = 3 * 2 ** 29
    let low = 0
    for (let i = 0; i < 30_000; i++) if (random.below(limit) < 2 ** 29) low++
    // A third; the remainder alone would give a half more.
    expect(Math.abs(low - 10_000)).toBeLessThan(8 * Math.sqrt(30_000 * (1 / 3) * (2 / 3)))
  })

  test.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])('below %s there is none', (limit) => {
    expect(() => random.below(limit)).toThrow(RangeError)
  })
})
