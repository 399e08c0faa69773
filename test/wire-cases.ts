/**
 * The wire cases, and a reader of the replies to them; how a case reads stands in test/conformance/wire/README.md.
 * The reader is strict and this file's own: the one in src/message would agree with itself.
 */
import { readdirSync, readFileSync } from 'node:fs'
import type { Step } from './dns-client.js'

/** A number, or the least and the most. */
export type Limits = number | readonly [low: number, high: number]

/** What one reply, or one case, must be. */
export interface Expectation {
  readonly reply?: boolean | 'close'
  readonly replies?: Readonly<Record<string, Expectation>>
  readonly more?: boolean
  readonly or?: readonly Expectation[]
  readonly rcode?: string | readonly string[]
  readonly flags?: Readonly<Record<string, boolean>>
  readonly question?: string | readonly string[]
  readonly edns?: boolean
  readonly ednsVersion?: number
  readonly maxSize?: number
  readonly answer?: readonly string[]
  readonly answerCount?: Limits
  readonly authorityCount?: Limits
  readonly additionalCount?: Limits
  readonly noOptions?: readonly number[]
  readonly noEcho?: Readonly<Record<string, string>>
  readonly optionLength?: Readonly<Record<string, Limits>>
}

/** Requests in octets, and what must come of them. */
export interface WireCase {
  /** The name of its file, without the ending. */
  readonly file: string
  readonly title: string
  readonly transport: 'udp' | 'tcp'
  readonly send: readonly Step[]
  readonly expect: Expectation
}

const folder = new URL('../../test/conformance/wire/', import.meta.url)

/** The files with the cases. */
export const wireFiles: readonly URL[] = readdirSync(folder)
  .filter((name) => name.endsWith('.json'))
  .sort()
  .map((name) => new URL(name, folder))

/** All cases of all files. */
export const wireCases: readonly WireCase[] = wireFiles.flatMap((url) => {
  const { cases } = JSON.parse(readFileSync(url, 'utf8')) as { cases: Omit<WireCase, 'file'>[] }
  return cases.map((each) => ({ file: url.pathname.replace(/.*\/|\.json$/g, ''), ...each }))
})

/** The requests of a case by ID. The prefixes of TCP are taken off as far as they are right. */
export function requestsOf({ transport, send }: WireCase): Map<string, Buffer> {
  let octets = send.filter((step) => typeof step === 'string').map((step) => Buffer.from(step, 'hex'))
  if (transport === 'tcp') {
    let stream = Buffer.concat(octets)
    for (octets = []; stream.length >= 2; stream = stream.subarray(2 + stream.readUInt16BE(0))) {
      octets.push(stream.subarray(2, 2 + stream.readUInt16BE(0)))
    }
  }
  return new Map(octets.filter(({ length }) => length >= 2).map((request) => [request.toString('hex', 0, 2), request]))
}

/** The question as sent; undefined where it cannot be read or is not one. */
export function questionOf(request: Buffer): Buffer | undefined {
  try {
    if (request.length < 12 || request.readUInt16BE(4) !== 1) return undefined
    const end = readName(request, 12).end + 4
    return end <= request.length ? request.subarray(12, end) : undefined
  } catch (error) {
    if (error instanceof Malformed) return undefined
    throw error
  }
}

/** A reply as far as cases look at it; records as `owner [CLASS] TYPE rdata`. */
export interface WireReply {
  readonly size: number
  readonly id: number
  readonly bits: number
  readonly opcode: number
  readonly rcode: string
  readonly questions: number
  readonly question: Buffer
  readonly sections: readonly [answer: string[], authority: string[], additional: string[]]
  /** Undefined without an OPT record. */
  readonly ednsVersion: number | undefined
  readonly ednsBits: number
  readonly options: ReadonlyMap<number, Buffer>
}

/** The octets are not one whole DNS message. */
export class Malformed extends Error {
  override readonly name = 'Malformed'
}

