import { isIP, isIPv4 } from 'node:net'
import { ipv4Text, ipv6Octets, ipv6Text, shown, shownAddress } from 'skein/plugin'

/** A server of a stub zone. */
export interface Server {
  readonly address: string
  readonly port: number
  /** `192.0.2.1:53`, `[2001:db8::1]:53`: one spelling for each. */
  readonly text: string
}

const DNS_PORT = 53

/** What a line of the Corefile names; fails with the problem. */
export function readServer(text: string, fail: (problem: string) => never): Server {
  const plain = serverAt(text, DNS_PORT)
  if (plain !== undefined) return plain
  const [, inside, outside = '', digits] = /^(?:\[([^\]]*)\]|([^:[\]]*))(?::(.*))?$/s.exec(text) ?? []
  const isAddress = inside === undefined ? isIPv4(outside) : isIP(inside) === 6
  if (!isAddress) return fail(`expected an address such as 192.0.2.1, 192.0.2.1:53 or [2001:db8::1]:53, not ${shown(text)}`)
  const port = digits === undefined ? DNS_PORT : /^\d{1,5}$/.test(digits) ? Number(digits) : 0
  if (port < 1 || port > 0xffff) return fail(`${shown(text)}: expected a port from 1 to 65535, not ${shown(digits ?? '')}`)
  return serverAt(inside ?? outside, port) ?? fail(`expected an address, not ${shown(text)}`)
}

/** The server at an address; undefined where it is none. */
export function serverAt(address: string, port: number): Server | undefined {
  const version = isIP(address)
  if (version === 0) return undefined
  if (version === 4) return { address, port, text: shownAddress(address, port) }
  const [bare = '', scope] = address.split('%')
  const octets = ipv6Octets(bare)
  if (octets === undefined) return undefined
  // An IPv4 address in IPv6 clothes is an IPv4 address: a socket says so too.
  const isMapped = octets.subarray(0, 10).every((octet) => octet === 0) && octets[10] === 0xff && octets[11] === 0xff
  const spelled = isMapped ? ipv4Text(octets, 12) : scope === undefined ? ipv6Text(octets) : `${ipv6Text(octets)}%${scope}`
  return { address: spelled, port, text: shownAddress(spelled, port) }
}
