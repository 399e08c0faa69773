/** RRsets out of the sections of a reply, and what is signed of one (RFC 4034 §3.1.8.1). */
import { canonicalRdata, nameOctets, type ResourceRecord, sameName, typeNumber } from 'skein/plugin'

const NO_RECORDS: readonly ResourceRecord[] = []

/** The records of one owner, type and class. */
export interface RRset {
  /** Canonical. */
  readonly owner: string
  readonly type: number
  readonly records: readonly ResourceRecord[]
  /** Seconds, of all of them. */
  readonly ttl: number
  /** The TTL as it is configured, which counts nothing down. */
  readonly originalTtl: number
}

/** So many records are compared with each other sooner than a map of them is made. */
const FEW = 8

/** The RRsets of a section in the order in which they begin, and the signatures among its records. */
export function rrsetsOf(section: readonly ResourceRecord[]): {
  readonly sets: readonly RRset[]
  readonly signatures: readonly ResourceRecord[]
} {
  if (section.length === 1 && section[0]!.type !== 'RRSIG') return { sets: [rrsetOf(section)], signatures: NO_RECORDS }
  const sets: ResourceRecord[][] = []
  const byKey = section.length > FEW ? new Map<string, ResourceRecord[]>() : undefined
  const signatures: ResourceRecord[] = []
  for (const record of section) {
    if (record.type === 'RRSIG') {
      signatures.push(record)
      continue
    }
    const set = byKey === undefined ? sets.find(([first]) => isOfSameSet(first!, record)) : byKey.get(keyOf(record))
    if (set !== undefined) {
      set.push(record)
      continue
    }
    const made = [record]
    sets.push(made)
    byKey?.set(keyOf(record), made)
  }
  return { sets: sets.map(rrsetOf), signatures }
}

function isOfSameSet(one: ResourceRecord, other: ResourceRecord): boolean {
  return one.type === other.type && classOf(one) === classOf(other) && sameName(one.owner, other.owner)
}

function keyOf(record: ResourceRecord): string {
  return `${record.type} ${classOf(record)} ${record.owner.toLowerCase()}`
}

function classOf({ class: klass = 'IN' }: ResourceRecord): string {
  return klass
}

/** The RRset that these records are. */
function rrsetOf(records: readonly ResourceRecord[]): RRset {
  const [first] = records
  let { ttl, originalTtl = ttl } = first!
  for (let i = 1; i < records.length; i++) {
    const record = records[i]!
    ttl = Math.min(ttl, record.ttl)
    originalTtl = Math.min(originalTtl, record.originalTtl ?? record.ttl)
  }
  return { owner: first!.owner.toLowerCase(), type: typeNumber(first!.type)!, records, ttl, originalTtl }
}

/** Whether the leftmost label is `*`: signatures of such a name would hold for every name beside it (RFC 4034 §3.1.3). */
export function isWildcardOwner(owner: string): boolean {
  return owner.startsWith('*.') || owner === '*'
}

/**
 * Puts the records in canonical form and order, none twice (RFC 4034 §6.3), into octets from `at` on; gives where they end. Throws
 * RangeError where there is no room.
 */
export function putRecords({ owner, type, records, originalTtl }: RRset, octets: Buffer, at: number): number {
  const name = nameOctets(owner)
  let end = at
  const put = (rdata: Uint8Array): void => {
    octets.set(name, end)
    end += name.length
    end = octets.writeUInt16BE(type, end)
    end = octets.writeUInt16BE(1, end)
    end = octets.writeUInt32BE(originalTtl, end)
    end = octets.writeUInt16BE(rdata.length, end)
    octets.set(rdata, end)
    end += rdata.length
  }
  if (records.length === 1) put(canonicalRdata(records[0]!))
  else for (const rdata of sorted(records.map(canonicalRdata))) put(rdata)
  return end
}

function sorted(rdatas: Uint8Array[]): Uint8Array[] {
  rdatas.sort((a, b) => Buffer.compare(a, b))
  return rdatas.filter((rdata, i) => i === 0 || Buffer.compare(rdata, rdatas[i - 1]!) !== 0)
}
