import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  type Clock,
  type Counter,
  type HistogramValue,
  type Log,
  type MetricFamily,
  type MetricsRegistry,
  shownAddress
} from 'skein/plugin'

const EVERY_MS = 1000
/** So long a question from the machine itself takes where something is wrong. */
const SLOW_MS = 1000
const PATIENCE_MS = 3000

/** What the self-checks of all ends come to, by CoreDNS's names. */
export class CheckNumbers {
  readonly failures: Counter
  readonly #durations: HistogramValue & { counts: number[]; sum: number } = {
    // CoreDNS's bounds where few are enough.
    bounds: [0.00025, 0.0025, 0.025, 0.25, 2.5],
    counts: [0, 0, 0, 0, 0, 0],
    sum: 0
  }

  constructor(metrics: MetricsRegistry) {
    this.failures = metrics.counter('coredns_health_request_failures_total', 'Self-checks that failed.')
  }

  took(seconds: number): void {
    const { bounds, counts } = this.#durations
    const index = bounds.findIndex((bound) => seconds <= bound)
    counts[index < 0 ? bounds.length : index]!++
    this.#durations.sum += seconds
  }

  families(): MetricFamily[] {
    return [
      {
        name: 'coredns_health_request_duration_seconds',
        help: 'How long self-checks took, in seconds.',
        type: 'histogram',
        labels: [],
        samples: [{ labels: [], value: this.#durations }]
      }
    ]
  }
}

/** What a {@link SelfCheck} needs. */
export interface Checked {
  /** Where the page is served. */
  readonly value: AddressInfo
  readonly path: string
  readonly numbers: CheckNumbers
  readonly clock: Clock
  readonly log: Log
}

/** Asks for the server's own page, a second after the answer before, until it is stopped. */
export class SelfCheck {
  readonly url: string
  readonly #checked: Checked
  #waiting: { cancel(): void } = { cancel() {} }
  #asking = new AbortController()
  #isStopped = false
  /** What failed the last time; a line for each second of a long failure would say no more. */
  #told = ''

  constructor(checked: Checked) {
    this.#checked = checked
    this.url = `http://${shownAddress(checked.value.address, checked.value.port)}${checked.path}`
    this.#wait()
  }

  stop(): void {
    this.#isStopped = true
    this.#waiting.cancel()
    this.#asking.abort()
  }

  #wait(): void {
    this.#waiting = this.#checked.clock.after(EVERY_MS, () => void this.#check())
  }

  async #check(): Promise<void> {
    const { clock } = this.#checked
    this.#asking = new AbortController()
    const { signal } = this.#asking
    const begun = clock.monotonic()
    const late = clock.after(PATIENCE_MS, () => this.#asking.abort())
    const problem = await this.#ask(signal).catch((error: unknown) =>
      signal.aborted ? `no answer within ${PATIENCE_MS / 1000} s` : (error as Error).message
    )
    late.cancel()
    if (this.#isStopped) return
    this.#count(clock.monotonic() - begun, problem)
    this.#wait()
  }

  /** What is wrong; nothing where the answer is as it should be. */
  async #ask(signal: AbortSignal): Promise<string> {
    const { value, path } = this.#checked
    // What listens on all addresses is asked at one that every machine has.
    const host = ['::', '0.0.0.0'].includes(value.address) ? '127.0.0.1' : value.address
    const request = get({ host, port: value.port, path, agent: false, signal })
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    await once(response.resume(), 'end')
    return response.statusCode === 200 ? '' : `status ${response.statusCode}`
  }

  #count(milliseconds: number, problem: string): void {
    const { numbers, log } = this.#checked
    numbers.took(milliseconds / 1000)
    if (problem !== '') numbers.failures.value++
    if (problem === '' && milliseconds > SLOW_MS) log.warn(`the self-check at ${this.url} took ${milliseconds / 1000} s`)
    if (problem !== '' && problem !== this.#told) log.warn(`the self-check at ${this.url} failed: ${problem}`)
    this.#told = problem
  }
}