const rcodes =
  'NOERROR FORMERR SERVFAIL NXDOMAIN NOTIMP REFUSED YXDOMAIN YXRRSET NXRRSET NOTAUTH NOTZONE DSOTYPENI RCODE12 RCODE13 RCODE14 RCODE15 ' +
  'BADVERS BADKEY BADTIME BADMODE BADNAME BADALG BADTRUNC BADCOOKIE'
const rcodeNames = rcodes.split(' ')
const OPT = 41

/** Reads one whole message, from its first octet to its last. */
export function readReply(wire: Buffer): WireReply {
  if (wire.length < 12) throw new Malformed(`${wire.length} octets`)
  const [id, flags, questions, ...counts] = [0, 2, 4, 6, 8, 10].map((at) => wire.readUInt16BE(at)) as [number, number, number, ...number[]]
  let at = 12
  for (let left = questions; left > 0; left--) at = within(readName(wire, at).end + 4, wire.length, 'the question')
  const question = wire.subarray(12, at)
  const { sections, opt } = readSections(wire, at, counts)
  const number = (((opt?.ttl ?? 0) >>> 24) << 4) | (flags & 15)
  return {
    size: wire.length,
    id,
    bits: flags,
    opcode: (flags >> 11) & 15,
    rcode: rcodeNames[number] ?? `RCODE${number}`,
    questions,
    question,
    sections,
    ednsVersion: opt && (opt.ttl >>> 16) & 0xff,
    ednsBits: (opt?.ttl ?? 0) & 0xffff,
    options: readOptions(opt?.rdata ?? Buffer.alloc(0))
  }
}

/** The records up to the end of the message, and what OPT record is among them. */
function readSections(
  wire: Buffer,
  start: number,
  counts: readonly number[]
): Pick<WireReply, 'sections'> & { opt: WireRecord | undefined } {
  let at = start
  const opts: (WireRecord & { section: number })[] = []
  const sections = counts.map((count, section) => {
    const records: string[] = []
    for (let left = count; left > 0; left--) {
      const record = readRecord(wire, at)
      at = record.end
      if (record.type === OPT) opts.push({ section, ...record })
      else records.push(record.text)
    }
    return records
  })
  if (at !== wire.length) throw new Malformed(`${wire.length - at} octets after the last record`)
  if (opts.length > 1) throw new Malformed(`${opts.length} OPT records`)
  const [opt] = opts
  if (opt !== undefined && opt.section !== 2) throw new Malformed('an OPT record outside the additional section')
  return { sections: sections as [string[], string[], string[]], opt }
}

interface WireRecord {
  readonly end: number
  readonly type: number
  readonly ttl: number
  readonly rdata: Buffer
  readonly text: string
}

function within(end: number, limit: number, what: string): number {
  if (end > limit) throw new Malformed(`${what} runs past the end`)
  return end
}

const typeNames: Readonly<Record<number, string>> = {
  1: 'A',
  2: 'NS',
  5: 'CNAME',
  6: 'SOA',
  12: 'PTR',
  15: 'MX',
  16: 'TXT',
  28: 'AAAA',
  33: 'SRV'
}

function readRecord(wire: Buffer, start: number): WireRecord {
  const owner = readName(wire, start)
  const from = within(owner.end + 10, wire.length, 'a record')
  const [type, klass, length] = [wire.readUInt16BE(from - 10), wire.readUInt16BE(from - 8), wire.readUInt16BE(from - 2)]
  const end = within(from + length, wire.length, 'rdata')
  const record = { end, type, ttl: wire.readUInt32BE(from - 6), rdata: wire.subarray(from, end) }
  if (type === OPT) {
    if (owner.text !== '.') throw new Malformed('an OPT record whose owner is not the root')
    return { ...record, text: '' }
  }
  const middle = klass === 1 ? '' : klass === 3 ? 'CH ' : `CLASS${klass} `
  return { ...record, text: `${owner.text} ${middle}${typeNames[type] ?? `TYPE${type}`} ${shownRdata(wire, type, from, end)}` }
}

/** The numbers before the names, the names, and the octets of the numbers after them. */
const layouts: Readonly<Record<number, readonly [number, number, number]>> = {
  2: [0, 1, 0],
  5: [0, 1, 0],
  12: [0, 1, 0],
  15: [1, 1, 0],
  33: [3, 1, 0],
  6: [0, 2, 5]
}

