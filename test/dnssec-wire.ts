/** Reads replies with no line of the server's own codec: names as labels of octets, rdata without compression. */

/** A name: its labels, one character an octet, in the spelling of the message. */
export type Labels = readonly string[]

/** A record as it stands in a message. */
export interface WireRecord {
  readonly section: 'answer' | 'authority' | 'additional'
  readonly owner: Labels
  readonly type: number
  /** Seconds. */
  readonly ttl: number
  /** With the names in it written out. */
  readonly rdata: Buffer
}

/** A reply. */
export interface WireReply {
  readonly rcode: number
  readonly isAuthentic: boolean
  readonly isTruncated: boolean
  readonly hasCompactFlag: boolean
  readonly records: readonly WireRecord[]
  /** Extended errors: `CODE text`. */
  readonly errors: readonly string[]
}

/** The rdata of an RRSIG (RFC 4034 §3.1); times in seconds since 1970. */
export interface Signature {
  readonly owner: Labels
  readonly ttl: number
  readonly covers: number
  readonly algorithm: number
  readonly labels: number
  readonly originalTtl: number
  readonly expiration: number
  readonly inception: number
  readonly keyTag: number
  readonly signer: Labels
  /** The rdata before the signature: the first part of what is signed. */
  readonly head: Buffer
  readonly signature: Buffer
}

const OPT = 41
const RRSIG = 46
const SECTIONS = ['answer', 'authority', 'additional'] as const
/** How many octets stand before the first name in rdata, and how many names there are. */
const NAMES_IN_RDATA: Readonly<Record<number, readonly [number, number]>> = {
  2: [0, 1],
  5: [0, 1],
  6: [0, 2],
  12: [0, 1],
  15: [2, 1],
  33: [6, 1],
  39: [0, 1]
}

/** Reads a reply. */
export function readReply(octets: Buffer): WireReply {
  const flags = octets.readUInt16BE(2)
  let at = 12
  for (let i = octets.readUInt16BE(4); i > 0; i--) at = readLabels(octets, at).end + 4
  const records: WireRecord[] = []
  const errors: string[] = []
  let rcode = flags & 15
  let hasCompactFlag = false
  for (const [index, section] of SECTIONS.entries()) {
    for (let i = octets.readUInt16BE(6 + 2 * index); i > 0; i--) {
      const { labels: owner, end } = readLabels(octets, at)
      const [type, ttl, length] = [octets.readUInt16BE(end), octets.readUInt32BE(end + 4), octets.readUInt16BE(end + 8)]
      at = end + 10 + length
      if (type === OPT) {
        rcode |= (ttl >>> 24) << 4
        hasCompactFlag = (ttl & 0x4000) !== 0
        errors.push(...readErrors(octets.subarray(end + 10, at)))
      } else records.push({ section, owner, type, ttl, rdata: readRdata(octets, type, end + 10, length) })
    }
  }
  return { rcode, isAuthentic: (flags & 0x20) !== 0, isTruncated: (flags & 0x200) !== 0, hasCompactFlag, records, errors }
}

function readLabels(octets: Buffer, from: number): { labels: string[]; end: number } {
  const labels: string[] = []
  let end = -1
  for (let at = from, jumps = 0; ; ) {
    const length = octets[at]!
    if (length >= 0xc0) {
      if (end < 0) end = at + 2
      if (++jumps > 128) throw new Error('a name goes round in circles')
      at = octets.readUInt16BE(at) & 0x3fff
      continue
    }
    if (length === 0) return { labels, end: end < 0 ? at + 1 : end }
    labels.push(octets.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
}

function readRdata(octets: Buffer, type: number, from: number, length: number): Buffer {
  const [before, names] = NAMES_IN_RDATA[type] ?? [length, 0]
  const parts = [octets.subarray(from, from + before)]
  let at = from + before
  for (let i = 0; i < names; i++) {
    const { labels, end } = readLabels(octets, at)
    parts.push(nameOctets(labels))
    at = end
  }
  return Buffer.concat([...parts, octets.subarray(at, from + length)])
}

function readErrors(options: Buffer): string[] {
  const found: string[] = []
  for (let at = 0; at + 4 <= options.length; at += 4 + options.readUInt16BE(at + 2)) {
    const length = options.readUInt16BE(at + 2)
    if (options.readUInt16BE(at) !== 15) continue
    found.push(`${options.readUInt16BE(at + 4)} ${options.toString('utf8', at + 6, at + 4 + length)}`.trim())
  }
  return found
}

/** A name on the wire, uncompressed, in the spelling given. */
export function nameOctets(labels: Labels): Buffer {
  return Buffer.concat([...labels.map((label) => Buffer.from(`${String.fromCharCode(label.length)}${label}`, 'latin1')), Buffer.of(0)])
}

/** A name in lower case. */
export function lower(labels: Labels): string[] {
  return labels.map((label) => label.replace(/[A-Z]/g, (letter) => letter.toLowerCase()))
}

/** A name in presentation format, as it goes into a question: everything but letters, digits, `-`, `_` and `*` as `\DDD`. */
export function shown(labels: Labels): string {
  return labels.length === 0 ? '.' : labels.map((label) => `${label.replace(/[^\w*-]/g, escaped)}.`).join('')
}

function escaped(octet: string): string {
  return `\\${String(octet.charCodeAt(0)).padStart(3, '0')}`
}

/** Whether a name is the other or below it, without regard to case. */
export function isWithin(labels: Labels, above: Labels): boolean {
  return labels.length >= above.length && lower(labels.slice(labels.length - above.length)).join('\0') === lower(above).join('\0')
}

/** The name in rdata that is nothing but a name. */
export function nameIn(rdata: Buffer): string[] {
  return readLabels(rdata, 0).labels
}

/** The signatures of a reply. */
export function signaturesIn(reply: WireReply): Signature[] {
  return reply.records.filter(({ type }) => type === RRSIG).map(readSignature)
}

function readSignature({ owner, ttl, rdata }: WireRecord): Signature {
  const { labels: signer, end } = readLabels(rdata, 18)
  return {
    owner,
    ttl,
    covers: rdata.readUInt16BE(0),
    algorithm: rdata[2]!,
    labels: rdata[3]!,
    originalTtl: rdata.readUInt32BE(4),
    expiration: rdata.readUInt32BE(8),
    inception: rdata.readUInt32BE(12),
    keyTag: rdata.readUInt16BE(16),
    signer,
    head: rdata.subarray(0, end),
    signature: rdata.subarray(end)
  }
}

/** The records of a section but for signatures, each with owner, type and rdata but no TTL, sorted. A SOA's serial counts as 0. */
export function contentOf(reply: WireReply, section: WireRecord['section'] = 'answer'): string[] {
  const some = reply.records.filter((record) => record.section === section && record.type !== RRSIG)
  return some.map(({ owner, type, rdata }) => `${shown(lower(owner))} TYPE${type} ${shownRdata(type, rdata)}`).sort()
}

function shownRdata(type: number, rdata: Buffer): string {
  const [before, names] = NAMES_IN_RDATA[type] ?? [rdata.length, 0]
  const words = before > 0 ? [rdata.toString('hex', 0, before)] : []
  let at = before
  for (let i = 0; i < names; i++) {
    const { labels, end } = readLabels(rdata, at)
    words.push(shown(lower(labels)))
    at = end
  }
  return [...words, rdata.toString('hex', type === 6 ? at + 4 : at)].join(' ').trim()
}
