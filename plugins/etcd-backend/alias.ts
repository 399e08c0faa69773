/** Which CNAME stands at a name. Pure functions over what the look-ups have found. */
import { isWithin, type ResourceRecord } from 'skein/plugin'
import { type Asked, type Standing, standIn } from './asked.js'
import { lowestOriginal, lowestTtl, withOriginal } from './group.js'
import type { Lookup } from './lookup.js'
import type { Host, Service } from './service.js'
import { apexOf } from './zone.js'

/** How many CNAMEs are followed. */
export const MAX_CNAMES = 8

/** A service with a host. */
export interface NamedService extends Service {
  readonly host: Host
}

/** The CNAME that the services of a name make, or undefined. */
export function aliasOf(services: readonly Service[], owner: string): ResourceRecord | undefined {
  const target = onlyName(services)
  if (target === undefined) return undefined
  const named = withHosts(services)
  return withOriginal({ owner, type: 'CNAME', ttl: lowestTtl(named), rdata: target }, lowestOriginal(named))
}

/** The services that have a host. */
export function withHosts(services: readonly Service[]): readonly NamedService[] {
  const hasHost = (service: Service): service is NamedService => service.host !== undefined
  return services.every(hasHost) ? services : services.filter(hasHost)
}

/** The host name that all services have, or undefined. */
export function onlyName(services: readonly Service[]): string | undefined {
  let only: string | undefined
  for (const { host } of services) {
    if (host === undefined) continue
    if (host.kind !== 'name' || (only !== undefined && host.name !== only)) return undefined
    only = host.name
  }
  return only
}

/** Whether a zone's own records stand there: no CNAME is beside them that anybody could prove (RFC 1034 §3.6.2). */
export function isZone({ zones }: Standing, { name, owner }: Pick<Asked, 'name' | 'owner'>): boolean {
  const apex = apexOf(zones, owner)
  return owner === apex || name === apex
}

/** Whether the CNAMEs from an owner lead back to it within the zone: none of them is given to who wants proofs. */
export function isCircular(lookup: Lookup, standing: Standing, owner: string): boolean {
  let at = owner
  for (let cnames = 0; cnames < MAX_CNAMES; cnames++) {
    const name = standIn(standing, at)
    if (isZone(standing, { name, owner: at }) || !lookup.mayLook(name)) return false
    const target = onlyName(lookup.services(name))
    if (target === undefined || !isWithin(target, lookup.apex)) return false
    if (target === owner) return true
    at = target
  }
  return false
}
