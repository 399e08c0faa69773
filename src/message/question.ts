/** The question of a message, read in place: names become strings when somebody asks for them. */
import { randomInt } from 'node:crypto'
import { FormatError, HEADER_OCTETS, nameOctets, readName } from './name.js'

/** Who has the octets of a message. They may come to stand elsewhere, and say the same there. */
export interface Source {
  /** They begin with the message. */
  readonly octets: Uint8Array
  /** Has them stay as they are as long as somebody refers to the source. */
  keep?(): void
  /** Whether somebody has called {@link Source.keep}; undefined of octets that were never another's. */
  readonly isKept?: boolean
}

const MAX_NAME = 255
const MAX_LABEL = 63
/** Each octet as it is compared (RFC 4343 §3). The length of a label is never a letter. */
const FOLDED = Uint8Array.from({ length: 256 }, (_, octet) => (octet >= 0x41 && octet <= 0x5a ? octet + 0x20 : octet))
/** FNV-1a with a start that nobody can foresee, so that nobody can choose names that meet in one place. */
const SEED = randomInt(2 ** 32 - 1) | 1
const PRIME = 0x01000193

/** A name, type and class that are asked for. */
export class Question {
  readonly qtype: number
  readonly qclass: number
  /** Offset of the octet after it in the message. */
  readonly end: number
  /** Of the name in canonical form (RFC 4034 §6.2); equal names have equal ones, in this process. */
  readonly hash: number
  /** Whether the name is spelled without capitals. */
  readonly isLower: boolean
  readonly #source: Source
  #name: string | undefined
  #qname: string | undefined

  private constructor(source: Source, qtype: number, qclass: number, end: number, hash: number, isLower: boolean, name?: string) {
    this.#source = source
    this.qtype = qtype
    this.qclass = qclass
    this.end = end
    this.hash = hash
    this.isLower = isLower
    this.#name = name
  }

  /** Reads the one question behind the header of a message of so many octets. Throws FormatError. */
  static read(source: Source, length = source.octets.length): Question {
    const { octets } = source
    let hash = SEED
    let capitals = 0
    let at = HEADER_OCTETS
    for (;;) {
      if (at >= length) throw new FormatError('a name runs past the end of the message')
      const label = octets[at]!
      // A pointer could point to nothing but itself.
      if (label > MAX_LABEL)
        throw new FormatError(label >= 0xc0 ? 'a compression pointer that does not point back' : 'an unknown type of label')
      const stop = at + label
      if (stop - HEADER_OCTETS >= MAX_NAME) throw new FormatError('a name longer than 255 octets')
      if (stop >= length) throw new FormatError('a label runs past the end of the message')
      for (; at <= stop; at++) {
        const octet = octets[at]!
        const folded = FOLDED[octet]!
        capitals |= octet ^ folded
        hash = Math.imul(hash ^ folded, PRIME)
      }
      if (label === 0) break
    }
    if (at + 4 > length) throw new FormatError('the question runs past the end of the message')
    const qtype = (octets[at]! << 8) | octets[at + 1]!
    const qclass = (octets[at + 2]! << 8) | octets[at + 3]!
    return new Question(source, qtype, qclass, at + 4, hash, capitals === 0)
  }

  /** One that is made here, of a name in presentation format. Throws RecordError where that is none. */
  static of(name: string, qtype: number, qclass: number): Question {
    const wire = nameOctets(name)
    const octets = new Uint8Array(HEADER_OCTETS + wire.length + 4)
    octets.set(wire, HEADER_OCTETS)
    const end = octets.length
    octets.set([qtype >> 8, qtype & 0xff, qclass >> 8, qclass & 0xff], end - 4)
    const question = Question.read({ octets })
    question.#name = name
    return question
  }

  /** As asked, case kept. */
  get name(): string {
    this.#name ??= readName(this.#source.octets, HEADER_OCTETS)
    return this.#name
  }

  /** Canonical: lower case. */
  get qname(): string {
    this.#qname ??= this.isLower ? this.name : this.name.toLowerCase()
    return this.#qname
  }

  /** How many octets the name has. */
  get nameLength(): number {
    return this.end - 4 - HEADER_OCTETS
  }

  /** The question's octets as they were spelled: for as long as the source has them. */
  get octets(): Uint8Array {
    return this.#source.octets.subarray(HEADER_OCTETS, this.end)
  }

  /** The question's octets with its name in canonical form, copied. */
  get canonicalOctets(): Uint8Array {
    // Not `slice`, which of a Buffer makes a view.
    const octets = new Uint8Array(this.octets)
    this.copyName(octets, 0)
    return octets
  }

  /** Puts the question's octets, as they were spelled, behind a header. */
  copyTo(to: Uint8Array): void {
    const { octets } = this.#source
    for (let at = HEADER_OCTETS; at < this.end; at++) to[at] = octets[at]!
  }

  /** Puts the name's canonical octets into `to` at `offset`. */
  copyName(to: Uint8Array, offset: number): void {
    const { octets } = this.#source
    const length = this.nameLength
    for (let i = 0; i < length; i++) to[offset + i] = FOLDED[octets[HEADER_OCTETS + i]!]!
  }

  /** Whether the name's canonical octets stand in `there` at `offset`; the caller has seen that they are as many. */
  isNameAt(there: Uint8Array, offset: number): boolean {
    return this.#isAt(0, there, offset)
  }

  /** Whether a label of the name starts `from` octets into it; the root's counts. */
  hasLabelAt(from: number): boolean {
    const { octets } = this.#source
    let at = HEADER_OCTETS
    while (at < HEADER_OCTETS + from) at += octets[at]! + 1
    return at === HEADER_OCTETS + from
  }

  /** The hash of the name that begins with the label `from` octets into this one. */
  hashFrom(from: number): number {
    return hashName(this.#source.octets, HEADER_OCTETS + from)
  }

  /** Whether the name is that of these canonical octets, or below it. */
  isBelow(apex: Uint8Array): boolean {
    const from = this.nameLength - apex.length
    return from >= 0 && this.#isAt(from, apex, 0) && this.hasLabelAt(from)
  }

  #isAt(from: number, there: Uint8Array, offset: number): boolean {
    const { octets } = this.#source
    const length = this.nameLength - from
    const start = HEADER_OCTETS + from
    for (let i = 0; i < length; i++) if (there[offset + i] !== FOLDED[octets[start + i]!]!) return false
    return true
  }
}

/** The hash that a {@link Question} for the name at `offset` of these octets has, which must be whole. */
export function hashName(octets: Uint8Array, offset: number): number {
  let hash = SEED
  let at = offset
  for (let label = octets[at]!; ; label = octets[at]!) {
    const stop = at + label
    for (; at <= stop; at++) hash = Math.imul(hash ^ FOLDED[octets[at]!]!, PRIME)
    if (label === 0) return hash
  }
}