function shownRdata(wire: Buffer, type: number, from: number, end: number): string {
  const rdata = wire.subarray(from, end)
  if (type === 1) return shownAddress(rdata, 4)
  if (type === 28) return shownAddress(rdata, 16)
  if (type === 16) return shownStrings(rdata)
  const layout = layouts[type]
  if (layout === undefined) return `\\# ${rdata.length} ${rdata.toString('hex')}`
  const [before, names, after] = layout
  const parts: (string | number)[] = []
  let at = from
  for (let left = before; left > 0; left--, at += 2) parts.push(wire.readUInt16BE(within(at + 2, end, 'a number') - 2))
  for (let left = names; left > 0; left--) {
    const name = readName(wire, at)
    parts.push(name.text)
    at = name.end
  }
  for (let left = after; left > 0; left--, at += 4) parts.push(wire.readUInt32BE(within(at + 4, end, 'a number') - 4))
  if (at !== end) throw new Malformed('the rdata does not end where its record does')
  return parts.join(' ')
}

function shownAddress(rdata: Buffer, length: number): string {
  if (rdata.length !== length) throw new Malformed(`an address of ${rdata.length} octets`)
  if (length === 4) return rdata.join('.')
  const groups = Array.from({ length: 8 }, (_, index) => rdata.readUInt16BE(2 * index).toString(16))
  // The one who knows where the `::` goes.
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1)
}

function shownStrings(rdata: Buffer): string {
  const strings: string[] = []
  for (let at = 0; at < rdata.length; at += 1 + rdata[at]!) {
    const string = rdata.subarray(at + 1, within(at + 1 + rdata[at]!, rdata.length, 'a character-string'))
    strings.push(`"${Array.from(string, (octet) => shownOctet(octet, /[ !#-[\]-~]/)).join('')}"`)
  }
  return strings.join(' ')
}

function shownLabel(label: Buffer): string {
  return Array.from(label, (octet) =>
    octet === 0x2e || octet === 0x5c ? `\\${String.fromCharCode(octet)}` : shownOctet(octet, /[!-~]/)
  ).join('')
}

/** An octet that is no such character is shown by its number. */
function shownOctet(octet: number, plain: RegExp): string {
  const character = String.fromCharCode(octet)
  return plain.test(character) ? character : `\\${String(octet).padStart(3, '0')}`
}

/** The name at an offset in presentation format, and the offset after it. Pointers point back, and never into the header. */
function readName(wire: Buffer, start: number): { text: string; end: number } {
  const labels: string[] = []
  let end: number | undefined
  let size = 1
  for (let at = start; ; ) {
    const length = wire[at]
    if (length === undefined) throw new Malformed('a name runs past the end')
    if (length >= 0xc0) {
      end ??= within(at + 2, wire.length, 'a compression pointer')
      const target = wire.readUInt16BE(within(at + 2, wire.length, 'a compression pointer') - 2) & 0x3fff
      // So there is an end to pointers at pointers; where labels lie between, the name grows too long.
      if (target < 12 || target >= at) throw new Malformed('a compression pointer that does not point back')
      at = target
      continue
    }
    if (length > 63) throw new Malformed(`label type ${length & 0xc0}`)
    if (length === 0) return { text: labels.map((label) => `${label}.`).join('') || '.', end: end ?? at + 1 }
    size += length + 1
    if (size > 255) throw new Malformed('a name of more than 255 octets')
    const label = wire.subarray(at + 1, within(at + 1 + length, wire.length, 'a label'))
    labels.push(shownLabel(label))
    at += 1 + length
  }
}

function readOptions(rdata: Buffer): Map<number, Buffer> {
  const options = new Map<number, Buffer>()
  for (let at = 0; at < rdata.length; ) {
    const from = within(at + 4, rdata.length, 'the head of an EDNS option')
    const end = within(from + rdata.readUInt16BE(from - 2), rdata.length, 'an EDNS option')
    options.set(rdata.readUInt16BE(from - 4), rdata.subarray(from, end))
    at = end
  }
  return options
}
