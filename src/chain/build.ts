import { ConfigError, type Directive } from '../corefile/directive.js'
import type { Layer } from '../plugin.js'
import { Chains, type ClassedLayer } from './compose.js'
import { PluginHost } from './host.js'
import { loadPlugin } from './load.js'
import { checkRepeats, inOrder, type Use } from './place.js'
import type { BlockScope } from './scope.js'

/** A server block's layers in chain order, set up and not started, and the chains made of them. */
export interface BuiltChain {
  readonly layers: readonly Layer[]
  readonly chains: Chains
}

/** Loads the plugins behind the directives of a server block, has them read their configuration, composes their layers. */
export async function buildChain(directives: readonly Directive[], scope: BlockScope): Promise<BuiltChain> {
  const uses: Use[] = []
  for (const directive of directives) uses.push({ directive, plugin: await loadPlugin(directive, scope.folder) })
  checkRepeats(uses)
  const classed: ClassedLayer[] = []
  for (const { plugin, directive } of inOrder(uses)) {
    const layer: unknown = await plugin.setup(directive, new PluginHost(scope, directive))
    if (!isLayer(layer)) throw new ConfigError(`${directive.name}: its plugin has set up no layer`, directive.at)
    classed.push({ layer, classes: plugin.classes ?? ['IN'] })
  }
  return { layers: classed.map(({ layer }) => layer), chains: new Chains(classed) }
}

/** A plugin in plain JavaScript may return anything; one in TypeScript cannot. */
function isLayer(layer: unknown): layer is Layer {
  if (typeof layer !== 'object' || layer === null) return false
  const { handle } = layer as Layer
  return handle === undefined || typeof handle === 'function'
}
