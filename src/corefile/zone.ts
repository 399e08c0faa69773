import { isIP, isIPv4 } from 'node:net'
import { domainToASCII } from 'node:url'
import { canonicalName, isWithin, RecordError } from '../message/name.js'
import { shown } from './directive.js'
import { reverseZones } from './network.js'

/** Tells what is wrong with a text, and does not return. */
export type Fail = (problem: string) => never

/** What is said of an address where a zone is expected. */
export const ADDRESS = 'an address, expected a zone: bind takes addresses, and reverse zones are named such as 1.2.0.192.in-addr.arpa'

const UNESCAPED_COLON = /^(?:[^\\:]|\\[\s\S])*:/
/** A slash in the last label, behind something: the names of RFC 2317 have theirs before a dot. */
const PATH = /[^./]\/[^.]*\.?$/
const NETWORK_LIKE = /^[\da-f.:[\]]*\/\d*\.?$/i
/** How the reverse zones of ::ffff:0:0/96 end, which nobody asks for. */
const IPV4_MAPPED = `.f.f.f.f.${'0.'.repeat(20)}ip6.arpa.`
/** Letters, digits and inner hyphens (RFC 1035 §2.3.1, with the leading digits of RFC 1123 §2.1). */
const PREFERRED = /^(?:[a-z\d](?:[a-z\d-]*[a-z\d])?\.)+$/

/**
 * The zones that a text names, canonical: one, or the reverse zones of a network. For keys without scheme and port, and for
 * the zones among the arguments of plugins. Calls `fail` where CoreDNS would take a zone that nobody means.
 */
export function readZones(text: string, fail: Fail): string[] {
  const reverse = reverseZones(text)
  if (reverse?.[0]?.endsWith(IPV4_MAPPED)) fail('an IPv4 network written as IPv6, expected one such as 192.0.2.0/24')
  if (reverse !== undefined) return reverse
  if (NETWORK_LIKE.test(text)) fail('looks like a network but is none, expected one such as 192.0.2.0/24 or 2001:db8::/32')
  if (isIPv4(text.replace(/\.$/, '')) || isIP(withoutBrackets(text)) !== 0) fail(ADDRESS)
  if (text === '') fail('no zone, expected one such as example.org, or . for all')
  if (UNESCAPED_COLON.test(text)) fail('expected a number after the colon, its port')
  if (PATH.test(text)) fail('a path, expected a zone alone')
  return [readName(text, fail)]
}

/** A name in the one spelling of Skein. */
export function readName(text: string, fail: Fail): string {
  try {
    return canonicalName(text)
  } catch (error) {
    if (!(error instanceof RecordError)) throw error
    return fail(`no domain name: ${error.message}, expected one such as example.org`)
  }
}

/** An address without the brackets that it has before a port. */
export function withoutBrackets(address: string): string {
  return address.replace(/^\[(.*)\]$/, '$1')
}

/**
 * What is odd about the name of a zone, as CoreDNS warns of it, or undefined: names that hosts may not have. The root and
 * reverse zones may be anything. `text` is the zone as written.
 */
export function oddityOf(zone: string, text: string): string | undefined {
  if (/^\d+\.$/.test(zone)) return `${shown(text)} is a zone whose name is a number; a port stands behind a colon, as in .:1053`
  if (zone === '.' || PREFERRED.test(zone) || isWithin(zone, 'in-addr.arpa.') || isWithin(zone, 'ip6.arpa.')) return undefined
  if (zone.startsWith('*.')) {
    return `${shown(text)} is a zone whose name has a star, not a pattern; a zone covers all names below it anyway`
  }
  const ascii = /[^\0-\x7f]/.test(text) ? domainToASCII(text) : ''
  if (ascii !== '') return `${shown(text)} is a zone of these octets; clients ask for ${shown(ascii)}`
  return `the zone ${shown(text)} is not in preferred syntax: letters, digits and hyphens inside`
}
