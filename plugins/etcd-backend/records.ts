/** SRV, MX, NS, TXT, SOA out of services. Pure functions. */
import { coveredType, isWithin, labelsOf, nameOfLabels, type ResourceRecord, withTtl } from 'skein/plugin'
import { addressPath } from './address.js'
import { allDiffer, lowestOf, withOriginal } from './group.js'
import { type Lookup, labelsOfKey } from './lookup.js'
import type { AddressType, Outside } from './outside.js'
import type { Host, Service } from './service.js'
import { below } from './zone.js'

/** An answer, no record twice, with the address records of its targets. */
export interface Targets {
  readonly answer: readonly ResourceRecord[]
  readonly additional: readonly ResourceRecord[]
}

const DEFAULT_WEIGHT = 100
const MAX_STRING = 255

interface Target {
  readonly service: Service
  readonly host: Host
  readonly name: string
}

/** SRV records (RFC 2782): one a service, weights as shares of 100 within their priority. */
export function srvRecords(lookup: Lookup, outside: Outside, name: string, owner: string, defaultPriority: number): Targets {
  const targets = targetsOf(lookup, lookup.services(name))
  const sums = new Map<number, number>()
  const priorityOf = ({ priority }: Service): number => priority || defaultPriority
  const weightOf = ({ weight }: Service): number => weight || DEFAULT_WEIGHT
  for (const { service } of targets) sums.set(priorityOf(service), (sums.get(priorityOf(service)) ?? 0) + weightOf(service))
  const answer = targets.map(({ service, name: target }): ResourceRecord => {
    const priority = priorityOf(service)
    // A share that is there must not become 0 by rounding: weight 0 is hardly ever chosen.
    const weight = Math.max(1, Math.floor((weightOf(service) * 100) / sums.get(priority)!))
    const rdata = { priority, weight, port: service.port, target }
    return withOriginal({ owner, type: 'SRV', ttl: service.ttl, rdata }, service.originalTtl)
  })
  return withAddresses(lookup, outside, targets, answer)
}

/** MX records of the services with `mail`; these are not grouped. */
export function mxRecords(lookup: Lookup, outside: Outside, services: readonly Service[], owner: string, defaultPriority: number): Targets {
  const targets = targetsOf(lookup, services)
  const answer = targets.map(({ service, name }): ResourceRecord => {
    const rdata = { preference: service.priority || defaultPriority, exchange: name }
    return withOriginal({ owner, type: 'MX', ttl: service.ttl, rdata }, service.originalTtl)
  })
  return withAddresses(lookup, outside, targets, answer)
}

/** NS records of the apex: the services under `ns.dns` that are addresses, each under its key's name. */
export function nsRecords(lookup: Lookup, owner: string, skipped: (service: Service) => void): Targets {
  const services = lookup.services(below('ns.dns', lookup.apex)).filter((service) => {
    const usable = service.host !== undefined && service.host.kind !== 'name'
    if (!usable) skipped(service)
    return usable
  })
  const targets = targetsOf(lookup, services).map((target) => ({ ...target, name: ownName(lookup, target.service) ?? target.name }))
  const answer = targets.map(({ service: { ttl, originalTtl }, name: server }) =>
    withOriginal({ owner, type: 'NS', ttl, rdata: server }, originalTtl)
  )
  return withAddresses(lookup, undefined, targets, answer)
}

/** TXT records: text octet for octet, cut into character-strings. */
export function txtRecords(services: readonly Service[], owner: string): readonly ResourceRecord[] {
  const withText = services.filter(({ text }) => text !== '')
  const records = withText.map(({ text, ttl, originalTtl }): ResourceRecord => {
    const octets = Buffer.from(text, 'utf8')
    const strings: Buffer[] = []
    for (let at = 0; at < octets.length; at += MAX_STRING) strings.push(octets.subarray(at, at + MAX_STRING))
    return withOriginal({ owner, type: 'TXT', ttl, rdata: strings }, originalTtl)
  })
  return allDiffer(withText, ({ text }) => text) ? records : distinctRecords(records)
}

/**
 * The answer and the address records of its targets. Records can say the same only where targets do: services that differ may
 * not, once labels are stripped, priorities filled in and weights rounded.
 */
