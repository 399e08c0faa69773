/**
 * Keys of the service store: lists of segments, compared without case, kept as written.
 *
 * A segment is a string of octets (one character an octet), so a dot, a slash or any octet inside a label stays inside it.
 * In the database a key is its folded segments with an octet 0 between them. A key whose spelling differs from the
 * folded one has the spelling behind `0 0`; so the key itself, its other spellings and everything below it are one
 * contiguous range, and no sibling falls into it.
 */
export type Key = readonly string[]

const BETWEEN = 0
const ESCAPE = 1

/** The longest key in the database: LMDB's limit (1978), less what the expiry table adds to it. */
export const MAX_KEY_OCTETS = 1900

// Longer than any key, or a key of nothing but 0xff would stand behind it.
const AFTER_ALL = Buffer.alloc(MAX_KEY_OCTETS + 1, 0xff)

/** Lower-cases A–Z only: other octets are no letters (RFC 4343 §2). */
export function fold(segment: string): string {
  return isFolded(segment) ? segment : segment.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
}

/** The key in the spelling of the database: itself, where it is spelled so. */
export function foldedKey(key: Key): Key {
  for (let index = 0; index < key.length; index++) if (!isFolded(key[index]!)) return key.map(fold)
  return key
}

function isFolded(segment: string): boolean {
  for (let i = 0; i < segment.length; i++) {
    const octet = segment.charCodeAt(i)
    if (octet >= 0x41 && octet <= 0x5a) return false
  }
  return true
}

/** {@link fold}, of one octet. */
export function foldedOctet(octet: number): number {
  return octet >= 0x41 && octet <= 0x5a ? octet + 0x20 : octet
}

/** Octets of the folded key: where its own entry is and where its subtree begins. */
export function foldedOctets(key: Key): Buffer {
  return joined(key, true)
}

/** {@link foldedOctets} until the next call of any of these, which use the same memory; undefined of a key that is too long to be in the database. */
export function foldedForNow(key: Key): Buffer | undefined {
  const length = join(key, true, room)
  if (length > MAX_KEY_OCTETS) return undefined
  views[length] ??= room.subarray(0, length)
  return views[length]
}

/** Octets of the key as written: no two keys have the same, and a key stands before what is below it. */
export function writtenOctets(key: Key): Buffer {
  return joined(key, false)
}

/** Octets under which the entry of this very spelling is stored. */
export function spelledOctets(key: Key): Buffer {
  const folded = foldedOctets(key)
  return foldedKey(key) === key ? folded : Buffer.concat([folded, Buffer.from([BETWEEN, BETWEEN]), joined(key, false)])
}

/** The octets of the folded key, of those that {@link spelledOctets} made. */
export function foldedPart(spelled: Buffer): Buffer {
  // Segments are never empty, so two separators in a row are where the spelling begins.
  for (let at = spelled.indexOf(BETWEEN); at >= 0; at = spelled.indexOf(BETWEEN, at + 1)) {
    if (spelled[at + 1] === BETWEEN) return spelled.subarray(0, at)
  }
  return spelled
}

/** The octets of a folded key without its last segment; of one segment none. */
export function parentOctets(folded: Buffer): Buffer {
  return folded.subarray(0, Math.max(0, folded.lastIndexOf(BETWEEN)))
}

/** Whether both keys have the same spelling. */
export function sameKey(one: Key, other: Key): boolean {
  return one.length === other.length && one.every((segment, index) => segment === other[index])
}

/** Whether `key`, as written, is below `above`, as written. */
export function isBelow(key: Key, above: Key): boolean {
  return key.length > above.length && above.every((segment, index) => segment === key[index])
}

/** The range of the other spellings of a folded key: behind `0 0`, where no child of it can be. */
export function spellingsOf(folded: Buffer): { start: Buffer; end: Buffer } {
  return {
    start: Buffer.concat([folded, Buffer.from([BETWEEN, BETWEEN])]),
    end: Buffer.concat([folded, Buffer.from([BETWEEN, ESCAPE])])
  }
}

/** The first octets after the subtree of a folded key: its end, exclusive. */
export function subtreeEnd(folded: Buffer): Buffer {
  return folded.length === 0 ? AFTER_ALL : Buffer.concat([folded, Buffer.from([ESCAPE])])
}

