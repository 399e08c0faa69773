import {
  askUpstream,
  type Clock,
  type Counter,
  type Exchange,
  type ExchangeFailure,
  type ExchangeOutcome,
  type Host,
  type Message,
  type Query,
  type Shared,
  type Upstream,
  upstreamEdns
} from 'skein/plugin'
import type { Options } from './options.js'
import { Turnstile } from './turnstile.js'
import { Upstreams } from './upstreams.js'

/** What the upstreams came to for one question. */
export type Result =
  /** `isCut`: over UDP it did not fit, and over TCP nobody answered. */
  { readonly kind: 'reply'; readonly message: Message; readonly isCut: boolean } | ExchangeFailure

/** Plain numbers, collected when somebody scrapes. */
export interface Counters {
  readonly requests: Counter
  readonly failures: Counter
  readonly truncatedRetries: Counter
  readonly ignored: Counter
}

/** All attempts for one question take no longer than this, or one `read_timeout`. */
const TOTAL_MS = 5000
/** Sockets open at once for all `forward` of the process: half of what a process may mostly open, so that those who listen get theirs. */
const MAX_SOCKETS = 512
/** A datagram may get lost: so often each upstream is asked, while there is time. */
const ROUNDS = 2

/** Asks upstreams in turn until one answers. */
export class Attempts {
  readonly #options: Options
  readonly #host: Host
  readonly #clock: Clock
  readonly #counters: Counters
  readonly #upstreams: Upstreams
  /** What is open, or waits to be. */
  readonly #underWay = new Set<{ cancel(): void }>()
  #sockets: Shared<Turnstile> | undefined
  #isStopped = false
  readonly #ignored = (): void => {
    this.#counters.ignored.value++
  }

  constructor(options: Options, host: Host, counters: Counters) {
    this.#options = options
    this.#host = host
    this.#clock = host.clock
    this.#counters = counters
    this.#upstreams = new Upstreams(options.upstreams, options.policy, host.clock, host.random)
  }

  async start(): Promise<void> {
    this.#sockets = await this.#host.shared('forward/sockets', () => ({ value: new Turnstile(MAX_SOCKETS) }), 'thread')
  }

  /** The first proper reply, or what the last attempt failed of. */
  async ask(query: Query, overTcp: boolean): Promise<Result> {
    const order = this.#upstreams.order()
    const deadline = this.#clock.monotonic() + Math.max(TOTAL_MS, this.#options.readTimeoutMs)
    let cut: Message | undefined
    let failure: ExchangeFailure = { kind: 'failed', problem: 'no time was left to ask', wasReached: false, isOurs: true }
    for (let attempt = 0; attempt < order.length * ROUNDS && !this.#isStopped && this.#clock.monotonic() < deadline; attempt++) {
      const upstream = order[attempt % order.length]!
      let outcome = await this.#exchange(query, upstream, overTcp, deadline)
      if (outcome.kind === 'truncated') {
        cut ??= outcome.message
        this.#counters.truncatedRetries.value++
        outcome = await this.#exchange(query, upstream, true, deadline)
      }
      if (outcome.kind !== 'failed' || !outcome.isOurs) this.#upstreams.asked(upstream, outcome.kind === 'reply')
      if (outcome.kind === 'reply') return { ...outcome, isCut: false }
      this.#counters.failures.value++
      if (outcome.kind === 'failed') failure = after(failure, outcome)
    }
    return cut === undefined ? failure : { kind: 'reply', message: cut, isCut: true }
  }

  /** Ends every attempt; what comes later fails at once. */
  stop(): void {
    this.#isStopped = true
    for (const one of this.#underWay) one.cancel()
  }

  /** Gives back what `start` took, once nothing is under way. */
  async close(): Promise<void> {
    await this.#sockets?.release()
  }

  /** One attempt, as soon as there is a socket for it. */
  async #exchange(query: Query, upstream: Upstream, overTcp: boolean, deadline: number): Promise<ExchangeOutcome> {
    const sockets = this.#sockets!.value
    const entering = sockets.enter(this.#clock, this.#leftMs(deadline))
    if (!(await this.#until(entering.entered, entering))) {
      const problem = `dial ${overTcp ? 'tcp' : 'udp'} ${upstream.text}: no socket was free in time`
      return { kind: 'failed', problem, wasReached: false, isOurs: true }
    }
    try {
      const exchange = this.#begin(query, upstream, overTcp, this.#leftMs(deadline))
      return await this.#until(exchange.outcome, exchange)
    } finally {
      sockets.leave()
    }
  }

  #begin(query: Query, upstream: Upstream, overTcp: boolean, leftMs: number): Exchange {
    const id = this.#host.random.below(0x10000)
    const { readTimeoutMs } = this.#options
    const timeoutMs = Math.min(readTimeoutMs, leftMs)
    const asking = {
      query,
      upstream,
      transport: overTcp ? 'tcp' : 'udp',
      // EDNS where the asker speaks it: an upstream that does not then says so to somebody who understands.
      octets: query.octets(id, query.edns && upstreamEdns(query)),
      timeoutMs,
      why: 'forwarded',
      isCutShort: timeoutMs < readTimeoutMs / 2,
      ignored: this.#ignored
    } as const
    this.#counters.requests.value++
    return askUpstream(asking, this.#clock)
  }

  /** What comes of something that `stop` cancels. */
  async #until<T>(value: T | Promise<T>, one: { cancel(): void }): Promise<T> {
    this.#underWay.add(one)
    if (this.#isStopped) one.cancel()
    try {
      return await value
    } finally {
      this.#underWay.delete(one)
    }
  }

  #leftMs(deadline: number): number {
    return Math.max(0, deadline - this.#clock.monotonic())
  }
}

/** What two failures of one question come to: the words of the later one. */
function after(before: ExchangeFailure, failure: ExchangeFailure): ExchangeFailure {
  return { ...failure, wasReached: before.wasReached || failure.wasReached, isOurs: before.isOurs && failure.isOurs }
}
