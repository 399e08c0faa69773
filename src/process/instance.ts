/** Everything that one reading of a Corefile makes: server blocks with their chains, and where they listen. */
import { lookUp, type Report, type Serving } from '../chain/answer.js'
import { attempting } from '../chain/attempt.js'
import { type BuildOptions, type BuiltChain, buildChain, type Configured, pluginError } from '../chain/build.js'
import { refuse } from '../chain/compose.js'
import { drainAll, startAll, stopAll } from '../chain/lifecycle.js'
import { CHAIN_SCHEMAS, readSaid, readSaidUnread, type Said } from '../chain/said.js'
import { BlockScope, type Generation, type ProcessServices, Settings } from '../chain/scope.js'
import { StepRecord } from '../chain/step.js'
import { filesOf, type PluginFiles, thrownAmong } from '../chain/thrown-at.js'
import { type ConfigError, type Place, placeText } from '../corefile/directive.js'
import type { ServerBlock } from '../corefile/parser.js'
import { shownEndpoint } from '../listen/addresses.js'
import type { Endpoint } from '../listen/slot.js'
import { namedThrownText, stackLines, thrownText } from '../message/one-line.js'
import {
  type BlockServed,
  blockServed,
  debugLog,
  type Layer,
  type Log,
  listenAddresses,
  type MaybePromise,
  type NotReady,
  type Reply,
  readiness,
  udpSize,
  zonesServed
} from '../plugin.js'
import { MAX_DEPTH, type Query } from '../query.js'
import { DEFAULT_UDP_SIZE } from '../reply/size.js'
import { Routes } from '../route/route.js'
import { serve } from '../server.js'
import { folderOf } from './configuration.js'
import { behind, hasEnteredChanged, keptBlocks, movedZones, servedPlace, textOf } from './kept.js'
import { checkListening, listeningOf } from './listening.js'
import { type BuiltBlock, type Home, type Plan, type PlannedEndpoint, planEndpoints } from './plan.js'

/** Makes the scope of a server block; the composition root gives each a container of its own. */
export type MakeScope = (generation: Generation, resolve: (query: Query) => MaybePromise<Reply>) => BlockScope

/** What {@link buildInstance} needs besides the server blocks. */
export interface InstanceOptions extends BuildOptions {
  readonly services: ProcessServices
  /** Of the Corefile; relative paths hang on its folder. */
  readonly file: string
  readonly defaultPort: number
  readonly makeScope?: MakeScope
  /** Told of addresses that several blocks share; the log is where left out. */
  readonly warn?: (text: string, at: Place) => void
  /** What runs now: blocks of it that stay as they are become part of the new instance. */
  readonly running?: Instance
}

/** Builds everything and opens nothing. What runs is not touched. Throws ConfigError. */
export async function buildInstance(blocks: readonly ServerBlock[], options: InstanceOptions): Promise<Instance> {
  const { services, file, defaultPort } = options
  const attempt = attempting(options.report)
  const directives = blocks.flatMap((block) => block.directives)
  const scopes: BlockScope[] = []
  const generation: Generation = { folder: folderOf(file), stores: services.stores.lease(), scopes }
  const built: BuiltBlock[] = []
  const serving: Serving = { udpSize: DEFAULT_UDP_SIZE, clock: services.clock, report: reportTo(services.log, built), inFlight: 0 }
  const said =
    options.builtInOnly === true
      ? await readSaidUnread(directives, options.report)
      : await readSaid(directives, generation.folder, options.report)
  const chainLines = directives.filter(({ name }) => CHAIN_SCHEMAS.has(name))
  const text = (block: ServerBlock): string => textOf(block, chainLines)
  const running = options.running?.blocks ?? []
  const kept = await keptBlocks(blocks, running, text)
  const change: Changing = { running, staying: new Set(kept.values()), moved: movedZones(blocks, running) }
  const settings = new Settings()
  for (const block of blocks) {
    const staying = kept.get(block)
    const one = staying ?? (await buildBlock(block, text(block), { generation, serving, said, change }, options))
    if (staying !== undefined) for (const { options: store, directive } of staying.scope.stores) generation.stores.use(store, directive)
    built.push(one)
    scopes.push(one.scope)
    await attempt(() => settings.setAll(one.scope.processSettings))
  }
  const plan = await planOf(built, generation, options)
  for (const block of built) if (!change.staying.has(block)) offerState(block, defaultPort)
  return new Instance({
    blocks: built,
    staying: change.staying,
    said,
    plan,
    generation,
    log: services.log,
    settings,
    debug: settings.get(debugLog) ?? false,
    serving: { ...serving, udpSize: settings.get(udpSize) ?? DEFAULT_UDP_SIZE }
  })
}

