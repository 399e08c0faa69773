import { expect, test } from 'vitest'
import type { MetricFamily, MetricSample } from '../metrics.js'
import { plain, summed } from './metric-sums.js'

function family(name: string, type: MetricFamily['type'], samples: readonly MetricSample[], isPerThread = false): MetricFamily {
  return { name, help: '', type, labels: ['l'], samples, isPerThread }
}

const of = (l: string, value: MetricSample['value']): MetricSample => ({ labels: [l], value })

test('adds counters and histograms by their labels, and gauges only where each thread has something of its own', () => {
  const histogram = (...counts: number[]) => ({ bounds: [1, 2], counts, sum: counts.length })
  const main = [
    family('c', 'counter', [of('a', 1)]),
    family('g', 'gauge', [of('a', 7)]),
    family('e', 'gauge', [of('a', 0)], true),
    family('h', 'histogram', [of('a', histogram(1, 0, 0))])
  ]
  const workers = [
    [
      family('c', 'counter', [of('a', 2), of('b', 5)]),
      family('g', 'gauge', [of('a', 8)]),
      family('e', 'gauge', [of('a', 3)], true),
      family('h', 'histogram', [of('a', histogram(0, 1, 2))])
    ],
    [family('c', 'counter', [of('b', 1)]), family('e', 'gauge', [of('a', 4)], true), family('new', 'counter', [of('z', 1)])]
  ]
  const samples = Object.fromEntries(summed(main, workers).map(({ name, samples: each }) => [name, each]))
  expect(samples).toEqual({
    c: [of('a', 3), of('b', 6)],
    g: [of('a', 7)],
    e: [of('a', 7)],
    h: [of('a', { bounds: [1, 2], counts: [1, 1, 2], sum: 6 })],
    new: [of('z', 1)]
  })
})

test('what is plain can be sent to another thread, whatever a plugin counts with', () => {
  class Counting {
    readonly bounds = [1]
    readonly #counts = [1, 2]
    sum = 3
    add = (): void => {}

    get counts(): readonly number[] {
      return this.#counts
    }
  }
  expect(structuredClone(plain([family('h', 'histogram', [of('a', new Counting())])]))[0]!.samples).toEqual([
    of('a', { bounds: [1], counts: [1, 2], sum: 3 })
  ])
})
