import { ConfigError, type Directive } from '../corefile/directive.js'
import { readBySchema } from '../corefile/read-schema.js'
import type { Schema } from '../corefile/schema.js'
import type { Layer, Plugin } from '../plugin.js'
import { Chains, type ClassedLayer } from './compose.js'
import { PluginHost } from './host.js'
import { loadPlugin } from './load.js'
import { checkRepeats, inOrder, type Use } from './place.js'
import { CHAIN_SCHEMAS, NOTHING_SAID, type Said } from './said.js'
import type { BlockScope } from './scope.js'

/** What a directive takes whose plugin says nothing: no argument, no block. */
const NOTHING: Schema = { about: '' }

/** A server block's layers in chain order, set up and not started, and the chains made of them. */
export interface BuiltChain {
  readonly layers: readonly Layer[]
  readonly chains: Chains
}

/** Loads the plugins behind the directives of a server block, has them read their configuration, composes their layers. */
export async function buildChain(directives: readonly Directive[], scope: BlockScope, said: Said = NOTHING_SAID): Promise<BuiltChain> {
  const uses: Use[] = []
  for (const directive of directives) {
    if (!CHAIN_SCHEMAS.has(directive.name)) uses.push({ directive, plugin: await loadPlugin(directive, scope.folder, said.plugins) })
  }
  checkRepeats(uses)
  const classed: ClassedLayer[] = []
  for (const { plugin, directive } of inOrder(uses, said.order)) {
    const layer: unknown = await setUp(plugin, directive, scope)
    if (!isLayer(layer)) throw new ConfigError(`${directive.name}: its plugin has set up no layer`, directive.at)
    classed.push({ layer, classes: plugin.classes ?? ['IN'] })
  }
  return { layers: classed.map(({ layer }) => layer), chains: new Chains(classed) }
}

async function setUp(plugin: Plugin, directive: Directive, scope: BlockScope): Promise<unknown> {
  try {
    return await plugin.setup(readBySchema(directive, plugin.schema ?? NOTHING), new PluginHost(scope, directive))
  } catch (error) {
    // What has a code says in one line what the operator can mend; anything else is a fault of the plugin.
    if (error instanceof Error && String((error as { code?: unknown }).code).startsWith('SKEIN_')) throw error
    throw new ConfigError(
      `${directive.name}: its plugin failed to set up: ${error instanceof Error ? error.message : String(error)}`,
      directive.at,
      { cause: error }
    )
  }
}

/** A plugin in plain JavaScript may return anything; one in TypeScript cannot. */
function isLayer(layer: unknown): layer is Layer {
  if (typeof layer !== 'object' || layer === null) return false
  const { handle } = layer as Layer
  return handle === undefined || typeof handle === 'function'
}
