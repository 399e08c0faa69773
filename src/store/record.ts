import type { Key } from './key.js'
import type { Entry } from './store.js'

/** What a table holds for a key: an entry's value, or nothing for a directory. */
export interface Stored {
  readonly created: number
  readonly modified: number
  /** Milliseconds since 1970. */
  readonly expires: number | undefined
  readonly value: Buffer
}

// created, modified, expires (0: stays), each 8 octets; then the value.
const HEADER = 24

/** The octets of a record. */
export function writeStored(stored: Stored): Buffer {
  const octets = Buffer.allocUnsafe(HEADER + stored.value.length)
  octets.writeDoubleBE(stored.created, 0)
  octets.writeDoubleBE(stored.modified, 8)
  octets.writeDoubleBE(stored.expires ?? 0, 16)
  octets.set(stored.value, HEADER)
  return octets
}

/** The record of its octets; the value is a view of them. */
export function readStored(octets: Buffer): Stored {
  return stored(octets, octets.subarray(HEADER))
}

/** {@link readStored} of octets that somebody else will write over. */
export function copyStored(octets: Buffer): Stored {
  const length = octets.length - HEADER
  const value = Buffer.allocUnsafe(length)
  // A call costs more than so many octets.
  if (length > 64) octets.copy(value, 0, HEADER, HEADER + length)
  else for (let i = 0; i < length; i++) value[i] = octets[HEADER + i]!
  return stored(octets, value)
}

function stored(octets: Buffer, value: Buffer): Stored {
  const expires = octets.readDoubleBE(16)
  return { created: octets.readDoubleBE(0), modified: octets.readDoubleBE(8), expires: expires === 0 ? undefined : expires, value }
}

/** When the record of these octets vanishes; Infinity where it stays. */
export function expiresOf(octets: Buffer): number {
  return octets.readDoubleBE(16) || Infinity
}

/** A record as an entry. */
export function asEntry(key: Key, { value, created, modified, expires }: Stored): Entry {
  return { key, value, created, modified, expires }
}

/** A directory of the keys API: it holds no value and makes no name exist. */
export type Directory = Omit<Entry, 'value'>

/** A record as a directory. */
export function asDirectory(key: Key, { created, modified, expires }: Omit<Stored, 'value'>): Directory {
  return { key, created, modified, expires }
}

/** Which table an expiry is about. */
export type Kind = 'entry' | 'directory'

/** The key in the expiry table: in the order of time. */
export function expiryOctets(expires: number, kind: Kind, spelled: Buffer): Buffer {
  const octets = Buffer.allocUnsafe(9 + spelled.length)
  octets.writeBigUInt64BE(BigInt(Math.max(0, Math.ceil(expires))), 0)
  octets[8] = kind === 'entry' ? 0 : 1
  octets.set(spelled, 9)
  return octets
}

/** What {@link expiryOctets} was made of. */
export function readExpiry(octets: Buffer): { expires: number; kind: Kind; spelled: Buffer } {
  return { expires: Number(octets.readBigUInt64BE(0)), kind: octets[8] === 0 ? 'entry' : 'directory', spelled: octets.subarray(9) }
}

/** What stands behind a key of the expiry table, which says everything by itself. */
export const NOTHING: Buffer = Buffer.from([1])
