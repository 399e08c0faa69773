/** Writes a message into a buffer that somebody else owns, with names compressed (RFC 1035 §4.1.4). */
import { copyName, FormatError, HEADER_OCTETS, nameOctets, RecordError, writeName } from './name.js'
import type { Question } from './question.js'
import { fieldEnd, mayBeEmpty, shapeOf } from './rdata.js'
import { classNumberOf, putRdata, RDATA_ROOM, type ResourceRecord, rdataOctets, typeNumberOf, WireRecord } from './record.js'
import { TYPE_OPT } from './registry.js'

const SLOTS = 2048
/** So many neighbours of its slot a name may stand in; where all are taken it is not compressed. */
const TRIES = 8
/** A pointer has 14 bits. */
const MAX_POINTER = 0x3fff
const MAX_TTL = 0x7fffffff

/** One name without compression; of each of its labels the start, and the slot of the name that begins there. One at a time. */
const plain = new Uint8Array(330)
const starts = new Uint8Array(128)
const slots = new Uint16Array(128)

/** The rdata of one record, names written whole. */
const made = new Uint8Array(RDATA_ROOM)

/** An EDNS option: its code and payload (RFC 6891 §6.1.2). */
export type EdnsOption = readonly [code: number, payload: Uint8Array]

/**
 * A message under construction in `octets` from its start, never past `limit`.
 * A record that does not fit, or cannot be written and throws, is not written at all: nothing has changed.
 * One writer serves one message after another: {@link Writer.begin}.
 */
export class Writer {
  octets: Uint8Array = new Uint8Array(0)
  limit = 0
  at = 0
  /** Whether a name in rdata points into the question, and is spelled as that is. */
  pointsToQuestion = false
  #questionEnd = 0
  /** The name that is asked for, where that is known as text, and whether its labels are remembered yet: few answers need them. */
  #qname: string | undefined
  #isQuestionKnown = true
  /** The lowest offset that the name found last is read from. */
  #lowest = 0
  #names = new Uint16Array(SLOTS)
  #epochs = new Uint32Array(SLOTS)
  #epoch = 0

  /** Starts a message: a header with these 16 bits of flags and all counts 0. */
  begin(octets: Uint8Array, limit: number, id: number, flags: number): void {
    this.octets = octets
    this.limit = Math.min(limit, octets.length)
    this.#epoch = (this.#epoch + 1) >>> 0
    this.#put16(0, id)
    this.#put16(2, flags)
    for (let at = 4; at < HEADER_OCTETS; at++) octets[at] = 0
    this.at = HEADER_OCTETS
    this.pointsToQuestion = false
    this.#questionEnd = 0
    this.#qname = undefined
    this.#isQuestionKnown = true
  }

  /** Sets one of the four counts: 4 question, 6 answer, 8 authority, 10 additional. */
  count(offset: 4 | 6 | 8 | 10, count: number): void {
    this.#put16(offset, count)
  }

  /** The whole header's flags again, e.g. to set TC. */
  flags(flags: number): void {
    this.#put16(2, flags)
  }

  /** Copies the octets of a question section of one question, as it was asked. */
  question(octets: Uint8Array): void {
    this.octets.set(octets, this.at)
    this.#hasQuestion(octets.length)
  }

  /** The same of a question that was read, behind the header. `qname` is what records that it owns say as their owner. */
  asked(question: Question, qname: string): void {
    question.copyTo(this.octets)
    this.#hasQuestion(question.end - HEADER_OCTETS)
    if (qname !== '.') this.#qname = qname
  }

