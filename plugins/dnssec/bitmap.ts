/** A window has a number, a length, and up to 32 octets; there are 256. One bitmap at a time. */
const room = new Uint8Array(256 * 34)

/** The octets of a list of types, as NSEC and NSEC3 have it (RFC 4034 §4.1.2): windows in order, none of them empty. */
export function typeBitmap(types: Iterable<number>): Uint8Array {
  let window = -1
  let start = 0
  let end = 0
  for (const type of Array.from(types).sort((a, b) => a - b)) {
    if (type >> 8 !== window) {
      window = type >> 8
      start = end
      room[start] = window
      end += 2
    }
    const at = start + 2 + ((type & 0xff) >> 3)
    while (end <= at) room[end++] = 0
    room[at]! |= 0x80 >> (type & 7)
    room[start + 1] = end - start - 2
  }
  return room.slice(0, end)
}
