/** Walks a message once: checks its frame, finds its records and its OPT record. */
import { FormatError, skipName } from './name.js'
import type { Source } from './question.js'
import { checkRdata, copyOctets } from './rdata.js'
import { WireRecord } from './record.js'
import { TYPE_OPT } from './registry.js'
import type { EdnsOption } from './writer.js'

/** What an OPT record says (RFC 6891 §6.1). */
export class Edns {
  /** The UDP size that the sender can take, as advertised. */
  readonly size: number
  readonly version: number
  readonly dnssecOk: boolean
  /** The CO flag (RFC 9824 §5.1), which means something beside DO alone. */
  readonly compactOk: boolean
  /** The upper eight bits of the rcode. */
  readonly extendedRcode: number
  readonly #source: Source
  readonly #start: number
  readonly #end: number
  #options: readonly EdnsOption[] | undefined

  private constructor(source: Source, fixed: number, end: number) {
    const { octets } = source
    this.size = u16(octets, fixed + 2)
    this.extendedRcode = octets[fixed + 4]!
    this.version = octets[fixed + 5]!
    this.dnssecOk = (octets[fixed + 6]! & 0x80) !== 0
    this.compactOk = (octets[fixed + 6]! & 0xc0) === 0xc0
    this.#source = source
    this.#start = fixed + 10
    this.#end = end
  }

  /** That of the OPT record whose fields behind the owner are at `fixed`, and which ends before `end`. Throws OptError. */
  static read(source: Source, fixed: number, end: number): Edns {
    const { octets } = source
    for (let at = fixed + 10; at < end; at += 4 + u16(octets, at + 2)) {
      if (at + 4 > end || at + 4 + u16(octets, at + 2) > end) throw new OptError('an EDNS option runs past its record')
    }
    return new Edns(source, fixed, end)
  }

  /** One without options, as we ask others. */
  static of(size: number, dnssecOk: boolean): Edns {
    const octets = Uint8Array.of(0, 0, size >> 8, size & 0xff, 0, 0, dnssecOk ? 0x80 : 0, 0, 0, 0)
    return new Edns({ octets }, 0, octets.length)
  }

  /** The options, copied. */
  get options(): readonly EdnsOption[] {
    this.#options ??= this.#read()
    return this.#options
  }

  /** Whether there is an option of this code. */
  has(code: number): boolean {
    const { octets } = this.#source
    for (let at = this.#start; at < this.#end; at += 4 + u16(octets, at + 2)) if (u16(octets, at) === code) return true
    return false
  }

  #read(): EdnsOption[] {
    const { octets } = this.#source
    const options: EdnsOption[] = []
    for (let at = this.#start; at < this.#end; at += 4 + u16(octets, at + 2)) {
      options.push([u16(octets, at), copyOctets(octets, at + 4, at + 4 + u16(octets, at + 2))])
    }
    return options
  }
}

/** How often a whole message has been read into records, so that a test can show that a path never does it. */
export const decodes = { count: 0 }

/** The 16-bit number at an offset. */
export function u16(octets: Uint8Array, at: number): number {
  return (octets[at]! << 8) | octets[at + 1]!
}

/**
 * The OPT record of a message of `length` octets whose records from `at` on are those that its header counts; checks the frame of
 * every record and that nothing stands behind the last. Rdata is not looked into. Throws FormatError, and OptError where that
 * is behind an OPT record or inside of it.
 */
export function readFrame(source: Source, length: number, at: number): Edns | undefined {
  const { octets } = source
  const before = u16(octets, 6) + u16(octets, 8)
  let edns: Edns | undefined
  const total = before + u16(octets, 10)
  let next = at
  try {
    for (let i = 0; i < total; i++) {
      const start = next
      const fixed = skipName(octets, start)
      if (fixed + 10 > length) throw new FormatError('a record runs past the end of the message')
      next = fixed + 10 + u16(octets, fixed + 8)
      if (next > length) throw new FormatError('rdata runs past the end of the message')
      if (u16(octets, fixed) !== TYPE_OPT) continue
      // RFC 6891 §6.1.1: one, in the additional section, owned by the root.
      if (i < before || edns !== undefined || octets[start] !== 0) throw new FormatError('an OPT record where none may be')
      edns = Edns.read(source, fixed, next)
    }
    if (next !== length) throw new FormatError('octets behind the last record')
  } catch (error) {
    throw edns !== undefined && error instanceof FormatError ? new OptError(error.message) : error
  }
  return edns
}

/** A malformed message with an OPT record: its own error, since the reply must carry one as well (RFC 6891 §6.1.1). */
export class OptError extends FormatError {}

/** The records of a message, section by section, each checked to the last octet of its rdata; OPT apart. */
export interface Sections {
  readonly answer: readonly WireRecord[]
  readonly authority: readonly WireRecord[]
  readonly additional: readonly WireRecord[]
  readonly edns: Edns | undefined
}

/** Reads all records behind the question. Throws FormatError. */
export function readSections(source: Source, at: number): Sections {
  decodes.count++
  const { octets } = source
  const edns = readFrame(source, octets.length, at)
  let next = at
  const section = (count: number): WireRecord[] => {
    const records: WireRecord[] = []
    for (let i = 0; i < count; i++) {
      const record = new WireRecord(octets, next, skipName(octets, next))
      next = record.rdataEnd
      if (record.typeNumber === TYPE_OPT) continue
      checkRdata(octets, record.typeNumber, record.classNumber, record.rdataStart, record.rdataEnd)
      records.push(record)
    }
    return records
  }
  return { answer: section(u16(octets, 6)), authority: section(u16(octets, 8)), additional: section(u16(octets, 10)), edns }
}
