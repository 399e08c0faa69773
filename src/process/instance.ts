/** Everything that one reading of a Corefile makes: server blocks with their chains, and where they listen. */
import { lookUp, type Report, type Serving } from '../chain/answer.js'
import { attempting, type BuildOptions, type BuiltChain, buildChain } from '../chain/build.js'
import { refuse } from '../chain/compose.js'
import { startAll, stopAll } from '../chain/lifecycle.js'
import { NOTHING_SAID, readSaid, readSaidUnread, type Said } from '../chain/said.js'
import { BlockScope, type ProcessServices, Settings } from '../chain/scope.js'
import type { Place } from '../corefile/directive.js'
import type { ServerBlock } from '../corefile/parser.js'
import { shownEndpoint } from '../listen/addresses.js'
import type { Endpoint } from '../listen/listeners.js'
import { type BlockServed, blockServed, type Log, listenAddresses, type MaybePromise, type Reply, udpSize, zonesServed } from '../plugin.js'
import type { Query } from '../query.js'
import { DEFAULT_UDP_SIZE } from '../reply/size.js'
import { Routes } from '../route/route.js'
import { serve } from '../server.js'
import { folderOf } from './configuration.js'
import { type BuiltBlock, type PlannedEndpoint, planEndpoints } from './plan.js'

/** How deep look-ups of the server for itself may go. */
const MAX_DEPTH = 8

/** Makes the scope of a server block; the composition root gives each a container of its own. */
export type MakeScope = (folder: string, settings: Settings, resolve: (query: Query) => MaybePromise<Reply>) => BlockScope

/** What {@link buildInstance} needs besides the server blocks. */
export interface InstanceOptions extends BuildOptions {
  readonly services: ProcessServices
  /** Of the Corefile; relative paths hang on its folder. */
  readonly file: string
  readonly defaultPort: number
  readonly makeScope?: MakeScope
  /** Told of addresses that several blocks share; the log is where left out. */
  readonly warn?: (text: string, at: Place) => void
}

/** Builds everything and opens nothing. Throws ConfigError. */
export async function buildInstance(blocks: readonly ServerBlock[], options: InstanceOptions): Promise<Instance> {
  const { services, file, defaultPort } = options
  const settings = new Settings()
  const serving = { udpSize: DEFAULT_UDP_SIZE, clock: services.clock, report: reportTo(services.log) }
  const makeScope: MakeScope = options.makeScope ?? ((folder, shared, resolve) => new BlockScope(services, folder, shared, resolve))
  const folder = folderOf(file)
  const attempt = attempting(options.report)
  const directives = blocks.flatMap((block) => block.directives)
  let said = NOTHING_SAID
  await attempt(async () => {
    said = options.builtInOnly === true ? readSaidUnread(directives) : await readSaid(directives, folder)
  })
  const built: BuiltBlock[] = []
  for (const block of blocks) {
    const routes = new Routes<BuiltChain>()
    const home = { routes }
    const scope = makeScope(folder, settings, (query) => resolveWithin(home.routes, query, serving))
    const chain = await buildChain(block.directives, scope, said, options)
    built.push({ block, chain, scope, home, addresses: scope.settings.get(listenAddresses) ?? ['0.0.0.0', '::'] })
  }
  let plan: readonly PlannedEndpoint[] = []
  await attempt(() => {
    plan = planEndpoints(
      built,
      defaultPort,
      options.warn ?? ((text, { file: where, line }) => services.log.warn(`${where}:${line}: ${text}`))
    )
  })
  for (const block of built) block.scope.offer(blockServed, servedBy(block, defaultPort))
  return new Instance({ blocks: built, said, plan }, services, { ...serving, udpSize: settings.get(udpSize) ?? DEFAULT_UDP_SIZE })
}

function servedBy({ block, addresses, chain }: BuiltBlock, defaultPort: number): BlockServed {
  const places = block.keys.flatMap(({ zone, port = defaultPort }) =>
    [...new Set(addresses.map((address) => shownEndpoint(address, port)))].map((endpoint) => ({ endpoint, zone }))
  )
  const members = chain.configured.filter(({ layer }) => layer.handle !== undefined || layer.observe !== undefined)
  return { places, chain: members.map(({ directive }) => directive.name) }
}

/** Asks the server itself, routed anew. */
function resolveWithin(routes: Routes<BuiltChain>, query: Query, serving: Serving): MaybePromise<Reply> {
  if (query.depth >= MAX_DEPTH) return query.fail('SERVFAIL', 'too-deep', { origin: { kind: 'none' } })
  const routed = routes.find(query.question)
  if (routed === undefined) return refuse(query)
  return lookUp(routed.block.chains.of(query.question.qclass), query.inside(routed.apex), serving)
}

/** Tells of what a chain has thrown, one line without the stack. */
function reportTo(log: Log): Report {
  return (error, query) => {
    log.error(`${query.qname} ${query.qtype}: a plugin failed: ${oneLine(error)}`)
    const stack = stackOf(error)
    if (stack !== undefined) log.debug(stack)
  }
}

/** Whatever was thrown, in words on one line. Telling of a fault must not be another: some objects have no text. */
function oneLine(error: unknown): string {
  try {
    return (error instanceof Error ? `${error.name}: ${error.message}` : String(error)).replace(/[\s\p{Cc}]+/gu, ' ')
  } catch {
    return 'something without a text'
  }
}

/** The stack of an error, where it has one that can be read. */
function stackOf(error: unknown): string | undefined {
  try {
    return error instanceof Error && error.stack !== undefined ? String(error.stack) : undefined
  } catch {
    return undefined
  }
}

/** What a configuration was built into. */
interface Built {
  readonly blocks: readonly BuiltBlock[]
  readonly said: Said
  readonly plan: readonly PlannedEndpoint[]
}

/** Server blocks with their chains, set up; started and stopped as a whole. */
export class Instance {
  readonly blocks: readonly BuiltBlock[]
  readonly said: Said
  readonly plan: readonly PlannedEndpoint[]
  readonly serving: Serving
  readonly #services: ProcessServices
  #stopped: Promise<void> | undefined

  constructor({ blocks, said, plan }: Built, services: ProcessServices, serving: Serving) {
    this.blocks = blocks
    this.said = said
    this.plan = plan
    this.#services = services
    this.serving = serving
  }

  /** Opens the stores and starts the layers. Where one fails, everything is closed again and its error thrown. */
  async start(): Promise<void> {
    await this.#services.stores.open()
    try {
      await startAll(this.#layers)
    } catch (error) {
      await this.#services.stores.close()
      throw error
    }
  }

  /** Stops the layers, once: what still waits for one of them is answered by it. */
  stopLayers(): Promise<void> {
    this.#stopped ??= stopAll(this.#layers)
    return this.#stopped
  }

  /** Stops the layers and closes the stores. */
  async stop(): Promise<void> {
    try {
      await this.stopLayers()
    } finally {
      await this.#services.stores.close()
    }
  }

  /** What to listen on, each with the way into its chains. */
  get endpoints(): Endpoint[] {
    return this.plan.map(({ address, port, routes }) => ({ address, port, receive: (slot) => serve(slot, routes, this.serving) }))
  }

  /** The zones that plugins answer for with data of their own. */
  get zonesServed(): readonly string[] {
    return this.blocks.flatMap(({ scope }) => scope.find(zonesServed)).flat()
  }

  get #layers() {
    return this.blocks.flatMap(({ chain }) => chain.configured).map(({ layer }) => layer)
  }
}
