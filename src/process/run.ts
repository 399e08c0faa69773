/** `skein run`: from a Corefile to a server that answers, and its orderly end. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { ProcessServices, Settings } from '../chain/scope.js'
import { isWildcard } from '../listen/addresses.js'
import { type Change, type Listeners, openListeners } from '../listen/listeners.js'
import { passedSockets, shownPassed } from '../listen/passed-sockets.js'
import { ListenError } from '../listen/slot.js'
import { chooseUdp, UDP_VARIABLE } from '../listen/udp-driver.js'
import { thrownText } from '../message/one-line.js'
import type { Configuration } from './configuration.js'
import { buildInstance, type Instance, type MakeScope } from './instance.js'
import { GRACE_MS, PATIENCE_MS, RELOAD_PATIENCE_MS } from './patience.js'
import { type BuiltBlock, zoneLines } from './plan.js'
import { Threads, type ThreadsChange } from './threads.js'
import type { WorkersOptions } from './workers.js'

/** How long a stop, which is to end within a second, waits for a reload that is under way. */
const TURN_MS = 200

/** What {@link startServer} needs. */
export interface RunOptions {
  readonly configuration: Configuration
  readonly services: ProcessServices
  readonly makeScope: MakeScope
  readonly defaultPort: number
  /** What listens besides, where the configuration says. */
  readonly beside?: Beside
  /** What worker threads are started with; where left out, the main thread answers whatever the configuration says. */
  readonly workers?: WorkersOptions
}

/** Something that listens and follows the configuration. */
export interface Beside {
  /** Opens what another reading wants and is not open yet. Throws ConfigError, and has changed nothing then. */
  prepare(settings: Settings): Promise<BesideChange>
  close(): Promise<void>
}

/** What was opened for another reading. One of the two is called, once; neither fails. */
export interface BesideChange {
  apply(): void
  discard(): Promise<void>
}

/** What the next instance listens on, open and not served yet. */
interface Prepared {
  readonly sockets: Change
  readonly beside: BesideChange | undefined
  readonly threads: ThreadsChange
}

/** What a reload came to: server blocks by their keys. */
export interface Reloaded {
  /** Those that went on as they were. */
  readonly kept: readonly string[]
  /** Those that are new, or say something else than before. */
  readonly built: readonly string[]
  /** Those of before that have no successor. */
  readonly dropped: readonly string[]
}

/** A server that is listening. */
export class RunningServer {
  instance: Instance
  readonly listeners: Listeners
  readonly #threads: Threads
  readonly #options: RunOptions
  /** Reloads come one after another, and none after the stop. */
  #turn: Promise<unknown> = Promise.resolve()
  #isStopping = false
  /** Ends what a reload waits for. */
  #hurry = (): void => {}

  constructor(instance: Instance, listeners: Listeners, threads: Threads, options: RunOptions) {
    this.instance = instance
    this.listeners = listeners
    this.#threads = threads
    this.#options = options
  }

  /**
   * Goes over to another reading of the configuration: builds and starts it beside the one that runs, then gives it the sockets,
   * all at once, and stops what is not needed any more when it has answered. Where anything fails, everything is as it was and the
   * error is thrown.
   */
  reload(configuration: Configuration): Promise<Reloaded> {
    const reloaded = this.#turn.then(() => this.#reload(configuration))
    this.#turn = reloaded.catch(() => {})
    return reloaded
  }

  async #reload(configuration: Configuration): Promise<Reloaded> {
    const { services, defaultPort, makeScope } = this.#options
    const { blocks, file } = configuration
    const running = this.instance
    for (;;) {
      if (this.#isStopping) throw new Error('the server is stopping')
      const { entered } = running
      const next = await buildInstance(blocks, { services, file, defaultPort, makeScope, running })
      const prepared = await this.#prepare(next, configuration)
      // What is kept was decided by where look-ups had gone: where one has gone elsewhere meanwhile, that is decided anew.
      if (running.entered === entered && !this.#isStopping) return this.#goOver(running, next, prepared, configuration)
      await this.#undo(next, prepared)
    }
  }

  /** Starts the next instance, and opens what it listens on; where that fails, everything is as it was. */
  async #prepare(next: Instance, configuration: Configuration): Promise<Prepared> {
    let beside: BesideChange | undefined
    let threads: ThreadsChange = {}
    try {
      await next.start()
      beside = await this.#options.beside?.prepare(next.settings)
      threads = await this.#threads.prepare(configuration, next.settings)
      return { sockets: await this.listeners.prepare(next.endpoints, threads.driver), beside, threads }
    } catch (error) {
      await this.#undo(next, { beside, threads })
      throw error
    }
  }

