/** What the chain behind is asked for where nobody tells it: the questions are ours, on behalf of a query. */
import { andThen, type KnownName, type MaybePromise, type Next, type Query, type Reply, type ResourceRecord, sameName } from 'skein/plugin'
import { ANY_TYPES } from './denial.js'
import { SigningProblem } from './signatures.js'
import type { SignedZone } from './zone.js'

/** The SOA of a zone as a negative answer has it. Throws, or rejects with, a SigningProblem where nobody tells it. */
export function soaOf(query: Query, zone: SignedZone, next: Next): MaybePromise<ResourceRecord> {
  return andThen(next(query.with({ qname: zone.apex, qtype: 'SOA' })), (reply) => {
    const found = typeof reply === 'symbol' ? undefined : [...reply.answer, ...reply.authority].find((record) => isSoaOf(record, zone))
    if (found === undefined) throw new SigningProblem(`nobody tells the SOA record of ${zone.apex}`)
    const { owner, type, rdata } = found
    return { owner, type, ttl: negativeTtl(found), rdata } as ResourceRecord
  })
}

/** Whether a record is the SOA of a zone. */
export function isSoaOf({ type, owner }: ResourceRecord, { apex }: SignedZone): boolean {
  return type === 'SOA' && sameName(owner, apex)
}

/** How long a negative answer holds, in seconds (RFC 2308 §5, RFC 9077 §3). */
export function negativeTtl({ ttl, rdata }: ResourceRecord): number {
  const { minimum } = rdata as { readonly minimum?: number }
  return minimum === undefined ? ttl : Math.min(ttl, minimum)
}

/** Whether a name exists. */
export function asksFor(query: Query, name: string, next: Next): MaybePromise<KnownName> {
  return andThen(next(query.with({ qname: name, qtype: 'A' })), (reply) => {
    const { rcode, origin } = answered(reply, `whether ${name} exists`)
    return { types: rcode === 'NXDOMAIN' ? undefined : ANY_TYPES, reads: origin?.reads ?? [] }
  })
}

/** Whether the zone is cut at a name. */
export function asksForCut(query: Query, name: string, next: Next): MaybePromise<boolean> {
  return andThen(next(query.with({ qname: name, qtype: 'NS' })), (reply) => {
    const { answer, authority } = answered(reply, `whether ${name} is a zone`)
    return [...answer, ...authority].some(({ type, owner }) => type === 'NS' && sameName(owner, name))
  })
}

function answered(reply: Reply, what: string): Exclude<Reply, symbol> {
  if (typeof reply === 'symbol' || (reply.rcode !== 'NOERROR' && reply.rcode !== 'NXDOMAIN'))
    throw new SigningProblem(`nobody tells ${what}`)
  return reply
}
