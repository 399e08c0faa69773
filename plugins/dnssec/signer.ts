import {
  andThen,
  type Host,
  isPromiseLike,
  isWithin,
  type MaybePromise,
  type Message,
  type Next,
  type Origin,
  type Query,
  type Reply,
  type ResourceRecord,
  sameName,
  withTtl
} from 'skein/plugin'
import { ANY_TYPES, compactProof, cutProof, type Denied, type Proof, whiteLies } from './denial.js'
import { type Known, Names } from './names.js'
import { type Counts, Numbers } from './numbers.js'
import { isWildcardOwner, type RRset } from './rrset.js'
import { Signatures, type SignaturesParts, SigningProblem } from './signatures.js'
import { type Sections, signedSections } from './signed.js'
import type { SignedZone } from './zone.js'

const NS = 2
const DS = 43
const NSEC = 47
const NXNAME = 128
/** Bits of a header. */
const AA = 0x0400
const AD = 0x0020
/** The bits of a header that {@link Message.with} takes from the rcode. */
const RCODE = 0xf
const MOST_CNAMES = 16
const NO_RECORDS: readonly ResourceRecord[] = []
const NO_READS: readonly number[] = []

/** A reply as it is to be signed. */
interface Unsigned {
  readonly rcode: 'NOERROR' | 'NXDOMAIN'
  readonly sections: Sections
  /** What of the store the proof rests on besides the reply. */
  readonly reads?: readonly number[]
  /** A cut that the reply tells of. */
  readonly cut?: string
}

/** Answers what zones say of their keys, and signs what others say in them. */
export class Signer {
  readonly #zones: readonly SignedZone[]
  readonly #apexes: readonly string[]
  readonly #names: Names
  readonly #signatures: Signatures
  readonly numbers: Numbers

  constructor(zones: readonly SignedZone[], parts: SignaturesParts, host: Host) {
    this.#zones = zones
    this.#apexes = zones.map(({ apex }) => apex)
    this.#names = new Names(host)
    this.#signatures = new Signatures(parts)
    this.numbers = new Numbers(() => this.#signatures.size)
  }

  /** What other plugins offer may have changed. */
  refreshed(): void {
    this.#names.forget()
  }

  handle(query: Query, next: Next): MaybePromise<Reply> {
    const apex = query.within(this.#apexes)
    if (apex === undefined) return next(query)
    const type = query.question.qtype
    if (type === NXNAME) return query.fail('FORMERR', 'invalid-type')
    const zone = this.#zoneFor(query.qname, type)!
    const own = this.#own(query, zone, type)
    if (!query.dnssecOk) return own ?? next(query)
    if (zone.denial === 'nsec' && isWildcardOwner(query.qname)) return query.fail('REFUSED', 'wildcard-owner')
    return this.#settled(query, () => {
      const reply = own ?? next(query)
      return isPromiseLike(reply) ? reply.then((late) => this.#answered(query, zone, late, next)) : this.#answered(query, zone, reply, next)
    })
  }

  /** What cannot be signed is not sent at all: unsigned it would be taken for forged. */
  #settled(query: Query, make: () => MaybePromise<Reply>): MaybePromise<Reply> {
    const failed = (error: unknown): Reply => {
      if (!(error instanceof SigningProblem)) throw error
      return query.fail('SERVFAIL', 'signing-failed', { problem: error.message })
    }
    try {
      const made = make()
      return isPromiseLike(made) ? made.then(undefined, failed) : made
    } catch (error) {
      return failed(error)
    }
  }