function withAddresses(
  lookup: Lookup,
  outside: Outside | undefined,
  targets: readonly Target[],
  answer: readonly ResourceRecord[]
): Targets {
  const differ = allDiffer(targets, ({ name }) => name)
  return { answer: differ ? answer : distinctRecords(answer), additional: additionalFor(lookup, outside, targets, differ) }
}

/** The target of each service with a host: the host's name, or the key's own where it is an address; less the stripped labels. */
function targetsOf(lookup: Lookup, services: readonly Service[]): Target[] {
  const targets: Target[] = []
  for (const service of services) {
    const { host } = service
    if (host === undefined) continue
    const name = host.kind === 'name' ? host.name : ownName(lookup, service)
    // A key with a segment that is no label has no name of its own to point to.
    if (name !== undefined) targets.push({ service, host, name: stripped(name, service.targetStrip) })
  }
  return targets
}

function ownName(lookup: Lookup, { key }: Service): string | undefined {
  return nameOfLabels(labelsOfKey(lookup.source.path, key))?.toLowerCase()
}

/** The name without its first labels; unchanged where that would leave nothing. */
function stripped(name: string, labels: number): string {
  if (labels === 0) return name
  const all = labelsOf(name)
  return labels >= all.length ? name : (nameOfLabels(all.slice(labels)) ?? name)
}

/** The address records of the targets, each target once: of a service that is an address its own, else what the name leads to. */
function additionalFor(
  lookup: Lookup,
  outside: Outside | undefined,
  targets: readonly Target[],
  differ: boolean
): readonly ResourceRecord[] {
  const records: ResourceRecord[] = []
  const names = new Set<string>()
  for (const { service, host, name } of targets) {
    if (host.kind !== 'name')
      records.push(withOriginal({ owner: name, type: host.kind, ttl: service.ttl, rdata: host.address }, service.originalTtl))
    else if (outside !== undefined) names.add(name)
  }
  for (const name of names) {
    for (const type of ['A', 'AAAA'] as const) {
      for (const record of addressesOf(lookup, outside!, name, type)) records.push(record)
    }
  }
  // Addresses at names that all differ are each a set of its own.
  return differ && names.size === 0 ? records : oneTtl(distinctRecords(records))
}

function addressesOf(lookup: Lookup, outside: Outside, name: string, type: AddressType): readonly ResourceRecord[] {
  if (isWithin(name, lookup.apex)) return addressPath(lookup, outside, name, type).records
  const answer = outside.find(name, type)
  return answer.kind === 'found' ? answer.records : []
}

/** Records that say the same once, with the lowest TTL. */
export function distinctRecords(records: readonly ResourceRecord[]): readonly ResourceRecord[] {
  if (records.length < 2) return records
  const seen = new Map<string, ResourceRecord>()
  for (const record of records) {
    const same = `${record.owner} ${record.type} ${shownRdata(record)}`
    const first = seen.get(same)
    seen.set(same, first === undefined ? record : lower(first, record))
  }
  return [...seen.values()]
}

/** One of two that say the same, which have one configured TTL whichever ends first. */
function lower(one: ResourceRecord, other: ResourceRecord): ResourceRecord {
  const { ttl, originalTtl } = lowestOf(one, other)
  const { owner, type, rdata } = one
  return withOriginal({ owner, type, ttl, rdata } as ResourceRecord, originalTtl)
}

function shownRdata({ rdata }: ResourceRecord): string {
  if (typeof rdata === 'string') return rdata
  if (Array.isArray(rdata)) return rdata.map((part) => Buffer.from(part as Uint8Array).toString('base64')).join(' ')
  return JSON.stringify(rdata)
}

/** All records of an RRset with the lowest TTL among them (RFC 2181 §5.2). */
export function oneTtl(records: readonly ResourceRecord[]): readonly ResourceRecord[] {
  if (records.length < 2) return records
  const lowest = new Map<string, number>()
  // Signatures of one name are of several sets.
  const set = (record: ResourceRecord): string => `${record.owner} ${record.type} ${coveredType(record) ?? ''}`
  for (const record of records) lowest.set(set(record), Math.min(lowest.get(set(record)) ?? Number.POSITIVE_INFINITY, record.ttl))
  return records.map((record) => (record.ttl === lowest.get(set(record)) ? record : withTtl(record, lowest.get(set(record))!)))
}
