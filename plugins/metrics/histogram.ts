import type { HistogramValue } from 'skein/plugin'

/** CoreDNS's bounds for durations, in seconds: from a quarter of a millisecond, doubled 15 times. */
export const TIME_BOUNDS: readonly number[] = Array.from({ length: 16 }, (_, n) => 0.00025 * 2 ** n)

/** CoreDNS's bounds for the sizes of messages, in octets. */
export const SIZE_BOUNDS: readonly number[] = [0, 100, 200, 300, 400, 511, 1023, 2047, 4095, 8291, 16000, 32000, 48000, 64000]

/** Counts values by the first bound that is not below them. */
export class Histogram implements HistogramValue {
  readonly bounds: readonly number[]
  readonly counts: number[]
  sum = 0
  /** How many values were counted. */
  total = 0

  constructor(bounds: readonly number[]) {
    this.bounds = bounds
    this.counts = Array.from({ length: bounds.length + 1 }, () => 0)
  }

  add(value: number): void {
    let at = 0
    while (at < this.bounds.length && value > this.bounds[at]!) at++
    this.counts[at]!++
    this.sum += value
    this.total++
  }
}
