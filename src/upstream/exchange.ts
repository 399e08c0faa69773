import { type Message, TC } from '../message/message.js'
import { FormatError, HEADER_OCTETS } from '../message/name.js'
import { u16 } from '../message/read.js'
import type { Query } from '../query.js'
import type { Upstream } from './address.js'
import { failureText, isOurs } from './failure-text.js'

/** One question to put to one upstream. */
export interface Asking {
  readonly query: Query
  readonly upstream: Upstream
  readonly transport: 'udp' | 'tcp'
  /** The message that asks, such as `query.octets(id, upstreamEdns(query))`; a reply has its ID, which must be one that nobody can foresee. */
  readonly octets: Uint8Array
  readonly timeoutMs: number
  /** Why a reply is as it is: the `why` of its message. */
  readonly why: string
  /** The time is so short that silence tells nothing of the upstream. */
  readonly isCutShort?: boolean
  /** Told of each datagram that is no reply to this question. */
  readonly ignored?: () => void
}

/** What became of it. */
export type ExchangeOutcome =
  /** Read to its last octet. Its origin is the upstream. */
  | { readonly kind: 'reply'; readonly message: Message }
  /** The reply did not fit a datagram: ask again over TCP. What came, undefined where that ends within a record. */
  | { readonly kind: 'truncated'; readonly message: Message | undefined }
  | ExchangeFailure

/** An upstream gave nothing to hand on. */
export interface ExchangeFailure {
  readonly kind: 'failed'
  /** Says which upstream, and what, in the words that Go's resolvers use: operators search for them. */
  readonly problem: string
  /** Whether something came from it at all. */
  readonly wasReached: boolean
  /** Whether it tells nothing of the upstream: there was no socket here, or no time. */
  readonly isOurs: boolean
}

/** A question under way. */
export interface Exchange {
  /** Never rejects. */
  readonly outcome: Promise<ExchangeOutcome>
  /** Ends it at once with a failure, since nobody waits any more. */
  cancel(): void
}

/** What calls back later, such as `host.clock`. */
export interface Timers {
  after(milliseconds: number, fire: () => void): { cancel(): void }
}

/** One attempt on one socket. It ends once: with a reply, a failure, or its time; then socket and timer are gone. */
export abstract class SocketExchange implements Exchange {
  readonly outcome: Promise<ExchangeOutcome>
  protected readonly asking: Asking
  readonly #timers: Timers
  #settle!: (outcome: ExchangeOutcome) => void
  #isOver = false
  #begun = 0
  #timer: { cancel(): void } | undefined

  /** Opens nothing yet. */
  constructor(asking: Asking, timers: Timers) {
    this.asking = asking
    this.#timers = timers
    this.outcome = new Promise((resolve) => {
      this.#settle = resolve
    })
  }

  /** Asks. Called once. */
  begin(): this {
    const { timeoutMs, isCutShort = false, query } = this.asking
    this.#begun = query.trace?.now() ?? 0
    this.#timer = this.#timers.after(timeoutMs, () => this.#fail('i/o timeout', { wasReached: false, isOurs: isCutShort }))
    try {
      this.open()
    } catch (error) {
      this.fail(error as NodeJS.ErrnoException)
    }
    return this
  }

  cancel(): void {
    this.fail('the server is stopping')
  }

  /** Opens the socket and sends the question. What it throws fails the attempt. */
  protected abstract open(): void

  /** Our end of a connected socket, undefined before. Not asked for once it is closed. */
  protected abstract local(): string | undefined

  /** Closes the socket, if there is one yet. Called once. */
  protected abstract close(): void

  protected get isOver(): boolean {
    return this.#isOver
  }

  protected fail(reason: string | NodeJS.ErrnoException, wasReached = false): void {
    this.#fail(reason, { wasReached, isOurs: typeof reason !== 'string' && isOurs(reason) })
  }

  /** Takes octets as the reply and ends; false, and it goes on, where they are not the reply to this question (RFC 5452 §9.1). */
  protected take(octets: Uint8Array): boolean {
    if (this.#isOver) return true
    const { query, upstream, transport, why } = this.asking
    if (!this.#hasId(octets)) return false
    const isTruncated = transport === 'udp' && (u16(octets, 2) & TC) !== 0
    const origin = { kind: 'upstream', upstream: upstream.text, ...(query.trace !== undefined && { rtt: query.trace.now() - this.#begun }) }
    try {
      const message = query.received(octets, { origin, why })
      this.#end({ kind: isTruncated ? 'truncated' : 'reply', message })
    } catch (error) {
      if (!(error instanceof FormatError)) throw error
      const answers = isAnsweredBy(query, octets)
      if (answers === false) return false
      // What was cut may end in the middle of a record; it is whole over TCP.
      if (isTruncated && answers) this.#end({ kind: 'truncated', message: undefined })
      else this.fail(`malformed reply: ${error.message}`, true)
    }
    return true
  }

  #hasId(octets: Uint8Array): boolean {
    const asked = this.asking.octets
    return octets.length >= HEADER_OCTETS && octets[0] === asked[0] && octets[1] === asked[1]
  }

  #fail(reason: string | NodeJS.ErrnoException, about: Pick<ExchangeFailure, 'wasReached' | 'isOurs'>): void {
    if (this.#isOver) return
    const { transport, upstream } = this.asking
    const problem = failureText(reason, { transport, local: this.local(), remote: upstream.text })
    this.#end({ kind: 'failed', problem, ...about })
  }

  #end(outcome: ExchangeOutcome): void {
    this.#isOver = true
    this.#timer?.cancel()
    this.close()
    this.#settle(outcome)
  }
}

/** Whether octets that are malformed answer a question; undefined where their own cannot be read. Only asked of these, so that a reply is read once. */
function isAnsweredBy(query: Query, octets: Uint8Array): boolean | undefined {
  try {
    return query.isAnsweredBy(octets)
  } catch (error) {
    if (error instanceof FormatError) return undefined
    throw error
  }
}
