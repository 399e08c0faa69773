/** The one place of prom-client, which knows the numbers of the process. */
import type { Registry } from 'prom-client'
import type { Counter, MetricFamily, MetricsRegistry } from '../plugin.js'
import { exposition } from './exposition.js'
import { summed } from './metric-sums.js'

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/

/** Counters that the query path counts as plain numbers; they become text when somebody scrapes. */
export class PromRegistry implements MetricsRegistry {
  readonly #counters = new Map<string, Counter>()
  /** Counters and gauges, as they are at the time. */
  readonly #singles = new Map<string, () => MetricFamily>()
  readonly #collected = new Set<{ readonly make: () => readonly MetricFamily[] }>()
  #process: Promise<Registry> | undefined
  /** Asks worker threads for theirs, which are added; nobody where there are none. */
  workers: (() => Promise<readonly (readonly MetricFamily[])[]>) | undefined

  /** Those that there are, by name. */
  get counters(): ReadonlyMap<string, Counter> {
    return this.#counters
  }

  counter(name: string, help: string): Counter {
    const known = this.#counters.get(name)
    if (known !== undefined) return known
    const counter: Counter = { value: 0 }
    this.#single(name, help, 'counter', () => counter.value)
    this.#counters.set(name, counter)
    return counter
  }

  gauge(name: string, help: string, read: () => number): void {
    this.#single(name, help, 'gauge', read)
  }

  #single(name: string, help: string, type: 'counter' | 'gauge', read: () => number): void {
    if (!NAME.test(name)) throw new Error(`${JSON.stringify(name)} is no name of a metric`)
    if (this.#singles.has(name)) return
    this.#singles.set(name, () => ({ name, help, type, labels: [], samples: [{ labels: [], value: read() }] }))
  }

  collect(make: () => readonly MetricFamily[]): () => void {
    const collected = { make }
    this.#collected.add(collected)
    return () => void this.#collected.delete(collected)
  }

  /** Those that are collected, with their samples as they are now. */
  families(): MetricFamily[] {
    return [...this.#collected].flatMap(({ make }) => make())
  }

  /** All that is counted in this thread. */
  all(): MetricFamily[] {
    const singles = [...this.#singles.values()].map((make) => make())
    return [...singles, ...this.families().filter(({ name }) => !this.#singles.has(name))]
  }

  async text(): Promise<string> {
    this.#process ??= processNumbers()
    const numbers = await this.#process
    const theirs = await this.workers?.()
    const own = theirs === undefined ? this.all() : summed(this.all(), theirs)
    return (await numbers.metrics()) + exposition(own.filter(({ name }) => numbers.getSingleMetric(name) === undefined))
  }
}

/** Loaded where somebody scrapes alone: it takes a fifth of a start, and its numbers a timer. */
async function processNumbers(): Promise<Registry> {
  const { collectDefaultMetrics, Registry } = await import('prom-client')
  const register = new Registry()
  collectDefaultMetrics({ register })
  return register
}
