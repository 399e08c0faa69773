import { sameName } from '../message/name.js'
import { type ResourceRecord, WireRecord } from '../message/record.js'
import { typeName } from '../message/registry.js'

/** The index after the RRset, with its signatures, that starts at `at`: records that stand together and belong together. */
export function groupAt(records: readonly ResourceRecord[], at: number): number {
  const first = records[at]!
  const type = coveredType(first)
  let next = at + 1
  while (next < records.length && coveredType(records[next]!) === type && sameName(records[next]!.owner, first.owner)) next++
  return next
}

/** The record's type, or for a signature the type that it covers (RFC 4034 §3.1.1), as a number or mnemonic that can be compared. */
function coveredType(record: ResourceRecord): string {
  if (record.type !== 'RRSIG') return record.type
  const read = record as unknown
  const octets = read instanceof WireRecord ? read.octets.subarray(read.rdataStart, read.rdataEnd) : record.rdata
  return octets instanceof Uint8Array && octets.length >= 2 ? typeName((octets[0]! << 8) | octets[1]!) : record.type
}