  #hasQuestion(length: number): void {
    this.at += length
    this.#questionEnd = this.at
    this.#isQuestionKnown = false
    this.count(4, 1)
  }

  /** Writes a record; false where it does not fit. `ttl` replaces the record's own. */
  record(record: ResourceRecord, ttl = record.ttl): boolean {
    if (!Number.isInteger(ttl) || ttl < 0 || ttl > MAX_TTL) throw new RecordError(`the TTL of ${record.owner} ${record.type} is ${ttl}`)
    const before = this.at
    const read = record as unknown
    let isWritten = false
    try {
      isWritten = read instanceof WireRecord ? this.#copied(read, ttl) : this.#made(record, ttl)
    } finally {
      if (!isWritten) this.at = before
    }
    return isWritten
  }

  /** Writes the records from index `from` to before `to`, all of them or, where they do not fit, none. */
  records(records: readonly ResourceRecord[], from: number, to: number): boolean {
    const before = this.at
    for (let i = from; i < to; i++) {
      if (this.record(records[i]!)) continue
      this.at = before
      return false
    }
    return true
  }

  /** Writes an OPT record; false where it does not fit. `flags` has the DO bit at 0x8000, `rcode` the upper 8 bits (RFC 6891 §6.1.3). */
  opt(size: number, rcode: number, flags: number, options: readonly EdnsOption[]): boolean {
    const length = options.reduce((sum, [, payload]) => sum + 4 + payload.length, 0)
    if (this.at + 11 + length > this.limit) return false
    this.octets[this.at] = 0
    this.#put16(this.at + 1, TYPE_OPT)
    this.#put16(this.at + 3, size)
    this.#put16(this.at + 5, (rcode >> 4) << 8)
    this.#put16(this.at + 7, flags)
    this.#put16(this.at + 9, length)
    this.at += 11
    for (const [code, payload] of options) {
      this.#put16(this.at, code)
      this.#put16(this.at + 2, payload.length)
      this.octets.set(payload, this.at + 4)
      this.at += 4 + payload.length
    }
    return true
  }

  #made(record: ResourceRecord, ttl: number): boolean {
    const length = putRdata(record, made)
    const rdata = length === undefined ? rdataOctets(record) : made
    const type = typeNumberOf(record)
    const klass = classNumberOf(record)
    if (!this.#owner(record.owner) || !this.#fixed(type, klass, ttl)) return false
    try {
      return this.#rdata(rdata, type, klass, 0, length ?? rdata.length)
    } catch (error) {
      if (!(error instanceof FormatError)) throw error
      throw new RecordError(`the rdata of ${record.owner} ${record.type} is malformed: ${error.message}`, { cause: error })
    }
  }

  #owner(owner: string): boolean {
    if (owner === this.#qname) return this.#pointer(HEADER_OCTETS)
    writeName(owner, plain, 0)
    return this.#name(true, true)
  }

  #pointer(target: number): boolean {
    if (this.at + 2 > this.limit) return false
    this.#put16(this.at, 0xc000 | target)
    this.at += 2
    return true
  }

  #copied(record: WireRecord, ttl: number): boolean {
    const { octets, typeNumber, classNumber } = record
    copyName(octets, record.start, plain)
    if (!this.#name(true, true) || !this.#fixed(typeNumber, classNumber, ttl)) return false
    return this.#rdata(octets, typeNumber, classNumber, record.rdataStart, record.rdataEnd)
  }

  #fixed(type: number, klass: number, ttl: number): boolean {
    if (this.at + 10 > this.limit) return false
    this.#put16(this.at, type)
    this.#put16(this.at + 2, klass)
    this.#put16(this.at + 4, ttl >>> 16)
    this.#put16(this.at + 6, ttl & 0xffff)
    this.at += 10
    return true
  }

  /** Writes rdata from [start, end) of `from`, whose names may be compressed there, and its length before it. */
  #rdata(from: Uint8Array, type: number, klass: number, start: number, end: number): boolean {
    const shape = start === end && mayBeEmpty(klass) ? undefined : shapeOf(type)
    const lengthAt = this.at - 2
    if (shape === undefined) {
      if (!this.#copy(from, start, end)) return false
    } else {
      let at = start
      for (const field of shape) {
        const after = fieldEnd(from, field, at, end)
        if (field === 'name' || field === 'plain') {
          copyName(from, at, plain)
          if (!this.#name(field === 'name', false)) return false
        } else if (!this.#copy(from, at, after)) return false
        at = after
      }
      if (at !== end) throw new FormatError(`the rdata of type ${type} does not end where its record does`)
    }
    this.#put16(lengthAt, this.at - lengthAt - 2)
    return true
  }

  #copy(from: Uint8Array, start: number, end: number): boolean {
    const length = end - start
    if (this.at + length > this.limit) return false
    for (let i = 0; i < length; i++) this.octets[this.at + i] = from[start + i]!
    this.at += length
    return true
  }

  /**
   * Writes the name in `plain`. An owner may point to a name in another case, which keeps the asker's spelling of it;
   * a name in rdata keeps its own (RFC 4343 §4.1).
   */
  #name(compress: boolean, anyCase: boolean): boolean {
    if (!this.#isQuestionKnown) this.#rememberQuestion()
    const count = scanLabels(plain, 0)
    let label = 0
    let pointer = -1
    for (; label < count; label++) {
      pointer = this.#find(label, anyCase)
      if (pointer >= 0) break
    }
    const shortened = compress && pointer >= 0
    const kept = shortened ? starts[label]! : starts[count]! + 1
    if (this.at + kept + (shortened ? 2 : 0) > this.limit) return false
    if (shortened && !anyCase && this.#lowest < this.#questionEnd) this.pointsToQuestion = true
    const from = this.at
    for (let i = 0; i < kept; i++) this.octets[from + i] = plain[i]!
    this.at += kept
    if (shortened) {
      this.#put16(this.at, 0xc000 | pointer)
      this.at += 2
    }
    this.#remember(from, label)
    return true
  }

  #rememberQuestion(): void {
    this.#isQuestionKnown = true
    this.#remember(HEADER_OCTETS, scanLabels(this.octets, HEADER_OCTETS))
  }

  /** Remembers where the names now stand that begin with one of the first `count` labels of the name that was scanned. */
  #remember(from: number, count: number): void {
    for (let label = 0; label < count; label++) {
      const offset = from + starts[label]!
      if (offset > MAX_POINTER) return
      let slot = slots[label]!
      for (let tries = 0; tries < TRIES; tries++, slot = (slot + 1) & (SLOTS - 1)) {
        if (this.#epochs[slot] === this.#epoch) continue
        this.#epochs[slot] = this.#epoch
        this.#names[slot] = offset
        break
      }
    }
  }

  /** Where the name that begins with this label of `plain` stands already, or -1. */
  #find(label: number, anyCase: boolean): number {
    let slot = slots[label]!
    for (let tries = 0; tries < TRIES; tries++, slot = (slot + 1) & (SLOTS - 1)) {
      if (this.#epochs[slot] !== this.#epoch) return -1
      const offset = this.#names[slot]!
      if (this.#standsAt(offset, starts[label]!, anyCase)) return offset
    }
    return -1
  }

  /**
   * Whether the name from `from` on in `plain` stands at `offset`. What was remembered there may have been taken back and
   * overwritten by anything: only what is there now counts, and a pointer in it must be one that readers take.
   */
  #standsAt(offset: number, from: number, anyCase: boolean): boolean {
    let before = offset
    this.#lowest = offset
    let at = offset
    let i = from
    while (at < this.at) {
      const length = this.octets[at]!
      if (length >= 0xc0) {
        const target = ((length & 0x3f) << 8) | this.octets[at + 1]!
        if (at + 1 >= this.at || target >= before || target < HEADER_OCTETS) return false
        before = target
        this.#lowest = target
        at = target
        continue
      }
      if (length !== plain[i]) return false
      if (length === 0) return true
      const stop = at + length
      while (at++ < stop) if (!sameOctet(this.octets[at]!, plain[++i]!, anyCase)) return false
      i++
    }
    return false
  }

  #put16(at: number, value: number): void {
    this.octets[at] = value >> 8
    this.octets[at + 1] = value & 0xff
  }
}

