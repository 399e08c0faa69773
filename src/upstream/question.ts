import { AD, CD, RD } from '../message/message.js'
import type { Query } from '../query.js'

/** What passes every network unfragmented (DNS flag day 2020), and what every reader can take (RFC 6891 §6.2.3). */
const MOST_UDP = 1232
const LEAST_UDP = 512

/** Equal for queries that an upstream gives the same reply: the spelling of the name, the client and the size advertised make none. */
export function questionKey({ qname, question, flags, dnssecOk }: Query): string {
  return `${qname} ${question.qtype} ${question.qclass} ${flags & (RD | AD | CD)} ${dnssecOk}`
}

/** The EDNS to ask an upstream with on behalf of a query: its DO, its size within 512 and 1232 octets, 1232 where it has none. */
export function upstreamEdns({ edns, dnssecOk }: Query): { size: number; dnssecOk: boolean } {
  return { size: edns === undefined ? MOST_UDP : Math.max(LEAST_UDP, Math.min(MOST_UDP, edns.size)), dnssecOk }
}
