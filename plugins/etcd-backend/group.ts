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
  if (services.length < 2) return services
  const seen = new Map<string, Service>()
  for (const service of services) {
    const values = identity(service)
    const first = seen.get(values)
    if (first === undefined) seen.set(values, service)
    else if (service.ttl < first.ttl) seen.set(values, { ...first, ttl: service.ttl })
  }
  return seen.size === services.length ? services : [...seen.values()]
}

function identity({ host, port, priority, weight, text }: Service): string {
  const shownHost = host === undefined ? '' : host.kind === 'name' ? host.name : host.address
  return `${shownHost} ${port} ${priority} ${weight} ${text}`
}

/** The lowest TTL of services or records, `most` where there are none. A loop: there may be more than a call can have arguments. */
export function lowestTtl(records: readonly { readonly ttl: number }[], most = Number.POSITIVE_INFINITY): number {
  let lowest = most
  for (const { ttl } of records) if (ttl < lowest) lowest = ttl
  return lowest
}
