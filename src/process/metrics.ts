/** The one place of prom-client: names and plain numbers in, its registry out. */
import { collectDefaultMetrics, Gauge, Counter as PromCounter, Registry } from 'prom-client'
import type { Counter, MetricFamily, MetricsRegistry } from '../plugin.js'
import { exposition } from './exposition.js'

/** Counters that the query path counts as plain numbers; they reach prom-client when somebody scrapes. */
export class PromRegistry implements MetricsRegistry {
  readonly registry = new Registry()
  readonly #counters = new Map<string, Counter>()
  readonly #collected = new Set<{ readonly make: () => readonly MetricFamily[] }>()
  #countsProcess = false

  /** Those that there are, by name. */
  get counters(): ReadonlyMap<string, Counter> {
    return this.#counters
  }

  counter(name: string, help: string): Counter {
    const known = this.#counters.get(name)
    if (known !== undefined) return known
    const counter: Counter = { value: 0 }
    this.#counters.set(name, counter)
    new PromCounter({
      name,
      help,
      registers: [this.registry],
      collect() {
        this.reset()
        this.inc(counter.value)
      }
    })
    return counter
  }

  gauge(name: string, help: string, read: () => number): void {
    if (this.registry.getSingleMetric(name) !== undefined) return
    new Gauge({
      name,
      help,
      registers: [this.registry],
      collect() {
        this.set(read())
      }
    })
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

  async text(): Promise<string> {
    // They cost a timer, which is for nothing where nobody reads.
    if (!this.#countsProcess) collectDefaultMetrics({ register: this.registry })
    this.#countsProcess = true
    const own = await this.registry.metrics()
    return own + exposition(this.families().filter(({ name }) => this.registry.getSingleMetric(name) === undefined))
  }
}
