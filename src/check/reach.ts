/** Questions that never come where they are meant to go. */
import type { Configured } from '../chain/build.js'
import { CHAIN_SCHEMAS } from '../chain/said.js'
import { type Directive, placeFrom } from '../corefile/directive.js'
import { isWithin } from '../message/name.js'
import type { Instance } from '../process/instance.js'
import type { BuiltBlock } from '../process/plan.js'
import { type Finding, warning } from './finding.js'
import { commonZones } from './zones.js'

/** Plugins that are never asked, zones that another block serves, blocks that nobody answers in. */
export function reachFindings({ blocks }: Instance): Finding[] {
  return blocks.flatMap((built) => {
    const { configured, leftOut } = built.chain
    const handling = configured.filter(({ layer }) => layer.handle !== undefined)
    // One that is wrong might have answered.
    const isWhole = built.block.directives.filter(({ name }) => !CHAIN_SCHEMAS.has(name)).length === configured.length + leftOut.length
    if (handling.length === 0 && leftOut.length === 0 && isWhole)
      return [warning('no-answer', 'nothing in this server block answers, so every question is refused', built.block.at)]
    return handling.flatMap((use, index) => layerFindings(use, handling.slice(0, index), built, blocks))
  })
}

function layerFindings(use: Configured, before: readonly Configured[], built: BuiltBlock, blocks: readonly BuiltBlock[]): Finding[] {
  const { directive } = use
  const zones = use.layer.reach?.zones ?? directive.zones
  const inside = commonZones(zones, directive.zones)
  if (inside.length === 0) {
    const others = `${list(zones)} ${zones.length === 1 ? 'is' : 'are'}`
    return [warning('outside', `${directive.name}: ${others} outside of the zones of its server block, so it is never asked`, directive.at)]
  }
  const ending = before.filter(
    (other) => sees(other, use) && inside.every((zone) => other.layer.reach?.ends?.some((end) => isWithin(zone, end)))
  )
  const [first] = ending
  if (first !== undefined) {
    const why = `${first.directive.name} in ${placeFrom(first.directive.at, directive.at)} stands before it and answers all`
    return [warning('unreachable', `${directive.name}: it is never asked: ${why}`, directive.at)]
  }
  return use.layer.reach?.zones === undefined ? [] : hidden(directive, inside, built, blocks)
}

/** Zones of a plugin that the longer apex of another block takes away. */
function hidden(directive: Directive, zones: readonly string[], built: BuiltBlock, blocks: readonly BuiltBlock[]): Finding[] {
  return zones.flatMap((zone) => {
    const { block } = built.home.routes.find({ qname: zone, qtype: 0 }) ?? {}
    const other = block === built.chain ? undefined : blocks.find(({ chain }) => chain === block)
    if (other === undefined) return []
    const { file, line } = other.block.at
    return [
      warning(
        'shadowed',
        `${directive.name}: ${zone} is served by the server block of ${file}:${line}, so it is never asked for that here`,
        directive.at
      )
    ]
  })
}

/** Whether a plugin sees all the classes that another one does. */
function sees({ plugin: { classes = ['IN'] } }: Configured, { plugin: { classes: others = ['IN'] } }: Configured): boolean {
  return classes.includes('*') || others.every((name) => classes.includes(name))
}

function list(zones: readonly string[]): string {
  return zones.length > 3 ? `${zones.slice(0, 3).join(', ')} and others` : zones.join(', ')
}
