/** TTLs: which an answer is told with, and how long it may be kept. */
import { expirationOf, type Message, type ResourceRecord, withTtl } from 'skein/plugin'
import type { Bound, Limits } from './options.js'

/** A reply with the TTLs that it is told with, and how many seconds it holds. */
export interface Lasting {
  readonly reply: Message
  readonly seconds: number
}

/** The last four octets of an SOA's rdata. */
const MINIMUM_OCTETS = 4

/**
 * The reply with its TTLs brought within the limits; undefined where it may not be kept: a TTL of 0 stays 0 unless the operator
 * has written a least one. Of our own data, which a change flushes, only limits that are written bound the TTLs. `within` seconds
 * its signatures end, which bounds them whatever the operator says.
 */
export function lasting(
  reply: Message,
  limits: Pick<Limits, 'most' | 'least'>,
  isOwn: boolean,
  within = Number.MAX_SAFE_INTEGER
): Lasting | undefined {
  if (within <= 0) return undefined
  const most = Math.min(within, counts(limits.most, isOwn) ? limits.most.seconds : Number.MAX_SAFE_INTEGER)
  const least = counts(limits.least, isOwn) ? limits.least.seconds : 0
  let seconds = Number.MAX_SAFE_INTEGER
  const bounded = (records: readonly ResourceRecord[], ttlFor: (record: ResourceRecord) => number): readonly ResourceRecord[] => {
    // Mostly all stay as they are.
    let changed: ResourceRecord[] | undefined
    for (let index = 0; index < records.length; index++) {
      const record = records[index]!
      const given = ttlFor(record)
      const ttl = given === 0 && !limits.least.isWritten ? 0 : Math.min(Math.max(given, least), most)
      if (ttl < seconds) seconds = ttl
      if (ttl === record.ttl) continue
      changed ??= [...records]
      changed[index] = withTtl(record, ttl)
    }
    return changed ?? records
  }
  const { answer, authority, additional } = reply
  const parts = { answer: bounded(answer, ttlOf), authority: bounded(authority, ttlOfDenial), additional: bounded(additional, ttlOf) }
  if (seconds === 0) return undefined
  const isSame = parts.answer === answer && parts.authority === authority && parts.additional === additional
  return { reply: isSame ? reply : reply.with(parts), seconds }
}

/**
 * How many whole seconds it is until the first signature of a reply ends (RFC 4035 §5.3.3), by serial numbers as RFC 4034 §3.1.5 has it;
 * undefined where it has none. 0 or less where one is over, or cannot be read. `now` is in milliseconds since 1970.
 */
export function signedFor({ answer, authority, additional }: Message, now: number): number | undefined {
  let least: number | undefined
  for (const records of [answer, authority, additional]) {
    for (const record of records) {
      if (record.type !== 'RRSIG') continue
      const ends = expirationOf(record)
      const left = ends === undefined ? 0 : (ends - Math.ceil(now / 1000)) | 0
      if (least === undefined || left < least) least = left
    }
  }
  return least
}

function ttlOf({ ttl }: ResourceRecord): number {
  return ttl
}

function counts({ isWritten }: Bound, isOwn: boolean): boolean {
  return isWritten || !isOwn
}

/** How long an SOA in the authority section says that something does not exist (RFC 2308 §5); of every other record its TTL. */
function ttlOfDenial(record: ResourceRecord): number {
  if (record.type !== 'SOA') return record.ttl
  const { rdata } = record
  if (!(rdata instanceof Uint8Array)) return Math.min(record.ttl, rdata.minimum)
  const view = new DataView(rdata.buffer, rdata.byteOffset, rdata.byteLength)
  return rdata.length < MINIMUM_OCTETS ? 0 : Math.min(record.ttl, view.getUint32(rdata.length - MINIMUM_OCTETS))
}
