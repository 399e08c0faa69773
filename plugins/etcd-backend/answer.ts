/** From a question to the records that answer it: SkyDNS's rules, type by type. */
import { isWithin, type ReplyParts, type ResourceRecord, withTtl } from 'skein/plugin'
import { addressPath } from './address.js'
import { aliasOf, isCircular, isZone, onlyName } from './alias.js'
import { type Asked, type Standing, standIn } from './asked.js'
import { distinct, lowestTtl } from './group.js'
import { type Lookup, MOST_KEYS } from './lookup.js'
import type { Outside } from './outside.js'
import { distinctRecords, mxRecords, nsRecords, oneTtl, srvRecords, type Targets, txtRecords } from './records.js'
import type { Service } from './service.js'
import type { SoaRecords } from './soa.js'

/** What answers depend on besides the services. */
export interface Rules extends Standing {
  /** Seconds: of services that say none, and the most that a TTL of an answer with several records may be. */
  readonly ttl: number
  /** SRV priority and MX preference of services that say none. */
  readonly priority: number
  readonly soa: SoaRecords
  /** Told of a service under `ns.dns` that is no address. */
  readonly skipped: (service: Service) => void
}

const NO_TARGETS: Targets = { answer: [], additional: [] }

/** The parts of the reply, as far as the look-ups outside are known. */
export function answerParts(lookup: Lookup, outside: Outside, rules: Rules, asked: Asked): ReplyParts {
  if (asked.type === 'SOA' && asked.name === lookup.apex) {
    return ownSoa(lookup.apex, rules, asked.now)
  }
  const { answer, additional, failed } = aliasInstead(byType(lookup, outside, rules, asked), lookup, rules, asked)
  if (answer.length > 0) {
    const beside = asked.dnssecOk && additional.length > 0 ? wholeSets(lookup, outside, rules, additional) : additional
    return { aa: true, ra: true, answer: levelled(answer, rules.ttl), additional: beside, why: 'found' }
  }
  if (failed) {
    return {
      rcode: 'SERVFAIL',
      ra: true,
      why: 'target-failed',
      problem: `the name that ${asked.owner} leads to could not be looked up`
    }
  }
  if (lookup.gaveUp(asked.name)) {
    return {
      rcode: 'SERVFAIL',
      ra: true,
      why: 'too-many',
      problem: `more keys would have to be looked at for ${asked.owner} than the ${MOST_KEYS} that a look-up takes`
    }
  }
  return nothing(lookup.apex, rules, asked.now, exists(lookup, asked))
}

/**
 * The addresses beside an answer as whoever asks for their names gets them: where they are signed a set has to be whole, and a service
 * may be one of several at a name. Never a CNAME at an apex.
 */
function wholeSets(lookup: Lookup, outside: Outside, standing: Standing, additional: readonly ResourceRecord[]): readonly ResourceRecord[] {
  const isOwn = ({ owner }: ResourceRecord): boolean => isWithin(owner, lookup.apex)
  const records = additional.filter((record) => !isOwn(record))
  for (const owner of new Set(additional.filter(isOwn).map((record) => record.owner))) {
    for (const type of ['A', 'AAAA'] as const) {
      const path = addressPath(lookup, outside, standIn(standing, owner), type, owner, standing)
      for (const record of path.records) records.push(record)
    }
  }
  const isFit = ({ type, owner }: ResourceRecord): boolean => type !== 'CNAME' || !standing.zones.includes(owner)
  return oneTtl(distinctRecords(records.filter(isFit)))
}

/** The SOA of a zone, as the answer. */
export function ownSoa(apex: string, { soa, ttl }: Rules, now: number): ReplyParts {
  return { aa: true, ra: true, answer: [soa.of(apex, ttl, now)], why: 'apex' }
}

/** Whether the name that was asked for exists. */
export function exists(lookup: Lookup, { name, owner, lower }: Pick<Asked, 'name' | 'owner' | 'lower'>): boolean {
  return owner === lookup.apex || lookup.exists(name) || (lower !== undefined && lookup.exists(lower))
}

/** A negative answer, with the SOA that says how long it holds (RFC 2308 §3). */
export function nothing(apex: string, rules: Rules, now: number, isThere: boolean): ReplyParts {
  const authority = [rules.soa.negative(apex, now)]
  return isThere
    ? { aa: true, ra: true, authority, why: 'nodata' }
    : { rcode: 'NXDOMAIN', aa: true, ra: true, authority, why: 'no-such-name' }
}

interface Records extends Targets {
  /** Whether a look-up outside was made that got no proper answer. */
  readonly failed?: boolean
}

/**
 * Where there is nothing of the asked type and proofs are wanted, the CNAME of the name: no proof of what is missing holds where
 * one is (RFC 6840 §4.3). Not where what it leads to could not be looked up: who is told of nothing would keep that.
 */
function aliasInstead(found: Records, lookup: Lookup, standing: Standing, asked: Asked): Records {
  if (!asked.dnssecOk || found.answer.length > 0 || found.failed === true || isBare(lookup, standing, asked)) return found
  const alias = aliasOf(lookup.services(asked.name), asked.owner)
  return alias === undefined ? found : { answer: [alias], additional: [] }
}

/** Whether a name has no CNAME, whatever its services say: of the zone itself none could be proved, and what leads back is none. */
function isBare(lookup: Lookup, standing: Standing, asked: Asked): boolean {
  return isZone(standing, asked) || isCircular(lookup, standing, asked.owner)
}

function byType(lookup: Lookup, outside: Outside, rules: Rules, asked: Asked): Records {
  const { name, owner, type, dnssecOk } = asked
  switch (type) {
    case 'A':
    case 'AAAA': {
      const { records, failed } = addressPath(lookup, outside, name, type, owner, dnssecOk ? rules : undefined)
      // Addresses at the name itself differ; on a way along CNAMEs something may stand twice.
      return { answer: records[0]?.type === 'CNAME' ? distinctRecords(records) : records, additional: [], failed }
    }
    case 'SRV':
      return srvRecords(lookup, outside, name, owner, rules.priority)
    case 'MX': {
      const withMail = distinct(lookup.all(name).filter(({ mail }) => mail))
      return mxRecords(lookup, outside, withMail, owner, rules.priority)
    }
    case 'TXT':
      return { answer: txtRecords(lookup.services(name), owner), additional: [] }
    case 'CNAME':
      return { answer: dnssecOk && isBare(lookup, rules, asked) ? [] : cname(lookup, name, owner), additional: [] }
    case 'NS':
      return name === lookup.apex ? nsRecords(lookup, owner, rules.skipped) : NO_TARGETS
    default:
      return NO_TARGETS
  }
}

/** The CNAME of an exact key, where its host is a name and stands alone: what is below is read only where the key has one. */
function cname(lookup: Lookup, name: string, owner: string): ResourceRecord[] {
  const services = lookup.exact(name)
  const target = onlyName(services)
  if (target === undefined || onlyName(lookup.services(name)) !== target) return []
  return [aliasOf(services, owner)!]
}

/** With two or more records every TTL is the lowest among them, and the configured one at most. */
function levelled(records: readonly ResourceRecord[], ttl: number): readonly ResourceRecord[] {
  if (records.length < 2) return records
  const lowest = lowestTtl(records, ttl)
  return records.map((record) => (record.ttl === lowest ? record : withTtl(record, lowest)))
}
