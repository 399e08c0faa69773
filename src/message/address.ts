/** IP addresses as text and as octets. */
import { isIP } from 'node:net'

const DOT = 0x2e

/** The four octets of a dotted quad as `net.isIPv4` takes it, or undefined. */
export function ipv4Octets(text: string): Uint8Array | undefined {
  const octets = new Uint8Array(4)
  return putIpv4(text, octets, 0) ? octets : undefined
}

/** Puts {@link ipv4Octets} to `at` of `to`; false where there are none. */
export function putIpv4(text: string, to: Uint8Array, at: number): boolean {
  let octet = 0
  let digits = 0
  let dots = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === DOT) {
      if (digits === 0 || dots === 3) return false
      to[at + dots++] = octet
      octet = 0
      digits = 0
      continue
    }
    // No zero stands before another digit: some read that as octal.
    if (code < 0x30 || code > 0x39 || (digits > 0 && octet === 0)) return false
    octet = octet * 10 + code - 0x30
    digits++
    if (octet > 255) return false
  }
  to[at + 3] = octet
  return dots === 3 && digits > 0
}

/** The sixteen octets of an IPv6 address without zone (RFC 4291 §2.2), or undefined. */
export function ipv6Octets(text: string): Uint8Array | undefined {
  if (isIP(text) !== 6 || text.includes('%')) return undefined
  const octets = new Uint8Array(16)
  const dotted = text.includes('.') ? text.slice(text.lastIndexOf(':') + 1) : ''
  const groups = dotted === '' ? text : `${text.slice(0, text.length - dotted.length)}0:0`
  const [head = '', tail] = groups.split('::')
  const before = head === '' ? [] : head.split(':')
  const after = tail === undefined || tail === '' ? [] : tail.split(':')
  const put = (group: string, index: number): void => {
    const value = Number.parseInt(group, 16)
    octets[index * 2] = value >> 8
    octets[index * 2 + 1] = value & 0xff
  }
  for (const [index, group] of before.entries()) put(group, index)
  for (const [index, group] of after.entries()) put(group, 8 - after.length + index)
  if (dotted !== '') octets.set(ipv4Octets(dotted)!, 12)
  return octets
}

/** The dotted quad of the four octets at `at`. */
export function ipv4Text(octets: Uint8Array, at = 0): string {
  return `${octets[at]}.${octets[at + 1]}.${octets[at + 2]}.${octets[at + 3]}`
}

/** The text of the sixteen octets at `at`: lower case, the longest run of zero groups shortened (RFC 5952 §4). */
export function ipv6Text(octets: Uint8Array, at = 0): string {
  let runAt = -1
  let runLength = 1
  for (let i = 0; i < 8; i++) {
    let length = 0
    while (i + length < 8 && octets[at + (i + length) * 2] === 0 && octets[at + (i + length) * 2 + 1] === 0) length++
    if (length > runLength) {
      runAt = i
      runLength = length
    }
    i += length
  }
  // An address that maps an IPv4 one shows it (RFC 5952 §5).
  if (runAt === 0 && runLength === 5 && octets[at + 10] === 0xff && octets[at + 11] === 0xff) return `::ffff:${ipv4Text(octets, at + 12)}`
  let text = ''
  for (let i = 0; i < 8; i++) {
    if (i === runAt) {
      text += i === 0 ? '::' : ':'
      i += runLength - 1
      continue
    }
    text += ((octets[at + i * 2]! << 8) | octets[at + i * 2 + 1]!).toString(16)
    if (i < 7) text += ':'
  }
  return text
}
