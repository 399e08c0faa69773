/**
 * A reply as a cache keeps it: one block of octets from which it is sent again without being read. A block is
 *
 * | offset | what |
 * | --- | --- |
 * | 0 | octets of the message |
 * | 2 | octets of the EDNS options |
 * | 4 | how many TTLs |
 * | 6 | how many numbers the table of address sets has |
 * | 8 | rcode |
 * | 10 | 1 where the client is told that its CO flag was understood |
 * | 11 | 1 where a name in rdata points into the question |
 * | 12 | the message without OPT, its ID 0 and its question in lower case; the options; where each TTL stands; the sets |
 *
 * and a set is how many addresses it has, how many octets each has, and where each stands. All numbers but the two at 10 have 16 bits.
 */
import { addressSets, type ShuffleSource } from './address-sets.js'
import { type ExtendedError, extendedErrorsIn, Message, type Origin } from './message.js'
import { FormatError, HEADER_OCTETS, RecordError, skipName } from './name.js'
import { Question } from './question.js'
import { copyOctets } from './rdata.js'
import { readSections, type Sections, u16 } from './read.js'
import { errorOptions, reasonsOf } from './reasons.js'
import { type ResourceRecord, readTtl } from './record.js'
import { type Rcode, rcodeName, rcodeNumber } from './registry.js'
import { Writer } from './writer.js'

const PREFIX = 12
const MESSAGE_OCTETS = 65535

const writer = new Writer()
const block = new Uint8Array(PREFIX + 4 * MESSAGE_OCTETS)
const message = block.subarray(PREFIX, PREFIX + MESSAGE_OCTETS)

/** The block of a reply to this question, for as long as nothing else is packed; undefined where it cannot be sent to anybody. */
export function pack(question: Question, reply: Message): Uint8Array | undefined {
  try {
    return packed(question, reply)
  } catch (error) {
    if (error instanceof RecordError || error instanceof FormatError) return undefined
    throw error
  }
}

function packed(question: Question, reply: Message): Uint8Array | undefined {
  const { answer, authority } = reply
  const additional = reply.additional.length === 0 ? reply.additional : reply.additional.filter(isOfAll)
  const rcode = rcodeNumber(reply.rcode)
  writer.begin(message, MESSAGE_OCTETS, 0, reply.flags)
  writer.question(question.canonicalOctets)
  const starts: number[] = []
  if (!writeAll(answer, starts) || !writeAll(authority, starts) || !writeAll(additional, starts)) return undefined
  writer.count(6, answer.length)
  writer.count(8, authority.length)
  writer.count(10, additional.length)
  put16(0, writer.at)
  put16(8, rcode)
  block[10] = reply.compactOk ? 1 : 0
  block[11] = writer.pointsToQuestion ? 1 : 0
  let at = putOptions(PREFIX + writer.at, reply)
  if (at === 0) return undefined
  put16(4, starts.length)
  // The fields of a record stand behind its owner: type, class, TTL, the length of its rdata.
  const fields = starts.map((start) => skipName(message, start))
  for (const field of fields) at = put16(at, field + 4)
  const before = at
  at = putSets(at, answer, fields, 0)
  at = putSets(at, additional, fields, answer.length + authority.length)
  put16(6, (at - before) / 2)
  return block.subarray(0, at)
}

/** Whether a record is for whoever asks: signatures of the whole message are not. */
function isOfAll({ type }: ResourceRecord): boolean {
  return type !== 'TSIG' && type !== 'SIG'
}

/** Writes records, and notes where each starts; false where they do not fit. */
function writeAll(records: readonly ResourceRecord[], starts: number[]): boolean {
  for (const record of records) {
    starts.push(writer.at)
    if (!writer.record(record)) return false
  }
  return true
}

/** Gives where they end; 0 where they are more than any OPT record has, as text that was not UTF-8 grows where it is read. */
function putOptions(offset: number, reply: Message): number {
  const options = errorOptions(reply.rcode === 'NOERROR' ? reply.extendedErrors : reasonsOf(reply))
  if (options.reduce((sum, [, payload]) => sum + 4 + payload.length, 0) > MESSAGE_OCTETS) return 0
  let at = offset
  for (const [code, payload] of options) {
    at = put16(put16(at, code), payload.length)
    block.set(payload, at)
    at += payload.length
  }
  put16(2, at - offset)
  return at
}

function putSets(offset: number, records: readonly ResourceRecord[], fields: readonly number[], first: number): number {
  let at = offset
  for (const places of addressSets(records)) {
    const sizes = places.map((place) => u16(message, fields[first + place]! + 8))
    // Of class ANY or NONE they may be empty: what cannot change places stays where it is.
    if (sizes.some((size) => size !== sizes[0])) continue
    at = put16(at, places.length)
    at = put16(at, sizes[0]!)
    for (const place of places) at = put16(at, fields[first + place]! + 10)
  }
  return at
}

function put16(at: number, value: number): number {
  block[at] = value >> 8
  block[at + 1] = value & 0xff
  return at + 2
}

/** Why replies out of a cache are so; one for all of them. */
export interface About {
  readonly why: string | undefined
}

/** Who has the octets of packed replies, and knows where each comes from. */
export interface PackedSource {
  /** Of the reply that was given with this number. */
  originOf(number: number): Origin
}

/**
 * A reply in a block at an offset of octets that somebody else owns: to be sent, or kept, before these change. What is asked of its
 * sections reads it all, once.
 */
export class PackedReply extends Message {
  #block: Uint8Array
  #at: number
  readonly #asked: Question
  readonly #seconds: number
  #source: PackedSource | undefined
  readonly #number: number
  #origin: Origin | undefined
  #random: ShuffleSource | undefined
  #read: Sections | undefined
  #errors: readonly ExtendedError[] | undefined