/** Where the blocks are served, as far as that can be told. */
async function planOf(
  built: readonly BuiltBlock[],
  { stores }: Generation,
  { services, defaultPort, report, warn }: InstanceOptions
): Promise<Plan> {
  const fail = (error: ConfigError): void => {
    if (report === undefined) throw error
    report(error)
  }
  // A block that is not whole may say where it listens in the line that is wrong.
  const placed = built.filter((block) => isWhole(block) || block.scope.settings.get(listenAddresses) !== undefined)
  let plan: Plan = { endpoints: [], homes: new Map() }
  await attempting(report)(() => {
    plan = planEndpoints(placed, defaultPort, warn ?? ((told, at) => services.log.warn(`${placeText(at)}: ${told}`)), fail)
  })
  checkListening(listeningOf(built, stores.used), plan.endpoints, fail)
  return plan
}

/** Whether all directives of a block were set up, or left out on purpose. */
export function isWhole({ block, chain: { configured, leftOut } }: BuiltBlock): boolean {
  return block.directives.filter(({ name }) => !CHAIN_SCHEMAS.has(name)).length === configured.length + leftOut.length
}

/** What runs, what of it stays, and which zones come or go. */
interface Changing {
  readonly running: readonly BuiltBlock[]
  readonly staying: ReadonlySet<BuiltBlock>
  readonly moved: readonly string[]
}

/** What the blocks of one reading have in common while they are built. */
interface Common {
  readonly generation: Generation
  readonly serving: Serving
  readonly said: Said
  readonly change: Changing
}

async function buildBlock(
  block: ServerBlock,
  text: string,
  { generation, serving, said, change }: Common,
  options: InstanceOptions
): Promise<BuiltBlock> {
  const { services } = options
  const before = change.running.find((other) => servedPlace(other.block) === servedPlace(block))
  // What has entered a block that changes rests on what is not there any more, even where it says the same.
  const isMoved = before !== undefined && hasEnteredChanged(before, change.running, change.staying, change.moved)
  const entered = new Set(before === undefined || isMoved ? [] : before.home.entered)
  const home: Home = { routes: new Routes<BuiltChain>(), serving, entered, hasStarted: false }
  const resolve = (query: Query): MaybePromise<Reply> => resolveWithin(home, query)
  const scope = options.makeScope?.(generation, resolve) ?? new BlockScope(services, generation, resolve)
  const chain = await buildChain(block, scope, said, options)
  const epoch = before === undefined ? 0 : before.epoch + (isMoved ? 1 : 0)
  scope.behind = (directive) => behind(chain.configured, { block, scope, epoch }, directive)
  return { block, text, epoch, chain, scope, home, addresses: scope.settings.get(listenAddresses) ?? ['0.0.0.0', '::'] }
}

/** Here, as what is offered stays as long as the block: a function made where it is built would keep all that was there, the instance of before too. */
function offerState(block: BuiltBlock, defaultPort: number): void {
  block.scope.offer(blockServed, servedBy(block, defaultPort))
  block.scope.offer(readiness, () => notReady(block))
}