  /** The zone that a name's records of a type are in: DS at an apex is the parent's, where that is here (RFC 4035 §3.1.4.1). */
  #zoneFor(name: string, type: number): SignedZone | undefined {
    let best: SignedZone | undefined
    let atApex: SignedZone | undefined
    for (const zone of this.#zones) {
      if (!isWithin(name, zone.apex)) continue
      if (type === DS && zone.apex === name) atApex = zone
      else if (best === undefined || zone.apex.length > best.apex.length) best = zone
    }
    return best ?? atApex
  }

  /** What is known here: of the keys, and of those of zones below. */
  #own(query: Query, zone: SignedZone, type: number): Message | undefined {
    const { qname } = query
    const answer = qname === zone.apex ? zone.own.get(type) : type === DS ? this.#dsAt(zone, qname) : undefined
    return answer && query.reply({ aa: true, ra: true, answer, why: 'apex', origin: { kind: 'static' } })
  }

  #dsAt(zone: SignedZone, name: string): readonly ResourceRecord[] | undefined {
    return this.#names.cutsIn(zone).find(({ apex, ds }) => apex === name && ds.length > 0)?.ds
  }

  #answered(query: Query, zone: SignedZone, reply: Reply, next: Next): MaybePromise<Reply> {
    if (typeof reply === 'symbol' || (reply.rcode !== 'NOERROR' && reply.rcode !== 'NXDOMAIN')) return reply
    const unsigned = this.#unsigned(query, zone, reply, next)
    if (unsigned === undefined) return reply
    const counts = this.numbers.of(query.client)
    const made = isPromiseLike(unsigned)
      ? unsigned.then((late) => this.#signed(query, zone, reply, late, counts))
      : this.#signed(query, zone, reply, unsigned, counts)
    // What is waited for is looked at late.
    if (isPromiseLike(made)) reply.keep()
    return made
  }

  #signed(query: Query, zone: SignedZone, reply: Message, unsigned: Unsigned, counts: Counts): MaybePromise<Message> {
    const { rcode, sections, reads = NO_READS, cut } = unsigned
    const zoneOf = (rrset: RRset): SignedZone | undefined => this.#zoneOf(rrset, cut)
    const signed = signedSections(sections, zoneOf, this.#signatures, counts)
    const finish = ({ answer, authority, additional }: Sections): Message => {
      const flags = reply.flags & ~(AD | RCODE)
      const compactOk = zone.denial === 'nsec' && query.compactOk
      return reply.with({ answer, authority, additional, rcode, flags, origin: withReads(reply.origin, reads), compactOk })
    }
    return isPromiseLike(signed) ? signed.then(finish) : finish(signed)
  }

  /** The zone that signs an RRset: none where it is at or below a cut, but for what the parent says of that. */
  #zoneOf({ owner, type }: RRset, cut: string | undefined): SignedZone | undefined {
    const zone = this.#zoneFor(owner, type)
    if (zone === undefined || (type === NS && owner !== zone.apex)) return undefined
    const above = cut !== undefined && isWithin(owner, cut) ? cut : this.#names.cutAbove(zone, owner)?.apex
    return above === undefined || (above === owner && (type === DS || type === NSEC)) ? zone : undefined
  }

  /** What of a reply is to be signed, with the proof that it needs; undefined where it is somebody else's. */
  #unsigned(query: Query, zone: SignedZone, reply: Message, next: Next): MaybePromise<Unsigned> | undefined {
    const { answer, authority, additional } = reply
    const rcode = reply.rcode as 'NOERROR' | 'NXDOMAIN'
    const sections = { answer, authority, additional }
    const isOurs = (reply.flags & AA) !== 0 || reply.origin?.kind === 'store'
    if (!isOurs) return answer.length === 0 && rcode === 'NOERROR' ? referral(zone, sections) : undefined
    const type = query.question.qtype
    if (isWildcardOwner(query.qname) && rcode === 'NOERROR') return this.#withoutRecords(query, zone, authority, next)
    const { name, isAnswered } = endOf(query, answer)
    const soa = authority.find((record) => record.type === 'SOA')
    const isNsec = type === NSEC && zone.denial === 'nsec'
    if (isNsec && soa === undefined) return this.#nsec(query, zone, next)
    if (isAnswered || soa === undefined) return { rcode, sections }
    const last = this.#zoneFor(name, type)
    if (last === undefined || !sameName(soa.owner, last.apex)) return { rcode, sections }
    const isThere = rcode === 'NOERROR' || this.#names.isAboveCut(last, name)
    if (isNsec) return this.#nsecAnswer(last, name, isThere, soa)
    return this.#denied(query, { zone: last, name, type: isThere ? type : undefined, ttl: negativeTtl(soa) }, sections, next)
  }

  /** The reply that something is not there, with its proof. */
  #denied(query: Query, denied: Denied, sections: Sections, next: Next): MaybePromise<Unsigned> {
    const { zone, type } = denied
    const restored = query.compactOk && zone.denial === 'nsec'
    const rcode = type === undefined && (zone.denial === 'nsec3' || restored) ? 'NXDOMAIN' : 'NOERROR'
    return andThen(this.#proof(query, denied, next), ({ records, reads }) => ({
      rcode,
      sections: { ...sections, authority: [...sections.authority, ...records] },
      reads
    }))
  }

  #proof(query: Query, denied: Denied, next: Next): MaybePromise<Proof> {
    const { zone, name, type, ttl } = denied
    if (type === DS && name !== zone.apex && this.#names.at(zone, name) === undefined) {
      return andThen(asksForCut(query, name, next), (isCut) => (isCut ? cutProof(zone, name, ttl) : this.#proofOf(query, denied, next)))
    }
    return this.#proofOf(query, denied, next)
  }

  #proofOf(query: Query, denied: Denied, next: Next): MaybePromise<Proof> {
    if (denied.zone.denial === 'nsec') return compactProof(this.#names, denied, query.question.qtype)
    return whiteLies(this.#names, denied, (name) => asksFor(query, name, next))
  }

  /** For a name that may not own signed records: there are none, whatever there is. */
  #withoutRecords(query: Query, zone: SignedZone, authority: readonly ResourceRecord[], next: Next): MaybePromise<Unsigned> {
    return andThen(soaOf(query, zone, authority, next), (soa) =>
      this.#denied(
        query,
        { zone, name: query.qname, type: query.question.qtype, ttl: soa.ttl },
        { answer: NO_RECORDS, authority: [soa], additional: NO_RECORDS },
        next
      )
    )
  }

  /** The NSEC record of a name that has an answer, such as a CNAME, in place of that. */
  #nsec(query: Query, zone: SignedZone, next: Next): MaybePromise<Unsigned> {
    return andThen(soaOf(query, zone, NO_RECORDS, next), (soa) => this.#nsecAnswer(zone, query.qname, true, soa))
  }

  #nsecAnswer(zone: SignedZone, name: string, isThere: boolean, soa: ResourceRecord): Unsigned {
    // No type is denied: none has the number 0.
    const { records, reads } = compactProof(this.#names, { zone, name, type: isThere ? 0 : undefined, ttl: negativeTtl(soa) })
    return { rcode: 'NOERROR', sections: { answer: records, authority: NO_RECORDS, additional: NO_RECORDS }, reads }
  }
}

