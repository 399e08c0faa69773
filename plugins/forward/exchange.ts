import { type Clock, FormatError, type Message, type Query } from 'skein/plugin'
import { failureText, isOurs } from './failure-text.js'
import type { Upstream } from './upstream-address.js'

/** One question put to one upstream. */
export interface Asking {
  readonly query: Query
  readonly upstream: Upstream
  readonly id: number
  /** The message that asks. */
  readonly octets: Uint8Array
  readonly timeoutMs: number
  /** The question had less than half of an attempt's time left: silence tells nothing of the upstream. */
  readonly isCutShort: boolean
}

/** What became of it. */
export type Outcome =
  | { readonly kind: 'reply'; readonly message: Message }
  /** The reply did not fit its transport: what there is of it, unread. */
  | { readonly kind: 'truncated'; readonly octets: Uint8Array }
  | Failure

/** An upstream gave nothing to hand on. */
export interface Failure {
  readonly kind: 'failed'
  /** Says which upstream, and what, in the words that Go's resolvers use: operators search for them. */
  readonly problem: string
  /** Whether something came from it at all. */
  readonly wasReached: boolean
  /** Whether it tells nothing of the upstream: there was no socket here, or no time. */
  readonly isOurs: boolean
}

const HEADER_OCTETS = 12
const TC = 0x0200

/** One attempt on one socket. It ends once: with a reply, a failure, or its time; then socket and timer are gone. */
export abstract class Exchange {
  readonly asking: Asking
  readonly #clock: Clock
  #settle: ((outcome: Outcome) => void) | undefined
  #isOver = false
  #timer: { cancel(): void } | undefined

  /** Opens nothing yet. */
  constructor(asking: Asking, clock: Clock) {
    this.asking = asking
    this.#clock = clock
  }

  /** Asks. Called once. */
  run(): Promise<Outcome> {
    const outcome = new Promise<Outcome>((resolve) => {
      this.#settle = resolve
    })
    const { timeoutMs, isCutShort } = this.asking
    this.#timer = this.#clock.after(timeoutMs, () => this.#fail('i/o timeout', { wasReached: false, isOurs: isCutShort }))
    try {
      this.open()
    } catch (error) {
      this.fail(error as NodeJS.ErrnoException)
    }
    return outcome
  }

  /** `udp` or `tcp`, for messages. */
  protected abstract readonly transport: 'udp' | 'tcp'

  /** Opens the socket and sends the question. What it throws fails the attempt. */
  protected abstract open(): void

  /** Our end of a connected socket, undefined before. Not asked for once it is closed. */
  protected abstract local(): string | undefined

  /** Closes the socket, if there is one yet. Called once. */
  protected abstract close(): void

  get isOver(): boolean {
    return this.#isOver
  }

  /** Ends it at once, since nobody waits any more. */
  cancel(): void {
    this.fail('the server is stopping')
  }

  protected fail(reason: string | NodeJS.ErrnoException, wasReached = false): void {
    this.#fail(reason, { wasReached, isOurs: typeof reason !== 'string' && isOurs(reason) })
  }

  /** Takes octets as the reply and ends; false, and it goes on, where they are not the reply to this question. */
  protected take(octets: Uint8Array): boolean {
    if (this.#isOver) return true
    const { query, id, upstream } = this.asking
    if (!carries(octets, id)) return false
    try {
      // What was cut may end in the middle of a record; it is whole over TCP.
      if (this.transport !== 'udp' || ((octets[2]! << 8) & TC) === 0)
        this.#end({ kind: 'reply', message: readReply(query, octets, upstream) })
      else if (query.isAnsweredBy(octets)) this.#end({ kind: 'truncated', octets })
      else return false
    } catch (error) {
      if (!(error instanceof FormatError)) throw error
      if (isOfAnother(query, octets)) return false
      this.fail(`malformed reply: ${error.message}`, true)
    }
    return true
  }

  #fail(reason: string | NodeJS.ErrnoException, about: Pick<Failure, 'wasReached' | 'isOurs'>): void {
    if (this.#isOver) return
    const problem = failureText(reason, { transport: this.transport, local: this.local(), remote: this.asking.upstream.text })
    this.#end({ kind: 'failed', problem, ...about })
  }

  #end(outcome: Outcome): void {
    this.#isOver = true
    this.#timer?.cancel()
    this.close()
    this.#settle?.(outcome)
  }
}

function carries(octets: Uint8Array, id: number): boolean {
  return octets.length >= HEADER_OCTETS && ((octets[0]! << 8) | octets[1]!) === id
}

/** Whether octets that were no proper reply are none to this question at all. Only asked for these, so that a reply is read once. */
function isOfAnother(query: Query, octets: Uint8Array): boolean {
  try {
    return !query.isAnsweredBy(octets)
  } catch (error) {
    if (error instanceof FormatError) return false
    throw error
  }
}

/** The reply in these octets, with the reasons that the upstream gives (RFC 8914). Throws FormatError. */
export function readReply(query: Query, octets: Uint8Array, upstream: Upstream): Message {
  return query.received(octets, { origin: { kind: 'upstream', upstream: upstream.text }, why: 'forwarded' })
}
