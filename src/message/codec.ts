/**
 * dns-packet, and the only place that knows it: the rdata of types that are seldom served, as objects.
 *
 * What it reads must give the same octets when it writes it, and the other way round; where it does not
 * (it changes CAA flags, cuts SSHFP hashes), the caller gets nothing and keeps the octets.
 */
import { createRequire } from 'node:module'

/** The rdata of the types that dns-packet reads and writes for us. Binary fields are octets. */
export interface CodecRdata {
  HINFO: { readonly cpu: string; readonly os: string }
  CAA: { readonly flags: number; readonly tag: string; readonly value: string }
  DS: { readonly keyTag: number; readonly algorithm: number; readonly digestType: number; readonly digest: Uint8Array }
  DNSKEY: { readonly flags: number; readonly algorithm: number; readonly key: Uint8Array }
  TLSA: { readonly usage: number; readonly selector: number; readonly matchingType: number; readonly certificate: Uint8Array }
  SSHFP: { readonly algorithm: number; readonly hash: number; readonly fingerprint: string }
}

/** The types of {@link CodecRdata}. */
export type CodecType = keyof CodecRdata

const CODEC_TYPES: ReadonlySet<string> = new Set<CodecType>(['HINFO', 'CAA', 'DS', 'DNSKEY', 'TLSA', 'SSHFP'])

/** Whether rdata of this type can be had as an object. */
export function isCodecType(type: string): type is CodecType {
  return CODEC_TYPES.has(type)
}

interface RdataCodec {
  encode(rdata: unknown): Uint8Array
  decode(octets: Buffer, offset: number): unknown
}

// Required and not imported: Node would read a CommonJS package once more, for the names that it exports.
const require = createRequire(import.meta.url)

/** Its codecs for the rdata of one type, length prefix included. */
const { record } = require('dns-packet') as { readonly record: (type: string) => RdataCodec }

/** The rdata as an object, or undefined where dns-packet would not give these octets back. */
export function decodeRdata<T extends CodecType>(type: T, octets: Uint8Array): CodecRdata[T] | undefined {
  const framed = framedRdata(octets)
  try {
    const rdata = record(type).decode(framed, 0)
    return framed.equals(record(type).encode(rdata)) ? (rdata as CodecRdata[T]) : undefined
  } catch {
    // Whatever it throws (plain errors and RangeErrors) means that the octets are all there is.
    return undefined
  }
}

/** The octets of an object's rdata, or undefined where dns-packet cannot write and read it unchanged. */
export function encodeRdata<T extends CodecType>(type: T, rdata: CodecRdata[T]): Uint8Array | undefined {
  try {
    const octets = record(type)
      .encode({ ...rdata })
      .slice(2)
    const again = record(type).decode(framedRdata(octets), 0) as Record<string, unknown>
    const given = rdata as Readonly<Record<string, unknown>>
    // It reads CAA flags a second time, as `issuerCritical`.
    return Object.keys(again).every((field) => field === 'issuerCritical' || isSame(again[field], given[field])) ? octets : undefined
  } catch {
    return undefined
  }
}

function framedRdata(octets: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from([octets.length >> 8, octets.length & 0xff]), octets])
}

function isSame(a: unknown, b: unknown): boolean {
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.from(a).equals(b)
  // Hexadecimal digits come back as capitals.
  return a === b || (typeof a === 'string' && typeof b === 'string' && a.toUpperCase() === b.toUpperCase())
}