  /** `asked` is the question that it was found for, `seconds` how old it is. `source` tells its origin by `number`. */
  constructor(octets: Uint8Array, at: number, asked: Question, seconds: number, about: About, source: PackedSource, number: number) {
    super(undefined, u16(octets, at + PREFIX + 2), about)
    this.#block = octets
    this.#at = at
    this.#asked = asked
    this.#seconds = seconds
    this.#source = source
    this.#number = number
  }

  /** How many octets the message has, without OPT. */
  get length(): number {
    return u16(this.#block, this.#at)
  }

  /** How many octets its EDNS options have. */
  get optionOctets(): number {
    return u16(this.#block, this.#at + 2)
  }

  /**
   * Whether its octets answer this question, but for the spelling of the name. To another one, which a layer may have been asked that
   * changed it, they do not: names in them point into their own.
   */
  isFor(question: Question): boolean {
    return question === this.#asked && (question.isLower || this.#block[this.#at + 11] === 0)
  }

  /** Whether its rcode needs no OPT record. */
  get hasPlainRcode(): boolean {
    return u16(this.#block, this.#at + 8) <= 0xf
  }

  /** Puts the message, as old as it is, to the start of `to`, with the question as it was spelled; ID and flags are left to the caller. */
  copyTo(to: Uint8Array, question: Question): void {
    const from = this.#block
    const start = this.#at + PREFIX
    const length = this.length
    for (let i = 4; i < HEADER_OCTETS; i++) to[i] = from[start + i]!
    question.copyTo(to)
    // A view and a call cost more than so many octets.
    if (length - question.end > 200) to.set(from.subarray(start + question.end, start + length), question.end)
    else for (let i = question.end; i < length; i++) to[i] = from[start + i]!
    let at = start + length + this.optionOctets
    const ttls = u16(from, this.#at + 4)
    if (this.#seconds > 0) for (let i = 0; i < ttls; i++) age(to, u16(from, at + 2 * i), this.#seconds)
    at += 2 * ttls
    if (this.#random !== undefined) shuffleSets(to, from, at, at + 2 * u16(from, this.#at + 6), this.#random)
  }

  /** Puts its EDNS options to `at` of `to`; gives where they end. */
  copyOptionsTo(to: Uint8Array, at: number): number {
    const start = this.#at + PREFIX + this.length
    const { optionOctets } = this
    for (let i = 0; i < optionOctets; i++) to[at + i] = this.#block[start + i]!
    return at + optionOctets
  }

  override get compactOk(): boolean {
    return this.#block[this.#at + 10] === 1
  }

  override get rcode(): Rcode {
    return rcodeName(u16(this.#block, this.#at + 8))
  }

  override get origin(): Origin | undefined {
    this.#origin ??= this.#source?.originOf(this.#number)
    return this.#origin
  }

  override get extendedErrors(): readonly ExtendedError[] {
    const start = this.#at + PREFIX + this.length
    this.#errors ??= extendedErrorsIn(this.#block, start, start + this.optionOctets)
    return this.#errors
  }

  override get answer(): readonly ResourceRecord[] {
    return this.#sections.answer as unknown as readonly ResourceRecord[]
  }

  override get hasAnswer(): boolean {
    return u16(this.#block, this.#at + PREFIX + 6) > 0
  }

  override get authority(): readonly ResourceRecord[] {
    return this.#sections.authority as unknown as readonly ResourceRecord[]
  }

  override get additional(): readonly ResourceRecord[] {
    return this.#sections.additional as unknown as readonly ResourceRecord[]
  }

  get #sections(): Sections {
    if (this.#read === undefined) {
      const start = this.#at + PREFIX
      const octets = copyOctets(this.#block, start, start + this.length)
      const question = Question.read({ octets })
      this.copyTo(octets, question)
      this.#read = readSections({ octets }, question.end)
    }
    return this.#read
  }

  override keep(): Message {
    if (this.#source === undefined) return this
    const { origin } = this
    const end = PREFIX + this.length + this.optionOctets + 2 * (u16(this.#block, this.#at + 4) + u16(this.#block, this.#at + 6))
    this.#block = copyOctets(this.#block, this.#at, this.#at + end)
    this.#at = 0
    this.#origin = origin
    this.#source = undefined
    return this
  }

  override withAddressesShuffled(random: ShuffleSource): Message {
    if (u16(this.#block, this.#at + 6) === 0) return this
    if (this.#read !== undefined || this.#source === undefined) return super.withAddressesShuffled(random)
    this.#random = random
    return this
  }
}

function age(to: Uint8Array, at: number, seconds: number): void {
  const ttl = Math.max(0, readTtl(to, at) - seconds)
  to[at] = ttl >>> 24
  to[at + 1] = (ttl >>> 16) & 0xff
  to[at + 2] = (ttl >>> 8) & 0xff
  to[at + 3] = ttl & 0xff
}

/** Puts the addresses of each set of the table at [at, end) of `table` into random order. */
function shuffleSets(to: Uint8Array, table: Uint8Array, start: number, end: number, random: ShuffleSource): void {
  for (let at = start; at < end; ) {
    const count = u16(table, at)
    const size = u16(table, at + 2)
    for (let last = count - 1; last > 0; last--) {
      swap(to, u16(table, at + 4 + 2 * last), u16(table, at + 4 + 2 * random.below(last + 1)), size)
    }
    at += 4 + 2 * count
  }
}

function swap(octets: Uint8Array, one: number, other: number, size: number): void {
  for (let i = 0; i < size; i++) {
    const octet = octets[one + i]!
    octets[one + i] = octets[other + i]!
    octets[other + i] = octet
  }
}
