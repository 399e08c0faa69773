/** Addresses and CNAMEs: what a name leads to. Pure functions over what the look-ups have found. */
import { isWithin, type ResourceRecord } from 'skein/plugin'
import { lowestTtl } from './group.js'
import type { Lookup } from './lookup.js'
import type { AddressType, Outside } from './outside.js'
import type { Host, Service } from './service.js'

/** What a name leads to: CNAMEs in order, then the addresses; all of it or nothing. */
export interface Path {
  readonly records: readonly ResourceRecord[]
  /** Whether a look-up outside was made that got no proper answer. */
  readonly failed: boolean
}

interface NamedService extends Service {
  readonly host: Host
}

const NOTHING: Path = { records: [], failed: false }
const TOO_FAR: Path = { records: [], failed: true }
const MAX_CNAMES = 8

/** The records that `name` leads to, `owner` standing for it in them. */
export function addressPath(lookup: Lookup, outside: Outside, name: string, type: AddressType, owner = name): Path {
  return follow(lookup, outside, name, owner, type, [])
}

/**
 * The one rule (RFC 1034 §3.6.2): a CNAME only where all services have the same host name. Where they name several, or one
 * beside addresses of whatever family, the addresses that they lead to stand at the owner itself. So the choice never depends
 * on the asked type.
 */
function follow(lookup: Lookup, outside: Outside, name: string, owner: string, type: AddressType, seen: readonly string[]): Path {
  if (seen.length > MAX_CNAMES || seen.includes(name)) return NOTHING
  if (!outside.follows() || !lookup.mayLook(name)) return TOO_FAR
  const services = withHosts(lookup.services(name))
  const [first] = services
  if (first === undefined) return NOTHING
  // Mostly it is one address.
  if (services.length === 1 && first.host.kind === type) {
    return { records: [{ owner, type, ttl: first.ttl, rdata: first.host.address }], failed: false }
  }
  const path = [...seen, name]
  const alias = onlyName(services)
  if (alias === undefined) return flattened(lookup, outside, services, owner, type, path)
  // There are as many CNAMEs before it as there may be.
  if (seen.length === MAX_CNAMES) return NOTHING
  const ttl = lowestTtl(services)
  const target = leadsTo(lookup, outside, alias, type, path)
  if (target.path.records.length === 0 && !target.standsAlone) return target.path
  return { records: [{ owner, type: 'CNAME', ttl, rdata: alias }, ...target.path.records], failed: target.path.failed }
}

function withHosts(services: readonly Service[]): readonly NamedService[] {
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

/** What a host name leads to, and whether a CNAME to it is right although it has no such address. */
function leadsTo(
  lookup: Lookup,
  outside: Outside,
  name: string,
  type: AddressType,
  path: readonly string[]
): { path: Path; standsAlone: boolean } {
  if (isWithin(name, lookup.apex)) return { path: follow(lookup, outside, name, name, type, path), standsAlone: false }
  const answer = outside.find(name, type)
  if (answer.kind === 'found') return { path: { records: answer.records, failed: false }, standsAlone: true }
  return { path: { records: [], failed: answer.kind === 'failed' }, standsAlone: false }
}

/** Every address of the type that the services lead to, at the owner, with the lowest TTL of all that led there. */
function flattened(
  lookup: Lookup,
  outside: Outside,
  services: readonly NamedService[],
  owner: string,
  type: AddressType,
  path: readonly string[]
): Path {
  const addresses = new Set<string>()
  let ttl = Number.POSITIVE_INFINITY
  let failed = false
  for (const service of services) {
    const { host } = service
    if (host.kind === type) {
      addresses.add(host.address)
      ttl = Math.min(ttl, service.ttl)
    } else if (host.kind === 'name') {
      const found = leadsTo(lookup, outside, host.name, type, path).path
      failed ||= found.failed
      const reached = found.records.filter((record) => record.type === type)
      if (reached.length === 0) continue
      for (const { rdata } of reached) addresses.add(rdata as string)
      ttl = lowestTtl(found.records, Math.min(ttl, service.ttl))
    }
  }
  return { records: Array.from(addresses, (address) => ({ owner, type, ttl, rdata: address })), failed }
}
