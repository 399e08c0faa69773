/** Verifies signatures as a validator does (RFC 4035 §5.3), for any name that somebody may pass the records off as. */
import { createHash, createPublicKey, type JsonWebKey, type KeyObject, verify } from 'node:crypto'
import { type Labels, lower, nameOctets, type Signature, type WireRecord, type WireReply } from './dnssec-wire.js'

/** A DNSKEY record's rdata, ready to verify. */
export interface PublicKey {
  readonly tag: number
  readonly algorithm: number
  readonly key: KeyObject
}

/** Records of one owner and type, and a signature over them. */
export interface SignedSet {
  readonly records: readonly WireRecord[]
  readonly signature: Signature
}

const DNSKEY = 48
const HASHES: Readonly<Record<number, string | undefined>> = { 8: 'sha256', 10: 'sha512', 13: 'sha256', 14: 'sha384' }
const CURVES: Readonly<Record<number, string>> = { 13: 'P-256', 14: 'P-384' }

/** The keys of a reply to a question for DNSKEY. */
export function keysIn(reply: WireReply): PublicKey[] {
  const found = reply.records.filter(({ type }) => type === DNSKEY)
  return found.map(({ rdata }) => ({ tag: tagOf(rdata), algorithm: rdata[3]!, key: keyOf(rdata[3]!, rdata.subarray(4)) }))
}

// RFC 4034 appendix B.
function tagOf(rdata: Buffer): number {
  const sum = rdata.reduce((total, octet, index) => total + (index % 2 === 0 ? octet << 8 : octet), 0)
  return (sum + (sum >>> 16)) & 0xffff
}

function keyOf(algorithm: number, octets: Buffer): KeyObject {
  return createPublicKey({ key: jwkOf(algorithm, octets), format: 'jwk' })
}

function jwkOf(algorithm: number, octets: Buffer): JsonWebKey {
  const curve = CURVES[algorithm]
  if (curve !== undefined) {
    const half = octets.length / 2
    return { kty: 'EC', crv: curve, x: octets.toString('base64url', 0, half), y: octets.toString('base64url', half) }
  }
  if (algorithm === 15) return { kty: 'OKP', crv: 'Ed25519', x: octets.toString('base64url') }
  // RFC 3110 §2: the exponent's length in one octet, or in two behind a zero.
  const [from, length] = octets[0] === 0 ? [3, octets.readUInt16BE(1)] : [1, octets[0]!]
  return { kty: 'RSA', e: octets.toString('base64url', from, from + length), n: octets.toString('base64url', from + length) }
}

/** The signed sets of a reply. */
export function setsIn(reply: WireReply, signatures: readonly Signature[]): SignedSet[] {
  const same = (one: Labels, other: Labels): boolean => lower(one).join('\0') === lower(other).join('\0')
  return signatures.map((signature) => ({
    signature,
    records: reply.records.filter(({ owner, type }) => type === signature.covers && same(owner, signature.owner))
  }))
}

/** Whether the signature holds for the records as those of `owner`: their own name, or the one that they are passed off as. */
export function holds({ records, signature }: SignedSet, owner: Labels, keys: readonly PublicKey[]): boolean {
  const name = signedName(owner, signature.labels)
  if (name === undefined) return false
  const data = Buffer.concat([signature.head.subarray(0, 18), nameOctets(lower(signature.signer)), ...recordsOf(name, records, signature)])
  const candidates = keys.filter(({ tag, algorithm }) => tag === signature.keyTag && algorithm === signature.algorithm)
  return candidates.some(({ key, algorithm }) => {
    const encoded = algorithm in CURVES ? ({ key, dsaEncoding: 'ieee-p1363' } as const) : key
    return verify(HASHES[algorithm] ?? null, data, encoded, signature.signature)
  })
}

// RFC 4035 §5.3.2: a name with more labels than were signed came of a wildcard.
function signedName(owner: Labels, labels: number): Labels | undefined {
  const counted = owner[0] === '*' ? owner.length - 1 : owner.length
  if (labels > counted) return undefined
  return labels === counted ? lower(owner) : ['*', ...lower(owner).slice(owner.length - labels)]
}

function recordsOf(name: Labels, records: readonly WireRecord[], { covers, originalTtl }: Signature): Buffer[] {
  const fixed = Buffer.alloc(8)
  fixed.writeUInt16BE(covers, 0)
  fixed.writeUInt16BE(1, 2)
  fixed.writeUInt32BE(originalTtl, 4)
  const sorted = records.map(({ rdata }) => canonical(covers, rdata)).sort((one, other) => one.compare(other))
  return sorted.map((rdata) => Buffer.concat([nameOctets(name), fixed, Buffer.of(rdata.length >> 8, rdata.length & 0xff), rdata]))
}

const BEFORE_NAME: Readonly<Record<number, number>> = { 2: 0, 5: 0, 6: 0, 12: 0, 15: 2, 33: 6, 39: 0 }
const SOA = 6
const SOA_NUMBERS = 20

// RFC 4034 §6.2: names within rdata in lower case. Lengths of labels are below the letters.
function canonical(type: number, rdata: Buffer): Buffer {
  const before = BEFORE_NAME[type]
  if (before === undefined) return rdata
  const end = type === SOA ? rdata.length - SOA_NUMBERS : rdata.length
  return Buffer.from(rdata.map((octet, at) => (at >= before && at < end && octet >= 0x41 && octet <= 0x5a ? octet + 0x20 : octet)))
}

/** A short name of a set and its signature, to have each but once. */
export function idOf({ signature }: SignedSet): string {
  return createHash('sha1').update(signature.signature).digest('base64')
}
