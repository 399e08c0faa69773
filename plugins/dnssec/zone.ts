/** A signed zone: its keys, and the records at its apex that come of them. */
import { nameOctets, type ResourceRecord, type RRType, typeNumber, type ZoneKey } from 'skein/plugin'
import { nsec3Param } from './nsec3.js'

/** How it is said that something is not there. */
export type DenialMode = 'nsec' | 'nsec3'

/** Seconds, of the records at the apex. */
const KEY_TTL = 3600
const SHA_256 = 2

/** The types that the keys themselves are told with, and signed by those that the parent points to (RFC 4035 §2.2, RFC 7344 §4.1). */
const OF_KEYS: ReadonlySet<number> = new Set(['DNSKEY', 'CDS', 'CDNSKEY'].map((type) => typeNumber(type)!))

/** One zone. */
export class SignedZone {
  /** Canonical. */
  readonly apex: string
  /** The same as it is on the wire. */
  readonly apexOctets: Uint8Array
  readonly denial: DenialMode
  readonly keys: readonly ZoneKey[]
  /** The DS records for the parent. */
  readonly ds: readonly ResourceRecord[]
  /** What it answers at its apex by itself, by type. */
  readonly own: ReadonlyMap<number, readonly ResourceRecord[]>
  readonly #keySigners: readonly ZoneKey[]
  readonly #zoneSigners: readonly ZoneKey[]

  constructor(apex: string, denial: DenialMode, keys: readonly ZoneKey[]) {
    this.apex = apex
    this.apexOctets = nameOctets(apex)
    this.denial = denial
    this.keys = keys
    // Where an algorithm has keys of both kinds each has its part; where it has one kind alone, those sign all. Each algorithm signs everything.
    const isSplit = (algorithm: number): boolean =>
      [true, false].every((isSep) => keys.some((key) => key.algorithm === algorithm && key.isSep === isSep))
    this.#keySigners = keys.filter((key) => key.isSep || !isSplit(key.algorithm))
    this.#zoneSigners = keys.filter((key) => !key.isSep || !isSplit(key.algorithm))
    const record = (type: RRType, rdata: Uint8Array): ResourceRecord => ({ owner: apex, type, ttl: KEY_TTL, rdata })
    this.ds = this.#keySigners.map((key) => record('DS', key.ds(SHA_256)))
    const records: [RRType, ResourceRecord[]][] = [
      ['DNSKEY', keys.map(({ rdata }) => record('DNSKEY', rdata))],
      ['CDS', this.ds.map(({ rdata }) => record('CDS', rdata as Uint8Array))],
      ['CDNSKEY', this.#keySigners.map(({ rdata }) => record('CDNSKEY', rdata))],
      ...(denial === 'nsec3' ? ([['NSEC3PARAM', [{ ...record('NSEC3PARAM', nsec3Param), ttl: 0 }]]] as [RRType, ResourceRecord[]][]) : [])
    ]
    this.own = new Map(records.map(([type, list]) => [typeNumber(type)!, list]))
  }

  /** The keys that sign records of a type. */
  signersOf(type: number): readonly ZoneKey[] {
    return OF_KEYS.has(type) ? this.#keySigners : this.#zoneSigners
  }
}
