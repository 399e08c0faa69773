import type { Configured } from '../chain/build.js'
import { placeText } from '../corefile/directive.js'
import { isWildcard } from '../listen/addresses.js'
import type { Instance } from '../process/instance.js'
import type { BuiltBlock, PlannedEndpoint } from '../process/plan.js'
import { shownAddress } from '../query.js'
import { type Finding, warning } from './finding.js'
import type { Machine } from './machine.js'
import { commonZones } from './zones.js'

interface Address {
  readonly address: string
  readonly port: number
}

/** A question that leaves a server block for another one of this server. */
interface Step {
  readonly use: Configured
  readonly asked: Address
  readonly zone: string
  readonly to: BuiltBlock
}

/** Layers that ask the server that they are in, for names that come back to them, be it over other server blocks. */
export function loopFindings({ blocks, plan }: Instance, machine: Machine): Finding[] {
  const steps = new Map(blocks.map((built) => [built, stepsFrom(built, blocks, plan, machine)]))
  return blocks.flatMap((built) => {
    const found = new Map<string, Finding>()
    for (const step of steps.get(built)!) {
      const way = wayBack(built, step, steps)
      if (way === undefined) continue
      const { use, asked } = step
      const problem = `${use.directive.name}: ${shownAddress(asked.address, asked.port)} is this server, and the question comes back to this server block${over(way)}`
      found.set(problem, warning('asks-itself', problem, use.directive.at))
    }
    return [...found.values()]
  })
}

function stepsFrom(built: BuiltBlock, blocks: readonly BuiltBlock[], plan: readonly PlannedEndpoint[], machine: Machine): Step[] {
  return built.chain.configured.flatMap((use) =>
    (use.layer.reach?.asks ?? []).flatMap((asked) => {
      const zones = commonZones(asked.zones ?? use.layer.reach?.zones ?? use.directive.zones, use.directive.zones)
      const endpoints = plan.filter((endpoint) => receives(endpoint, asked, machine))
      return endpoints.flatMap(({ routes }) => {
        // Names below a zone may have a server block of their own there.
        const names = new Set([...zones, ...commonZones(zones, routes.zones)])
        return [...names].flatMap((zone) => stepTo(routes.zoneOf(zone)?.block, { use, asked, zone }, blocks))
      })
    })
  )
}

function stepTo(chain: BuiltBlock['chain'] | undefined, step: Omit<Step, 'to'>, blocks: readonly BuiltBlock[]): Step[] {
  const to = blocks.find((block) => block.chain === chain)
  return to === undefined ? [] : [{ ...step, to }]
}

/** The blocks that a question goes through until it is back; undefined where it does not come back. */
function wayBack(start: BuiltBlock, first: Step, steps: ReadonlyMap<BuiltBlock, readonly Step[]>): BuiltBlock[] | undefined {
  const seen = new Set<BuiltBlock>()
  const search = (at: BuiltBlock): BuiltBlock[] | undefined => {
    if (at === start) return []
    if (seen.has(at)) return undefined
    seen.add(at)
    for (const { to, zone } of steps.get(at)!) {
      const rest = commonZones([zone], [first.zone]).length === 0 ? undefined : search(to)
      if (rest !== undefined) return [at, ...rest]
    }
    return undefined
  }
  return search(first.to)
}

function over(way: readonly BuiltBlock[]): string {
  return way.length === 0 ? '' : ` over ${way.map(({ block }) => placeText(block.at)).join(', ')}`
}

/** Whether what is sent to an address arrives at an endpoint. The unspecified address is this machine for who sends to it. */
function receives(endpoint: PlannedEndpoint, { address, port }: Address, machine: Machine): boolean {
  if (endpoint.port !== port || endpoint.address.includes(':') !== address.includes(':')) return false
  if (endpoint.address === address) return true
  return isWildcard(endpoint.address) ? machine.has(address) : isWildcard(address) && /^(127\.|::1$)/.test(endpoint.address)
}