function sameOctet(a: number, b: number, anyCase: boolean): boolean {
  return a === b || (anyCase && folded(a) === folded(b))
}

function folded(octet: number): number {
  return octet >= 0x41 && octet <= 0x5a ? octet + 0x20 : octet
}

/** Fills `starts` and `slots` for the labels of the name at `offset`; gives their number. The root's start stands behind them. */
function scanLabels(octets: Uint8Array, offset: number): number {
  let count = 0
  let at = offset
  for (; octets[at] !== 0; at += octets[at]! + 1) starts[count++] = at - offset
  starts[count] = at - offset
  // FNV-1a from the right, label by label, so that one pass gives the hash of every ending of the name.
  let hash = 0x811c9dc5
  for (let label = count - 1; label >= 0; label--) {
    const stop = offset + starts[label + 1]!
    for (let i = offset + starts[label]!; i < stop; i++) hash = Math.imul(hash ^ folded(octets[i]!), 0x01000193)
    slots[label] = (hash ^ (hash >>> 15)) & (SLOTS - 1)
  }
  return count
}

/** A question as it stands in a message: its name, uncompressed, and the numbers of its type and class. */
export function questionOctets(name: string, qtype: number, qclass: number): Uint8Array {
  return Uint8Array.of(...nameOctets(name), qtype >> 8, qtype & 0xff, qclass >> 8, qclass & 0xff)
}
