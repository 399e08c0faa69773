/** Addresses and CNAMEs: what a name leads to. Pure functions over what the look-ups have found. */
import { isWithin, type ResourceRecord } from 'skein/plugin'
import { aliasOf, isCircular, isZone, MAX_CNAMES, type NamedService, withHosts } from './alias.js'
import { type Standing, standIn } from './asked.js'
import { lowestOriginal, lowestTtl, withOriginal } from './group.js'
import type { Lookup } from './lookup.js'
import type { AddressType, Outside } from './outside.js'

/** What a name leads to: CNAMEs in order, then the addresses; all of it or nothing. */
export interface Path {
  readonly records: readonly ResourceRecord[]
  /** Whether a look-up outside was made that got no proper answer. */
  readonly failed: boolean
}

const NOTHING: Path = { records: [], failed: false }
const TOO_FAR: Path = { records: [], failed: true }
const NO_NAMES: readonly string[] = []

/** What is looked for. */
interface Wanted {
  readonly name: string
  readonly owner: string
  readonly type: AddressType
  /** Where proofs are wanted, the zones and which names others answer for: CNAMEs count then that lead to nothing. */
  readonly whole: Standing | undefined
}

/**
 * The records that `name` leads to, `owner` standing for it in them. With `whole` whoever asks for each of the names by itself gets
 * the same: CNAMEs stand also where they lead to nothing, and never at the apex or where they lead back.
 */
export function addressPath(lookup: Lookup, outside: Outside, name: string, type: AddressType, owner = name, whole?: Standing): Path {
  return follow(lookup, outside, { name, owner, type, whole }, NO_NAMES)
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
  if (alias === undefined || (whole !== undefined && isZone(whole, { name, owner }))) {
    return flattened(lookup, outside, services, owner, type, path)
  }
  if (whole !== undefined && isCircular(lookup, whole, owner)) return NOTHING
  // There are as many CNAMEs before it as there may be.
  if (seen.length === MAX_CNAMES) return NOTHING
  const target = leadsTo(lookup, outside, { owner: alias.rdata as string, type, whole }, path)
  // What failed may be there the next time: no CNAME is left of it that would have it missing.
  if (target.path.records.length === 0 && !target.standsAlone && (whole === undefined || target.path.failed)) return target.path
  return { records: [alias, ...target.path.records], failed: target.path.failed }
}

/** What a host name leads to, and whether a CNAME to it is right although it has no such address. */
function leadsTo(
  lookup: Lookup,
  outside: Outside,
  { owner, type, whole }: Omit<Wanted, 'name'>,
  path: readonly string[]
): { path: Path; standsAlone: boolean } {
  if (isWithin(owner, lookup.apex)) {
    const name = whole === undefined ? owner : standIn(whole, owner)
    return { path: follow(lookup, outside, { name, owner, type, whole }, path), standsAlone: false }
  }
  const answer = outside.find(owner, type)
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
      const found = leadsTo(lookup, outside, { owner: host.name, type, whole: undefined }, path).path
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
