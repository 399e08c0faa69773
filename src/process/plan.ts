/** From server blocks to addresses: which zones are served where. */
import type { BuiltChain } from '../chain/build.js'
import type { BlockScope } from '../chain/scope.js'
import { ConfigError, type Place } from '../corefile/directive.js'
import type { ServerBlock } from '../corefile/parser.js'
import { isWildcard } from '../listen/addresses.js'
import { shownAddress } from '../query.js'
import { Routes } from '../route/route.js'

/** A server block with its chain. */
export interface BuiltBlock {
  readonly block: ServerBlock
  readonly chain: BuiltChain
  readonly scope: BlockScope
  /** The routes that the block's own look-ups go by: those of the first address that it is served on. */
  readonly home: { routes: Routes<BuiltChain> }
  readonly addresses: readonly string[]
}

/** An address with the zones served there. */
export interface PlannedEndpoint {
  readonly address: string
  readonly port: number
  readonly routes: Routes<BuiltChain>
}

interface Served {
  readonly zone: string
  readonly built: BuiltBlock
}

/** The zones of one address, before those of a wildcard join them. */
interface Group {
  readonly address: string
  readonly port: number
  readonly served: Served[]
}

/**
 * Groups the zones of all server blocks by address and port. Throws ConfigError where a zone is served twice at one; `warn` is
 * told where a block that names an address hides another's zone there, and where that other block stands.
 */
export function planEndpoints(
  blocks: readonly BuiltBlock[],
  defaultPort: number,
  warn: (text: string, hidden: Place) => void
): PlannedEndpoint[] {
  const groups = groupsOf(blocks, defaultPort)
  return groups.map(({ address, port, served }) => {
    const routes = new Routes<BuiltChain>()
    const add = ({ zone, built }: Served): boolean => {
      if (built.home.routes.zones.length === 0) built.home.routes = routes
      return routes.add(zone, built.chain) === undefined
    }
    for (const own of served) add(own)
    for (const other of behind(groups, address, port)) {
      if (!add(other))
        warn(
          `${other.zone} on ${shownAddress(address, port)} is served by the block that names the address, not by ${placeOf(other.built)}`,
          other.built.block.at
        )
    }
    return { address, port, routes }
  })
}

function groupsOf(blocks: readonly BuiltBlock[], defaultPort: number): Group[] {
  const groups = new Map<string, Group>()
  for (const built of blocks) {
    for (const key of built.block.keys) {
      if (key.scheme !== 'dns')
        throw new ConfigError(`${key.text}: Skein does not serve ${key.scheme}:// yet, expected dns:// or no scheme`, key.at)
      const port = key.port ?? defaultPort
      for (const address of built.addresses) {
        const name = shownAddress(address, port)
        const group = groups.get(name) ?? { address, port, served: [] }
        groups.set(name, group)
        const twice = group.served.find(({ zone }) => zone === key.zone)
        if (twice !== undefined) {
          throw new ConfigError(
            `${key.text}: ${placeOf(twice.built)} serves ${key.zone} on port ${port} already, expected each zone once`,
            key.at
          )
        }
        group.served.push({ zone: key.zone, built })
      }
    }
  }
  return [...groups.values()]
}

function placeOf({ block: { at } }: BuiltBlock): string {
  return `${at.file}:${at.line}`
}

/** What a wildcard serves on the same port, and so on this address too: a block that names the address comes before it. */
function behind(groups: readonly Group[], address: string, port: number): Served[] {
  if (isWildcard(address)) return []
  const family = address.includes(':')
  return groups
    .filter((group) => group.port === port && isWildcard(group.address) && group.address.includes(':') === family)
    .flatMap(({ served }) => served)
}
