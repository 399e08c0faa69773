import type { ResourceRecord } from 'skein/plugin'
import type { Service } from './service.js'

/** What has a TTL, and the one that is configured where that is more. */
interface Timed {
  readonly ttl: number
  readonly originalTtl?: number
}

/**
 * The services that are left after grouping (SkyDNS's `group`): the group of the shortest key that has one decides. Services of
 * another group are dropped, those without a group stay. Two different groups on the shortest level: no grouping.
 */
export function grouped(services: readonly Service[]): readonly Service[] {
  let shortest = Number.POSITIVE_INFINITY
  let deciding = ''
  let agree = true
  for (const { group, key } of services) {
    if (group === '' || key.length > shortest) continue
    agree = key.length < shortest || (agree && group === deciding)
    shortest = key.length
    deciding = group
  }
  if (deciding === '' || !agree) return services
  return services.filter(({ group }) => group === '' || group === deciding)
}

/**
 * Equal services (by their values as written) count once, with the lowest TTL among them. The first in key order stays, so
 * that one names the target.
 */
export function distinct(services: readonly Service[]): readonly Service[] {
  // Mostly the hosts alone tell them apart.
  if (allDiffer(services, shownHost)) return services
  const seen = new Map<string, Service>()
  for (const service of services) {
    const values = identity(service)
    const first = seen.get(values)
    if (first === undefined) seen.set(values, service)
    else if (service.ttl < first.ttl || service.originalTtl < first.originalTtl) seen.set(values, { ...first, ...lowestOf(first, service) })
  }
  return seen.size === services.length ? services : [...seen.values()]
}

function identity(service: Service): string {
  return `${shownHost(service)} ${service.port} ${service.priority} ${service.weight} ${service.text}`
}

function shownHost({ host }: Service): string {
  return host === undefined ? '' : host.kind === 'name' ? host.name : host.address
}

/** Whether no two of the items have the same text. */
export function allDiffer<T>(items: readonly T[], textOf: (item: T) => string): boolean {
  if (items.length < 2) return true
  const seen = new Set<string>()
  for (const item of items) {
    const { size } = seen
    if (seen.add(textOf(item)).size === size) return false
  }
  return true
}

/** The lowest TTL of services or records, `most` where there are none. A loop: there may be more than a call can have arguments. */
export function lowestTtl(records: readonly { readonly ttl: number }[], most = Number.POSITIVE_INFINITY): number {
  let lowest = most
  for (const { ttl } of records) if (ttl < lowest) lowest = ttl
  return lowest
}

/** The lowest TTL as it is configured, whatever leases make of it; `most` where there are none. */
export function lowestOriginal(records: readonly Timed[], most = Number.POSITIVE_INFINITY): number {
  let lowest = most
  for (const { ttl, originalTtl = ttl } of records) if (originalTtl < lowest) lowest = originalTtl
  return lowest
}

/** Both TTLs of two that count as one. */
export function lowestOf(one: Timed, other: Timed): { readonly ttl: number; readonly originalTtl: number } {
  const both = [one, other]
  return { ttl: lowestTtl(both), originalTtl: lowestOriginal(both) }
}

/** The record, which says the configured TTL where its own is less for the moment. */
export function withOriginal(record: ResourceRecord, originalTtl: number): ResourceRecord {
  return originalTtl > record.ttl ? { ...record, originalTtl } : record
}
