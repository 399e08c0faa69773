import type { Configured } from '../chain/build.js'
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

/** Layers that ask the server that they are in, for names that come back to them. */
export function loopFindings({ blocks, plan }: Instance, machine: Machine): Finding[] {
  return blocks.flatMap((built) =>
    built.chain.configured.flatMap((use) =>
      (use.layer.reach?.asks ?? [])
        .filter((asked) => comesBack(asked, use, built, plan, machine))
        .map(({ address, port }) =>
          warning(
            'asks-itself',
            `${use.directive.name}: ${shownAddress(address, port)} is this server, and the question comes back to this server block`,
            use.directive.at
          )
        )
    )
  )
}

function comesBack(
  asked: Address,
  { layer, directive }: Configured,
  built: BuiltBlock,
  plan: readonly PlannedEndpoint[],
  machine: Machine
): boolean {
  const endpoints = plan.filter((endpoint) => receives(endpoint, asked, machine))
  const zones = commonZones(layer.reach?.zones ?? directive.zones, directive.zones)
  return endpoints.some(({ routes }) => zones.some((zone) => routes.find({ qname: zone, qtype: 0 })?.block === built.chain))
}

/** Whether what is sent to an address arrives at an endpoint. The unspecified address is this machine for who sends to it. */
function receives(endpoint: PlannedEndpoint, { address, port }: Address, machine: Machine): boolean {
  if (endpoint.port !== port || endpoint.address.includes(':') !== address.includes(':')) return false
  if (endpoint.address === address) return true
  return isWildcard(endpoint.address) ? machine.has(address) : isWildcard(address) && /^(127\.|::1$)/.test(endpoint.address)
}
