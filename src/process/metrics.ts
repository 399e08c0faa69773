/** The one place of prom-client: names and plain numbers in, its registry out. */
import { Gauge, Counter as PromCounter, Registry } from 'prom-client'
import type { Counter, MetricsRegistry } from '../plugin.js'

/** Counters that the query path counts as plain numbers; they reach prom-client when somebody scrapes. */
export class PromRegistry implements MetricsRegistry {
  readonly registry = new Registry()
  readonly #counters = new Map<string, Counter>()

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
}
