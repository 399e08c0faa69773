/** NSEC3 records of white lies (RFC 7129 appendix B): SHA-1, no iterations, no salt (RFC 9276 §3.1). Each covers one hash, or is at one. */
import { createHash } from 'node:crypto'
import { base32Hex, nameOctets, type ResourceRecord } from 'skein/plugin'
import { typeBitmap } from './bitmap.js'

/** SHA-1, flags 0, iterations 0, salt of length 0; then the length of a hash. */
const PARAMETERS = Uint8Array.of(1, 0, 0, 0, 0)
const HASH_OCTETS = 20

/** The rdata of the zone's NSEC3PARAM (RFC 5155 §4). */
export const nsec3Param: Uint8Array = PARAMETERS

/** The NSEC3 record at a name that has these types, all of them. */
export function matchingNsec3(name: string, types: Iterable<number>, apex: string, ttl: number): ResourceRecord {
  const hash = hashOf(name)
  return nsec3Record(hash, after(hash), typeBitmap(types), apex, ttl)
}

/** The NSEC3 record that says that there is no such name. */
export function coveringNsec3(name: string, apex: string, ttl: number): ResourceRecord {
  const hash = hashOf(name)
  return nsec3Record(before(hash), after(hash), new Uint8Array(0), apex, ttl)
}

/** The canonical name's hash (RFC 5155 §5). */
export function hashOf(name: string): Uint8Array {
  return createHash('sha1').update(nameOctets(name)).digest()
}

function nsec3Record(owner: Uint8Array, next: Uint8Array, bitmap: Uint8Array, apex: string, ttl: number): ResourceRecord {
  const rdata = Buffer.concat([PARAMETERS, Uint8Array.of(HASH_OCTETS), next, bitmap])
  return { owner: `${base32Hex(owner)}.${apex === '.' ? '' : apex}`, type: 'NSEC3', ttl, rdata }
}

/** The hash that comes next; after the last comes the first. */
function after(hash: Uint8Array): Uint8Array {
  const next = Uint8Array.from(hash)
  for (let at = next.length - 1; at >= 0; at--) {
    next[at] = (next[at]! + 1) & 0xff
    if (next[at] !== 0) break
  }
  return next
}

function before(hash: Uint8Array): Uint8Array {
  const previous = Uint8Array.from(hash)
  for (let at = previous.length - 1; at >= 0; at--) {
    previous[at] = (previous[at]! - 1) & 0xff
    if (previous[at] !== 0xff) break
  }
  return previous
}
