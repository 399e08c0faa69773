import { installedPackages } from '../chain/installed.js'
import { BUILT_IN, directiveName, pluginName, UNSAFE_ORDERS } from '../chain/order.js'
import { nearest, shown } from '../corefile/directive.js'
import type { Instance } from '../process/instance.js'
import { type Finding, warning } from './finding.js'

/** Plugins in an order that undoes what one of them is for, and lines that order or name what is not there. */
export function orderFindings({ blocks, said, generation: { folder } }: Instance): Finding[] {
  const names = blocks.map(({ chain: { configured } }) => configured.map(({ plugin }) => plugin.name))
  return [...names.flatMap((chain) => unsafe(chain, said)), ...unused(blocks, said, folder)]
}

type Said = Instance['said']

function unsafe(names: readonly string[], said: Said): Finding[] {
  return UNSAFE_ORDERS.flatMap(([first, second, why]) => {
    const [one, other] = [names.indexOf(first), names.indexOf(second)]
    if (one < 0 || other < 0 || one < other) return []
    const { directive } = said.order.get(first) ?? said.order.get(second) ?? {}
    return [warning('unsafe-order', `order: ${directiveName(second)} stands before ${directiveName(first)}: ${why}`, directive?.at)]
  })
}

function unused(blocks: Instance['blocks'], said: Said, folder: string): Finding[] {
  const inBlocks = blocks.flatMap(({ block, chain }) => [
    ...block.directives.map(({ name }) => pluginName(name)),
    ...chain.configured.map(({ plugin }) => plugin.name)
  ])
  const present = new Set(inBlocks)
  const orders = [...said.order].filter(([name]) => !present.has(name))
  const plugins = new Map(
    [...said.plugins.values()].map(({ plugin, directive }) => [plugin.name, directive] as const).filter(([name]) => !present.has(name))
  )
  return [
    ...orders.map(([name, { directive }]) => {
      const near = nearName(name, [...present, ...BUILT_IN, ...[...said.plugins.values()].map(({ plugin }) => plugin.name)], folder)
      const hint = near === undefined ? '' : `: did you mean ${near}?`
      return warning('unused-line', `order: no server block has ${shownName(name)}${hint}`, directive.at)
    }),
    ...[...plugins].map(([name, directive]) => warning('unused-line', `plugin: no server block has ${name}`, directive?.at))
  ]
}

/** What is most likely meant where nothing has that name. */
function nearName(name: string, names: readonly string[], folder: string): string | undefined {
  const known = [...names, ...installedPackages(folder).map(({ directive }) => directive)]
  return known.includes(name) ? undefined : nearest(name, [...new Set(known.map(directiveName))])
}

/** A word of the configuration may be anything. */
function shownName(name: string): string {
  const directive = directiveName(name)
  return /^[\w-]+$/.test(directive) ? directive : shown(directive)
}
