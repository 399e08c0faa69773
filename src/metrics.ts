/** What is counted, as plugins tell it. */
import type { Client } from './query.js'

/** Counters are plain numbers, collected when somebody scrapes. */
export interface MetricsRegistry {
  counter(name: string, help: string): Counter
  /** `read` is called when somebody scrapes. */
  gauge(name: string, help: string, read: () => number): void
  /** `make` is called when somebody scrapes, until what is returned is called. Names must not be those of a counter or gauge. */
  collect(make: () => readonly MetricFamily[]): () => void
  /** Everything, in the text format of Prometheus; the numbers of the process too. */
  text(): Promise<string>
}

/** Numbers under one name, told apart by labels. */
export interface MetricFamily {
  /** `[a-zA-Z_:][a-zA-Z0-9_:]*`; that of a counter ends in `_total`. */
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  /** The names of the labels. */
  readonly labels: readonly string[]
  readonly samples: readonly MetricSample[]
  /** Of a gauge: it tells of what each thread has of its own, so that those of all threads are added up. Else the main thread's is told. */
  readonly isPerThread?: boolean
}

/** One of them; a {@link HistogramValue} in a histogram. */
export interface MetricSample {
  /** The values of the labels, in the order of their names. */
  readonly labels: readonly string[]
  readonly value: number | HistogramValue
}

/** How many values fell between two bounds. */
export interface HistogramValue {
  /** Upper bounds, rising. */
  readonly bounds: readonly number[]
  /** One for each bound, of the values up to it that are above the bound before; and one for those above all. */
  readonly counts: readonly number[]
  /** Of all values. */
  readonly sum: number
}

/** A number that only grows. */
export interface Counter {
  value: number
}

/** Beyond so many places that were asked at the rest is counted as one. */
const MOST_SERVERS = 100

/** What was asked at each of our endpoints, of which a server listens on few. */
export class ByServer<T extends { readonly server: string }> {
  readonly all: T[] = []
  readonly #none: (server: string) => T

  /** `none` makes the counts of a place where nothing was asked yet. */
  constructor(none: (server: string) => T) {
    this.#none = none
  }

  /** The counts of where a client has asked. */
  of({ endpoint, local }: Client): T {
    const server = endpoint ?? local
    for (const counts of this.all) if (counts.server === server) return counts
    if (this.all.length > MOST_SERVERS) return this.all[MOST_SERVERS]!
    const counts = this.#none(this.all.length < MOST_SERVERS ? server : 'other')
    this.all.push(counts)
    return counts
  }
}
