import { isIP, isIPv4 } from 'node:net'
import { shown } from '../corefile/directive.js'
import { ipv4Text, ipv6Octets, ipv6Text } from '../message/address.js'
import { shownAddress } from '../query.js'

/** A server to ask. */
export interface Upstream {
  /** As sockets take it: an IPv6 one with its zone, if it has one (RFC 4007 §11). */
  readonly address: string
  readonly port: number
  /** `192.0.2.1:53`, `[2001:db8::1]:53`: one spelling for each upstream. */
  readonly text: string
}

const DNS_PORT = 53

/**
 * The upstream that a configuration names: `192.0.2.1`, `192.0.2.1:53`, `2001:db8::1`, `[2001:db8::1]:53`, `fe80::1%eth0`. Undefined
 * where it is no address, such as a host name; `fail` is called with what is wrong with one that is meant to be.
 */
export function readUpstream(text: string, fail: (problem: string) => never): Upstream | undefined {
  const plain = upstreamAt(text)
  if (plain !== undefined) return plain
  const [, inside, after] = /^\[(.*)\](.*)$/s.exec(text) ?? []
  if (inside !== undefined && after !== undefined) return inBrackets(inside, after, fail)
  if (/^[\d.]+%/.test(text) && isIPv4(text.slice(0, text.indexOf('%')))) fail('an IPv4 address has no zone')
  const [, address = '', port = ''] = /^([^:]*):([^:]*)$/s.exec(text) ?? []
  return isIPv4(address) ? upstreamAt(address, readPort(port, fail)) : undefined
}

/** The upstream at an address without brackets, at DNS's port where none is given. Undefined where it is no address. */
export function upstreamAt(address: string, port = DNS_PORT): Upstream | undefined {
  if (isIP(address) === 0) return undefined
  const [bare = '', zone] = address.split('%')
  const octets = ipv6Octets(bare)
  const spelled = octets === undefined ? address : spelledIpv6(octets, zone)
  return { address: spelled, port, text: shownAddress(spelled, port) }
}

/** An IPv4 address in IPv6 clothes (RFC 4291 §2.5.5.2) is an IPv4 address: it is asked over IPv4 either way. */
function spelledIpv6(octets: Uint8Array, zone: string | undefined): string {
  const isMapped = octets[10] === 0xff && octets[11] === 0xff && octets.subarray(0, 10).every((octet) => octet === 0)
  if (isMapped) return ipv4Text(octets, 12)
  return zone === undefined ? ipv6Text(octets) : `${ipv6Text(octets)}%${zone}`
}

function inBrackets(inside: string, after: string, fail: (problem: string) => never): Upstream | undefined {
  if (isIP(inside) !== 6) fail('expected an IPv6 address in the brackets')
  if (after !== '' && !after.startsWith(':')) fail('expected nothing or a colon and a port after the brackets')
  return upstreamAt(inside, after === '' ? DNS_PORT : readPort(after.slice(1), fail))
}

function readPort(text: string, fail: (problem: string) => never): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0
  if (port < 1 || port > 65535) fail(`expected a port from 1 to 65535, not ${shown(text)}`)
  return port
}