function servedBy({ block, addresses, chain }: BuiltBlock, defaultPort: number): BlockServed {
  const places = block.keys.flatMap(({ zone, port = defaultPort }) =>
    [...new Set(addresses.map((address) => shownEndpoint(address, port)))].map((endpoint) => ({ endpoint, zone }))
  )
  const members = chain.configured.filter(({ layer }) => layer.handle !== undefined || layer.observe !== undefined)
  return { places, chain: members.map(({ directive }) => directive.name) }
}

function notReady({ chain, home }: BuiltBlock): NotReady[] {
  return chain.configured.flatMap(({ layer, directive }) => {
    const answer = home.hasStarted ? readyOrWhy(layer) : layer.start === undefined || 'it is being started'
    return answer === true ? [] : [{ directive: directive.name, why: answer }]
  })
}

function readyOrWhy(layer: Layer): true | string {
  try {
    return layer.ready?.() ?? true
  } catch (error) {
    return `it failed: ${thrownText(error)}`
  }
}

/** Asks the server itself, routed anew. */
function resolveWithin({ routes, serving, entered }: Home, query: Query): MaybePromise<Reply> {
  if (query.depth >= MAX_DEPTH) return query.fail('SERVFAIL', 'too-deep', { origin: { kind: 'none' } })
  const routed = routes.find(query.question)
  if (routed === undefined) return refuse(query)
  if (!entered.has(routed)) entered.add(routed)
  const inside = query.inside(routed.apex)
  if (query.trace instanceof StepRecord) return lookUp(query.trace.lookUp(routed.block, inside), inside, serving)
  return lookUp(routed.block.chains.of(query.question.qclass), inside, serving)
}

/** Tells of what a chain has thrown, in one line; names a third party's plugin where the stack, which is for debugging, shows that it was that. */
function reportTo(log: Log, built: readonly BuiltBlock[]): Report {
  let plugins: readonly (PluginFiles & { readonly name: string })[] | undefined
  return (error, query) => {
    plugins ??= pluginsOf(built)
    const { plugin, place } = thrownAmong(error, plugins) ?? {}
    const [who, where] = plugin === undefined ? ['a plugin', ''] : [`the plugin ${plugin.name}`, ` (at ${place})`]
    log.error(`${query.qname} ${query.qtype}: ${who} failed: ${namedThrownText(error)}${where}`)
    for (const line of stackLines(error)) log.debug(line)
  }
}

function pluginsOf(built: readonly BuiltBlock[]): (PluginFiles & { name: string })[] {
  const uses = configuredOf(built).map(({ url, directive: { name } }) => ({ url, name }))
  const byUrl = new Map(uses.map((use) => [use.url, use]))
  return [...byUrl.values()].flatMap(({ url, name }) => {
    const files = url === undefined ? undefined : filesOf(url)
    return files === undefined ? [] : [{ ...files, name }]
  })
}

/** What a block has entered is known by the routes that it goes by now, so that it is not noted again. */
function renewEntered({ routes, entered }: Home): void {
  const before = [...entered]
  for (const routed of before) {
    const now = routes.zoneOf(routed.apex)
    if (now?.block !== routed.block || now.apex !== routed.apex) continue
    entered.delete(routed)
    entered.add(now)
  }
}

/** What a configuration was built into. */
interface Built {
  readonly blocks: readonly BuiltBlock[]
  /** Those of them that another instance has started. */
  readonly staying: ReadonlySet<BuiltBlock>
  readonly said: Said
  readonly plan: Plan
  readonly generation: Generation
  readonly log: Log
  readonly settings: Settings
  /** Whether the log is to have lines for debugging. */
  readonly debug: boolean
  readonly serving: Serving
}

/** Server blocks with their chains, set up; started and stopped as a whole. */
export class Instance {
  readonly blocks: readonly BuiltBlock[]
  readonly said: Said
  readonly plan: readonly PlannedEndpoint[]
  readonly serving: Serving
  readonly generation: Generation
  /** What its directives have set for the whole process. */
  readonly settings: Settings
  readonly #log: Log
  readonly #debug: boolean
  readonly #homes: Plan['homes']
  readonly #staying: ReadonlySet<BuiltBlock>
  /** The blocks that this instance stops: all but those that the next one has. */
  #own: readonly BuiltBlock[]
  #stopped: Promise<void> | undefined

