/** What is counted, by where clients have asked. */
import { ByServer, type Client, type Host, type MetricFamily, type MetricSample, tellTogether } from 'skein/plugin'

/** The counts of one of our endpoints. */
export interface Counts {
  readonly server: string
  hits: number
  misses: number
  failures: number
  readonly verified: { good: number; bad: number }
}

/** The numbers of one signer: plain ones, which become labels when somebody scrapes. */
export class Numbers {
  readonly #size: () => number
  readonly #counts = new ByServer<Counts>((server) => ({ server, hits: 0, misses: 0, failures: 0, verified: { good: 0, bad: 0 } }))

  constructor(size: () => number) {
    this.#size = size
  }

  /** The counts of where a client has asked. */
  of(client: Client): Counts {
    return this.#counts.of(client)
  }

  /** How many signatures had to be made, wherever clients have asked. */
  get made(): number {
    return this.#counts.all.reduce((sum, { misses }) => sum + misses, 0)
  }

  /** One sample for each place that was asked at; `type` is a further label. */
  each(value: (counts: Counts) => number, type: readonly string[] = []): MetricSample[] {
    return this.#counts.all.map((counts) => ({ labels: [`dns://${counts.server}`, ...type], value: value(counts) }))
  }

  /** The signatures that are kept, which belong to all places; told once, and not before somebody has asked at one. */
  entries(): MetricSample[] {
    return this.#counts.all.slice(0, 1).map(({ server }) => ({ labels: [`dns://${server}`, 'signature'], value: this.#size() }))
  }
}

/** Has the numbers of a signer told with those of all others, until what is returned is called. */
export function telling(numbers: Numbers, host: Host): Promise<() => Promise<void>> {
  return tellTogether(host, 'dnssec/numbers', numbers, families)
}

const RESULTS = ['good', 'bad'] as const

/** One sample for the same labels: several server blocks may be asked at one endpoint. */
function summed(samples: readonly MetricSample[]): MetricSample[] {
  const sums = new Map<string, MetricSample>()
  for (const { labels, value } of samples) {
    const key = labels.join(' ')
    sums.set(key, { labels, value: ((sums.get(key)?.value ?? 0) as number) + (value as number) })
  }
  return [...sums.values()]
}

function families(all: readonly Numbers[]): MetricFamily[] {
  const counter = (name: string, help: string, value: (counts: Counts) => number): MetricFamily => ({
    name,
    type: 'counter',
    help,
    labels: ['server'],
    samples: summed(all.flatMap((numbers) => numbers.each(value)))
  })
  return [
    {
      name: 'coredns_dnssec_cache_entries',
      type: 'gauge',
      help: 'Signatures that are kept.',
      labels: ['server', 'type'],
      samples: summed(all.flatMap((numbers) => numbers.entries())),
      // Each thread has its own.
      isPerThread: true
    },
    counter('coredns_dnssec_cache_hits_total', 'RRsets whose signatures were kept.', ({ hits }) => hits),
    counter('coredns_dnssec_cache_misses_total', 'RRsets that had to be signed.', ({ misses }) => misses),
    counter('skein_dnssec_failures_total', 'Signings that failed.', ({ failures }) => failures),
    {
      name: 'skein_dnssec_verified_total',
      type: 'counter',
      help: 'Signatures that were verified before they were sent.',
      labels: ['server', 'result'],
      samples: summed(all.flatMap((numbers) => RESULTS.flatMap((result) => numbers.each(({ verified }) => verified[result], [result]))))
    }
  ]
}
