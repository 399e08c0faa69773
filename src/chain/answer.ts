import { Message } from '../message/message.js'
import { type Clock, drop, isPromiseLike, type MaybePromise, type Reply, type Sent } from '../plugin.js'
import type { Query } from '../query.js'
import { finish, type Outgoing, sentRcode } from '../reply/finish.js'
import { type Chain, layerOf } from './compose.js'

/** Told of whatever a chain throws where none of its layers tells of errors, and of what its observers throw. Throws nothing. */
export type Report = (error: unknown, query: Query) => void

/** What all queries of a server have in common. */
export interface Serving {
  /** The operator's cap on UDP replies, in octets. */
  readonly udpSize: number
  readonly clock: Clock
  readonly report: Report
  /** Queries of clients that have come and are not answered yet. */
  inFlight: number
  /** Called when there are none any more. */
  idle?: (() => void) | undefined
}

/** A plugin returned something that is no reply. */
export class ReplyError extends Error {
  override readonly name = 'ReplyError'
  readonly code = 'SKEIN_REPLY'
}

/** A look-up of the server for itself is not sent anywhere. */
const NOWHERE = { flags: 0, octets: 0 }

/**
 * Runs the chain and sends one reply, or nothing for a drop; then tells those who observe. Synchronous when the chain is.
 * Whatever a plugin does wrong becomes SERVFAIL in this file, and nowhere else.
 */
export function answer(chain: Chain, query: Query, out: Outgoing, serving: Serving): void {
  const start = query.since ?? serving.clock.monotonic()
  serving.inFlight++
  let reply: MaybePromise<Reply>
  try {
    reply = chain.run(query)
  } catch (error) {
    return failed(chain, query, out, serving, start, error)
  }
  if (isPromiseLike(reply)) {
    query.keep()
    // A plugin may return any object with `then`; as a promise it settles once, and later.
    Promise.resolve(reply).then(
      (late) => deliver(chain, query, out, serving, start, late),
      (error: unknown) => failed(chain, query, out, serving, start, error)
    )
  } else deliver(chain, query, out, serving, start, reply)
}

function deliver(chain: Chain, query: Query, out: Outgoing, serving: Serving, start: number, reply: Reply): void {
  if (reply === drop) {
    out.drop()
    ended(serving)
    return tell(chain, query, serving, start, reply, NOWHERE)
  }
  let written: { flags: number; octets: number }
  try {
    written = finish(query, checkReply(reply), out, serving.udpSize)
  } catch (error) {
    return failed(chain, query, out, serving, start, error)
  }
  ended(serving)
  tell(chain, query, serving, start, reply, written)
}

function failed(chain: Chain, query: Query, out: Outgoing, serving: Serving, start: number, error: unknown): void {
  const reply = fault(query)
  const written = finish(query, reply, out, serving.udpSize)
  ended(serving)
  tell(chain, query, serving, start, reply, written, error ?? String(error))
}

function ended(serving: Serving): void {
  if (--serving.inFlight === 0) serving.idle?.()
}

/**
 * Runs the chain for a look-up of the server for itself. Its faults are SERVFAIL as well, so that whoever asked goes on, and its
 * observers are told.
 */
export function lookUp(chain: Chain, query: Query, serving: Serving): MaybePromise<Reply> {
  const start = chain.observers.length > 0 ? serving.clock.monotonic() : 0
  const wrong = (error: unknown): Reply => {
    const reply = fault(query)
    tell(chain, query, serving, start, reply, { flags: reply.flags, octets: 0 }, error ?? String(error))
    return reply
  }
  const told = (reply: Reply): Reply => {
    const kept = reply === drop ? drop : checkReply(reply).keep()
    tell(chain, query, serving, start, kept, kept === drop ? NOWHERE : { flags: kept.flags, octets: 0 })
    return kept
  }
  try {
    const reply = chain.run(query)
    return isPromiseLike(reply) ? Promise.resolve(reply).then(told).catch(wrong) : told(reply)
  } catch (error) {
    return wrong(error)
  }
}

/** The server's own answer where a plugin has failed. */
function fault(query: Query): Message {
  return query.fail('SERVFAIL', 'fault')
}

function tell(
  chain: Chain,
  query: Query,
  { clock, report }: Serving,
  start: number,
  reply: Reply,
  { flags, octets }: { flags: number; octets: number },
  error?: unknown
): void {
  if (error !== undefined && !chain.tellsErrors) report(error, query)
  if (chain.observers.length === 0) return
  if (chain.observersKeep === true) {
    query.keep()
    if (typeof reply !== 'symbol') reply.keep()
  }
  const rcode = typeof reply === 'symbol' ? 'NOERROR' : query.depth > 0 ? reply.rcode : sentRcode(query, reply)
  const sent: Sent = {
    reply,
    error,
    rcode,
    flags,
    octets,
    milliseconds: clock.monotonic() - start,
    layer: chain.marks === true ? layerOf(query) : undefined
  }
  for (const layer of chain.observers) {
    try {
      layer.observe!(query, sent)
    } catch (fault) {
      report(fault, query)
    }
  }
}

/** A plugin in plain JavaScript may return anything; one in TypeScript cannot. */
function checkReply(reply: unknown): Message {
  if (!(reply instanceof Message)) throw new ReplyError('a plugin returned no reply: did it forget to return next(query)?')
  return reply
}