  constructor({ blocks, staying, said, plan, generation, log, settings, debug, serving }: Built) {
    this.blocks = blocks
    this.#own = blocks
    this.#staying = staying
    this.said = said
    this.plan = plan.endpoints
    this.#homes = plan.homes
    this.generation = generation
    this.#log = log
    this.settings = settings
    this.#debug = debug
    this.serving = serving
    this.#settle(this.#fresh)
  }

  /** The blocks that no other instance has started. */
  get #fresh(): BuiltBlock[] {
    return this.blocks.filter((block) => !this.#staying.has(block))
  }

  /** Opens the stores and starts the layers that do not run yet. Where one fails, everything is closed again and its error thrown. */
  async start(): Promise<void> {
    this.showDebug()
    const fresh = this.#fresh
    try {
      await this.generation.stores.open()
      await startAll(startedOf(fresh), { tell: (text) => this.#log.warn(text) })
    } catch (error) {
      this.#stopped = Promise.resolve()
      await this.stop().catch((also: unknown) => this.#log.error(thrownText(also)))
      throw error
    }
    for (const { home } of fresh) home.hasStarted = true
  }

  /** Has the log carry lines for debugging where this configuration says so, and not where it does not. */
  showDebug(): void {
    this.#log.showDebug?.(this.#debug)
  }

  /** Undoes `start` where what it was for did not come about; the blocks that another instance has started go on there. */
  async abandon(): Promise<void> {
    this.#own = this.#fresh
    await this.stop()
  }

  /** How often a look-up of its blocks has gone where none had gone before. */
  get entered(): number {
    return this.blocks.reduce((sum, { home }) => sum + home.entered.size, 0)
  }

  /** Takes the place of the instance that runs: its look-ups, its stores and the blocks that stay. */
  takeOver(running: Instance): void {
    running.#own = running.blocks.filter((block) => !this.#staying.has(block))
    this.#settle(this.blocks)
    this.generation.stores.serve()
    for (const each of startedOf(this.blocks)) {
      try {
        each.layer.refreshed?.()
      } catch (error) {
        this.#log.error(thrownText(pluginError(error, each, 'failed after a reload')))
      }
    }
  }

  #settle(blocks: readonly BuiltBlock[]): void {
    for (const block of blocks) {
      block.scope.generation = this.generation
      block.home.serving = this.serving
      block.home.routes = this.#homes.get(block) ?? block.home.routes
      renewEntered(block.home)
    }
  }

  /** Waits until no query is in flight, so long at most. */
  idle(milliseconds: number): Promise<void> {
    if (this.serving.inFlight === 0) return Promise.resolve()
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds)
      this.serving.idle = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  /** Has the layers finish what they tell others of, while questions are answered as ever. One that fails does not keep the server from stopping. */
  drain(): Promise<void> {
    return drainAll(startedOf(this.blocks), (text) => this.#log.error(text))
  }

  /** Stops the layers, once, within a time in milliseconds for all: what still waits for one of them is answered by it. */
  stopLayers(withinMs?: number): Promise<void> {
    this.#stopped ??= stopAll(startedOf(this.#own), withinMs)
    return this.#stopped
  }

  /** Stops the layers and closes the stores. */
  async stop(): Promise<void> {
    try {
      await this.stopLayers()
    } finally {
      await this.generation.stores.close()
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
}

function configuredOf(blocks: readonly BuiltBlock[]): Configured[] {
  return blocks.flatMap(({ chain }) => chain.configured)
}

/** Those that are started in this thread. */
function startedOf(blocks: readonly BuiltBlock[]): Configured[] {
  return blocks.flatMap(({ chain, scope }) =>
    scope.services.isWorker === true ? chain.configured.filter(({ layer }) => layer.once !== true) : chain.configured
  )
}
