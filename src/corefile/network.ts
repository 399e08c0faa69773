import { ipv4Octets, ipv6Octets } from '../message/address.js'

/**
 * The reverse zones of a network such as `192.0.2.0/24` or `2001:db8::/32`: canonical names in the order of their addresses,
 * or undefined where the text is no network.
 *
 * A mask that is not at a label's edge gives all zones at the next longer one (at most 128 for IPv4, 8 for IPv6), so no
 * address outside the network is served: RFC 2317 needs names of another kind. Bits behind the mask are ignored.
 */
export function reverseZones(text: string): string[] | undefined {
  const [, address = '', mask = ''] = /^([\da-f.:]+)\/(\d+)$/i.exec(text) ?? []
  const v4 = ipv4Octets(address)
  const octets = v4 ?? ipv6Octets(address)
  const prefix = Number(mask)
  if (octets === undefined || prefix > octets.length * 8) return undefined
  return v4 === undefined
    ? zonesBelow(
        [...octets].flatMap((octet) => [octet >> 4, octet & 15]),
        4,
        prefix,
        'ip6.arpa.'
      )
    : zonesBelow([...v4], 8, prefix, 'in-addr.arpa.')
}

function zonesBelow(digits: readonly number[], bits: 4 | 8, prefix: number, suffix: string): string[] {
  const known = Math.ceil(prefix / bits)
  if (known === 0) return [suffix]
  const label = (digit: number): string => digit.toString(bits === 4 ? 16 : 10)
  const above = [
    ...digits
      .slice(0, known - 1)
      .reverse()
      .map(label),
    suffix
  ].join('.')
  const count = 2 ** (known * bits - prefix)
  const first = digits[known - 1]! & ~(count - 1)
  return Array.from({ length: count }, (_, index) => `${label(first + index)}.${above}`)
}
