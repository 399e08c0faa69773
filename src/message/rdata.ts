/**
 * The shape of the rdata of each type that has names in it, and of the common ones: what reads, checks, writes and
 * compresses it. Every other type is opaque octets (RFC 3597 §3).
 */
import { copyName, FormatError, nameEnd, readName, skipName } from './name.js'

/**
 * What rdata is made of, in order:
 * a number = that many octets; `name` = a name that may be compressed (types of RFC 1035 only, RFC 3597 §4);
 * `plain` = a name that is written whole; `string` = a character-string; `strings` = one or more to the end; `rest` = all to the end.
 */
export type Field = number | 'name' | 'plain' | 'string' | 'strings' | 'rest'

const NAME: readonly Field[] = ['name']
// biome-ignore format: a table
const SHAPES: readonly (readonly Field[] | undefined)[] = shapes({
  1: [4], 2: NAME, 3: NAME, 4: NAME, 5: NAME, 6: ['name', 'name', 20], 7: NAME, 8: NAME, 9: NAME, 12: NAME, 13: ['string', 'string'],
  14: ['name', 'name'], 15: [2, 'name'], 16: ['strings'], 17: ['plain', 'plain'], 18: [2, 'plain'], 21: [2, 'plain'],
  24: [18, 'plain', 'rest'], 26: [2, 'plain', 'plain'], 28: [16], 30: ['plain', 'rest'], 33: [6, 'plain'],
  35: [4, 'string', 'string', 'string', 'plain'], 36: [2, 'plain'], 39: ['plain'], 46: [18, 'plain', 'rest'], 47: ['plain', 'rest'],
  64: [2, 'plain', 'rest'], 65: [2, 'plain', 'rest'], 99: ['strings'], 107: [2, 'plain']
})

function shapes(table: Readonly<Record<number, readonly Field[]>>): (readonly Field[] | undefined)[] {
  const list: (readonly Field[] | undefined)[] = Array.from({ length: 256 })
  for (const [type, fields] of Object.entries(table)) list[Number(type)] = fields
  return list
}

/** The fields of a type's rdata, or undefined where it is opaque. */
export function shapeOf(type: number): readonly Field[] | undefined {
  return SHAPES[type]
}

/** Whether records of this class stand for no record in particular, without rdata: NONE and ANY (RFC 2136 §2.4). */
export function mayBeEmpty(klass: number): boolean {
  return klass === 254 || klass === 255
}

/** Checks the rdata at [start, end) of a message: names, lengths, and that it ends where it should. */
export function checkRdata(octets: Uint8Array, type: number, klass: number, start: number, end: number): void {
  const shape = SHAPES[type]
  if (shape === undefined || (start === end && mayBeEmpty(klass))) return
  let at = start
  for (const field of shape) at = fieldEnd(octets, field, at, end)
  if (at !== end) throw new FormatError(`the rdata of type ${type} does not end where its record does`)
}

/** The offset after a field of rdata; throws where it passes the end of the rdata. */
export function fieldEnd(octets: Uint8Array, field: Field, at: number, end: number): number {
  let after: number
  if (typeof field === 'number') after = at + field
  else if (field === 'name' || field === 'plain') after = skipName(octets, at)
  else if (field === 'string') after = at < end ? at + 1 + octets[at]! : end + 1
  else if (field === 'rest') return end
  else {
    after = at
    do after = after < end ? after + 1 + octets[after]! : end + 1
    while (after < end)
  }
  if (after > end) throw new FormatError('a field of rdata runs past its record')
  return after
}

/** The rdata at [start, end) with its names written whole: octets that mean the same outside this message. */
export function plainRdata(octets: Uint8Array, type: number, start: number, end: number): Uint8Array {
  const shape = SHAPES[type]
  if (shape === undefined || start === end || !shape.some((field) => field === 'name' || field === 'plain'))
    return copyOctets(octets, start, end)
  const parts: Uint8Array[] = []
  let at = start
  for (const field of shape) {
    const after = fieldEnd(octets, field, at, end)
    parts.push(field === 'name' || field === 'plain' ? plainName(octets, at) : octets.subarray(at, after))
    at = after
  }
  if (at !== end) throw new FormatError(`the rdata of type ${type} does not end where its record does`)
  return Buffer.concat(parts)
}

/** The octets of the name at `offset`, pointers followed. */
function plainName(octets: Uint8Array, offset: number): Uint8Array {
  const name = new Uint8Array(255)
  return name.subarray(0, copyName(octets, offset, name))
}

/** A copy of [start, end), which neither keeps the message in memory nor changes with it; `slice` of a Buffer would be a view. */
export function copyOctets(octets: Uint8Array, start: number, end: number): Uint8Array {
  return new Uint8Array(octets.subarray(start, end))
}

/** Reads a name inside rdata that must end at `end`. */
export function lastName(octets: Uint8Array, at: number, end: number): string {
  const name = readName(octets, at)
  if (nameEnd !== end) throw new FormatError('the rdata does not end where its record does')
  return name
}