/** The key, as written, that {@link spelledOctets} made these octets of. */
export function keyOfOctets(octets: Uint8Array): Key {
  const text = (Buffer.isBuffer(octets) ? octets : Buffer.from(octets)).toString('latin1')
  if (text === '') return []
  const segments: string[] = []
  // `split` and what else there is to find takes three times as long, and this is for each key of a range.
  for (let from = 0; from <= text.length; ) {
    const separator = text.indexOf('\0', from)
    const end = separator < 0 ? text.length : separator
    if (end > from) segments.push(text.slice(from, end))
    // Segments are never empty, so two separators in a row are where the spelling begins.
    else segments.length = 0
    from = end + 1
  }
  return text.includes('\x01') ? segments.map(unescaped) : segments
}

/** Where keys are joined, and its beginnings by their length: of any length there is one. */
const room = Buffer.alloc(2 * MAX_KEY_OCTETS)
const views: (Buffer | undefined)[] = []

function joined(segments: Key, folds: boolean): Buffer {
  const length = join(segments, folds, room)
  if (length <= room.length) return Buffer.from(room.subarray(0, length))
  const octets = Buffer.allocUnsafe(length)
  join(segments, folds, octets)
  return octets
}

/** Puts the octets of a key to the start of `to`, as far as there is room, and gives their number. */
function join(segments: Key, folds: boolean, to: Uint8Array): number {
  let at = 0
  for (let index = 0; index < segments.length; index++) {
    const segment = segments[index]!
    if (segment === '') throw new RangeError('an empty segment in a key')
    if (index > 0) to[at++] = BETWEEN
    for (let i = 0; i < segment.length; i++) {
      const octet = segment.charCodeAt(i)
      // U+212A must not become an asterisk by losing its high octet: text reaches a key as UTF-8 octets only.
      if (octet > 0xff) throw new RangeError('a segment of a key holds octets, not characters above U+00FF')
      if (octet > ESCAPE) to[at++] = folds ? foldedOctet(octet) : octet
      else {
        // 0 separates; so 0 and 1 inside a segment are written 1 1 and 1 2, which keeps the order.
        to[at++] = ESCAPE
        to[at++] = octet + 1
      }
    }
  }
  return at
}

function unescaped(segment: string): string {
  // oxlint-disable-next-line no-control-regex -- a key holds octets
  return segment.replace(/\x01[\x01\x02]/g, (pair) => (pair === '\x01\x01' ? '\0' : '\x01'))
}

/** The segments of a path such as `/skydns/local/skydns/a`; text outside ASCII becomes UTF-8 octets. */
export function keyOfPath(path: string): Key {
  return path
    .split('/')
    .filter((segment) => segment !== '')
    .map((segment) => Buffer.from(segment, 'utf8').toString('latin1'))
}

/** The key of a path as {@link shownKey} shows it: `\\DDD` in it stands for an octet. */
export function keyOfShownPath(path: string): Key {
  return keyOfPath(path).map((segment) => segment.replace(/\\(\d{3})/g, octetOf))
}

/** The octets of a path as {@link shownPath} shows it: as it stands, empty segments too. */
export function octetsOfShownPath(path: string): Buffer {
  const text = Buffer.from(path, 'utf8').toString('latin1')
  return Buffer.from(text.replace(/\\(\d{3})/g, octetOf), 'latin1')
}

function octetOf(text: string, digits: string): string {
  return Number(digits) < 256 ? String.fromCharCode(Number(digits)) : text
}

/** The path of a key as the keys API gives it: text as it is; segments with a slash or with octets that are no UTF-8 as `\\DDD`. */
export function pathOfKey(key: Key): string {
  return `/${key.map((segment) => shownSegment(segment, /\//)).join('/')}`
}

/** The path of a key for people, on one line, which {@link keyOfShownPath} reads: control characters and backslashes as `\\DDD` too. */
export function shownKey(key: Key): string {
  return `/${key.map((segment) => shownSegment(segment, /[/\\\x00-\x1f\x7f]/)).join('/')}`
}

/** Any octets of a path on one line: what is no printable ASCII as `\\DDD`. */
export function shownPath(path: Buffer): string {
  return path.toString('latin1').replace(/[^\x21-\x5b\x5d-\x7e]/g, (octet) => `\\${String(octet.charCodeAt(0)).padStart(3, '0')}`)
}

function shownSegment(segment: string, odd: RegExp): string {
  const octets = Buffer.from(segment, 'latin1')
  const text = octets.toString('utf8')
  if (!odd.test(segment) && Buffer.from(text, 'utf8').equals(octets)) return text
  return Array.from(octets, (octet) =>
    octet > 0x20 && octet < 0x7f && octet !== 0x2f && octet !== 0x5c ? String.fromCharCode(octet) : `\\${String(octet).padStart(3, '0')}`
  ).join('')
}
