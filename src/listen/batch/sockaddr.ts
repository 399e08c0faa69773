/** Addresses as the kernel has them: struct sockaddr_in and sockaddr_in6. */
import { ipv4Octets, ipv4Text, ipv6Octets, ipv6Text } from '../../message/address.js'
import { AF_INET, AF_INET6, SOCKADDR_IN_OCTETS, SOCKADDR_IN6_OCTETS } from './layout.js'
import type { Libc } from './libc.js'

/** IF_NAMESIZE. */
const INTERFACE_OCTETS = 16

/**
 * The sockaddr of an address; an IPv6 one may name its interface, or give its number: `fe80::1%eth0`, `fe80::1%2`. Undefined for what
 * is no address of this machine's interfaces.
 */
export function sockaddrOf(libc: Libc, address: string, port: number): Uint8Array | undefined {
  const [host = '', zone] = address.split('%')
  const isV6 = host.includes(':')
  const octets = isV6 ? ipv6Octets(host) : ipv4Octets(host)
  if (octets === undefined) return undefined
  const name = new Uint8Array(isV6 ? SOCKADDR_IN6_OCTETS : SOCKADDR_IN_OCTETS)
  name[0] = isV6 ? AF_INET6 : AF_INET
  name[2] = port >> 8
  name[3] = port & 0xff
  name.set(octets, isV6 ? 8 : 4)
  if (zone !== undefined) {
    const scope = libc.if_nametoindex(zone) || Number(zone)
    if (!isV6 || !Number.isInteger(scope) || scope <= 0) return undefined
    new DataView(name.buffer).setUint32(24, scope, true)
  }
  return name
}

/** How long the sockaddr at `at` is. */
export function sockaddrLength(octets: Uint8Array, at: number): number {
  return octets[at] === AF_INET6 ? SOCKADDR_IN6_OCTETS : SOCKADDR_IN_OCTETS
}

/** The port of the sockaddr at `at`. */
export function portAt(octets: Uint8Array, at: number): number {
  return (octets[at + 2]! << 8) | octets[at + 3]!
}

/** The address of the sockaddr at `at` as Node writes it: a link-local one with its interface, `fe80::1%eth0`. */
export function addressAt(libc: Libc, octets: Uint8Array, at: number): string {
  return octets[at] === AF_INET ? ipv4Text(octets, at + 4) : ipv6At(libc, octets, at + 8)
}

/** The same of the sixteen octets of an IPv6 address, with the number of an interface behind them. */
export function ipv6At(libc: Libc, octets: Uint8Array, at: number): string {
  const text = ipv6Text(octets, at)
  const scope = octets[at + 16]! | (octets[at + 17]! << 8) | (octets[at + 18]! << 16) | (octets[at + 19]! << 24)
  return isLinkLocal(octets, at) && scope !== 0 ? `${text}%${interfaceName(libc, scope)}` : text
}

/** Whether the IPv6 address at `at` is of one interface alone (RFC 4291 §2.5.6). */
export function isLinkLocal(octets: Uint8Array, at: number): boolean {
  return octets[at] === 0xfe && (octets[at + 1]! & 0xc0) === 0x80
}

/** The name of an interface; its number where it has just gone. */
function interfaceName(libc: Libc, index: number): string {
  const name = Buffer.alloc(INTERFACE_OCTETS)
  return libc.if_indextoname(index, name) === null ? String(index) : name.toString('latin1', 0, name.indexOf(0))
}
