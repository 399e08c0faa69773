import type { Query } from '../query.js'

/** What every client takes without asking (RFC 1035 §4.2.1). */
export const PLAIN_UDP_SIZE = 512
/** The operator's cap on UDP replies where no `bufsize` says otherwise: what passes unfragmented nearly everywhere. */
export const DEFAULT_UDP_SIZE = 1232
/** The length prefix of a stream has two octets. */
export const STREAM_SIZE = 65535

/** An answer has more octets than a message can. */
export class SizeError extends Error {
  override readonly name = 'SizeError'
  readonly code = 'SKEIN_SIZE'
}

/** How many octets a reply to this query may have: what the client takes and the operator allows. */
export function replyLimit(query: Query, udpSize: number): number {
  if (query.client.transport !== 'udp') return STREAM_SIZE
  if (query.edns === undefined) return PLAIN_UDP_SIZE
  return Math.min(Math.max(PLAIN_UDP_SIZE, query.edns.size), udpSize)
}
