/** What of a reply is to be signed, with the proof that it needs. */
import {
  andThen,
  endOfChain,
  isWithin,
  type MaybePromise,
  type Message,
  type Next,
  type Query,
  type ResourceRecord,
  sameName
} from 'skein/plugin'
import { asksFor, asksForCut, isSoaOf, negativeTtl, soaOf } from './ask.js'
import { compactProof, cutProof, type Denied, type Proof, whiteLies } from './denial.js'
import type { Names } from './names.js'
import { isWildcardOwner } from './rrset.js'
import { SigningProblem } from './signatures.js'
import type { Sections } from './signed.js'
import type { SignedZone } from './zone.js'
import type { Zones } from './zones.js'

const DS = 43
const NSEC = 47
/** A bit of a header. */
const AA = 0x0400
const NO_RECORDS: readonly ResourceRecord[] = []
const NO_READS: readonly number[] = []

/** A reply as it is to be signed. */
export interface Unsigned {
  readonly rcode: 'NOERROR' | 'NXDOMAIN'
  readonly sections: Sections
  /** What of the store the proof rests on besides the reply. */
  readonly reads: readonly number[]
  /** A cut that the reply tells of. */
  readonly cut?: string
}

/** Decides that, for the zones of one server block, and proves what is not there. What it throws, or rejects with, is a SigningProblem. */
export class Prover {
  readonly #zones: Zones
  readonly #names: Names

  constructor(zones: Zones, names: Names) {
    this.#zones = zones
    this.#names = names
  }

  /** Of a reply with NOERROR or NXDOMAIN to a query in a zone; undefined where it is somebody else's, and stays as it is. */
  unsigned(query: Query, zone: SignedZone, reply: Message, next: Next): MaybePromise<Unsigned> | undefined {
    const sections = this.#ownSections(reply)
    const rcode = reply.rcode as 'NOERROR' | 'NXDOMAIN'
    const isOurs = (reply.flags & AA) !== 0 || reply.origin?.kind === 'store'
    if (!isOurs) return rcode === 'NOERROR' && sections.answer.length === 0 ? this.#referral(query, zone, sections, next) : undefined
    if (isWildcardOwner(query.qname) && rcode === 'NOERROR') return this.#nothing(query, zone, next)
    const asked = query.question.qtype
    // More CNAMEs than anybody follows prove nothing.
    const { name, isAnswered } = endOfChain(query, sections.answer) ?? { name: query.qname, isAnswered: true }
    const soa = sections.authority.find(({ type }) => type === 'SOA')
    if (asked === NSEC && zone.denial === 'nsec' && !isAnswered) return this.#nsec(query, zone, rcode, next)
    if (isAnswered) return { rcode, sections, reads: NO_READS }
    // Whoever asks follows a CNAME to its end by himself.
    if (soa === undefined && sections.answer.length > 0) return { rcode, sections, reads: NO_READS }
    if (soa === undefined) return this.#nothing(query, zone, next, rcode)
    const last = this.#zones.of(name, asked)
    if (last === undefined || this.#zones.cutFrom(last, name, asked) !== undefined) return { rcode, sections, reads: NO_READS }
    if (isSoaOf(soa, last)) {
      const isThere = this.#isThere(last, name, rcode)
      return this.#denied(query, { zone: last, name, isThere, asked, ttl: negativeTtl(soa) }, sections, next)
    }
    const child = soa.owner.toLowerCase()
    if (isWithin(child, last.apex) && isWithin(name, child)) return { rcode, sections, reads: NO_READS, cut: child }
    throw new SigningProblem(`the SOA record is that of ${child}, and not of ${last.apex}: is that served as a zone of its own?`)
  }

  /** The reply at a cut to whoever asks for DS, which is not there. */
  atCut(query: Query, zone: SignedZone, next: Next): MaybePromise<Unsigned> {
    return andThen(soaOf(query, zone, next), (soa) => negative([soa, cutProof(zone, query.qname, soa.ttl)]))
  }

  /** The sections without the proofs that others have made of names that we prove by ourselves. */
  #ownSections({ answer, authority, additional }: Message): Sections {
    const isNoProof = ({ type, owner }: ResourceRecord): boolean => {
      if (type !== 'NSEC' && type !== 'NSEC3') return true
      const name = owner.toLowerCase()
      const zone = this.#zones.of(name, NSEC)
      return zone === undefined || this.#zones.cutFrom(zone, name, NSEC) !== undefined
    }
    return { answer, authority: authority.every(isNoProof) ? authority : authority.filter(isNoProof), additional }
  }

