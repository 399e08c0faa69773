import {
  asksForRecords,
  type Counter,
  countLabels,
  type ExchangeFailure,
  type ExtendedError,
  type Host,
  InFlight,
  type MaybePromise,
  type Next,
  type Origin,
  type Query,
  questionKey,
  type Reply
} from 'skein/plugin'
import { Attempts, type Counters, type Result } from './attempts.js'
import type { Options } from './options.js'

/** Askers that wait at once; beyond it the server would only gather questions that nobody answers in time. */
const MAX_WAITING = 10_000
/** The numbers of extended errors: RFC 8914 §4.1, §4.23 and §4.24. */
const OTHER_ERROR = 0
const NO_REACHABLE_AUTHORITY = 22
const NETWORK_ERROR = 23
/** The origin of what is none of the questions that are forwarded: it tells other plugins that nobody failed. */
const NOT_ASKED: Origin = { kind: 'none' }

/** Gives questions to upstreams, and equal ones in flight to them only once. */
export class Forwarder {
  readonly #options: Options
  readonly #attempts: Attempts
  readonly #rejects: Counter
  readonly #inFlight = new InFlight<Result>()
  #waiting = 0
  #isStopped = false

  constructor(options: Options, host: Host) {
    this.#options = options
    this.#attempts = new Attempts(options, host, countersOf(host))
    this.#rejects = host.metrics.counter('coredns_forward_max_concurrent_rejects_total', 'Queries refused since too many were in flight.')
  }

  handle(query: Query, next: Next): MaybePromise<Reply> {
    const { from, except, noRec, ndots, upstreams } = this.#options
    if (query.within(from) === undefined || query.within(except) !== undefined) return next(query)
    // Only clients are refused: the server's own answers may need names outside its zones.
    if (noRec && query.depth === 0) return query.fail('SERVFAIL', 'no-recursion', { origin: NOT_ASKED })
    if (countLabels(query.qname) < ndots)
      return query.fail('SERVFAIL', 'ndots', { ra: true, origin: NOT_ASKED, extendedErrors: [tooShort(ndots)] })
    if (!asksForRecords(query.question.qtype)) return query.fail('REFUSED', 'meta-type', { origin: NOT_ASKED })
    if (upstreams.length === 0) return query.fail('SERVFAIL', 'no-upstream', { ra: true, origin: NOT_ASKED })
    if (this.#isStopped) return stopping(query)
    if (this.#waiting >= MAX_WAITING) {
      this.#rejects.value++
      return query.fail('REFUSED', 'too-many')
    }
    return this.#forward(query)
  }

  start(): Promise<void> {
    return this.#attempts.start()
  }

  /** Ends all that is in flight with SERVFAIL. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#attempts.stop()
    await this.#inFlight.ended()
    await this.#attempts.close()
  }

  async #forward(query: Query): Promise<Reply> {
    this.#waiting++
    try {
      return this.#reply(query, await this.#shared(query))
    } finally {
      this.#waiting--
    }
  }

  /** What the upstreams say to this question, asked now or already under way. */
  #shared(query: Query): Promise<Result> {
    const overTcp = this.#isOverTcp(query)
    // Who has no EDNS is asked for without.
    const key = `${questionKey(query)} ${query.edns === undefined} ${overTcp}`
    return this.#inFlight.ask(key, () => this.#attempts.ask(query, overTcp))
  }

  #reply(query: Query, result: Result): Reply {
    // A client over UDP comes again over TCP; nobody else can do anything with half an answer.
    if (result.kind === 'reply' && (!result.isCut || (query.client.transport === 'udp' && query.depth === 0))) return result.message
    if (this.#isStopped) return stopping(query)
    const failure: ExchangeFailure =
      result.kind === 'failed' ? result : { kind: 'failed', problem: 'truncated, and no answer over TCP', wasReached: true, isOurs: false }
    return query.fail('SERVFAIL', 'upstream-failed', { ra: true, problem: failure.problem, extendedErrors: [reasonOf(failure)] })
  }

  /** As the client came, so that a large answer takes one question and not two. */
  #isOverTcp({ client: { transport } }: Query): boolean {
    const { forceTcp, preferUdp } = this.#options
    return forceTcp || (!preferUdp && transport !== 'udp' && transport !== 'quic')
  }
}

/** What a client is told of upstreams that failed. */
function reasonOf({ wasReached, isOurs }: ExchangeFailure): ExtendedError {
  if (wasReached) return { code: NETWORK_ERROR, text: 'no upstream gave a proper answer' }
  if (isOurs) return { code: OTHER_ERROR, text: 'this server has no socket or time left to ask with' }
  return { code: NO_REACHABLE_AUTHORITY, text: 'no upstream can be reached' }
}

function tooShort(ndots: number): ExtendedError {
  return { code: OTHER_ERROR, text: `names of fewer than ${ndots} labels are not forwarded` }
}

function stopping(query: Query): Reply {
  return query.fail('SERVFAIL', 'stopping', { ra: true })
}

function countersOf({ metrics }: Host): Counters {
  return {
    requests: metrics.counter('coredns_forward_requests_total', 'Messages sent to upstreams.'),
    failures: metrics.counter('skein_forward_failures_total', 'Attempts that brought no reply.'),
    truncatedRetries: metrics.counter(
      'skein_forward_truncated_retries_total',
      'Questions asked again over TCP since the reply was truncated.'
    ),
    ignored: metrics.counter('skein_forward_ignored_replies_total', 'Datagrams that were no reply to what was asked.')
  }
}
