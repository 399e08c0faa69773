import type { Message, Query, ResourceRecord } from 'skein/plugin'

/** The types that only those read who validate. */
const PROOFS: ReadonlySet<string> = new Set(['RRSIG', 'NSEC', 'NSEC3'])

/**
 * The reply without proofs for an asker without DO, but for the type that was asked for (RFC 4035 §3.2.1): some upstreams send them
 * to everybody. The reply itself where there are none.
 */
export function withoutProofs(query: Query, reply: Message): Message {
  if (query.dnssecOk) return reply
  const { qtype } = query
  const isFit = ({ type }: ResourceRecord): boolean => type === qtype || !PROOFS.has(type)
  const { answer, authority, additional } = reply
  if (answer.every(isFit) && authority.every(isFit) && additional.every(isFit)) return reply
  return reply.with({
    answer: answer.filter(isFit),
    authority: authority.filter(isFit),
    additional: additional.filter(isFit),
    // Without its octets nothing else tells that somebody else has said it.
    ...(reply.octets !== undefined && { origin: { ...reply.origin, kind: 'upstream' } })
  })
}
