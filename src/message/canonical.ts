/** The canonical form of records, which signatures are made of (RFC 4034 §6). */
import { copyOctets, fieldEnd, plainRdata, shapeOf } from './rdata.js'
import { type ResourceRecord, rdataOctets, typeNumberOf, WireRecord } from './record.js'

/** The types whose names are in lower case there (RFC 4034 §6.2, without NSEC by RFC 6840 §5.1). */
const LOWERED: ReadonlySet<number> = new Set([2, 3, 4, 5, 6, 7, 8, 9, 12, 14, 15, 17, 18, 21, 24, 26, 30, 33, 35, 36, 39, 46])

/** The rdata of a record in canonical form. Throws RecordError where it cannot be on the wire, FormatError where octets are no such rdata. */
export function canonicalRdata(record: ResourceRecord): Uint8Array {
  const read: unknown = record
  // One that was read, or written once, has its octets.
  const octets = read instanceof WireRecord ? plainRdata(read.octets, read.typeNumber, read.rdataStart, read.rdataEnd) : rdataOctets(record)
  const type = typeNumberOf(record)
  const shape = LOWERED.has(type) ? shapeOf(type) : undefined
  if (shape === undefined || !octets.some(isUpper)) return octets
  const lowered = copyOctets(octets, 0, octets.length)
  let at = 0
  for (const field of shape) {
    const after = fieldEnd(octets, field, at, octets.length)
    // The length of a label is never that of a letter.
    if (field === 'name' || field === 'plain') for (let i = at; i < after; i++) if (isUpper(octets[i]!)) lowered[i]! += 0x20
    at = after
  }
  return lowered
}

function isUpper(octet: number): boolean {
  return octet >= 0x41 && octet <= 0x5a
}
