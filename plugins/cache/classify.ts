import { endOfChain, isWithin, type Message, type Query, type ResourceRecord } from 'skein/plugin'

/**
 * What a reply is to a cache:
 * - `success`: records of the type that was asked for;
 * - `denial`: no such name, or no such record, with the SOA that says for how long (RFC 2308 §5);
 * - `failure`: SERVFAIL;
 * - `fleeting`: an answer that holds for this question alone, and says that what was known before is over;
 * - `nothing`: no answer at all, which leaves everything as it is.
 */
export type Kind = 'success' | 'denial' | 'failure' | 'fleeting' | 'nothing'

/** The bit of a header that says that the message was cut. */
const TC = 0x0200
/** Why there is a failure that says nothing of the next time: the server goes, or a key cannot sign. */
const PASSING: ReadonlySet<string | undefined> = new Set(['stopping', 'signing-failed'])

/** What a reply to this query is. */
export function classify(query: Query, reply: Message): Kind {
  // Nobody was asked, or half an answer came: nothing is known (RFC 2181 §9).
  if (reply.origin?.kind === 'none' || reply.why === 'not-served' || reply.flags & TC) return 'nothing'
  switch (reply.rcode) {
    case 'NOERROR': {
      const end = endOfChain(query, reply.answer)
      if (end === undefined) return 'fleeting'
      return end.isAnswered ? 'success' : denial(query, reply, end.name)
    }
    case 'NXDOMAIN': {
      const end = endOfChain(query, reply.answer)
      return end === undefined ? 'fleeting' : denial(query, reply, end.name)
    }
    case 'SERVFAIL':
      return PASSING.has(reply.why) ? 'nothing' : 'failure'
    default:
      return 'nothing'
  }
}

function denial(query: Query, reply: Message, name: string): Kind {
  const known = soaOf(reply)
  if (known === undefined) return 'fleeting'
  const owner = known.owner.toLowerCase()
  return isWithin(name, owner) || isWithin(query.qname, owner) ? 'denial' : 'fleeting'
}

/** The SOA in the authority section. */
export function soaOf({ authority }: Message): ResourceRecord | undefined {
  return authority.find(({ type }) => type === 'SOA')
}
