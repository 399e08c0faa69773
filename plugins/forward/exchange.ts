import { type Clock, FormatError, type Message, type Query } from 'skein/plugin'
import { failureText } from './failure-text.js'
import type { Upstream } from './upstream-address.js'

/** One question put to one upstream. */
export interface Asking {
  readonly query: Query
  readonly upstream: Upstream
  readonly id: number
  /** The message that asks. */
  readonly octets: Uint8Array
  readonly timeoutMs: number
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
}

const HEADER_OCTETS = 12
const TC = 0x0200

/** One attempt on one socket. It ends once: with a reply, a failure, or its time; then socket and timer are gone. */
export abstract class Exchange {
  readonly asking: Asking
  readonly outcome: Promise<Outcome>
  #settle!: (outcome: Outcome) => void
  #isOver = false
  readonly #timer: { cancel(): void }

  constructor(asking: Asking, clock: Clock) {
    this.asking = asking
    this.outcome = new Promise((resolve) => {
      this.#settle = resolve
    })
    this.#timer = clock.after(asking.timeoutMs, () => this.fail('i/o timeout'))
  }

  /** `udp` or `tcp`, for messages. */
  protected abstract readonly transport: 'udp' | 'tcp'

  /** Our end of a connected socket, undefined before. Not asked for once it is closed. */
  protected abstract local(): string | undefined

  /** Closes the socket. Called once. */
  protected abstract close(): void

  get isOver(): boolean {
    return this.#isOver
  }

  /** Ends it at once, since nobody waits any more. */
  cancel(): void {
    this.fail('the server is stopping')
  }

  protected fail(reason: string | NodeJS.ErrnoException, wasReached = false): void {
    if (this.#isOver) return
    const problem = failureText(reason, { transport: this.transport, local: this.local(), remote: this.asking.upstream.text })
    this.#end({ kind: 'failed', problem, wasReached })
  }

  /** Takes octets as the reply and ends; false, and it goes on, where they are not the reply to this question. */
  protected take(octets: Uint8Array): boolean {
    if (this.#isOver) return true
    const { query, id, upstream } = this.asking
    try {
      if (!carries(octets, id) || !query.isAnsweredBy(octets)) return false
      // What was cut may end in the middle of a record; it is whole over TCP.
      if (this.transport === 'udp' && ((octets[2]! << 8) & TC) !== 0) this.#end({ kind: 'truncated', octets })
      else this.#end({ kind: 'reply', message: readReply(query, octets, upstream) })
    } catch (error) {
      if (!(error instanceof FormatError)) throw error
      this.fail(`malformed reply: ${error.message}`, true)
    }
    return true
  }

  #end(outcome: Outcome): void {
    this.#isOver = true
    this.#timer.cancel()
    this.close()
    this.#settle(outcome)
  }
}

function carries(octets: Uint8Array, id: number): boolean {
  return octets.length >= HEADER_OCTETS && ((octets[0]! << 8) | octets[1]!) === id
}

const EXTENDED_ERROR = 15

/** The reply in these octets, with the reasons that the upstream gives (RFC 8914). Throws FormatError. */
export function readReply(query: Query, octets: Uint8Array, upstream: Upstream): Message {
  const about = { origin: { kind: 'upstream', upstream: upstream.text }, why: 'forwarded' }
  const message = query.received(octets, about)
  const payloads = (message.edns?.options ?? []).filter(([code, payload]) => code === EXTENDED_ERROR && payload.length >= 2)
  if (payloads.length === 0) return message
  const extendedErrors = payloads.map(([, payload]) => ({
    code: (payload[0]! << 8) | payload[1]!,
    text: Buffer.from(payload.subarray(2)).toString('utf8')
  }))
  return query.received(octets, { ...about, extendedErrors })
}
