import type { HistogramValue, MetricFamily, MetricSample } from '../metrics.js'

/** Only what is added up when it comes from several threads: counters, histograms, and gauges of what each thread has of its own. */
export function addable(families: readonly MetricFamily[]): MetricFamily[] {
  return families.filter(({ type, isPerThread = false }) => type !== 'gauge' || isPerThread)
}

/** Those of the main thread, with what workers say added to what can be {@link addable added}. The samples of equal labels become one. */
export function summed(main: readonly MetricFamily[], workers: readonly (readonly MetricFamily[])[]): MetricFamily[] {
  const sums = new Map<string, { family: MetricFamily; samples: Map<string, MetricSample> }>()
  const add = (family: MetricFamily): void => {
    const sum = sums.get(family.name) ?? { family, samples: new Map<string, MetricSample>() }
    sums.set(family.name, sum)
    for (const { labels, value } of family.samples) {
      const key = JSON.stringify(labels)
      const before = sum.samples.get(key)
      sum.samples.set(key, { labels, value: before === undefined ? value : plus(before.value, value) })
    }
  }
  for (const family of [...addable(main), ...workers.flatMap(addable)]) add(family)
  const own = main.filter((family) => !addable([family]).includes(family))
  return [...own, ...[...sums.values()].map(({ family, samples }) => ({ ...family, samples: [...samples.values()] }))]
}

function plus(one: MetricSample['value'], other: MetricSample['value']): MetricSample['value'] {
  if (typeof one === 'number' || typeof other === 'number') return Number(one) + Number(other)
  const counts = one.counts.map((count, index) => count + (other.counts[index] ?? 0))
  return { bounds: one.bounds, counts, sum: one.sum + other.sum }
}

/** The same as plain objects, which another thread can be sent. */
export function plain(families: readonly MetricFamily[]): MetricFamily[] {
  return families.map((family) => ({
    ...family,
    samples: family.samples.map(({ labels, value }) => ({ labels: [...labels], value: typeof value === 'number' ? value : bare(value) }))
  }))
}

function bare({ bounds, counts, sum }: HistogramValue): HistogramValue {
  return { bounds: [...bounds], counts: [...counts], sum }
}