  /** What fails here is told of and not thrown, as it would hide what it is done for. */
  async #undo(next: Instance, { sockets, beside, threads }: Partial<Prepared>): Promise<void> {
    await sockets?.discard()
    await threads?.workers?.discard()
    await beside?.discard()
    await next.abandon().catch(uncleanTo(this.#options.services))
    this.instance.showDebug()
  }

  /** From here on nothing can fail: every question is answered by one of the two. */
  async #goOver(running: Instance, next: Instance, prepared: Prepared, { warnings }: Configuration): Promise<Reloaded> {
    const { services } = this.#options
    const { sockets, beside, threads } = prepared
    for (const { text } of warnings) services.log.warn(text)
    next.takeOver(running)
    this.instance = next
    beside?.apply()
    const closed = sockets.apply(GRACE_MS)
    const over = Promise.all([running.idle(RELOAD_PATIENCE_MS), threads.workers?.commit()])
    await Promise.race([over, this.#stopAsked()])
    await running.stop().catch(uncleanTo(services))
    await closed
    return compared(running.blocks, next.blocks)
  }

  #stopAsked(): Promise<void> {
    return new Promise((resolve) => {
      this.#hurry = resolve
      if (this.#isStopping) resolve()
    })
  }

  /** Waits for those who want it, stops listening, answers what is in flight, stops the layers, closes the stores. */
  async stop(): Promise<void> {
    this.#isStopping = true
    this.#hurry()
    await Promise.race([this.#turn, sleep(TURN_MS, undefined, { ref: false })])
    const { workers } = this.#threads
    await Promise.all([this.instance.drain(), workers?.drain()])
    // Workers answer what is in flight before their sockets are closed.
    const graceMs = this.workerCount > 0 ? 0 : GRACE_MS
    const silent = Promise.resolve(workers?.stop(GRACE_MS)).then(() => this.listeners.close(graceMs))
    const closed = Promise.all([silent, this.#options.beside?.close()])
    await Promise.race([closed, sleep(PATIENCE_MS, undefined, { ref: false })])
    // A layer that something still waits for ends it now, while there is a socket to answer on.
    try {
      await this.instance.stopLayers(GRACE_MS)
    } finally {
      await closed
      await this.instance.stop()
    }
  }

  /** How many worker threads answer; 0 where this thread does. */
  get workerCount(): number {
    return this.#threads.workers?.count ?? 0
  }

  /** The zones and where they are served, CoreDNS's way: `.:1053 on 127.0.0.1`; on every address where none is named. */
  zoneLines(): string[] {
    return zoneLines(this.instance.plan, ({ address, port }) => this.portOf(address, port))
  }

  /** The first address that is listened on, for examples: an IPv4 one if there is any. */
  firstAddress(): { address: string; port: number } {
    const list = this.listeners.list
    const { address: asked, port } =
      list.find((listener) => listener.address === '127.0.0.1') ?? list.find((listener) => !listener.address.includes(':')) ?? list[0]!
    // A passed socket may be for all.
    const address = !isWildcard(asked) ? asked : asked.includes(':') ? '::1' : '127.0.0.1'
    return { address, port }
  }

  /** The port of zones that name none. */
  get defaultPort(): number {
    return this.#options.defaultPort
  }

  /** The port that is listened on: port 0 became another one. */
  portOf(address: string, port: number): number {
    if (port !== 0) return port
    const isV6 = address.includes(':')
    const { list } = this.listeners
    return (
      (list.find((listener) => listener.address === address) ?? list.find((listener) => listener.address.includes(':') === isV6))?.port ?? 0
    )
  }
}

/** Builds, starts and listens. Where anything fails, what was opened is closed again and its error thrown. */
export async function startServer(options: RunOptions): Promise<RunningServer> {
  const { configuration, services, makeScope, defaultPort } = options
  const { blocks, file, warnings } = configuration
  // First of all, so that no program which a plugin starts takes them for its own.
  const passed = await passedSockets()
  for (const text of [...passed.warnings, ...warnings.map((warning) => warning.text)]) services.log.warn(text)
  const openUdp = await chooseUdp(process.env[UDP_VARIABLE], services.log)
  const instance = await buildInstance(blocks, { services, file, defaultPort, makeScope })
  try {
    await instance.start()
    const threads = new Threads(openUdp, options.workers, passed)
    const { driver, workers } = await threads.prepare(configuration, instance.settings)
    try {
      const listeners = await openListeners(instance.endpoints, { openUdp, driver, passed, warn: (text) => services.log.warn(text) })
      for (const socket of listeners.passed) services.log.info(`listening on ${shownPassed(socket)}`)
      await openBeside(listeners, instance, options)
      await workers?.commit()
      return new RunningServer(instance, listeners, threads, options)
    } catch (error) {
      await workers?.discard()
      throw error
    }
  } catch (error) {
    await instance.stop().catch(uncleanTo(services))
    throw error
  }
}

/** What is to be there besides open sockets; where it is not, they are closed again. */
async function openBeside(listeners: Listeners, { settings }: Instance, { beside, defaultPort }: RunOptions): Promise<void> {
  try {
    if (listeners.list.length === 0)
      throw new ListenError('every address', defaultPort, 'udp', { name: 'Error', code: 'EADDRNOTAVAIL', message: 'no address' })
    const change = await beside?.prepare(settings)
    change?.apply()
  } catch (error) {
    await listeners.close(0)
    throw error
  }
}

function uncleanTo({ log }: ProcessServices): (error: unknown) => void {
  return (error) => log.error(`not everything stopped cleanly: ${thrownText(error)}`)
}

/** What became of the blocks of before. */
function compared(before: readonly BuiltBlock[], after: readonly BuiltBlock[]): Reloaded {
  const [kept, built] = [true, false].map((wanted) => after.filter((block) => before.includes(block) === wanted).map(keysOf))
  const now = after.map(keysOf)
  return { kept: kept!, built: built!, dropped: before.map(keysOf).filter((keys) => !now.includes(keys)) }
}

/** A server block by its keys, as they are spelled. */
function keysOf({ block }: BuiltBlock): string {
  return block.keyTexts.join(' ')
}
