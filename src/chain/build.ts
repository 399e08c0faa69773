import { ConfigError, type Directive, type Place } from '../corefile/directive.js'
import type { ServerBlock } from '../corefile/parser.js'
import { readBySchema } from '../corefile/read-schema.js'
import type { Schema } from '../corefile/schema.js'
import { isError, thrownText } from '../message/one-line.js'
import type { Layer } from '../plugin.js'
import { attempting, type ReportError } from './attempt.js'
import { layerProblem } from './check-layer.js'
import { DIRECTIVE_NAME } from './check-plugin.js'
import { Chains, classesOf } from './compose.js'
import { PluginHost } from './host.js'
import { inTime, PATIENCE_MS } from './in-time.js'
import { isBuiltIn, loadPlugin, nearDirective, urlOf } from './load.js'
import { checkRepeats, inOrder, type Use } from './place.js'
import { CHAIN_SCHEMAS, NOTHING_SAID, type Said } from './said.js'
import type { BlockScope } from './scope.js'
import { thrownAt } from './thrown-at.js'

/** What a directive takes whose plugin says nothing: no argument, no block. */
const NOTHING: Schema = { about: '' }

/** A layer, and what it was set up from. */
export interface Configured extends Use {
  readonly layer: Layer
}

/** A server block's layers in chain order, set up and not started, and the chains made of them. */
export interface BuiltChain {
  /** Where its server block stands. */
  readonly at: Place
  readonly configured: readonly Configured[]
  readonly chains: Chains
  /** The directives whose plugins were left out, see {@link BuildOptions.builtInOnly}. */
  readonly leftOut: readonly Directive[]
}

/** How a chain is built that will never run, to be checked. */
export interface BuildOptions {
  /** Takes an error and has the rest built without what is wrong; without it the first one is thrown. */
  readonly report?: ReportError | undefined
  /** Leaves out what is no plugin of Skein's own. */
  readonly builtInOnly?: boolean | undefined
}

/** Loads the plugins behind the directives of a server block, has them read their configuration, composes their layers. */
export async function buildChain(
  { directives, at }: Pick<ServerBlock, 'directives' | 'at'>,
  scope: BlockScope,
  said: Said = NOTHING_SAID,
  options: BuildOptions = {}
): Promise<BuiltChain> {
  const attempt = attempting(options.report)
  const leftOut: Directive[] = []
  const uses: Use[] = []
  const chained = directives.filter(({ name }) => !CHAIN_SCHEMAS.has(name))
  for (const directive of chained) {
    await attempt(async () => {
      if (isLeftOut(directive, scope.generation.folder, said, options)) leftOut.push(directive)
      else uses.push({ ...(await loadPlugin(directive, scope.generation.folder, said.plugins)), directive })
    })
  }
  await attempt(() => checkRepeats(uses))
  // Where that was reported, the first ones are looked at on.
  const once = uses.filter(
    (use, index) => use.plugin.repeatable === true || uses.findIndex(({ plugin }) => plugin === use.plugin) === index
  )
  const configured: Configured[] = []
  for (const use of inOrder(once, said.order)) await attempt(async () => configured.push({ ...use, layer: await setUp(use, scope) }))
  // What is not there might have offered what is missed.
  if (leftOut.length === 0 && configured.length === chained.length) for (const use of configured) await attempt(() => verify(use))
  const chains = new Chains(configured.map(({ layer, plugin, directive: { name } }) => ({ layer, name, classes: classesOf(plugin) })))
  return { at, configured, chains, leftOut }
}

/** Whether a directive belongs to a third party that is not imported; one that nobody has may belong to a plugin that a line names. */
function isLeftOut(directive: Directive, folder: string, { plugins, unread }: Said, { builtInOnly }: BuildOptions): boolean {
  const { name } = directive
  if (isBuiltIn(name) || plugins.has(name) || !DIRECTIVE_NAME.test(name)) return false
  if (builtInOnly !== true && unread.length === 0) return false
  const isInstalled = urlOf(directive, folder) !== undefined
  if (builtInOnly === true) return isInstalled || unread.length > 0
  // What is wrong with the line is told already, and a slip is one whatever the line names.
  return !isInstalled && unread.length > 0 && nearDirective(name, folder, plugins) === undefined
}

/** Has a plugin read its configuration. Whatever it throws becomes a ConfigError at the place of its directive. */
async function setUp(use: Use, scope: BlockScope): Promise<Layer> {
  const { plugin, directive } = use
  const config = readBySchema(directive, plugin.schema ?? NOTHING)
  let layer: unknown
  try {
    layer = await inTime(plugin.setup(config, new PluginHost(scope, directive)), PATIENCE_MS)
  } catch (error) {
    throw pluginError(error, use, 'failed to set up')
  }
  const problem = layerProblem(layer)
  if (problem !== undefined) throw new ConfigError(`${directive.name}: ${problem}`, directive.at)
  return layer as Layer
}

/** Has a layer say what it misses in its server block. */
function verify(use: Configured): void {
  try {
    use.layer.verify?.()
  } catch (error) {
    throw pluginError(error, use, 'failed to look at its server block')
  }
}

/** Whatever a plugin has thrown, as an error at the place of its directive; `what` says what it was to do. */
export function pluginError(error: unknown, { directive: { name, at }, url }: Pick<Use, 'directive' | 'url'>, what: string): ConfigError {
  if (isError(error) && error instanceof ConfigError)
    return error.at === undefined ? new ConfigError(`${name}: ${error.problem}`, at, { cause: error }) : error
  const place = url === undefined ? undefined : thrownAt(error, url)
  const where = place === undefined ? '' : ` (at ${place})`
  return new ConfigError(`${name}: its plugin ${what}: ${thrownText(error)}${where}`, at, { cause: error })
}
