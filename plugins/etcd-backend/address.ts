/** Addresses and CNAMEs: what a name leads to. Pure functions over what the look-ups have found. */
import { isWithin, type ResourceRecord } from 'skein/plugin'
import { lowestOriginal, lowestTtl, withOriginal } from './group.js'
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
const NO_NAMES: readonly string[] = []
const MAX_CNAMES = 8

/** What is looked for. */
interface Wanted {
  readonly name: string
  readonly owner: string
  readonly type: AddressType
  /** Whether CNAMEs count that lead to nothing. */
  readonly whole: boolean
}

/** The records that `name` leads to, `owner` standing for it in them; with `whole` the CNAMEs also where they lead to nothing. */
export function addressPath(lookup: Lookup, outside: Outside, name: string, type: AddressType, owner = name, whole = false): Path {
  return follow(lookup, outside, { name, owner, type, whole }, NO_NAMES)
}

/** The CNAME that the services of a name make, or undefined. */
export function aliasOf(services: readonly Service[], owner: string): ResourceRecord | undefined {
  const target = onlyName(services)
  if (target === undefined) return undefined
  const named = withHosts(services)
  return withOriginal({ owner, type: 'CNAME', ttl: lowestTtl(named), rdata: target }, lowestOriginal(named))
}

/**
 * The one rule (RFC 1034 §3.6.2): a CNAME only where all services have the same host name. Where they name several, or one
 * beside addresses of whatever family, the addresses that they lead to stand at the owner itself. So the choice never depends
 * on the asked type.
 */
function follow(lookup: Lookup, outside: Outside, { name, owner, type, whole }: Wanted, seen: readonly string[]): Path {
  if (seen.length > MAX_CNAMES || seen.includes(name)) return NOTHING
  if (!outside.follows() || !lookup.mayLook(name)) return TOO_FAR
  const services = withHosts(lookup.services(name))
  const [first] = services
  if (first === undefined) return NOTHING
  // Mostly it is one address.
  if (services.length === 1 && first.host.kind === type) {
    return { records: [withOriginal({ owner, type, ttl: first.ttl, rdata: first.host.address }, first.originalTtl)], failed: false }
  }
  const path = [...seen, name]
  const alias = aliasOf(services, owner)
  if (alias === undefined) return flattened(lookup, outside, services, owner, type, path)
  // There are as many CNAMEs before it as there may be.
  if (seen.length === MAX_CNAMES) return NOTHING
  const target = leadsTo(lookup, outside, { name: alias.rdata as string, type, whole }, path)
  if (target.path.records.length === 0 && !target.standsAlone && !whole) return target.path
  return { records: [alias, ...target.path.records], failed: target.path.failed }
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
  { name, type, whole }: Omit<Wanted, 'owner'>,
  path: readonly string[]
): { path: Path; standsAlone: boolean } {
  if (isWithin(name, lookup.apex)) return { path: follow(lookup, outside, { name, owner: name, type, whole }, path), standsAlone: false }
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
  let originalTtl = Number.POSITIVE_INFINITY
  let failed = false
  for (const service of services) {
    const { host } = service
    if (host.kind === type) {
      addresses.add(host.address)
      ttl = Math.min(ttl, service.ttl)
      originalTtl = Math.min(originalTtl, service.originalTtl)
    } else if (host.kind === 'name') {
      const found = leadsTo(lookup, outside, { name: host.name, type, whole: false }, path).path
      failed ||= found.failed
      const reached = found.records.filter((record) => record.type === type)
      if (reached.length === 0) continue
      for (const { rdata } of reached) addresses.add(rdata as string)
      ttl = lowestTtl(found.records, Math.min(ttl, service.ttl))
      originalTtl = lowestOriginal(found.records, Math.min(originalTtl, service.originalTtl))
    }
  }
  return { records: Array.from(addresses, (address) => withOriginal({ owner, type, ttl, rdata: address }, originalTtl)), failed }
}
