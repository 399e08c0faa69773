import {
  type Host,
  isPromiseLike,
  type MaybePromise,
  type Message,
  type Next,
  type Origin,
  type Query,
  type Reply,
  type ResourceRecord
} from 'skein/plugin'
import { Names } from './names.js'
import { type Counts, Numbers } from './numbers.js'
import { Prover, type Unsigned } from './prover.js'
import { isWildcardOwner, type RRset } from './rrset.js'
import { Signatures, type SignaturesParts, SigningProblem } from './signatures.js'
import { type Sections, signedSections } from './signed.js'
import type { SignedZone } from './zone.js'
import { Zones } from './zones.js'

const DS = 43
const NXNAME = 128
const NO_READS: readonly number[] = []
/** Bits of a header. */
const AD = 0x0020
const RCODE = 0xf

/** Answers what zones say of their keys, and signs what others say in them. */
export class Signer {
  readonly #names: Names
  readonly #zones: Zones
  readonly #prover: Prover
  readonly #signatures: Signatures
  readonly numbers: Numbers

  constructor(zones: readonly SignedZone[], parts: SignaturesParts, host: Host) {
    this.#names = new Names(host)
    this.#zones = new Zones(zones, this.#names)
    this.#prover = new Prover(this.#zones, this.#names)
    this.#signatures = new Signatures(parts)
    this.numbers = new Numbers(() => this.#signatures.size)
  }

  /** What other plugins offer may have changed. */
  refreshed(): void {
    this.#names.forget()
  }

  handle(query: Query, next: Next): MaybePromise<Reply> {
    if (query.within(this.#zones.apexes) === undefined) return next(query)
    const type = query.question.qtype
    if (type === NXNAME) return query.fail('FORMERR', 'invalid-type')
    const zone = this.#zones.of(query.qname, type)!
    const own = this.#own(query, zone, type)
    if (!query.dnssecOk) return own ?? next(query)
    if (this.#zones.cutFrom(zone, query.qname, type) !== undefined) return next(query)
    if (zone.denial === 'nsec' && isWildcardOwner(query.qname)) return query.fail('REFUSED', 'wildcard-owner')
    return this.#settled(query, () => this.#answered(query, zone, own, next))
  }

  /** Signs the reply of a layer in front of this one, which has no proof in it. */
  sign(query: Query, reply: Message): MaybePromise<Reply> {
    const type = query.question.qtype
    const zone = query.dnssecOk && reply.rcode === 'NOERROR' ? this.#zones.of(query.qname, type) : undefined
    if (zone === undefined || this.#zones.cutFrom(zone, query.qname, type) !== undefined) return reply
    if (isWildcardOwner(query.qname)) return query.fail('REFUSED', 'wildcard-owner')
    const { answer, authority, additional } = reply
    return this.#settled(query, () =>
      this.#signed(query, zone, reply, { rcode: 'NOERROR', sections: { answer, authority, additional }, reads: NO_READS })
    )
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

  /** What is known here: of the keys, and of those of zones below. */
  #own(query: Query, zone: SignedZone, type: number): Message | undefined {
    const { qname } = query
    const answer = qname === zone.apex ? zone.own.get(type) : type === DS ? this.#dsAt(zone, qname) : undefined
    return answer && query.reply({ aa: true, ra: true, answer, why: 'apex', origin: { kind: 'static' } })
  }

  #dsAt(zone: SignedZone, name: string): readonly ResourceRecord[] | undefined {
    return this.#names.cutsIn(zone).find(({ apex, ds }) => apex === name && ds.length > 0)?.ds
  }

  #answered(query: Query, zone: SignedZone, own: Message | undefined, next: Next): MaybePromise<Reply> {
    const reply = own ?? next(query)
    return isPromiseLike(reply) ? reply.then((late) => this.#made(query, zone, late, next)) : this.#made(query, zone, reply, next)
  }

  #made(query: Query, zone: SignedZone, reply: Reply, next: Next): MaybePromise<Reply> {
    if (typeof reply === 'symbol' || (reply.rcode !== 'NOERROR' && reply.rcode !== 'NXDOMAIN')) return reply
    const isAtCut = reply.answer.length === 0 && query.question.qtype === DS && this.#names.cutAbove(zone, query.qname) !== undefined
    const unsigned = isAtCut ? this.#prover.atCut(query, zone, next) : this.#prover.unsigned(query, zone, reply, next)
    if (unsigned === undefined) return reply
    const made = isPromiseLike(unsigned)
      ? unsigned.then((late) => this.#signed(query, zone, reply, late))
      : this.#signed(query, zone, reply, unsigned)
    // What is waited for is looked at late.
    if (isPromiseLike(made)) reply.keep()
    return made
  }

  #signed(query: Query, zone: SignedZone, reply: Message, { rcode, sections, reads, cut }: Unsigned): MaybePromise<Message> {
    const counts: Counts = this.numbers.of(query.client)
    const zoneOf = (rrset: RRset): SignedZone | undefined => this.#zones.signerOf(rrset, cut)
    const signed = signedSections(sections, zoneOf, this.#signatures, counts)
    const finish = ({ answer, authority, additional }: Sections): Message => {
      const flags = reply.flags & ~(AD | RCODE)
      const compactOk = zone.denial === 'nsec' && query.compactOk
      return reply.with({ answer, authority, additional, rcode, flags, origin: withReads(reply.origin, reads), compactOk })
    }
    return isPromiseLike(signed) ? signed.then(finish) : finish(signed)
  }
}

function withReads(origin: Origin | undefined, reads: readonly number[]): Origin | undefined {
  return reads.length === 0 ? origin : { kind: 'store', ...origin, reads: [...(origin?.reads ?? []), ...reads] }
}
