/**
 * Names in presentation format (RFC 1035 §5.1) and on the wire (§3.1, §4.1.4).
 *
 * In Skein a name is a string of ASCII: labels with a final dot each, the root is `.`. Octets outside 0x21–0x7e
 * stand as `\DDD`, dots and backslashes inside a label as `\.` and `\\`, so any octets survive and `toLowerCase`
 * is exactly the folding of RFC 4343.
 */

/** The octets do not form the part of a message being read (RFC 1035 §4.1). */
export class FormatError extends Error {
  override readonly name = 'FormatError'
  readonly code = 'SKEIN_FORMERR'
}

/** A record that was made here cannot be put on the wire: a bad name, address or number. */
export class RecordError extends Error {
  override readonly name = 'RecordError'
  readonly code = 'SKEIN_RECORD'
}

/** The octets of a message's header (RFC 1035 §4.1.1). */
export const HEADER_OCTETS = 12

const MAX_NAME = 255
const MAX_LABEL = 63
const MAX_LABELS = 127
/** The first octet of a compression pointer is at least this. */
const POINTER = 0xc0
/** Room for any name with one label too many, so that a write can be checked after it. */
const scratch = new Uint8Array(MAX_NAME + MAX_LABEL + 2)

const DOT = 0x2e
const BACKSLASH = 0x5c

/** How each octet stands in presentation format. */
const SHOWN: readonly string[] = Array.from({ length: 256 }, (_, octet) => {
  if (octet === DOT || octet === BACKSLASH) return `\\${String.fromCharCode(octet)}`
  // Quotes, parentheses, `;`, `@` and `$` mean something in a master file.
  if (octet > 0x20 && octet < 0x7f && !'"();@$'.includes(String.fromCharCode(octet))) return String.fromCharCode(octet)
  if (octet > 0x20 && octet < 0x7f) return `\\${String.fromCharCode(octet)}`
  return `\\${String(octet).padStart(3, '0')}`
})

/** Which octets stand for themselves. */
const isPlain = Uint8Array.from(SHOWN, (shown) => (shown.length === 1 ? 1 : 0))
/** Where a name is put together: as one piece, which costs half of what as many short strings do. */
const text = Buffer.alloc(4 * (MAX_NAME + MAX_LABEL))

/** Puts an octet to `text` as it stands in presentation format; gives where the next one goes. */
function show(octet: number, at: number): number {
  if (isPlain[octet] === 1) {
    text[at] = octet
    return at + 1
  }
  const shown = SHOWN[octet]!
  for (let i = 0; i < shown.length; i++) text[at + i] = shown.charCodeAt(i)
  return at + shown.length
}

/** Where reading a name ended: the offset after it, in the message itself and not behind a pointer. */
export let nameEnd = 0

/** Reads the name at `offset`, its case kept. Sets {@link nameEnd}. Throws FormatError. */
export function readName(octets: Uint8Array, offset: number): string {
  nameEnd = skipName(octets, offset)
  let put = 0
  for (let at = offset; ; ) {
    const length = octets[at]!
    if (length === 0) return put === 0 ? '.' : text.toString('latin1', 0, put)
    if (length >= POINTER) {
      at = ((length & 0x3f) << 8) | octets[at + 1]!
      continue
    }
    const stop = at + 1 + length
    for (at++; at < stop; at++) put = show(octets[at]!, put)
    text[put++] = DOT
  }
}

/** Puts the name at `offset`, which {@link skipName} has checked, without pointers to the start of `to`; gives its length. */
export function copyName(octets: Uint8Array, offset: number, to: Uint8Array): number {
  let put = 0
  for (let at = offset; ; ) {
    const length = octets[at]!
    if (length >= POINTER) {
      at = ((length & 0x3f) << 8) | octets[at + 1]!
      continue
    }
    const stop = at + 1 + length
    while (at < stop) to[put++] = octets[at++]!
    if (length === 0) return put
  }
}

/**
 * Checks the name at `offset` without making a string of it, and gives the offset after it. Throws FormatError.
 *
 * A pointer must go back behind the part of the name read so far, so no loop can be (RFC 1035 §4.1.4: "a prior occurrence").
 * Nor may there be more of them than a name has labels: a message of pointers to pointers would cost much time.
 */
export function skipName(octets: Uint8Array, offset: number): number {
  let total = 1
  let pointers = 0
  let end = -1
  let before = offset
  let at = offset
  for (;;) {
    const length = octets[at]
    if (length === undefined) throw new FormatError('a name runs past the end of the message')
    if (length === 0) return end < 0 ? at + 1 : end
    if (length >= POINTER) {
      const low = octets[at + 1]
      if (low === undefined) throw new FormatError('half a compression pointer')
      if (end < 0) end = at + 2
      const target = ((length & 0x3f) << 8) | low
      // Nothing in a header is a name.
      if (target >= before || target < HEADER_OCTETS) throw new FormatError('a compression pointer that does not point back')
      if (++pointers > MAX_LABELS) throw new FormatError('a name of more pointers than labels')
      before = target
      at = target
      continue
    }
    if (length > MAX_LABEL) throw new FormatError('an unknown type of label')
    total += length + 1
    if (total > MAX_NAME) throw new FormatError('a name longer than 255 octets')
    at += 1 + length
    if (at > octets.length) throw new FormatError('a label runs past the end of the message')
  }
}

/**
 * Writes `name` without compression into `to` at `offset`; gives the number of octets. `to` must have room for 320.
 * Octets outside ASCII in the text are written as UTF-8. A missing final dot is taken as there.
 */
