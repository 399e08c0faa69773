import { isIP, isIPv4, isIPv6 } from 'node:net'
import { canonicalName, RecordError } from '../message/name.js'
import { ConfigError, nearest, type Place, shown } from './directive.js'

/** How questions arrive at a server block. */
export type Scheme = (typeof SCHEMES)[number]

const SCHEMES = ['dns', 'tls', 'https', 'quic', 'grpc', 'https3', 'unix'] as const

/** One `[scheme://]zone[:port]` of a server block. */
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

/** What the text of a key says. Throws ConfigError where CoreDNS would serve a zone that nobody means. */
export function readKey(text: string, quoted: boolean, at: Place): Key {
  const fail: Fail = (problem) => {
    throw new ConfigError(`${shown(text)}: ${problem}`, at)
  }
  // 255 octets, each as `\\DDD`, with a scheme and a port. The patterns below are not for more.
  if (text.length > 1100) fail('too long, expected a name of at most 255 octets')
  if (!quoted) refuseSlips(text, fail)
  else if (/^[{}]$/.test(text)) fail('a brace in quotes is a word, expected a bare brace or a zone')
  const { scheme, rest } = splitScheme(text, fail)
  const { zone, port } = splitPort(rest, fail)
  refuseAddress(zone, rest, fail)
  if (zone === '') fail('no zone, expected one such as example.org, or . for all')
  if (UNESCAPED_COLON.test(zone)) fail('expected a number after the colon, its port')
  if (scheme !== 'unix' && PATH.test(zone)) fail('a path, expected a zone alone')
  return { text, scheme, zone: canonicalZone(zone, fail), port, at }
}

type Fail = (problem: string) => never

const UNESCAPED_COLON = /^(?:[^\\:]|\\[\s\S])*:/
/** A slash in the last label, behind something: the names of RFC 2317 have theirs before a dot. */
const PATH = /[^./]\/[^.]*\.?$/
const NETWORK_LIKE = /^[\da-f.:[\]]*\/\d*\.?$/i

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
  if (digits === '' && isIPv6(bare(rest))) fail(ADDRESS)
  if (digits === '') fail('no port after the colon, expected a number')
  if (!/^\d+$/.test(digits)) return { zone: rest, port: undefined }
  if (Number(digits) > 65535) fail(`the port ${shown(digits)} is too high, expected 0 to 65535`)
  return { zone, port: Number(digits) }
}

const ADDRESS = 'an address, expected a zone: bind takes addresses, and reverse zones are named such as 1.2.0.192.in-addr.arpa'

function refuseAddress(zone: string, rest: string, fail: Fail): void {
  if (isNetwork(zone)) fail('a network, which is not supported yet, expected its reverse zone such as 2.0.192.in-addr.arpa')
  if (NETWORK_LIKE.test(zone)) fail('looks like a network but is none, expected one such as 192.0.2.0/24 or 2001:db8::/32')
  if (isIPv4(zone.replace(/\.$/, '')) || isIP(bare(zone)) !== 0 || isIPv6(rest)) fail(ADDRESS)
}

/** Whether Go's ParseCIDR would accept it, which is what makes a reverse zone in CoreDNS. */
function isNetwork(zone: string): boolean {
  const [, address = '', mask] = /^([^%]*)\/(\d+)$/.exec(zone) ?? []
  const version = isIP(address)
  return version !== 0 && Number(mask) <= (version === 4 ? 32 : 128)
}

function bare(address: string): string {
  return address.replace(/^\[(.*)\]$/, '$1')
}

function canonicalZone(zone: string, fail: Fail): string {
  try {
    return canonicalName(zone)
  } catch (error) {
    if (!(error instanceof RecordError)) throw error
    return fail(`no domain name: ${error.message}, expected one such as example.org`)
  }
}
