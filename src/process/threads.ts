/** Whether this thread answers, or worker threads do. */
import type { Settings } from '../chain/scope.js'
import { placeText } from '../corefile/directive.js'
import { theLibc } from '../listen/batch/open-batch.js'
import type { Driver } from '../listen/own-sockets.js'
import type { PassedSockets } from '../listen/passed-sockets.js'
import { openUdp as openDatagrams } from '../listen/udp.js'
import type { OpenUdp } from '../listen/udp-driver.js'
import { answeringThreads } from '../plugin.js'
import type { WorkerConfiguration } from './worker-messages.js'
import type { Workers, WorkersChange, WorkersOptions } from './workers.js'

const NO_BATCHES = 'threads can share a port only where UDP goes in batches, and here it does not'
// A worker that dies has its descriptors closed under its event loop, which hears of a socket nevertheless while others have it open.
const PASSED = 'threads cannot share sockets that the service manager passes'

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
  /** Why this thread is to answer alone. */
  readonly #obstacle: string | undefined
  readonly #options: WorkersOptions | undefined

  /** Where `options` are left out, this thread answers whatever the configuration says; so it does where sockets were `passed` to the process. */
  constructor(openUdp: OpenUdp, options: WorkersOptions | undefined, { list }: Pick<PassedSockets, 'list'> = { list: [] }) {
    this.#obstacle = openUdp === openDatagrams ? NO_BATCHES : list.length > 0 ? PASSED : undefined
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
    if (this.#obstacle === undefined) return count
    const at = settings.directiveOf(answeringThreads)?.at
    const where = at === undefined ? '' : `${placeText(at)}: `
    this.#options.log.warn(`${where}multisocket: ${this.#obstacle}: one thread answers`)
    return 0
  }
}
