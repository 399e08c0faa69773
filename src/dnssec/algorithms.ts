/** The algorithms of DNSSEC that Skein signs with, and what `node:crypto` is to be told for each. */
import { createPrivateKey, createPublicKey, type JsonWebKey, type KeyObject, type SignKeyObjectInput, sign, verify } from 'node:crypto'
import { KeyProblem, orProblem, shownWord } from './key-problem.js'
import { type Fields, RSA_FIELDS, rsaPrivateJwk, rsaPublicJwk, rsaPublicOctets } from './rsa.js'

/** An algorithm of the registry "DNS Security Algorithm Numbers". */
export interface Algorithm {
  readonly number: number
  /** Its mnemonic, as BIND writes it. */
  readonly name: string
  /** Undefined where the algorithm has its own. */
  readonly digest: 'sha1' | 'sha256' | 'sha384' | 'sha512' | undefined
  readonly kind: 'RSA' | Curve
  /**
   * Whether signing goes through the thread pool. Measured on two cores with Node 20 (OpenSSL 3.0), signatures a second, in this thread and by the
   * pool with 8 in flight: RSA of 2048 bits 1 060 and 1 810, P-384 570 and 1 210; but P-256 16 600 and 11 200, Ed25519 16 500 and 11 800: there the
   * way to another thread costs more than it brings.
   */
  readonly isPooled: boolean
  /** Validators may not trust it (RFC 8624 §3.1): it rests on SHA-1. */
  readonly isWeak: boolean
}

interface Curve {
  readonly kty: 'EC' | 'OKP'
  readonly crv: string
  /** Octets of a coordinate, and of the private key. */
  readonly size: number
}

const P256: Curve = { kty: 'EC', crv: 'P-256', size: 32 }
const P384: Curve = { kty: 'EC', crv: 'P-384', size: 48 }
const ED25519: Curve = { kty: 'OKP', crv: 'Ed25519', size: 32 }

const ALGORITHMS: readonly Algorithm[] = [
  { number: 5, name: 'RSASHA1', digest: 'sha1', kind: 'RSA', isPooled: true, isWeak: true },
  { number: 7, name: 'NSEC3RSASHA1', digest: 'sha1', kind: 'RSA', isPooled: true, isWeak: true },
  { number: 8, name: 'RSASHA256', digest: 'sha256', kind: 'RSA', isPooled: true, isWeak: false },
  { number: 10, name: 'RSASHA512', digest: 'sha512', kind: 'RSA', isPooled: true, isWeak: false },
  { number: 13, name: 'ECDSAP256SHA256', digest: 'sha256', kind: P256, isPooled: false, isWeak: false },
  { number: 14, name: 'ECDSAP384SHA384', digest: 'sha384', kind: P384, isPooled: true, isWeak: false },
  { number: 15, name: 'ED25519', digest: undefined, kind: ED25519, isPooled: false, isWeak: false }
]

/** The algorithm of a number, as a number or in words, or of a mnemonic. Throws KeyProblem, which names what is known. */
export function algorithmOf(given: number | string): Algorithm {
  const text = String(given).toUpperCase()
  const name = text === 'RSASHA1-NSEC3-SHA1' ? 'NSEC3RSASHA1' : text
  const found = ALGORITHMS.find((each) => each.name === name || String(each.number) === name)
  return found ?? unknown(given, ALGORITHMS)
}

/** The same, for a key that is to be made: none that is weak. Throws KeyProblem. */
export function algorithmToMake(given: number | string): Algorithm {
  const found = algorithmOf(given)
  if (!found.isWeak) return found
  throw new KeyProblem(`no key is made for ${found.name}, which rests on SHA-1: expected ${shownList(ALGORITHMS.filter(isStrong))}`)
}

function unknown(given: number | string, known: readonly Algorithm[]): never {
  throw new KeyProblem(`unknown algorithm ${shownWord(String(given))}, expected ${shownList(known)}`)
}

function isStrong({ isWeak }: Algorithm): boolean {
  return !isWeak
}

