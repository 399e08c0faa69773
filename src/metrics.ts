/** What is counted, as plugins tell it. */

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
