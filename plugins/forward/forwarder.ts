import { type Counter, countLabels, type Host, isWithin, type MaybePromise, type Next, type Query, type Reply } from 'skein/plugin'
import { Attempts, type Counters, type Result } from './attempts.js'
import type { Options } from './options.js'

/** Askers that wait at once; beyond it the server would only gather sockets. */
const MAX_WAITING = 10_000
/** RFC 8914 §4.23 and §4.24. */
const NO_REACHABLE_AUTHORITY = 22
const NETWORK_ERROR = 23
/** RD, AD and CD: what an upstream's answer may depend on. */
const ASKED_FLAGS = 0x0130
const ANY = 255

/** Gives questions to upstreams, and equal ones in flight to them only once. */
export class Forwarder {
  readonly #options: Options
  readonly #attempts: Attempts
  readonly #rejects: Counter
  readonly #inFlight = new Map<string, Promise<Result>>()
  #waiting = 0
  #isStopped = false

  constructor(options: Options, host: Host) {
    this.#options = options
    this.#attempts = new Attempts(options, host, countersOf(host))
    this.#rejects = host.metrics.counter('coredns_forward_max_concurrent_rejects_total', 'Queries refused since too many were in flight.')
  }

  handle(query: Query, next: Next): MaybePromise<Reply> {
    const { from, except, noRec, ndots } = this.#options
    if (!isWithin(query.qname, from) || query.within(except) !== undefined) return next(query)
    // Only clients are refused: the server's own answers may need names outside its zones.
    if (noRec && query.depth === 0) return query.fail('SERVFAIL', 'no-recursion')
    if (countLabels(query.qname) < ndots) return query.fail('SERVFAIL', 'ndots', { ra: true })
    if (isMeta(query.question.qtype)) return query.fail('REFUSED', 'meta-type')
    if (this.#isStopped) return query.fail('SERVFAIL', 'stopping', { ra: true })
    if (this.#waiting >= MAX_WAITING) {
      this.#rejects.value++
      return query.fail('REFUSED', 'too-many')
    }
    return this.#forward(query)
  }

  /** Ends all that is in flight with SERVFAIL. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#attempts.stop()
    await Promise.allSettled(this.#inFlight.values())
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
    const key = keyOf(query, overTcp)
    const underWay = this.#inFlight.get(key)
    if (underWay !== undefined) return underWay
    const result = this.#attempts.ask(query, overTcp).finally(() => this.#inFlight.delete(key))
    this.#inFlight.set(key, result)
    return result
  }

  #reply(query: Query, result: Result): Reply {
    // A client over UDP comes again over TCP; nobody else can do anything with half an answer.
    if (result.kind === 'reply' && (!result.isCut || (query.client.transport === 'udp' && query.depth === 0))) return result.message
    if (this.#isStopped) return query.fail('SERVFAIL', 'stopping', { ra: true })
    const failed = result.kind === 'failed' ? result : { problem: 'truncated, and no answer over TCP', wasReached: true }
    const reason = failed.wasReached
      ? { code: NETWORK_ERROR, text: 'no upstream gave a proper answer' }
      : { code: NO_REACHABLE_AUTHORITY, text: 'no upstream can be reached' }
    return query.fail('SERVFAIL', 'upstream-failed', { ra: true, problem: failed.problem, extendedErrors: [reason] })
  }

  /** As the client came, so that a large answer takes one question and not two. */
  #isOverTcp({ client: { transport } }: Query): boolean {
    const { forceTcp, preferUdp } = this.#options
    return forceTcp || (!preferUdp && transport !== 'udp' && transport !== 'quic')
  }
}

/** Equal for questions that an upstream cannot tell apart, but for the spelling of the name and the size advertised. */
function keyOf(query: Query, overTcp: boolean): string {
  const edns = query.edns === undefined ? '' : query.dnssecOk ? 'do' : 'edns'
  const { qtype, qclass } = query.question
  return `${query.qname} ${qtype} ${qclass} ${query.flags & ASKED_FLAGS} ${edns} ${overTcp}`
}

/** Types that ask for no records of one message: transfers, keys of transactions, OPT (RFC 6895 §3.1). ANY does. */
function isMeta(qtype: number): boolean {
  return (qtype >= 128 && qtype < ANY) || qtype === 41 || qtype === 0
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