function shownList(algorithms: readonly Algorithm[]): string {
  const all = algorithms.map(({ number, name }) => `${number} (${name})`)
  return `${all.slice(0, -1).join(', ')} or ${all.at(-1)}`
}

/** The public key that a DNSKEY has (RFC 3110 §2, RFC 6605 §4, RFC 8080 §3). Throws KeyProblem. */
export function publicKeyOf({ kind, name }: Algorithm, octets: Buffer): KeyObject {
  const jwk = kind === 'RSA' ? rsaPublicJwk(octets) : publicJwk(kind, octets, name)
  return orProblem(`its public key is none of ${name}`, () => createPublicKey({ key: jwk, format: 'jwk' }))
}

/** The private key in the fields of BIND's .private, whose public one a DNSKEY has. Throws KeyProblem. */
export function privateKeyOf({ kind, name }: Algorithm, octets: Buffer, fields: Fields): KeyObject {
  const jwk = kind === 'RSA' ? rsaPrivateJwk(octets, fields) : privateJwk(kind, octets, fields, name)
  // Newer versions of OpenSSL find out here that the halves differ.
  return orProblem(`its private key is none of ${name}, or not of the key in .key`, () => createPrivateKey({ key: jwk, format: 'jwk' }))
}

/** The public key as a DNSKEY has it, and the fields of BIND's .private. */
export function partsOf({ kind }: Algorithm, key: KeyObject): { octets: Buffer; fields: [name: string, octets: Buffer][] } {
  const jwk = key.export({ format: 'jwk' })
  const part = (name: 'x' | 'y' | (typeof RSA_FIELDS)[number][1]): Buffer => Buffer.from(jwk[name] ?? '', 'base64url')
  if (kind === 'RSA') return { octets: rsaPublicOctets(jwk), fields: RSA_FIELDS.map(([name, short]) => [name, part(short)]) }
  return { octets: Buffer.concat([part('x'), part('y')]), fields: [['PrivateKey', part('d')]] }
}

/** What `crypto.sign` takes for a private key: RRSIG has r and s one behind the other (RFC 6605 §4), not in DER. */
export function signingInput(key: KeyObject): SignKeyObjectInput {
  return { key, dsaEncoding: 'ieee-p1363' }
}

/** Signs in this thread. What OpenSSL throws is thrown. */
export function signNow({ digest }: Algorithm, input: SignKeyObjectInput, octets: Uint8Array): Uint8Array {
  return sign(digest, octets, input)
}

/** Signs in the thread pool. */
export function signInPool({ digest }: Algorithm, input: SignKeyObjectInput, octets: Uint8Array): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    sign(digest, octets, input, (error, signature) => {
      if (error === null) resolve(signature)
      else reject(error)
    })
  })
}

/** Whether the signature is that of these octets. */
export function verifies({ digest }: Algorithm, key: KeyObject, octets: Uint8Array, signature: Uint8Array): boolean {
  return verify(digest, octets, { key, dsaEncoding: 'ieee-p1363' }, signature)
}

function publicJwk({ kty, crv, size }: Curve, octets: Buffer, name: string): JsonWebKey {
  const expected = kty === 'EC' ? 2 * size : size
  if (octets.length !== expected) throw new KeyProblem(`has a public key of ${octets.length} octets, expected ${expected} of ${name}`)
  const x = octets.toString('base64url', 0, size)
  return kty === 'EC' ? { kty, crv, x, y: octets.toString('base64url', size) } : { kty, crv, x }
}

function privateJwk(curve: Curve, octets: Buffer, fields: Fields, name: string): JsonWebKey {
  const secret = fields.get('privatekey')
  if (secret === undefined) throw new KeyProblem('has no line PrivateKey:')
  // Older tools write an ECDSA key as a number, without the zeros before it.
  const isFit = curve.kty === 'EC' ? secret.length > 0 && secret.length <= curve.size : secret.length === curve.size
  if (!isFit) throw new KeyProblem(`has a PrivateKey of ${secret.length} octets, expected ${curve.size} of ${name}`)
  const d = Buffer.concat([Buffer.alloc(curve.size - secret.length), secret]).toString('base64url')
  return { ...publicJwk(curve, octets, name), d }
}
