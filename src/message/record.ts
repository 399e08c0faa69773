/** Resource records: as plugins write them, and as they are read in place from a message. */
import { ipv4Text, ipv6Octets, ipv6Text, putIpv4 } from './address.js'
import { type CodecRdata, decodeRdata, encodeRdata, isCodecType } from './codec.js'
import { nameEnd, nameOctets, RecordError, readName, writeName } from './name.js'
import { copyOctets, lastName, plainRdata } from './rdata.js'
import { className, classNumber, type RRClass, type RRType, typeName, typeNumber } from './registry.js'

/** The rdata of the types that Skein knows by itself; addresses and names as text, TXT one entry a character-string. */
export interface OwnRdata {
  A: string
  AAAA: string
  NS: string
  CNAME: string
  PTR: string
  DNAME: string
  MX: { readonly preference: number; readonly exchange: string }
  SRV: { readonly priority: number; readonly weight: number; readonly port: number; readonly target: string }
  SOA: {
    readonly mname: string
    readonly rname: string
    readonly serial: number
    readonly refresh: number
    readonly retry: number
    readonly expire: number
    readonly minimum: number
  }
  TXT: readonly (string | Uint8Array)[]
}

type KnownRdata = OwnRdata & CodecRdata

/** Type, class, TTL, and the length of the rdata. */
const FIXED_OCTETS = 10

interface RecordOf<T, R> {
  readonly owner: string
  readonly type: T
  /** IN where it is left out. */
  readonly class?: RRClass
  /** Seconds, below 2^31. */
  readonly ttl: number
  /** The TTL as it is configured, where `ttl` is less for the moment: what a signature is made with (RFC 4034 §3.1.4). */
  readonly originalTtl?: number
  readonly rdata: R
}

/** A record. The rdata of every type may also be its octets, names in them written whole. */
export type ResourceRecord =
  | { [T in keyof KnownRdata]: RecordOf<T, KnownRdata[T]> }[keyof KnownRdata]
  | RecordOf<'A' | 'AAAA', string>
  | RecordOf<RRType, Uint8Array>

/** The record with another TTL. One that was read from a message gives its parts when asked for, so that a spread would lose them. */
export function withTtl(record: ResourceRecord, ttl: number): ResourceRecord {
  const { owner, type, rdata, class: klass, originalTtl = record.ttl } = record
  return {
    owner,
    type,
    ttl,
    rdata,
    ...(klass !== undefined && { class: klass }),
    ...(ttl < originalTtl && { originalTtl })
  } as ResourceRecord
}

/** The TTL of RFC 2181 §8: a value with the top bit set counts as 0. */
export function readTtl(octets: Uint8Array, at: number): number {
  return octets[at]! & 0x80 ? 0 : (octets[at]! << 24) | (octets[at + 1]! << 16) | (octets[at + 2]! << 8) | octets[at + 3]!
}

/** A record read from a message: where it is; what it says is read when asked for. */
export class WireRecord {
  readonly octets: Uint8Array
  /** Where the owner, and where the rdata starts and ends. */
  readonly start: number
  readonly rdataStart: number
  readonly rdataEnd: number
  readonly typeNumber: number
  readonly classNumber: number
  readonly ttl: number
  #owner: string | undefined
  #rdata: unknown

  constructor(octets: Uint8Array, start: number, fixed: number) {
    this.octets = octets
    this.start = start
    this.typeNumber = (octets[fixed]! << 8) | octets[fixed + 1]!
    this.classNumber = (octets[fixed + 2]! << 8) | octets[fixed + 3]!
    this.ttl = readTtl(octets, fixed + 4)
    this.rdataStart = fixed + 10
    this.rdataEnd = fixed + 10 + ((octets[fixed + 8]! << 8) | octets[fixed + 9]!)
  }

  get owner(): string {
    this.#owner ??= readName(this.octets, this.start)
    return this.#owner
  }

  get type(): RRType {
    return typeName(this.typeNumber)
  }

  get class(): RRClass {
    return className(this.classNumber)
  }

  /** The rdata in the form of {@link ResourceRecord}. */
  get rdata(): unknown {
    this.#rdata ??= readRdata(this.octets, this.typeNumber, this.rdataStart, this.rdataEnd)
    return this.#rdata
  }
}

/** The rdata at [start, end) of a message, checked before, in the form of {@link ResourceRecord}. */
export function readRdata(octets: Uint8Array, type: number, start: number, end: number): unknown {
  const u16 = (at: number): number => (octets[at]! << 8) | octets[at + 1]!
  const u32 = (at: number): number => u16(at) * 0x10000 + u16(at + 2)
  // Rdata may be empty in messages of RFC 2136; then there is nothing to read.
  if (start === end) return new Uint8Array(0)
  switch (type) {
    case 1:
      return ipv4Text(octets, start)
    case 28:
      return ipv6Text(octets, start)
    case 2:
    case 5:
    case 12:
    case 39:
      return lastName(octets, start, end)
    case 15:
      return { preference: u16(start), exchange: lastName(octets, start + 2, end) }
    case 33:
      return { priority: u16(start), weight: u16(start + 2), port: u16(start + 4), target: lastName(octets, start + 6, end) }
    case 6: {
      const mname = readName(octets, start)
      const rname = readName(octets, nameEnd)
      const at = nameEnd
      return { mname, rname, serial: u32(at), refresh: u32(at + 4), retry: u32(at + 8), expire: u32(at + 12), minimum: u32(at + 16) }
    }
    case 16: {
      const strings: Uint8Array[] = []
      for (let at = start; at < end; at += octets[at]! + 1) strings.push(copyOctets(octets, at + 1, at + 1 + octets[at]!))
      return strings
    }
    default: {
      const plain = plainRdata(octets, type, start, end)
      const name = typeName(type)
      return (isCodecType(name) ? decodeRdata(name, plain) : undefined) ?? plain
    }
  }
}

