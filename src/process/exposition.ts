import type { HistogramValue, MetricFamily, MetricSample } from '../plugin.js'

/** Families in the text format of Prometheus; the samples of those with one name together. */
export function exposition(families: readonly MetricFamily[]): string {
  const byName = new Map<string, MetricFamily[]>()
  for (const family of families) {
    const same = byName.get(family.name)
    if (same === undefined) byName.set(family.name, [family])
    else same.push(family)
  }
  let text = ''
  for (const [name, same] of byName) {
    const samples = same.flatMap((family) => family.samples.map((sample) => linesOf(family, sample)))
    if (samples.length > 0) text += `# HELP ${name} ${escaped(same[0]!.help)}\n# TYPE ${name} ${same[0]!.type}\n${samples.join('')}`
  }
  return text
}

function linesOf(family: MetricFamily, { labels, value }: MetricSample): string {
  const pairs = family.labels.map((label, index) => `${label}="${escaped(labels[index] ?? '').replaceAll('"', '\\"')}"`)
  return typeof value === 'number' ? line(family.name, pairs, value) : histogramLines(family.name, pairs, value)
}

/** Each bound's count has those of the bounds below in it. */
function histogramLines(name: string, pairs: readonly string[], { bounds, counts, sum }: HistogramValue): string {
  let text = ''
  let total = 0
  for (const [index, count] of counts.entries()) {
    total += count
    text += line(`${name}_bucket`, [...pairs, `le="${bounds[index] ?? '+Inf'}"`], total)
  }
  return text + line(`${name}_sum`, pairs, sum) + line(`${name}_count`, pairs, total)
}

function line(name: string, pairs: readonly string[], value: number): string {
  return `${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${shownNumber(value)}\n`
}

function shownNumber(value: number): string {
  if (Number.isFinite(value)) return String(value)
  return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf'
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
}
