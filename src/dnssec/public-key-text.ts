/** BIND's .key: one DNSKEY record as a master file has it (RFC 1035 §5.1, RFC 4034 §2.2). */
import { canonicalName } from '../message/name.js'
import { algorithmOf } from './algorithms.js'
import type { DnskeyParts } from './dnskey.js'
import { KeyProblem, orProblem, shownWord } from './key-problem.js'

const REVOKE = 0x80
const ZONE = 0x100
/** A comment, a parenthesis, a line's end, blanks, a word, or one character that has no place here. */
const TOKEN = /;[^\n]*|[()\n]|[^\S\n]+|(?:\\[^\n]|[^\s;()"\\])+|./gsu

/** Reads the record. Throws KeyProblem. */
export function readPublicText(text: string): DnskeyParts {
  const [words = [], ...more] = recordsOf(text)
  if (words.length === 0) throw new KeyProblem('has no record, expected a DNSKEY')
  if (more.length > 0) throw new KeyProblem('has more than one record, expected a DNSKEY alone')
  const [owner = '', ...rest] = words
  // The zone `in.` is written with its dot.
  if (owner === '' || /^in$/i.test(owner)) throw new KeyProblem('its record has no name before it')
  const zone = orProblem(`its record has no name: ${shownWord(owner)}`, () => canonicalName(owner))
  return { zone, ...fieldsOf(rest) }
}

function fieldsOf(words: readonly string[]): Omit<DnskeyParts, 'zone'> {
  const at = words.findIndex((word) => !/^\d[\dsmhdw]*$/i.test(word) && !/^(in|class1)$/i.test(word))
  const [type = '', flagsText = '', protocol = '', algorithmText = '', ...base64] = at < 0 ? [] : words.slice(at)
  if (type.toUpperCase() !== 'DNSKEY')
    throw new KeyProblem(`has ${type === '' ? 'no record' : shownWord(type)}, expected a DNSKEY of class IN`)
  const flags = readFlags(flagsText)
  if (protocol !== '3') throw new KeyProblem(`has protocol ${shownWord(protocol)}, expected 3`)
  const algorithm = algorithmOf(algorithmText)
  const publicKey = octetsOf(base64.join(''))
  if (publicKey === undefined || publicKey.length === 0) throw new KeyProblem('its public key is no base64, or cut short')
  return { flags, algorithm, publicKey }
}

function readFlags(text: string): number {
  const flags = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN
  if ((flags & REVOKE) !== 0) throw new KeyProblem(`is revoked (flags ${flags}): it signs nothing any more`)
  if (!Number.isNaN(flags) && (flags & ZONE) === 0) throw new KeyProblem(`is no key of a zone (flags ${flags}), expected flags 256 or 257`)
  if (flags !== 256 && flags !== 257) throw new KeyProblem(`has flags ${shownWord(text)}, expected 256 or 257`)
  return flags
}

/** The words of each record; the first is empty where a record has no name before it. */
function recordsOf(text: string): string[][] {
  const records: string[][] = []
  let words: string[] = []
  let depth = 0
  let startsBlank = false
  const end = (): void => {
    if (words.length > 0) records.push(words)
    words = []
    startsBlank = false
  }
  for (const [token] of text.matchAll(TOKEN)) {
    if (token === '\n' && depth === 0) end()
    else if (token === '(') depth++
    else if (token === ')') depth--
    else if (token === '"' || token === '\\') throw new KeyProblem(`has a ${token} where none can be`)
    else if (/^\s/.test(token)) startsBlank ||= words.length === 0 && depth === 0
    else if (!token.startsWith(';')) words.push(...(startsBlank && words.length === 0 ? ['', token] : [token]))
    if (depth < 0) throw new KeyProblem('has a ) without a (')
  }
  if (depth > 0) throw new KeyProblem('has a ( without a )')
  end()
  return records
}

/** What base64 stands for, blanks in it left out; undefined where it is none. */
export function octetsOf(text: string): Buffer | undefined {
  const whole = text.replace(/\s/g, '')
  const octets = Buffer.from(whole, 'base64')
  // Node passes over what is wrong.
  return octets.toString('base64') === whole ? octets : undefined
}
