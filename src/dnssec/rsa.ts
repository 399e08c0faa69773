/** RSA keys: as DNSKEY records have them (RFC 3110 §2), as BIND's files do, and as JWK. */
import type { JsonWebKey } from 'node:crypto'
import { KeyProblem } from './key-problem.js'

/** The names of the fields of BIND's .private for an RSA key, each with that of JWK. */
export const RSA_FIELDS = [
  ['Modulus', 'n'],
  ['PublicExponent', 'e'],
  ['PrivateExponent', 'd'],
  ['Prime1', 'p'],
  ['Prime2', 'q'],
  ['Exponent1', 'dp'],
  ['Exponent2', 'dq'],
  ['Coefficient', 'qi']
] as const

/** The octets of each field of BIND's .private, by its name in lower case. */
export type Fields = ReadonlyMap<string, Buffer>

/** Shorter ones are broken by whoever wants; DNSSEC has no longer ones (RFC 5702 §2). */
const [LEAST_BITS, MOST_BITS] = [1024, 4096]
/** Validators refuse longer public exponents, as verifying by them costs much; BIND has this limit. */
const MOST_EXPONENT_BITS = 35

/** Numbers of an RSA key. */
interface Rsa {
  readonly n: bigint
  readonly e: bigint
}

/** The public key of a DNSKEY as JWK. Throws KeyProblem. */
export function rsaPublicJwk(octets: Buffer): JsonWebKey {
  const { n, e } = rsaPublic(octets)
  return { kty: 'RSA', n: base64Url(n), e: base64Url(e) }
}

/** The private key as JWK, made sure of to be one number for number and the other half of the public one. Throws KeyProblem. */
export function rsaPrivateJwk(octets: Buffer, fields: Fields): JsonWebKey {
  const key = rsaPublic(octets)
  const given = Object.fromEntries(RSA_FIELDS.map(([name, short]) => [short, field(fields, name, octets.length)]))
  for (const [name, short] of RSA_FIELDS.slice(0, 3)) if (given[short] === undefined) throw new KeyProblem(`has no line ${name}:`)
  if (given.n !== key.n || given.e !== key.e) throw new KeyProblem('is the other half of another key: Modulus and PublicExponent differ')
  const d = given.d!
  const isWhole = RSA_FIELDS.every(([, short]) => given[short] !== undefined)
  const [p, q] = isWhole ? [given.p!, given.q!] : primesOf(key, d)
  if (p < 2n || q < 2n || p * q !== key.n) throw notRsa('the primes')
  if ((key.e * d) % (p - 1n) !== 1n || (key.e * d) % (q - 1n) !== 1n) throw notRsa('the PrivateExponent')
  const [dp, dq] = [d % (p - 1n), d % (q - 1n)]
  if (isWhole && (given.dp !== dp || given.dq !== dq)) throw notRsa('the exponents')
  const qi = isWhole ? given.qi! : power(q, p - 2n, p)
  if ((qi * q) % p !== 1n) throw notRsa('the Coefficient')
  const numbers = { n: key.n, e: key.e, d, p, q, dp, dq, qi }
  return { kty: 'RSA', ...Object.fromEntries(Object.entries(numbers).map(([name, value]) => [name, base64Url(value)])) }
}

/** The public key of this JWK as a DNSKEY has it. */
export function rsaPublicOctets({ n = '', e = '' }: JsonWebKey): Buffer {
  const exponent = Buffer.from(e, 'base64url')
  return Buffer.concat([Buffer.of(exponent.length), exponent, Buffer.from(n, 'base64url')])
}

function rsaPublic(octets: Buffer): Rsa {
  const isLong = octets[0] === 0
  const start = isLong ? 3 : 1
  const length = octets.length < 3 ? 0 : isLong ? octets.readUInt16BE(1) : octets[0]!
  const [exponent, modulus] = [octets.subarray(start, start + length), octets.subarray(start + length)]
  if (length === 0 || modulus.length === 0) throw new KeyProblem('its public key is none of RSA (RFC 3110): it is cut short')
  if (exponent[0] === 0 || modulus[0] === 0) throw new KeyProblem('its public key is none of RSA (RFC 3110): a number starts with 0')
  const [n, e] = [bigOf(modulus), bigOf(exponent)]
  const bits = n.toString(2).length
  if (bits < LEAST_BITS || bits > MOST_BITS) throw new KeyProblem(`has a modulus of ${bits} bits, expected ${LEAST_BITS} to ${MOST_BITS}`)
  if (n % 2n === 0n) throw new KeyProblem('its public key is none of RSA: the modulus is even')
  if (e < 3n || e % 2n === 0n || e >> BigInt(MOST_EXPONENT_BITS) > 0n)
    throw new KeyProblem(`has a bad public exponent, expected an odd number of 2 to ${MOST_EXPONENT_BITS} bits`)
  return { n, e }
}

/** The primes of a modulus whose both exponents are known (NIST SP 800-56B, appendix C.2), the larger first. Throws KeyProblem. */
function primesOf({ n, e }: Rsa, d: bigint): [bigint, bigint] {
  let odd = d * e - 1n
  let twos = 0
  // Zero would be halved for ever.
  for (; odd > 0n && odd % 2n === 0n; twos++) odd /= 2n
  for (let base = 2n; odd > 0n && base < 50n; base++) {
    let root = power(base, odd, n)
    for (let i = 0; i < twos && root !== 1n && root !== n - 1n; i++) {
      const square = (root * root) % n
      if (square === 1n) {
        const prime = divisor(root - 1n, n)
        const other = n / prime
        return prime > other ? [prime, other] : [other, prime]
      }
      root = square
    }
  }
  throw notRsa('the PrivateExponent')
}

function divisor(a: bigint, b: bigint): bigint {
  return b === 0n ? a : divisor(b, a % b)
}

function power(base: bigint, exponent: bigint, modulus: bigint): bigint {
  let result = 1n
  let square = base % modulus
  for (const bit of exponent.toString(2).split('').reverse()) {
    if (bit === '1') result = (result * square) % modulus
    square = (square * square) % modulus
  }
  return result
}

function field(fields: Fields, name: string, most: number): bigint | undefined {
  const octets = fields.get(name.toLowerCase())
  if (octets !== undefined && octets.length > most) throw notRsa(`the ${name}`)
  return octets === undefined ? undefined : bigOf(octets)
}

function notRsa(what: string): KeyProblem {
  return new KeyProblem(`is no private key of RSA: ${what} cannot be right`)
}

function bigOf(octets: Buffer): bigint {
  return octets.length === 0 ? 0n : BigInt(`0x${octets.toString('hex')}`)
}

function base64Url(value: bigint): string {
  const hex = value.toString(16)
  return Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex').toString('base64url')
}
