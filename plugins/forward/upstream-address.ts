import { isIP, isIPv4 } from 'node:net'
import { ipv6Octets, ipv6Text, shown, shownAddress } from 'skein/plugin'

/** A server to ask. */
export interface Upstream {
  /** As sockets take it: an IPv6 one with its zone, if it has one (RFC 4007 §11). */
  readonly address: string
  readonly port: number
  /** `192.0.2.1:53`, `[2001:db8::1]:53`: one spelling for each upstream. */
  readonly text: string
}

/** Fails with the problem, at the place that the text comes from. */
export type Fail = (problem: string) => never

const DNS_PORT = 53
/** Schemes that CoreDNS takes for upstreams and that are yet to come. */
const LATER_SCHEMES = ['tls', 'https', 'quic']

/**
 * What a TO of `forward` names: `192.0.2.1`, `192.0.2.1:53`, `2001:db8::1`, `[2001:db8::1]:53`, `fe80::1%eth0`, each also behind
 * `dns://`; undefined where it is no address, and may be the path of a file.
 */
export function readUpstream(text: string, fail: Fail): Upstream | undefined {
  const [, scheme, behind = text] = /^([\w+.-]*):\/\/(.*)$/s.exec(text) ?? []
  if (scheme === undefined) return readAddress(text, text, fail)
  if (LATER_SCHEMES.includes(scheme))
    fail(`${shown(text)}: upstreams over ${scheme}:// are not supported yet, expected dns:// or an address`)
  if (scheme !== 'dns') fail(`${shown(text)}: the scheme ${shown(scheme)} is unknown for an upstream, expected dns:// or an address`)
  return readAddress(behind, text, fail) ?? failAsName(text, fail)
}

/** Fails since a TO is a host name: whoever looks it up would need an upstream. */
export function failAsName(text: string, fail: Fail): never {
  return fail(`${shown(text)} is neither an address nor a file; host names are not supported yet: name upstreams by address`)
}

/** The upstream at an address, on the port that DNS has. Undefined where it is no address. */
export function upstreamAt(address: string, port = DNS_PORT): Upstream | undefined {
  const version = isIP(address)
  if (version === 0) return undefined
  if (version === 4) return { address, port, text: shownAddress(address, port) }
  const [bare = '', zone] = address.split('%')
  const octets = ipv6Octets(bare)
  if (octets === undefined) return undefined
  const spelled = zone === undefined ? ipv6Text(octets) : `${ipv6Text(octets)}%${zone}`
  return { address: spelled, port, text: shownAddress(spelled, port) }
}

function readAddress(text: string, whole: string, fail: Fail): Upstream | undefined {
  const plain = upstreamAt(text)
  if (plain !== undefined) return plain
  const [, inside, after] = /^\[(.*)\](.*)$/s.exec(text) ?? []
  if (inside !== undefined && after !== undefined) return inBrackets(inside, after, whole, fail)
  const [, host = '', port] = /^([^:]*):([^:]*)$/s.exec(text) ?? []
  if (/^[\d.]+%/.test(text) && isIPv4(text.slice(0, text.indexOf('%')))) fail(`${shown(whole)}: an IPv4 address has no zone`)
  if (port === undefined) return undefined
  if (isIPv4(host)) return upstreamAt(host, portNumber(port, whole, fail))
  // A path may hold a colon, but one that ends as an address with a port does is none.
  return /^\d+$/.test(port) && !host.includes('/') ? failAsName(whole, fail) : undefined
}

function inBrackets(inside: string, after: string, whole: string, fail: Fail): Upstream {
  if (isIP(inside) !== 6) fail(`${shown(whole)}: expected an IPv6 address in the brackets`)
  if (after !== '' && !after.startsWith(':')) fail(`${shown(whole)}: expected nothing or a colon and a port after the brackets`)
  return upstreamAt(inside, after === '' ? DNS_PORT : portNumber(after.slice(1), whole, fail)) ?? failAsName(whole, fail)
}

function portNumber(text: string, whole: string, fail: Fail): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0
  if (port < 1 || port > 65535) fail(`${shown(whole)}: expected a port from 1 to 65535, not ${shown(text)}`)
  return port
}
