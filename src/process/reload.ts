/** Reloads: at a signal, when files change, when a command asks. */
import { createHash } from 'node:crypto'
import { hashAt } from '../chain/host.js'
import type { ProcessServices } from '../chain/scope.js'
import { thrownText } from '../message/one-line.js'
import { type MaybePromise, reloadEvery } from '../plugin.js'
import type { Configuration } from './configuration.js'
import type { Reloaded, RunningServer } from './run.js'

/** The SHA-512 of the exact octets of all files of a configuration, in hex; of a single one what `sha512sum` prints. */
export function configurationHash({ files }: Configuration): string {
  const hash = createHash('sha512')
  for (const { octets } of files) hash.update(octets)
  return hash.digest('hex')
}

/** How a reload has ended. */
export type Outcome = (Reloaded & { readonly old: string; readonly new: string }) | { readonly error: unknown }

/** Reads the configuration again, and has the server go over to it. */
export class Reloader {
  readonly #server: RunningServer
  readonly #read: (before: Configuration) => MaybePromise<Configuration>
  readonly #services: ProcessServices
  readonly #failures: { value: number }
  #configuration: Configuration
  /** How many have worked. */
  #done = 0
  /** What was tried last and failed: it is not tried again until it changes. */
  #failed: string | undefined
  #timer: { cancel(): void } | undefined
  #isStopped = false
  /** The one under way or to come, and the one that has not begun. */
  #turn: Promise<unknown> = Promise.resolve()
  #next: Promise<Outcome> | undefined

  constructor(
    server: RunningServer,
    configuration: Configuration,
    read: (before: Configuration) => MaybePromise<Configuration>,
    services: ProcessServices
  ) {
    this.#server = server
    this.#configuration = configuration
    this.#read = read
    this.#services = services
    this.#failures = services.metrics.counter('coredns_reload_failed_total', 'Reloads that failed.')
    services.metrics.collect(() => [
      {
        name: 'coredns_reload_version_info',
        help: 'The hash of the configuration that runs.',
        type: 'gauge',
        labels: ['hash', 'value'],
        samples: [{ labels: ['sha512', configurationHash(this.#configuration)], value: 1 }]
      }
    ])
    this.#watch()
  }

  /** What the server runs with. */
  get configuration(): Configuration {
    return this.#configuration
  }

  /** How many reloads have worked and failed so far. */
  get counts(): { readonly done: number; readonly failed: number } {
    return { done: this.#done, failed: this.#failures.value }
  }

  /**
   * Reloads whether something has changed or not; the hashes are those of before and after. What has failed is in the log too. All who ask
   * while one is under way get the one after it.
   */
  now(): Promise<Outcome> {
    this.#next ??= this.#turn.then(() => {
      this.#next = undefined
      return this.#reload()
    })
    this.#turn = this.#next
    return this.#next
  }

  async #reload(): Promise<Outcome> {
    const { log } = this.#services
    log.info('Reloading')
    try {
      const configuration = await this.#read(this.#configuration)
      const reloaded = await this.#server.reload(configuration)
      const old = configurationHash(this.#configuration)
      this.#configuration = configuration
      this.#done++
      this.#failed = undefined
      this.#watch()
      log.info(`Reloading complete: ${shownReload(reloaded)}`)
      return { ...reloaded, old, new: configurationHash(configuration) }
    } catch (error) {
      this.#failures.value++
      log.error(`Reload failed, and the server goes on as it was: ${thrownText(error)}`)
      return { error }
    }
  }

  stop(): void {
    this.#isStopped = true
    this.#timer?.cancel()
  }

  /** Looks at the files from time to time where the configuration says so. */
  #watch(): void {
    this.#timer?.cancel()
    const every = this.#server.instance.settings.get(reloadEvery)
    if (every === undefined || this.#isStopped) return
    const { clock, random } = this.#services
    const { intervalMs, jitterMs } = every
    const delay = intervalMs - jitterMs / 2 + random.below(Math.max(1, jitterMs))
    this.#timer = clock.after(delay, () => void this.#look().then(() => this.#watch()))
  }

  async #look(): Promise<void> {
    const state = await this.#state()
    if (state === this.#failed || state === configurationHash(this.#configuration)) return
    if ('error' in (await this.now())) this.#failed = state
  }

  /** What the files are now: a text that is another one where any of them is. */
  async #state(): Promise<string> {
    try {
      return await stateOf(await this.#read(this.#configuration), this.#server)
    } catch (error) {
      return thrownText(error)
    }
  }
}

/** The hash of a configuration where the files that directives have read are as they were read; another text where one is not. */
async function stateOf(configuration: Configuration, { instance }: RunningServer): Promise<string> {
  const hash = configurationHash(configuration)
  for (const { path, hash: before } of instance.blocks.flatMap(({ scope }) => scope.files)) {
    const now = await hashAt(path)
    if (now !== before) return `${hash} ${path} ${now ?? ''}`
  }
  return hash
}

/** A reload in words. */
export function shownReload({ kept, built, dropped }: Reloaded): string {
  const more = dropped.length === 0 ? '' : `, ${count(dropped)} dropped`
  return `${count(built)} built, ${count(kept)} kept${more}`
}

function count({ length }: readonly string[]): string {
  return `${length} server block${length === 1 ? '' : 's'}`
}
