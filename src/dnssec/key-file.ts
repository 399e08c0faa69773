/** BIND's files of a key pair, .key and .private: reading, making, and finding them by their names. */
import { generateKeyPair as generate, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'
import { canonicalName } from '../message/name.js'
import { type Algorithm, algorithmToMake, partsOf, privateKeyOf } from './algorithms.js'
import { Dnskey, type DnskeyParts } from './dnskey.js'
import { KeyProblem, orProblem, problemsOf, shownWord } from './key-problem.js'
import { octetsOf, readPublicText } from './public-key-text.js'
import type { Fields } from './rsa.js'
import { ZoneKey } from './zone-key.js'

/** A key pair, and the texts of its files. */
export interface KeyTexts {
  /** The name of the files without the ending. */
  readonly name: string
  readonly publicText: string
  readonly privateText: string
  readonly key: ZoneKey
}

const RSA_BITS = 2048
/** The fields of .private whose values are base64. */
const OCTETS = /^(modulus|(public|private)exponent|prime[12]|exponent[12]|coefficient|privatekey)$/

/**
 * The key pair in the texts of BIND's .key and .private. `name` is what errors call it, with an ending or without.
 * Throws KeyProblem, which has nothing of the private key.
 */
export function readKeyPair(name: string, publicText: string, privateText: string): ZoneKey {
  const base = baseOf(name)
  const parts = problemsOf(`${base}.key`, () => readPublicText(publicText))
  const privateKey = problemsOf(`${base}.private`, () => readPrivateText(privateText, parts))
  const key = problemsOf(`${base}.key`, () => new ZoneKey(parts, privateKey))
  const isPair = orProblem(`${base}: the OpenSSL of this Node does not sign with ${key.mnemonic}`, () => key.isPair())
  if (!isPair) throw new KeyProblem(`${base}: .key and .private are halves of different keys`)
  return key
}

/** The public half alone, of the text of a .key. Throws KeyProblem. */
export function readDnskey(name: string, publicText: string): Dnskey {
  return problemsOf(`${baseOf(name)}.key`, () => new Dnskey(readPublicText(publicText)))
}

/** The name of a key pair's files without the ending. */
export function baseOf(name: string): string {
  return name.replace(/\.(key|private)$/, '')
}

function readPrivateText(text: string, { algorithm, publicKey }: DnskeyParts): KeyObject {
  const lines = linesOf(text)
  const format = lines.get('private-key-format')
  if (format === undefined) throw new KeyProblem('has no line Private-key-format:')
  if (!/^v1\.\d+$/i.test(format)) throw new KeyProblem(`has the format ${shownWord(format)}, expected v1.2 or v1.3`)
  const given = /^(\d+)(\s*\(.*\))?$/.exec(lines.get('algorithm') ?? '')?.[1]
  if (given === undefined) throw new KeyProblem('has no line Algorithm: with a number')
  if (Number(given) !== algorithm.number) throw new KeyProblem(`is of algorithm ${given}, and its .key of ${algorithm.number}`)
  if (lines.has('label') || lines.has('engine'))
    throw new KeyProblem('says that the key is in a hardware module, from where it cannot be used')
  return privateKeyOf(algorithm, publicKey, octetFields(lines))
}

/** The lines `Name: value`, by their names in lower case. No text of a line is told: it may be of the key. */
function linesOf(text: string): Map<string, string> {
  const lines = new Map<string, string>()
  for (const [index, line] of text.split('\n').entries()) {
    const bare = line.replace(/;.*/s, '').trim()
    if (bare === '') continue
    const colon = bare.indexOf(':')
    if (colon <= 0) throw new KeyProblem(`line ${index + 1} is none of the kind Name: value`)
    const name = bare.slice(0, colon).trim().toLowerCase()
    if (lines.has(name)) throw new KeyProblem(`line ${index + 1} gives something a second time`)
    lines.set(name, bare.slice(colon + 1).trim())
  }
  return lines
}

function octetFields(lines: ReadonlyMap<string, string>): Fields {
  const fields = new Map<string, Buffer>()
  for (const [name, value] of lines) {
    if (!OCTETS.test(name)) continue
    const octets = octetsOf(value)
    if (octets === undefined || octets.length === 0) throw new KeyProblem(`its line ${name}: is no base64, or cut short`)
    fields.set(name, octets)
  }
  return fields
}

/** Makes a key pair for a zone, with the texts that dnssec-keygen writes. RSA keys have 2048 bits. `now` is in milliseconds. Throws KeyProblem. */
export async function generateKeyPair(zone: string, algorithm: number | string = 13, flags = 257, now = Date.now()): Promise<KeyTexts> {
  const owner = orProblem(`${shownWord(zone)} is no name of a zone`, () => canonicalName(zone))
  const made = algorithmToMake(algorithm)
  if (flags !== 256 && flags !== 257) throw new KeyProblem(`flags ${flags}, expected 256 or 257`)
  const privateKey = await privateKeyFor(made)
  const { octets, fields } = partsOf(made, privateKey)
  const key = new ZoneKey({ zone: owner, flags, algorithm: made, publicKey: octets }, privateKey)
  const times = ['Created', 'Publish', 'Activate'].map((what) => `${what}: ${digitsOf(now)}`)
  const privateLines = ['Private-key-format: v1.3', `Algorithm: ${made.number} (${made.name})`]
  for (const [name, value] of fields) privateLines.push(`${name}: ${value.toString('base64')}`)
  return {
    name: key.name,
    publicText: textOf([
      `; This is a ${key.isSep ? 'key' : 'zone'}-signing key, keyid ${key.tag}, for ${owner}`,
      ...times.map((line) => `; ${line} (${dateOf(now)})`),
      `${owner} IN DNSKEY ${flags} 3 ${made.number} ${octets.toString('base64').replace(/.{56}(?=.)/g, '$& ')}`
    ]),
    privateText: textOf([...privateLines, ...times]),
    key
  }
}

async function privateKeyFor({ kind }: Algorithm): Promise<KeyObject> {
  if (kind === 'RSA') return (await promisify(generate)('rsa', { modulusLength: RSA_BITS, publicExponent: 0x10001 })).privateKey
  if (kind.kty === 'OKP') return (await promisify(generate)('ed25519')).privateKey
  return (await promisify(generate)('ec', { namedCurve: kind.crv })).privateKey
}

function textOf(lines: readonly string[]): string {
  return `${lines.join('\n')}\n`
}

/** 20261130133915, in UTC. */
function digitsOf(time: number): string {
  return new Date(time).toISOString().replace(/\D/g, '').slice(0, 14)
}

/** Mon Nov 30 13:39:15 2026, in UTC. */
function dateOf(time: number): string {
  const [day = '', date = '', month = '', year = '', clock = ''] = new Date(time).toUTCString().split(/,? /)
  return `${day} ${month} ${String(Number(date)).padStart(2)} ${clock} ${year}`
}

/** Of the names in a folder, the bases of the key pairs, of a zone where one is given, of which both files are there. */
export function keyPairNames(names: readonly string[], zone?: string): string[] {
  const all = new Set(names)
  return basesWith(names, '.private', zone).filter((base) => all.has(`${base}.key`))
}

/** The same of those of which the file with this ending is there, and the other one is not. */
export function halfPairNames(names: readonly string[], ending: '.key' | '.private', zone?: string): string[] {
  const all = new Set(names)
  const other = ending === '.key' ? '.private' : '.key'
  return basesWith(names, ending, zone).filter((base) => !all.has(base + other))
}

function basesWith(names: readonly string[], ending: '.key' | '.private', zone: string | undefined): string[] {
  const apex = zone === undefined ? undefined : canonicalName(zone)
  const isMeant = (named: string | undefined): boolean => named !== undefined && (apex === undefined || named === apex)
  const bases = names.filter((name) => name.endsWith(ending)).map(baseOf)
  return bases.filter((base) => isMeant(zoneOfName(base)))
}

/** The zone of a key pair by the name of its files: BIND writes `%XX` for odd octets, ldns what a master file has. Undefined where it is no such name. */
export function zoneOfName(base: string): string | undefined {
  const name = /^K(.+)\+\d{3}\+\d{5}$/s.exec(base)?.[1]
  if (name === undefined) return undefined
  try {
    return canonicalName(name.replace(/%([0-9a-f]{2})/gi, (_, digits: string) => `\\${String(parseInt(digits, 16)).padStart(3, '0')}`))
  } catch {
    return undefined
  }
}
