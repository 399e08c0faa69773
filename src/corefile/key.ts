import { isIPv6 } from 'node:net'
import { ConfigError, nearest, type Place, shown } from './directive.js'
import { origin } from './environment.js'
import { placeOf, type Token } from './lexer.js'
import { ADDRESS, type Fail, oddityOf, readName, readZones, withoutBrackets } from './zone.js'

/** How questions arrive at a server block. */
export type Scheme = keyof typeof DEFAULT_PORTS

/** The port of a key that names none, by scheme. `dns` stands for what the command line says, and a path has no port. */
export const DEFAULT_PORTS = { dns: 53, tls: 853, https: 443, quic: 853, grpc: 443, https3: 443, unix: undefined } as const

const SCHEMES = Object.keys(DEFAULT_PORTS) as Scheme[]

/** One `[scheme://]zone[:port]` of a server block. A network is several, one for each of its reverse zones. */
export interface Key {
  /** As it stands in the Corefile. */
  readonly text: string
  readonly scheme: Scheme
  /** A canonical name: questions are in the same spelling. For `unix` it is the path, which is no zone. */
  readonly zone: string
  /** `undefined` means the default of the scheme, 0 any free port. */
  readonly port: number | undefined
  readonly at: Place
}

/**
 * What the text of a key says; `token` is the word that it stands in. Throws ConfigError where CoreDNS would serve a zone that
 * nobody means; `warn` is told of names that are only odd.
 */
export function readKeys(text: string, token: Token, warn: (problem: string) => void): Key[] {
  const at = placeOf(token)
  const fail: Fail = (problem) => {
    throw new ConfigError(`${shown(text)}${origin(token)}: ${problem}`, at)
  }
  // 255 octets, each as `\\DDD`, with a scheme and a port. The patterns below are not for more.
  if (text.length > 1100) fail('too long, expected a name of at most 255 octets')
  if (!token.quoted) refuseSlips(text, fail)
  else if (/^[{}]$/.test(text)) fail('a brace in quotes is a word, expected a bare brace or a zone')
  const { scheme, rest } = splitScheme(text, fail)
  if (scheme === 'unix') return [{ text, scheme, zone: readName(rest, fail), port: undefined, at }]
  const { zone, port } = splitPort(rest, fail)
  if (isIPv6(rest)) fail(ADDRESS)
  const zones = readZones(zone, fail)
  const oddity = zones.length === 1 ? oddityOf(zones[0]!, zone) : undefined
  if (oddity !== undefined) warn(oddity)
  return zones.map((each) => ({ text, scheme, zone: each, port, at }))
}

/** Words that are legal names by accident: a space or an escape is missing. */
function refuseSlips(text: string, fail: Fail): void {
  if (/\$\{|^\$/.test(text)) fail('a $ as in a shell, expected a zone')
  if (!hasMatchedBraces(text)) fail('a brace in a zone, expected a space before it')
  if (/^(?:[^\\"]|\\[\s\S])*"/.test(text)) fail('a quote inside a word, expected it at the start, or as \\"')
}

function hasMatchedBraces(text: string): boolean {
  let depth = 0
  for (const [piece] of text.matchAll(/\\[\s\S]|[{}]/g)) {
    if (piece === '{') depth++
    if (piece === '}' && --depth < 0) return false
  }
  return depth === 0
}

function splitScheme(text: string, fail: Fail): { scheme: Scheme; rest: string } {
  const end = text.indexOf('://')
  if (end < 0) return { scheme: 'dns', rest: text }
  const word = text.slice(0, end)
  const scheme = SCHEMES.find((known) => known === word)
  const near = nearest(word, SCHEMES)
  if (scheme === undefined) {
    return fail(
      `the scheme ${shown(word)} is unknown, ${near === undefined ? `expected one of ${SCHEMES.join(', ')}` : `did you mean ${near}?`}`
    )
  }
  const rest = text.slice(end + 3)
  if (rest.includes('://')) fail('two schemes, expected at most one')
  return { scheme, rest }
}

/** The port follows the last colon, so that an IPv6 network may have one. */
function splitPort(rest: string, fail: Fail): { zone: string; port: number | undefined } {
  const colon = rest.lastIndexOf(':')
  const zone = rest.slice(0, colon)
  const digits = rest.slice(colon + 1)
  if (colon < 0 || /(?<!\\)(?:\\\\)*\\$/.test(zone)) return { zone: rest, port: undefined }
  if (digits === '' && isIPv6(withoutBrackets(rest))) fail(ADDRESS)
  if (digits === '') fail('no port after the colon, expected a number')
  if (!/^\d+$/.test(digits)) return { zone: rest, port: undefined }
  if (Number(digits) > 65535) fail(`the port ${shown(digits)} is too high, expected 0 to 65535`)
  return { zone, port: Number(digits) }
}
