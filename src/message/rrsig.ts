/** The fixed fields of an RRSIG's rdata (RFC 4034 §3.1), whichever way the record was made. */
import { type ResourceRecord, WireRecord } from './record.js'
import { type RRType, typeName } from './registry.js'

/** Where they stand, in octets; the signer's name begins behind them. */
const ORIGINAL_TTL = 4
const EXPIRATION = 8
const SIGNER = 18

/** The type of the records that a signature is for; undefined of a record of another type, or one that is too short to be one. */
export function coveredType(record: ResourceRecord): RRType | undefined {
  const view = fieldsOf(record)
  return view && typeName(view.getUint16(0))
}

/** The TTL that a signature was made with, in seconds; undefined as of {@link coveredType}. */
export function originalTtlOf(record: ResourceRecord): number | undefined {
  return fieldsOf(record)?.getUint32(ORIGINAL_TTL)
}

/** When a signature ends, in seconds since 1970, the lowest 32 bits of them; undefined as of {@link coveredType}. */
export function expirationOf(record: ResourceRecord): number | undefined {
  return fieldsOf(record)?.getUint32(EXPIRATION)
}

function fieldsOf(record: ResourceRecord): DataView | undefined {
  if (record.type !== 'RRSIG') return undefined
  const read: unknown = record
  // What was read is looked at in place.
  if (read instanceof WireRecord) return viewOf(read.octets, read.rdataStart, read.rdataEnd)
  const { rdata } = record
  return rdata instanceof Uint8Array ? viewOf(rdata, 0, rdata.length) : undefined
}

function viewOf(octets: Uint8Array, start: number, end: number): DataView | undefined {
  return end - start < SIGNER ? undefined : new DataView(octets.buffer, octets.byteOffset + start, SIGNER)
}
