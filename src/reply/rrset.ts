import { sameName } from '../message/name.js'
import type { ResourceRecord } from '../message/record.js'
import { coveredType } from '../message/rrsig.js'

/** The index after the RRset, with its signatures, that starts at `at`: records that stand together and belong together. */
export function groupAt(records: readonly ResourceRecord[], at: number): number {
  const first = records[at]!
  const type = typeOfSet(first)
  let next = at + 1
  while (next < records.length && typeOfSet(records[next]!) === type && sameName(records[next]!.owner, first.owner)) next++
  return next
}

/** The record's type, or for a signature the type that it covers. */
function typeOfSet(record: ResourceRecord): string {
  return coveredType(record) ?? record.type
}