function withReads(origin: Origin | undefined, reads: readonly number[]): Origin | undefined {
  return reads.length === 0 ? origin : { kind: 'store', ...origin, reads: [...(origin?.reads ?? []), ...reads] }
}

/** A referral (RFC 4035 §3.1.4): its NS records are the child's; where there is no DS, that is proven. */
function referral(zone: SignedZone, sections: Sections): Unsigned | undefined {
  const { authority } = sections
  const ns = authority.find(({ type, owner }) => type === 'NS' && isWithin(owner.toLowerCase(), zone.apex) && !sameName(owner, zone.apex))
  if (ns === undefined) return undefined
  const cut = ns.owner.toLowerCase()
  const hasDs = authority.some(({ type, owner }) => type === 'DS' && sameName(owner, cut))
  const proof = hasDs ? NO_RECORDS : cutProof(zone, cut, ns.ttl).records
  return { rcode: 'NOERROR', sections: { ...sections, authority: [...authority, ...proof] }, cut }
}

/** Where the CNAMEs of an answer lead, and whether there are records of the type that was asked for. */
function endOf({ qname, qtype }: Query, answer: readonly ResourceRecord[]): { name: string; isAnswered: boolean } {
  // Mostly it is there right away.
  const [first] = answer
  if (first !== undefined && first.type === qtype && sameName(first.owner, qname)) return { name: qname, isAnswered: true }
  let name = qname
  for (let cnames = 0; cnames <= MOST_CNAMES; cnames++) {
    const here = answer.filter(({ owner }) => sameName(owner, name))
    if (here.some(({ type }) => type === qtype)) return { name, isAnswered: true }
    const alias = here.find(({ type }) => type === 'CNAME')
    if (alias === undefined || typeof alias.rdata !== 'string') return { name, isAnswered: false }
    name = alias.rdata.toLowerCase()
  }
  return { name, isAnswered: true }
}

/** How long a negative answer holds (RFC 2308 §5, RFC 9077 §3). */
function negativeTtl({ ttl, rdata }: ResourceRecord): number {
  const minimum = (rdata as { readonly minimum?: number }).minimum
  return minimum === undefined ? ttl : Math.min(ttl, minimum)
}

/** The SOA for a negative answer: the one that is there, or else what the chain says at the apex. */
function soaOf(query: Query, zone: SignedZone, authority: readonly ResourceRecord[], next: Next): MaybePromise<ResourceRecord> {
  const there = authority.find(({ type }) => type === 'SOA')
  if (there !== undefined) return there
  return andThen(next(query.with({ qname: zone.apex, qtype: 'SOA' })), (reply) => {
    const soa = typeof reply === 'symbol' ? undefined : reply.answer.find(({ type }) => type === 'SOA')
    if (soa === undefined) throw new SigningProblem(`nobody tells the SOA record of ${zone.apex}`)
    const { owner, type, ttl, rdata } = withTtl(soa, negativeTtl(soa))
    return { owner, type, ttl, rdata } as ResourceRecord
  })
}

/** Whether the chain knows a name that nobody tells of. */
function asksFor(query: Query, name: string, next: Next): MaybePromise<Known> {
  return andThen(next(query.with({ qname: name, qtype: 'A' })), (reply) => {
    if (typeof reply === 'symbol' || (reply.rcode !== 'NOERROR' && reply.rcode !== 'NXDOMAIN'))
      throw new SigningProblem(`nobody tells whether ${name} exists`)
    return { types: reply.rcode === 'NXDOMAIN' ? undefined : ANY_TYPES, reads: reply.origin?.reads ?? [] }
  })
}

/** Whether the chain has a delegation at a name. */
function asksForCut(query: Query, name: string, next: Next): MaybePromise<boolean> {
  return andThen(next(query.with({ qname: name, qtype: 'NS' })), (reply) => {
    if (typeof reply === 'symbol') return false
    return [...reply.answer, ...reply.authority].some(({ type, owner }) => type === 'NS' && sameName(owner, name))
  })
}
