/** NSEC records of compact denial (RFC 9824): each is about one name, and covers nothing. */
import { nameOctets, type ResourceRecord } from 'skein/plugin'
import { typeBitmap } from './bitmap.js'

const MAX_NAME = 255
const MAX_LABEL = 63
const LEAST_LABEL = Uint8Array.of(1, 0)

/** The NSEC record of a name that has these types, all of them; what follows it is the very next name. */
export function nsecRecord(owner: string, types: Iterable<number>, apex: string, ttl: number): ResourceRecord {
  const rdata = Buffer.concat([...nextName(nameOctets(owner), apex), typeBitmap(types)])
  return { owner, type: 'NSEC', ttl, rdata }
}

/**
 * The name that comes next in canonical order (RFC 4471 §3.1.1): `\000.` before it, or, where that is too long, its leftmost label that
 * can be is made greater by the least. Behind the last name of the zone comes its apex. In pieces.
 */
function nextName(name: Uint8Array, apex: string): readonly Uint8Array[] {
  if (name.length + 2 <= MAX_NAME) return [LEAST_LABEL, name]
  const end = nameOctets(apex)
  for (let at = 0; name.length - at > end.length; at += name[at]! + 1) {
    const length = name[at]!
    const label = name.subarray(at + 1, at + 1 + length)
    const rest = name.subarray(at + 1 + length)
    const greater = nextLabel(label, MAX_NAME - rest.length - 1)
    if (greater !== undefined) return [Uint8Array.of(greater.length), greater, rest]
  }
  return [end]
}

function nextLabel(label: Uint8Array, room: number): Uint8Array | undefined {
  if (label.length < Math.min(MAX_LABEL, room)) return Buffer.concat([label, Uint8Array.of(0)])
  const last = label.findLastIndex((octet) => octet !== 0xff)
  if (last < 0) return undefined
  const greater = Uint8Array.from(label.subarray(0, last + 1))
  // In canonical form there are no capitals: what follows @ is [.
  greater[last] = greater[last] === 0x40 ? 0x5b : greater[last]! + 1
  return greater
}
