/** Questions that never come where they are meant to go. */
import type { Configured } from '../chain/build.js'
import { classesOf, seesClass } from '../chain/compose.js'
import { type Directive, placeFrom, placeText } from '../corefile/directive.js'
import { isWithin } from '../message/name.js'
import { type Instance, isWhole } from '../process/instance.js'
import type { BuiltBlock } from '../process/plan.js'
import { type Finding, warning } from './finding.js'
import { commonZones } from './zones.js'

/** The class of nearly all questions. */
const IN = 1

/** Plugins that are never asked, zones that another block serves, blocks that nobody answers in. */
export function reachFindings(instance: Instance): Finding[] {
  return instance.blocks.flatMap((built) => {
    const { configured, leftOut } = built.chain
    const handling = configured.filter(({ layer }) => layer.handle !== undefined)
    // What is wrong, or was not imported, might have answered.
    const isKnown = isWhole(built) && leftOut.length === 0
    const isSilent = handling.every((use) => use.layer.reach?.answers === false || !seesIn(use))
    if (isKnown && isSilent)
      return [warning('no-answer', 'nothing in this server block answers, so every question is refused', built.block.at)]
    return handling.flatMap((use, index) => layerFindings(use, handling.slice(0, index), built, instance))
  })
}

function layerFindings(use: Configured, before: readonly Configured[], built: BuiltBlock, instance: Instance): Finding[] {
  const { directive } = use
  const zones = use.layer.reach?.zones ?? directive.zones
  const inside = commonZones(zones, directive.zones)
  if (inside.length === 0) return [outside(directive, zones, 'it is never asked')]
  const ending = before.find(
    (other) => sees(other, use) && inside.every((zone) => other.layer.reach?.ends?.some((end) => isWithin(zone, end)))
  )
  if (ending !== undefined) {
    const why = `${ending.directive.name} in ${placeFrom(ending.directive.at, directive.at)} stands before it and answers all`
    return [warning('unreachable', `${directive.name}: it is never asked: ${why}`, directive.at)]
  }
  if (use.layer.reach?.zones === undefined) return []
  const apart = zones.filter((zone) => commonZones([zone], directive.zones).length === 0)
  return [
    ...(apart.length === 0 ? [] : [outside(directive, apart, `it is never asked for ${apart.length === 1 ? 'that' : 'those'}`)]),
    ...inside.flatMap((zone) => hidden(directive, zone, built, instance))
  ]
}

function outside(directive: Directive, zones: readonly string[], so: string): Finding {
  const which = `${list(zones)} ${zones.length === 1 ? 'is' : 'are'} outside of the zones of its server block`
  return warning('outside', `${directive.name}: ${which}, so ${so}`, directive.at)
}

/** A zone of a plugin that the longer apex of another block takes away, wherever the block is served. */
function hidden(directive: Directive, zone: string, built: BuiltBlock, { blocks, plan }: Instance): Finding[] {
  const served = plan.filter(({ routes }) => directive.zones.some((own) => routes.zoneOf(own)?.block === built.chain))
  const others = served.map(({ routes }) => routes.zoneOf(zone)?.block).filter((block) => block !== built.chain)
  const other = blocks.find(({ chain }) => chain === others[0])
  if (other === undefined || others.length < served.length) return []
  const problem = `${directive.name}: ${zone} is served by the server block of ${placeText(other.block.at)}, so it is never asked for that here`
  return [warning('shadowed', problem, directive.at)]
}

/** Whether a plugin sees all of the questions of class IN that another one would, which are nearly all that there are. */
function sees(one: Configured, other: Configured): boolean {
  return seesIn(one) && seesIn(other)
}

function seesIn({ plugin }: Configured): boolean {
  return seesClass(classesOf(plugin), IN)
}

function list(zones: readonly string[]): string {
  return zones.length > 3 ? `${zones.slice(0, 3).join(', ')} and others` : zones.join(', ')
}
