/** Walks a message once: checks its frame, finds its records and its OPT record. */
import { FormatError, HEADER_OCTETS, nameEnd, readName, skipName } from './name.js'
import { checkRdata } from './rdata.js'
import { WireRecord } from './record.js'
import { TYPE_OPT } from './registry.js'
import type { EdnsOption } from './writer.js'

/** The question of a message. */
export interface Question {
  /** As asked, case kept. */
  readonly name: string
  /** Canonical: lower case. */
  readonly qname: string
  readonly qtype: number
  readonly qclass: number
  /** Offset of the octet after it. */
  readonly end: number
}

/** What an OPT record says (RFC 6891 §6.1). */
export interface Edns {
  /** The UDP size that the sender can take, as advertised. */
  readonly size: number
  readonly version: number
  readonly dnssecOk: boolean
  /** The upper eight bits of the rcode. */
  readonly extendedRcode: number
  /** Views of the message. */
  readonly options: readonly EdnsOption[]
}

/** How often a whole message has been read into records, so that a test can show that a path never does it. */
export const decodes = { count: 0 }

/** The 16-bit number at an offset. */
export function u16(octets: Uint8Array, at: number): number {
  return (octets[at]! << 8) | octets[at + 1]!
}

/** Reads the one question behind the header. Throws FormatError. */
export function readQuestion(octets: Uint8Array): Question {
  const name = readName(octets, HEADER_OCTETS)
  const at = nameEnd
  if (at + 4 > octets.length) throw new FormatError('the question runs past the end of the message')
  return { name, qname: name.toLowerCase(), qtype: u16(octets, at), qclass: u16(octets, at + 2), end: at + 4 }
}

/**
 * The OPT record of a message whose records from `at` on are `counts` (answer, authority, additional); checks the frame of
 * every record and that nothing stands behind the last. Rdata is not looked into. Throws FormatError, and OptError where that
 * is behind an OPT record or inside of it.
 */
export function readFrame(octets: Uint8Array, at: number, answers: number, authorities: number, additionals: number): Edns | undefined {
  let edns: Edns | undefined
  const total = answers + authorities + additionals
  let next = at
  try {
    for (let i = 0; i < total; i++) {
      const start = next
      const fixed = skipName(octets, start)
      if (fixed + 10 > octets.length) throw new FormatError('a record runs past the end of the message')
      next = fixed + 10 + u16(octets, fixed + 8)
      if (next > octets.length) throw new FormatError('rdata runs past the end of the message')
      if (u16(octets, fixed) !== TYPE_OPT) continue
      // RFC 6891 §6.1.1: one, in the additional section, owned by the root.
      if (i < answers + authorities || edns !== undefined || octets[start] !== 0) throw new FormatError('an OPT record where none may be')
      edns = readOpt(octets, fixed, next)
    }
    if (next !== octets.length) throw new FormatError('octets behind the last record')
  } catch (error) {
    throw edns !== undefined && error instanceof FormatError ? new OptError(error.message) : error
  }
  return edns
}

/** A malformed message with an OPT record: its own error, since the reply must carry one as well (RFC 6891 §6.1.1). */
export class OptError extends FormatError {}

function readOpt(octets: Uint8Array, fixed: number, end: number): Edns {
  const options: EdnsOption[] = []
  let at = fixed + 10
  while (at < end) {
    if (at + 4 > end || at + 4 + u16(octets, at + 2) > end) throw new OptError('an EDNS option runs past its record')
    const length = u16(octets, at + 2)
    options.push([u16(octets, at), octets.subarray(at + 4, at + 4 + length)])
    at += 4 + length
  }
  return {
    size: u16(octets, fixed + 2),
    extendedRcode: octets[fixed + 4]!,
    version: octets[fixed + 5]!,
    dnssecOk: (octets[fixed + 6]! & 0x80) !== 0,
    options
  }
}

/** The records of a message, section by section, each checked to the last octet of its rdata; OPT apart. */
export interface Sections {
  readonly answer: readonly WireRecord[]
  readonly authority: readonly WireRecord[]
  readonly additional: readonly WireRecord[]
  readonly edns: Edns | undefined
}

/** Reads all records behind the question. Throws FormatError. */
export function readSections(octets: Uint8Array, at: number): Sections {
  decodes.count++
  const counts = [u16(octets, 6), u16(octets, 8), u16(octets, 10)] as const
  const edns = readFrame(octets, at, ...counts)
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
  return { answer: section(counts[0]), authority: section(counts[1]), additional: section(counts[2]), edns }
}
