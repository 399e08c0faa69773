const DIGITS = '0123456789abcdefghijklmnopqrstuv'

/** Base 32 with the extended hex alphabet, in lower case and without padding (RFC 4648 §7): how hashes stand in owners of NSEC3. */
export function base32Hex(octets: Uint8Array): string {
  let text = ''
  let bits = 0
  let value = 0
  for (const octet of octets) {
    value = ((value & 0x1f) << 8) | octet
    bits += 8
    for (; bits >= 5; bits -= 5) text += DIGITS[(value >> (bits - 5)) & 0x1f]
  }
  return bits === 0 ? text : text + DIGITS[(value << (5 - bits)) & 0x1f]
}
