import {
  type BlockServed,
  ByServer,
  blockServed,
  type Client,
  type Host,
  type MetricFamily,
  type MetricSample,
  tellTogether
} from 'skein/plugin'

/** The two kinds of answers, as CoreDNS names them. */
export const KINDS = ['success', 'denial'] as const
export type Kind = (typeof KINDS)[number]

/** What was asked at one of our endpoints. */
export interface Asked {
  readonly server: string
  requests: number
  misses: number
  readonly hits: Record<Kind, number>
}

/** The numbers of one cache: plain ones, which become labels when somebody scrapes. */
export class Numbers {
  readonly evictions: Readonly<Record<Kind, { value: number }>> = { success: { value: 0 }, denial: { value: 0 } }
  readonly #zones: string
  readonly #sizes: Readonly<Record<Kind, () => number>>
  readonly #asked = new ByServer<Asked>((server) => ({ server, requests: 0, misses: 0, hits: { success: 0, denial: 0 } }))
  /** Where the entries are said to be: an answer belongs to all endpoints of its server block. */
  #home = ''

  constructor(zones: readonly string[], sizes: Readonly<Record<Kind, () => number>>) {
    this.#zones = zones.join(',')
    this.#sizes = sizes
  }

  /** The counts of where a client has asked. */
  of(client: Client): Asked {
    return this.#asked.of(client)
  }

  /** Learns where the server block listens. */
  settle(blocks: readonly BlockServed[]): void {
    this.#home = blocks[0]?.places[0]?.endpoint ?? ''
  }

  requests(): MetricSample[] {
    return this.#asked.all.map(({ server, requests }) => ({ labels: this.#labels(server), value: requests }))
  }

  misses(): MetricSample[] {
    return this.#asked.all.map(({ server, misses }) => ({ labels: this.#labels(server), value: misses }))
  }

  hits(): MetricSample[] {
    return this.#asked.all.flatMap(({ server, hits }) => KINDS.map((kind) => ({ labels: this.#labels(server, kind), value: hits[kind] })))
  }

  entries(): MetricSample[] {
    return KINDS.map((kind) => ({ labels: this.#labels(this.#home, kind), value: this.#sizes[kind]() }))
  }

  evicted(): MetricSample[] {
    return KINDS.map((kind) => ({ labels: this.#labels(this.#home, kind), value: this.evictions[kind].value }))
  }

  #labels(server: string, kind?: Kind): string[] {
    return [`dns://${server}`, ...(kind === undefined ? [] : [kind]), this.#zones, '']
  }
}

/** Has the numbers of a cache told with those of all others, until what is returned is called. */
export function telling(numbers: Numbers, host: Host): Promise<() => Promise<void>> {
  numbers.settle(host.find(blockServed))
  return tellTogether(host, 'cache/numbers', numbers, families)
}

function families(all: readonly Numbers[]): MetricFamily[] {
  const family = (
    name: string,
    type: MetricFamily['type'],
    help: string,
    samples: (numbers: Numbers) => MetricSample[],
    hasKinds: boolean
  ): MetricFamily => ({
    name,
    type,
    help,
    labels: ['server', ...(hasKinds ? ['type'] : []), 'zones', 'view'],
    samples: all.flatMap(samples),
    // Each thread has a cache of its own.
    isPerThread: true
  })
  return [
    family('coredns_cache_entries', 'gauge', 'Answers in the cache.', (numbers) => numbers.entries(), true),
    family('coredns_cache_requests_total', 'counter', 'Questions that the cache was asked.', (numbers) => numbers.requests(), false),
    family('coredns_cache_hits_total', 'counter', 'Questions answered from the cache.', (numbers) => numbers.hits(), true),
    family('coredns_cache_misses_total', 'counter', 'Questions that the cache had no answer to.', (numbers) => numbers.misses(), false),
    family('coredns_cache_evictions_total', 'counter', 'Answers removed to make room for others.', (numbers) => numbers.evicted(), true)
  ]
}
