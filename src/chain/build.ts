import { ConfigError, type Directive } from '../corefile/directive.js'
import { readBySchema } from '../corefile/read-schema.js'
import type { Schema } from '../corefile/schema.js'
import type { Layer, Plugin } from '../plugin.js'
import { Chains } from './compose.js'
import { PluginHost } from './host.js'
import { isBuiltIn, loadPlugin, urlOf } from './load.js'
import { checkRepeats, inOrder, type Use } from './place.js'
import { CHAIN_SCHEMAS, NOTHING_SAID, type Said } from './said.js'
import type { BlockScope } from './scope.js'

/** What a directive takes whose plugin says nothing: no argument, no block. */
const NOTHING: Schema = { about: '' }

/** A layer, and what it was set up from. */
export interface Configured extends Use {
  readonly layer: Layer
}

/** A server block's layers in chain order, set up and not started, and the chains made of them. */
export interface BuiltChain {
  readonly configured: readonly Configured[]
  readonly chains: Chains
  /** The directives whose plugins were left out, see {@link BuildOptions.builtInOnly}. */
  readonly leftOut: readonly Directive[]
}

/** How a chain is built that will never run, to be checked. */
export interface BuildOptions {
  /** Takes an error and has the rest built without what is wrong; without it the first one is thrown. */
  readonly report?: ((error: ConfigError) => void) | undefined
  /** Leaves out what is no plugin of Skein's own. */
  readonly builtInOnly?: boolean | undefined
}

/** Loads the plugins behind the directives of a server block, has them read their configuration, composes their layers. */
export async function buildChain(
  directives: readonly Directive[],
  scope: BlockScope,
  said: Said = NOTHING_SAID,
  options: BuildOptions = {}
): Promise<BuiltChain> {
  const attempt = attempting(options.report)
  const leftOut: Directive[] = []
  const uses: Use[] = []
  for (const directive of directives.filter(({ name }) => !CHAIN_SCHEMAS.has(name))) {
    await attempt(async () => {
      if (options.builtInOnly === true && isLeftOut(directive, scope.generation.folder, said)) leftOut.push(directive)
      else uses.push({ ...(await loadPlugin(directive, scope.generation.folder, said.plugins)), directive })
    })
  }
  await attempt(() => checkRepeats(uses))
  // Where that was reported, the first ones are looked at on.
  const once = uses.filter(
    (use, index) => use.plugin.repeatable === true || uses.findIndex(({ plugin }) => plugin === use.plugin) === index
  )
  const configured: Configured[] = []
  for (const use of inOrder(once, said.order)) await attempt(async () => configured.push({ ...use, layer: await layerOf(use, scope) }))
  const chains = new Chains(configured.map(({ layer, plugin }) => ({ layer, classes: plugin.classes ?? ['IN'] })))
  return { configured, chains, leftOut }
}

/** Runs a step; where errors are reported, what it throws is, and the next one follows. */
export function attempting(report: BuildOptions['report']): (step: () => unknown) => Promise<void> {
  return async (step) => {
    try {
      await step()
    } catch (error) {
      if (report === undefined || !(error instanceof ConfigError)) throw error
      report(error)
    }
  }
}

/** Whether a directive belongs to a third party; one that nobody has may belong to a plugin that a line names. */
function isLeftOut(directive: Directive, folder: string, { unread }: Said): boolean {
  return !isBuiltIn(directive.name) && (urlOf(directive, folder) !== undefined || unread.length > 0)
}

async function layerOf({ plugin, directive }: Use, scope: BlockScope): Promise<Layer> {
  const layer: unknown = await setUp(plugin, directive, scope)
  return isLayer(layer) ? layer : directive.fail('its plugin has set up no layer')
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
