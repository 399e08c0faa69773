/** The rdata of DNSSEC's records in presentation format (RFC 4034 §2.2, §3.2, §4.2, §5.3; RFC 5155 §3.3, §4.3). */
import { base32Hex } from './base32.js'
import { FormatError, nameEnd, readName } from './name.js'
import { typeName } from './registry.js'

type Shown = (octets: Buffer) => string

const SHOWN: Readonly<Record<string, Shown>> = {
  DNSKEY: key,
  CDNSKEY: key,
  DS: digest,
  CDS: digest,
  RRSIG: signature,
  NSEC: (octets) => {
    const next = readName(octets, 0)
    return [next, ...types(octets.subarray(nameEnd))].join(' ')
  },
  NSEC3: (octets) => {
    const { text, rest } = parameters(octets)
    const length = rest.readUInt8(0)
    return [text, base32Hex(field(rest, 1, length)), ...types(rest.subarray(1 + length))].join(' ')
  },
  NSEC3PARAM: (octets) => parameters(octets).text
}

/** The rdata as people read it; undefined where it is of no such type, or malformed. */
export function shownDnssec(type: string, octets: Uint8Array): string | undefined {
  const shown = Object.hasOwn(SHOWN, type) ? SHOWN[type] : undefined
  try {
    return shown?.(Buffer.from(octets.buffer, octets.byteOffset, octets.length))
  } catch (error) {
    // What cannot be read is shown as octets.
    if (error instanceof FormatError || error instanceof RangeError) return undefined
    throw error
  }
}

function key(octets: Buffer): string {
  return `${octets.readUInt16BE(0)} ${octets.readUInt8(2)} ${octets.readUInt8(3)} ${octets.toString('base64', 4)}`
}

function digest(octets: Buffer): string {
  return `${octets.readUInt16BE(0)} ${octets.readUInt8(2)} ${octets.readUInt8(3)} ${octets.toString('hex', 4)}`
}

function signature(octets: Buffer): string {
  const [covered, algorithm, labels, ttl] = [octets.readUInt16BE(0), octets.readUInt8(2), octets.readUInt8(3), octets.readUInt32BE(4)]
  const [ends, begins, tag] = [octets.readUInt32BE(8), octets.readUInt32BE(12), octets.readUInt16BE(16)]
  const signer = readName(octets, 18)
  const rest = octets.toString('base64', nameEnd)
  return `${typeName(covered)} ${algorithm} ${labels} ${ttl} ${time(ends)} ${time(begins)} ${tag} ${signer} ${rest}`
}

/** `YYYYMMDDHHmmSS`, in UTC. */
function time(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace(/\D/g, '').slice(0, 14)
}

function parameters(octets: Buffer): { readonly text: string; readonly rest: Buffer } {
  const length = octets.readUInt8(4)
  const salt = field(octets, 5, length).toString('hex')
  return {
    text: `${octets.readUInt8(0)} ${octets.readUInt8(1)} ${octets.readUInt16BE(2)} ${salt === '' ? '-' : salt}`,
    rest: octets.subarray(5 + length)
  }
}

function field(octets: Buffer, at: number, length: number): Buffer {
  if (at + length > octets.length) throw new RangeError('a field runs past the rdata')
  return octets.subarray(at, at + length)
}

/** The types of a bitmap (RFC 4034 §4.1.2). */
function types(octets: Buffer): string[] {
  const names: string[] = []
  for (let at = 0; at < octets.length; ) {
    const window = octets.readUInt8(at)
    const bits = field(octets, at + 2, octets.readUInt8(at + 1))
    for (let bit = 0; bit < 8 * bits.length; bit++) if (bits[bit >> 3]! & (0x80 >> (bit & 7))) names.push(typeName(256 * window + bit))
    at += 2 + bits.length
  }
  return names
}
