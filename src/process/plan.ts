/** From server blocks to addresses: which zones are served where. */
import type { Serving } from '../chain/answer.js'
import type { BuiltChain } from '../chain/build.js'
import type { BlockScope } from '../chain/scope.js'
import { ConfigError, type Place, placeText } from '../corefile/directive.js'
import type { ServerBlock } from '../corefile/parser.js'
import { isWildcard } from '../listen/addresses.js'
import { shownAddress } from '../query.js'
import { type Routed, Routes } from '../route/route.js'

/** A server block with its chain. */
export interface BuiltBlock {
  readonly block: ServerBlock
  /** What it says, for comparing. */
  readonly text: string
  /** Counts the reloads at which what it rests on changed, though it says the same. */
  readonly epoch: number
  readonly chain: BuiltChain
  readonly scope: BlockScope
  readonly home: Home
  readonly addresses: readonly string[]
}

/** Where a block's own look-ups go. Another one after a reload that keeps the block. */
export interface Home {
  /** The routes of the first address that the block is served on. */
  routes: Routes<BuiltChain>
  serving: Serving
  /** Where they have gone so far. */
  readonly entered: Set<Routed<BuiltChain>>
  /** Whether all layers of the block, and of those that started with it, have. */
  hasStarted: boolean
}

/** What is listened on, and where each block's own look-ups go. */
export interface Plan {
  readonly endpoints: readonly PlannedEndpoint[]
  readonly homes: ReadonlyMap<BuiltBlock, Routes<BuiltChain>>
}

/** An address with the zones served there. */
export interface PlannedEndpoint {
  readonly address: string
  readonly port: number
  readonly routes: Routes<BuiltChain>
}

/** Told of what cannot be served; where errors are collected, it returns. */
type Fail = (error: ConfigError) => void

function raise(error: ConfigError): never {
  throw error
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
 * told where one block names an address and another listens on all, and where the first stands.
 */
export function planEndpoints(
  blocks: readonly BuiltBlock[],
  defaultPort: number,
  warn: (text: string, at: Place) => void,
  fail: Fail = raise
): Plan {
  const groups = groupsOf(blocks, defaultPort, fail)
  const homes = new Map<BuiltBlock, Routes<BuiltChain>>()
  const endpoints = groups.map(({ address, port, served }) => {
    const routes = new Routes<BuiltChain>()
    const others = behind(groups, address, port)
    for (const { zone, built } of [...served, ...others]) {
      if (!homes.has(built)) homes.set(built, routes)
      routes.add(zone, built.chain)
    }
    for (const own of served) checkAlone(own, others, blocks, fail)
    for (const [place, at] of overlaps(served, others))
      warn(`${shownAddress(address, port)} is named here, and ${place} listens on every address: all their zones are served there`, at)
    return { address, port, routes }
  })
  return { endpoints, homes }
}

/** The same zone on an address and on all addresses is refused, as in CoreDNS: one of the two would never be asked there. */
function checkAlone(own: Served, others: readonly Served[], blocks: readonly BuiltBlock[], fail: Fail): void {
  const other = others.find(({ zone }) => zone === own.zone)
  if (other === undefined) return
  if (other.built === own.built)
    return fail(
      new ConfigError(`${own.zone}: it is served on an address of its own and on all, expected each zone once`, own.built.block.at)
    )
  const [first, second] = [own.built, other.built].sort((a, b) => blocks.indexOf(a) - blocks.indexOf(b)) as [BuiltBlock, BuiltBlock]
  const where = first === own.built ? 'on an address of its own, and this block on all' : 'on every address, and this block on one of them'
  fail(new ConfigError(`${own.zone}: ${placeText(first.block.at)} serves it ${where}, expected each zone once`, second.block.at))
}

/** Each block that names an address with each that listens on all: where the second stands, and the first. */
function overlaps(served: readonly Served[], others: readonly Served[]): Map<string, Place> {
  const [first] = served
  if (first === undefined) return new Map()
  return new Map(
    others
      .filter(({ built }) => served.every((own) => own.built !== built))
      .map(({ built }) => [placeText(built.block.at), first.built.block.at])
  )
}

function groupsOf(blocks: readonly BuiltBlock[], defaultPort: number, fail: Fail): Group[] {
  const groups = new Map<string, Group>()
  for (const built of blocks) {
    for (const key of built.block.keys) {
      if (key.scheme !== 'dns') {
        fail(new ConfigError(`${key.text}: Skein does not serve ${key.scheme}:// yet, expected dns:// or no scheme`, key.at))
        continue
      }
      const port = key.port ?? defaultPort
      for (const address of built.addresses) {
        const name = shownAddress(address, port)
        const group = groups.get(name) ?? { address, port, served: [] }
        groups.set(name, group)
        const twice = group.served.find(({ zone }) => zone === key.zone)
        if (twice === undefined) group.served.push({ zone: key.zone, built })
        else
          fail(
            new ConfigError(
              `${key.text}: ${placeText(twice.built.block.at)} serves ${key.zone} on port ${port} already, expected each zone once`,
              key.at
            )
          )
      }
    }
  }
  return [...groups.values()]
}

/** What a wildcard serves on the same port, and so on this address too: a block that names the address comes before it. */
function behind(groups: readonly Group[], address: string, port: number): Served[] {
  if (isWildcard(address)) return []
  const family = address.includes(':')
  return groups
    .filter((group) => group.port === port && isWildcard(group.address) && group.address.includes(':') === family)
    .flatMap(({ served }) => served)
}

/**
 * The zones and where they are served, CoreDNS's way: `.:1053 on 127.0.0.1`; on every address where none is named. `portOf` is
 * asked for what a port has become.
 */
export function zoneLines(plan: readonly PlannedEndpoint[], portOf: (endpoint: PlannedEndpoint) => number | string): string[] {
  const lines = plan.flatMap((endpoint) =>
    endpoint.routes.zones.map((zone) => `${zone}:${portOf(endpoint)}${isOnAll(plan, zone, endpoint) ? '' : ` on ${endpoint.address}`}`)
  )
  return [...new Set(lines)]
}

/** Whether a zone is served on the wildcards of both families, of which this is one. */
function isOnAll(plan: readonly PlannedEndpoint[], zone: string, { address, port }: PlannedEndpoint): boolean {
  const other = address === '::' ? '0.0.0.0' : address === '0.0.0.0' ? '::' : undefined
  return plan.some((place) => place.address === other && place.port === port && place.routes.zones.includes(zone))
}
