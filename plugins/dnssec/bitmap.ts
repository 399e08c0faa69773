/** The octets of a list of types, as NSEC and NSEC3 have it (RFC 4034 §4.1.2): windows in order, none of them empty. */
export function typeBitmap(types: Iterable<number>): Uint8Array {
  const windows = new Map<number, Uint8Array>()
  for (const type of types) {
    const window = type >> 8
    const bits = windows.get(window) ?? new Uint8Array(32)
    windows.set(window, bits)
    bits[(type & 0xff) >> 3]! |= 0x80 >> (type & 7)
  }
  const parts: Uint8Array[] = []
  for (const window of [...windows.keys()].sort((a, b) => a - b)) {
    const bits = windows.get(window)!
    const length = bits.findLastIndex((octet) => octet !== 0) + 1
    parts.push(Uint8Array.of(window, length), bits.subarray(0, length))
  }
  return Buffer.concat(parts)
}
