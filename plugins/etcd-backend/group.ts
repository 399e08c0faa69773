import type { Service } from './service.js'

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
    else if (service.ttl < first.ttl) seen.set(values, { ...first, ttl: service.ttl })
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
