import { type Clock, FormatError, type Message, type Query } from 'skein/plugin'
import type { Server } from './server-address.js'

/** One question put to one server. */
export interface Asking {
  readonly query: Query
  readonly server: Server
  readonly id: number
  /** The message that asks. */
  readonly octets: Uint8Array
  readonly timeoutMs: number
}

/** What became of it. `truncated`: it did not fit its transport; what there is of it, unread. */
export type Outcome =
  | { readonly kind: 'reply'; readonly message: Message }
  | { readonly kind: 'truncated'; readonly octets: Uint8Array }
  | { readonly kind: 'failed'; readonly problem: string }

/** An exchange under way. */
export interface Exchange {
  readonly outcome: Promise<Outcome>
  cancel(): void
}

/** What the owner of a socket says of it. */
export interface Ends {
  /** Undoes what was opened; called once, when it is over. */
  readonly closes: (close: () => void) => void
  /** Takes octets as the reply and ends; false, and it goes on, where they are none to this question. */
  readonly take: (octets: Uint8Array) => boolean
  readonly fail: (problem: string | NodeJS.ErrnoException) => void
}

const TC = 0x02
const HEADER_OCTETS = 12

/** One attempt on one socket. It ends once: with a reply, a failure, or its time; then socket and timer are gone. */
export function exchange(asking: Asking, clock: Clock, transport: 'udp' | 'tcp', open: (ends: Ends) => void): Exchange {
  const { server, timeoutMs } = asking
  let close: (() => void) | undefined
  let settle: ((outcome: Outcome) => void) | undefined
  const outcome = new Promise<Outcome>((resolve) => {
    settle = resolve
  })
  const end = (result: Outcome): void => {
    if (settle === undefined) return
    const told = settle
    settle = undefined
    timer.cancel()
    close?.()
    told(result)
  }
  const fail = (problem: string | NodeJS.ErrnoException): void => {
    const text = typeof problem === 'string' ? problem : (problem.code ?? problem.message)
    end({ kind: 'failed', problem: `${transport} ${server.text}: ${text}` })
  }
  const timer = clock.after(timeoutMs, () => fail('i/o timeout'))
  const take = (octets: Uint8Array): boolean => {
    const result = outcomeOf(asking, octets, transport)
    if (result === 'malformed') fail('malformed reply')
    else if (result !== undefined) end(result)
    return result !== undefined
  }
  try {
    open({ take, fail, closes: (undo) => (close = undo) })
  } catch (error) {
    fail(error as Error)
  }
  return { outcome, cancel: () => fail('the server is stopping') }
}

/** Undefined where the octets are no reply to this question (RFC 5452 §9.1). */
function outcomeOf({ query, id, server }: Asking, octets: Uint8Array, transport: 'udp' | 'tcp'): Outcome | 'malformed' | undefined {
  if (octets.length < HEADER_OCTETS || ((octets[0]! << 8) | octets[1]!) !== id) return undefined
  try {
    if (!query.isAnsweredBy(octets)) return undefined
    // What was cut may end in the middle of a record; it is whole over TCP.
    if (transport === 'udp' && (octets[2]! & TC) !== 0) return { kind: 'truncated', octets }
    return { kind: 'reply', message: readReply(query, octets, server) }
  } catch (error) {
    if (error instanceof FormatError) return 'malformed'
    throw error
  }
}

/** The reply in these octets, with the reasons that the server gives (RFC 8914). Throws FormatError. */
export function readReply(query: Query, octets: Uint8Array, server: Server): Message {
  return query.received(octets, { origin: { kind: 'upstream', upstream: server.text }, why: 'stub' })
}