  /** A referral (RFC 4035 §3.1.4): its NS records are the child's; where there is no DS, that is proven. */
  #referral(query: Query, zone: SignedZone, sections: Sections, next: Next): MaybePromise<Unsigned> | undefined {
    const { authority } = sections
    const isBelow = ({ type, owner }: ResourceRecord): boolean =>
      type === 'NS' && isWithin(owner.toLowerCase(), zone.apex) && !sameName(owner, zone.apex)
    const cut = authority.find(isBelow)?.owner.toLowerCase()
    if (cut === undefined) return undefined
    if (authority.some(({ type, owner }) => type === 'DS' && sameName(owner, cut)))
      return { rcode: 'NOERROR', sections, reads: NO_READS, cut }
    return andThen(soaOf(query, zone, next), ({ ttl }) => ({
      rcode: 'NOERROR',
      sections: { ...sections, authority: [...authority, cutProof(zone, cut, ttl)] },
      reads: NO_READS,
      cut
    }))
  }

  /** That the name does not have what was asked for, or does not exist, where the reply has no SOA, or records that may not be signed. */
  #nothing(query: Query, zone: SignedZone, next: Next, rcode: 'NOERROR' | 'NXDOMAIN' = 'NOERROR'): MaybePromise<Unsigned> {
    const { qname: name, question } = query
    return andThen(soaOf(query, zone, next), (soa) => {
      const isThere = this.#isThere(zone, name, rcode)
      return this.#denied(query, { zone, name, isThere, asked: question.qtype, ttl: soa.ttl }, negative([soa]).sections, next)
    })
  }

  /** The NSEC record of a name, which was asked for. */
  #nsec(query: Query, zone: SignedZone, rcode: string, next: Next): MaybePromise<Unsigned> {
    const { qname: name } = query
    return andThen(soaOf(query, zone, next), ({ ttl }) => {
      const isThere = this.#isThere(zone, name, rcode)
      const { records, reads } = compactProof(this.#names, { zone, name, isThere, asked: 0, ttl })
      return { rcode: 'NOERROR', sections: { answer: records, authority: NO_RECORDS, additional: NO_RECORDS }, reads }
    })
  }

  /** An apex exists, and so does what is above a cut, whoever says what. */
  #isThere(zone: SignedZone, name: string, rcode: string): boolean {
    return rcode === 'NOERROR' || name === zone.apex || this.#names.isAboveCut(zone, name)
  }

  #denied(query: Query, denied: Denied, sections: Sections, next: Next): MaybePromise<Unsigned> {
    const { zone, isThere } = denied
    const { answer, authority, additional } = sections
    const rcode = !isThere && (zone.denial === 'nsec3' || query.compactOk) ? 'NXDOMAIN' : 'NOERROR'
    const told = ({ records, reads }: Proof): Unsigned => ({
      rcode,
      sections: { answer, authority: [...authority, ...records], additional },
      reads
    })
    return andThen(this.#proof(query, denied, next), told)
  }

  #proof(query: Query, denied: Denied, next: Next): MaybePromise<Proof> {
    const { zone, name, asked, ttl } = denied
    if (asked !== DS || name === zone.apex || this.#names.at(zone, name) !== undefined) return this.#proofOf(query, denied, next)
    return andThen(asksForCut(query, name, next), (isCut) =>
      isCut ? { records: [cutProof(zone, name, ttl)], reads: NO_READS } : this.#proofOf(query, denied, next)
    )
  }

  #proofOf(query: Query, denied: Denied, next: Next): MaybePromise<Proof> {
    if (denied.zone.denial === 'nsec') return compactProof(this.#names, denied)
    return whiteLies(this.#names, denied, (name) => asksFor(query, name, next))
  }
}

function negative(authority: readonly ResourceRecord[]): Unsigned {
  return { rcode: 'NOERROR', sections: { answer: NO_RECORDS, authority, additional: NO_RECORDS }, reads: NO_READS }
}