export function writeName(name: string, to: Uint8Array, offset: number): number {
  if (name === '') throw new RecordError('an empty name; the root is "."')
  if (name === '.') {
    to[offset] = 0
    return 1
  }
  let start = offset
  let at = offset + 1
  for (let i = 0; i < name.length; i++) {
    let code = name.charCodeAt(i)
    if (code === DOT) {
      closeLabel(to, start, at, name)
      start = at++
      continue
    }
    if (at >= offset + MAX_NAME) throw new RecordError(`a name longer than 255 octets: ${shown(name)}`)
    if (code === BACKSLASH) {
      code = name.charCodeAt(++i)
      if (isDigit(code)) {
        to[at++] = escapedOctet(name, i)
        i += 2
        continue
      }
      if (Number.isNaN(code)) throw new RecordError(`a backslash at the end of the name ${shown(name)}`)
    }
    if (code < 0x80) to[at++] = code
    else {
      const point = name.codePointAt(i)!
      if (point > 0xffff) i++
      for (const octet of Buffer.from(String.fromCodePoint(point))) to[at++] = octet
    }
  }
  if (at - 1 > start) {
    closeLabel(to, start, at, name)
    start = at++
  }
  to[start] = 0
  if (at - offset > MAX_NAME) throw new RecordError(`a name longer than 255 octets: ${shown(name)}`)
  return at - offset
}

function closeLabel(to: Uint8Array, start: number, at: number, name: string): void {
  const length = at - start - 1
  if (length === 0) throw new RecordError(`an empty label in the name ${shown(name)}`)
  if (length > MAX_LABEL) throw new RecordError(`a label longer than 63 octets in the name ${shown(name)}`)
  to[start] = length
}

/** The value of the three digits at `at`. */
function escapedOctet(name: string, at: number): number {
  const value = Number(name.slice(at, at + 3))
  if (!isDigit(name.charCodeAt(at + 1)) || !isDigit(name.charCodeAt(at + 2)) || value > 255) {
    throw new RecordError(`a bad escape in the name ${shown(name)}`)
  }
  return value
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39
}

/** A name that is none, in an error: on one line, and not all of it where it is long. */
function shown(name: string): string {
  return name.length > 80 ? `${JSON.stringify(name.slice(0, 80))}…` : JSON.stringify(name)
}

/** The name in wire format without compression. */
export function nameOctets(name: string): Uint8Array {
  return scratch.slice(0, writeName(name, scratch, 0))
}

/**
 * A name as people write it (with or without final dot, UTF-8, needless escapes) in the one spelling of Skein, lower case.
 * Throws RecordError where it is no name.
 */
export function canonicalName(text: string): string {
  return spelledName(text).toLowerCase()
}

/** Like {@link canonicalName}, but the case is kept. */
export function spelledName(text: string): string {
  writeName(text, scratch, 0)
  return readName(scratch, 0)
}

/** The labels of a name, leftmost first, each a string of octets (one character per octet). */
export function labelsOf(name: string): string[] {
  writeName(name, scratch, 0)
  const labels: string[] = []
  for (let at = 0; scratch[at] !== 0; at += scratch[at]! + 1) {
    let label = ''
    for (let i = at + 1; i <= at + scratch[at]!; i++) label += String.fromCharCode(scratch[i]!)
    labels.push(label)
  }
  return labels
}

/** The name of these labels (leftmost first, strings of octets), or undefined where they make no legal name. */
export function nameOfLabels(labels: readonly string[]): string | undefined {
  let put = 0
  let total = 1
  for (const label of labels) {
    total += label.length + 1
    if (label.length === 0 || label.length > MAX_LABEL || total > MAX_NAME) return undefined
    for (let i = 0; i < label.length; i++) {
      const octet = label.charCodeAt(i)
      if (octet > 0xff) return undefined
      put = show(octet, put)
    }
    text[put++] = DOT
  }
  return put === 0 ? '.' : text.toString('latin1', 0, put)
}

/** How many labels a name has; the root has none. */
export function countLabels(name: string): number {
  let count = 0
  for (let at = 0; at < name.length && name !== '.'; count++) at = labelEnd(name, at) + 1
  return count
}

/** The name without its leftmost label; the parent of the root is the root. */
export function parentName(name: string): string {
  const end = labelEnd(name, 0)
  return end + 1 >= name.length ? '.' : name.slice(end + 1)
}

/** Offset of the dot that ends the label starting at `from`. */
function labelEnd(name: string, from: number): number {
  for (let at = from; at < name.length; at++) {
    const code = name.charCodeAt(at)
    if (code === BACKSLASH) at++
    else if (code === DOT) return at
  }
  return name.length
}

/** Whether `name` is `apex` or below it, by whole labels. Both canonical. */
export function isWithin(name: string, apex: string): boolean {
  if (apex === '.' || name === apex) return true
  if (!name.endsWith(apex)) return false
  const dot = name.length - apex.length - 1
  if (name.charCodeAt(dot) !== DOT) return false
  // The dot must end a label: an even number of backslashes stands before it.
  let backslashes = 0
  while (dot - 1 - backslashes >= 0 && name.charCodeAt(dot - 1 - backslashes) === BACKSLASH) backslashes++
  return backslashes % 2 === 0
}

/** Whether two names are the same but for case. */
export function sameName(a: string, b: string): boolean {
  return a === b || a.toLowerCase() === b.toLowerCase()
}