/**
 * The record as its octets: for one that is served again and again, which need not be written each time. It gives its parts when
 * asked for. Throws RecordError where it cannot be on the wire.
 */
export function writtenOnce(record: ResourceRecord): ResourceRecord {
  const { owner, ttl } = record
  const name = nameOctets(owner)
  const rdata = rdataOctets(record)
  const octets = new Uint8Array(name.length + FIXED_OCTETS + rdata.length)
  const numbers = new DataView(octets.buffer, name.length)
  octets.set(name)
  numbers.setUint16(0, typeNumberOf(record))
  numbers.setUint16(2, classNumberOf(record))
  numbers.setUint32(4, ttl)
  numbers.setUint16(8, rdata.length)
  octets.set(rdata, name.length + FIXED_OCTETS)
  return new WireRecord(octets, 0, name.length) as unknown as ResourceRecord
}

/** Room for what {@link putRdata} puts: two names, of which {@link writeName} wants 320 octets each, and the numbers of an SOA. */
export const RDATA_ROOM = 660

const room = new Uint8Array(RDATA_ROOM)

/** The octets of a record's rdata, names written whole. Throws RecordError where it cannot be on the wire. */
export function rdataOctets(record: ResourceRecord): Uint8Array {
  if (record.rdata instanceof Uint8Array) return record.rdata
  if (record.type === 'TXT') return strings(record, record.rdata)
  const length = putRdata(record, room)
  return length === undefined ? codecOctets(record) : room.slice(0, length)
}

/**
 * Puts {@link rdataOctets} to the start of `to`, and gives their number; undefined of rdata that is octets already, and of the types
 * that are not served every second.
 */
export function putRdata(record: ResourceRecord, to: Uint8Array): number | undefined {
  if (record.rdata instanceof Uint8Array) return undefined
  switch (record.type) {
    case 'A':
      // Plugins in plain JavaScript may give anything.
      return typeof record.rdata === 'string' && putIpv4(record.rdata, to, 0) ? 4 : refuse(record, 'an IPv4 address')
    case 'AAAA':
      to.set(ipv6Octets(record.rdata) ?? refuse(record, 'an IPv6 address'))
      return 16
    case 'NS':
    case 'CNAME':
    case 'PTR':
    case 'DNAME':
      return writeName(record.rdata, to, 0)
    case 'MX':
      put16(record, record.rdata.preference, to, 0)
      return 2 + writeName(record.rdata.exchange, to, 2)
    case 'SRV': {
      const { priority, weight, port, target } = record.rdata
      put16(record, priority, to, 0)
      put16(record, weight, to, 2)
      put16(record, port, to, 4)
      return 6 + writeName(target, to, 6)
    }
    case 'SOA':
      return putSoa(record, record.rdata, to)
    default:
      return undefined
  }
}

function putSoa(
  record: ResourceRecord,
  { mname, rname, serial, refresh, retry, expire, minimum }: OwnRdata['SOA'],
  to: Uint8Array
): number {
  let at = writeName(mname, to, 0)
  at += writeName(rname, to, at)
  put32(record, serial, to, at)
  put32(record, refresh, to, at + 4)
  put32(record, retry, to, at + 8)
  put32(record, expire, to, at + 12)
  put32(record, minimum, to, at + 16)
  return at + 20
}

function codecOctets(record: ResourceRecord): Uint8Array {
  if (!isCodecType(record.type)) return refuse(record, 'octets')
  return encodeRdata(record.type, record.rdata as never) ?? refuse(record, `the fields of ${record.type}`)
}

function put16(record: ResourceRecord, number: number, to: Uint8Array, at: number): void {
  if (!Number.isInteger(number) || number < 0 || number > 0xffff) refuse(record, 'numbers from 0 to 65535')
  to[at] = number >> 8
  to[at + 1] = number & 0xff
}

function put32(record: ResourceRecord, number: number, to: Uint8Array, at: number): void {
  if (!Number.isInteger(number) || number < 0 || number > 0xffffffff) refuse(record, 'numbers from 0 to 4294967295')
  to[at] = number >>> 24
  to[at + 1] = (number >>> 16) & 0xff
  to[at + 2] = (number >>> 8) & 0xff
  to[at + 3] = number & 0xff
}

function strings(record: ResourceRecord, texts: readonly (string | Uint8Array)[]): Uint8Array {
  // RFC 1035 §3.3.14: at least one string, be it empty.
  if (texts.length === 0) return Uint8Array.of(0)
  return Buffer.concat(
    texts.flatMap((text) => {
      const octets = typeof text === 'string' ? Buffer.from(text, 'utf8') : text
      if (octets.length > 255) refuse(record, 'strings of at most 255 octets')
      return [Uint8Array.of(octets.length), octets]
    })
  )
}

function refuse(record: ResourceRecord, expected: string): never {
  throw new RecordError(
    `the rdata of ${record.owner} ${record.type} must be ${expected}, not ${String(JSON.stringify(record.rdata)).slice(0, 100)}`
  )
}

/** The number of a record's type. */
export function typeNumberOf(record: ResourceRecord): number {
  return typeNumber(record.type) ?? refuse(record, `of a known type, not ${record.type}`)
}

/** The number of a record's class. */
export function classNumberOf(record: ResourceRecord): number {
  return record.class === undefined ? 1 : (classNumber(record.class) ?? refuse(record, `of a known class, not ${record.class}`))
}
