/** IP addresses as text and as octets. */
import { isIP, isIPv4 } from 'node:net'

/** The four octets of a dotted quad as `net.isIPv4` takes it, or undefined. */
export function ipv4Octets(text: string): Uint8Array | undefined {
  if (!isIPv4(text)) return undefined
  const octets = new Uint8Array(4)
  let at = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === 0x2e) at++
    else octets[at] = octets[at]! * 10 + code - 0x30
  }
  return octets
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
