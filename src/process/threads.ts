/** Whether this thread answers, or worker threads do. */
import type { Settings } from '../chain/scope.js'
import { placeText } from '../corefile/directive.js'
import { theLibc } from '../listen/batch/open-batch.js'
import type { Driver } from '../listen/own-sockets.js'
import { openUdp as openDatagrams } from '../listen/udp.js'
import type { OpenUdp } from '../listen/udp-driver.js'
import { answeringThreads } from '../plugin.js'
import type { WorkerConfiguration } from './worker-messages.js'
import type { Workers, WorkersChange, WorkersOptions } from './workers.js'

/** What is to answer another reading of the configuration. */
export interface ThreadsChange {
  /** Who is to drive the sockets; this thread where it is left out. */
  readonly driver?: Driver
  /** What worker threads have made ready; none where there have been none, and are to be none. */
  readonly workers?: WorkersChange
}

/** The threads that answer: this one, or workers, which there are from the first configuration on that wants them. */
export class Threads {
  /** None where there have been none yet. */
  workers: Workers | undefined
  readonly #canShare: boolean
  readonly #options: WorkersOptions | undefined

  /** Where `options` are left out, this thread answers whatever the configuration says. */
  constructor(openUdp: OpenUdp, options: WorkersOptions | undefined) {
    this.#canShare = openUdp !== openDatagrams
    this.#options = options
  }

  /** Has all threads that a configuration wants build its chains. Throws a WorkerError where one cannot, and has changed nothing then. */
  async prepare(configuration: WorkerConfiguration, settings: Settings): Promise<ThreadsChange> {
    const count = this.#countFor(settings)
    if (count > 0) this.workers ??= await this.#makeWorkers()
    const workers = await this.workers?.prepare(configuration, count)
    return { ...(workers && { workers }), ...(count > 0 && { driver: this.workers!.sockets }) }
  }

  /** Loaded here: most servers have none. */
  async #makeWorkers(): Promise<Workers> {
    const [libc, { Workers: All }] = await Promise.all([theLibc(), import('./workers.js')])
    return new All(libc, this.#options!)
  }

  /** How many workers are to answer; 0 where this thread is. */
  #countFor(settings: Settings): number {
    const count = settings.get(answeringThreads) ?? 1
    if (count === 1 || this.#options === undefined) return 0
    if (this.#canShare) return count
    const at = settings.directiveOf(answeringThreads)?.at
    const where = at === undefined ? '' : `${placeText(at)}: `
    const problem = 'threads can share a port only where UDP goes in batches, and here it does not: one thread answers'
    this.#options.log.warn(`${where}multisocket: ${problem}`)
    return 0
  }
}
