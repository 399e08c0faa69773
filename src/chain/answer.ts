import { Message } from '../message/message.js'
import { drop, isPromiseLike, type MaybePromise, type Next, type Reply } from '../plugin.js'
import type { Query } from '../query.js'
import { finish, type Outgoing } from '../reply/finish.js'

/** Told of whatever a chain throws. */
export type Report = (error: unknown, query: Query) => void

/** A plugin returned something that is no reply. */
export class ReplyError extends Error {
  override readonly name = 'ReplyError'
  readonly code = 'SKEIN_REPLY'
}

/**
 * Runs the chain and sends one reply, or nothing for a drop. Synchronous when the chain is. Whatever a plugin does wrong
 * becomes SERVFAIL here, the one place, and a report.
 */
export function answer(chain: Next, query: Query, out: Outgoing, udpSize: number, report: Report): void {
  let reply: MaybePromise<Reply>
  try {
    reply = chain(query)
  } catch (error) {
    return failed(error, query, out, udpSize, report)
  }
  if (isPromiseLike(reply)) {
    // A plugin may return any object with `then`; as a promise it settles once, and later.
    Promise.resolve(reply).then(
      (late) => deliver(late, query, out, udpSize, report),
      (error: unknown) => failed(error, query, out, udpSize, report)
    )
  } else deliver(reply, query, out, udpSize, report)
}

/** Runs the chain for a look-up of the server for itself: its faults are SERVFAIL and a report as well, so that whoever asked goes on. */
export function lookUp(chain: Next, query: Query, report: Report): MaybePromise<Reply> {
  const fault = (error: unknown): Reply => {
    report(error, query)
    return query.fail('SERVFAIL', 'fault')
  }
  const checked = (reply: Reply): Reply => (reply === drop ? reply : checkReply(reply))
  try {
    const reply = chain(query)
    return isPromiseLike(reply) ? Promise.resolve(reply).then(checked).catch(fault) : checked(reply)
  } catch (error) {
    return fault(error)
  }
}

function deliver(reply: Reply, query: Query, out: Outgoing, udpSize: number, report: Report): void {
  if (reply === drop) return out.drop()
  try {
    finish(query, checkReply(reply), out, udpSize)
  } catch (error) {
    failed(error, query, out, udpSize, report)
  }
}

function failed(error: unknown, query: Query, out: Outgoing, udpSize: number, report: Report): void {
  try {
    report(error, query)
  } finally {
    finish(query, query.fail('SERVFAIL', 'fault'), out, udpSize)
  }
}

/** A plugin in plain JavaScript may return anything; one in TypeScript cannot. */
function checkReply(reply: unknown): Message {
  if (!(reply instanceof Message)) throw new ReplyError('a plugin returned no reply: did it forget to return next(query)?')
  return reply
}
