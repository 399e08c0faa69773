/** The worker threads that answer queries: started, kept alive, changed together, asked for their numbers, stopped. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { StorePool } from '../chain/scope.js'
import type { Libc } from '../listen/batch/libc.js'
import { SharedSockets, type SocketUsers } from '../listen/shared-sockets.js'
import { thrownText } from '../message/one-line.js'
import type { Counter, MetricFamily } from '../metrics.js'
import type { Log } from '../plugin.js'
import { addable, summed } from './metric-sums.js'
import type { PromRegistry } from './metrics.js'
import { GRACE_MS } from './patience.js'
import type { News, Order, WorkerConfiguration, WorkerStart } from './worker-messages.js'
import { WorkerError, WorkerThread } from './worker-thread.js'

/** What {@link Workers} need. */
export interface WorkersOptions {
  /** The module that a worker runs. */
  readonly file: URL
  readonly start: Omit<WorkerStart, 'news'>
  readonly log: Log
  readonly metrics: PromRegistry
  readonly stores: StorePool
}

/** Chains that all workers have built, and that do not answer yet. One of the two is called, once. */
export interface WorkersChange {
  /** Has all answer by them; resolves when what was before has stopped. Does not fail: a worker that cannot is replaced. */
  commit(): Promise<void>
  discard(): Promise<void>
}

/** The place of one worker, whose thread may be another after a death. */
interface Place {
  readonly index: number
  thread: WorkerThread | undefined
  /** It has chains and sockets, or will have before it reads what it is told next. */
  isServing: boolean
  /** When it was started, by `performance.now()`. */
  since: number
  /** How many have died here in a row, each soon. */
  deaths: number
  /** What it had counted when it was asked last. */
  counted: readonly MetricFamily[]
  timer: NodeJS.Timeout | undefined
}

/** How long the numbers of a worker are waited for. */
const COLLECT_MS = 500
/** One that does not answer for so long hangs. */
const AWAKE_MS = 2_000
/** One that has lived so long dies anew: it is replaced at once, and only then later and later. */
const SOON_MS = 10_000
const FIRST_DELAY_MS = 100
const LONGEST_DELAY_MS = 5_000
/** Beyond its grace a worker is given so long to say that it is done. */
const LATE_MS = 200

/** All worker threads of the process. */
export class Workers implements SocketUsers {
  readonly sockets: SharedSockets
  readonly #options: WorkersOptions
  readonly #places: readonly Place[]
  readonly #deaths: Counter
  readonly #silent: Counter
  /** Grows by one with each change of a store that was sent to all. */
  readonly #news = new Int32Array(new SharedArrayBuffer(4))
  /** What those had counted that have died. */
  #gone: MetricFamily[] = []
  #configuration: WorkerConfiguration = { file: '', blocks: [] }
  #hasStarted = false
  #isStopping = false

  constructor(libc: Libc, count: number, options: WorkersOptions) {
    const { metrics, stores } = options
    this.#options = options
    this.sockets = new SharedSockets(libc, count, this)
    this.#places = Array.from({ length: count }, (_, index) => ({
      index,
      thread: undefined,
      isServing: false,
      since: 0,
      deaths: 0,
      counted: [],
      timer: undefined
    }))
    this.#deaths = metrics.counter('skein_worker_deaths_total', 'Worker threads that have died, and were replaced.')
    this.#silent = metrics.counter('skein_worker_silent_total', 'Times that a worker thread did not give its numbers in time.')
    metrics.gauge('skein_workers', 'Worker threads that answer.', () => this.#serving.length)
    metrics.workers = () => this.#collect()
    stores.onChange?.((folder, keys) => this.#tell({ folder, keys }))
  }

  get count(): number {
    return this.#places.length
  }

  get #serving(): Place[] {
    return this.#places.filter(({ isServing }) => isServing)
  }

  /** Starts them all. Throws a WorkerError where one cannot, and has ended the others then. */
  async start(configuration: WorkerConfiguration): Promise<void> {
    this.#configuration = plain(configuration)
    const started = await Promise.allSettled(this.#places.map((place) => this.#start(place)))
    const failed = started.find(({ status }) => status === 'rejected') as PromiseRejectedResult | undefined
    if (failed !== undefined) {
      await this.stop(0)
      throw failed.reason
    }
    this.#hasStarted = true
  }

  async #start(place: Place): Promise<void> {
    const { file, start } = this.#options
    const news = { count: this.#news.buffer as SharedArrayBuffer, seen: Atomics.load(this.#news, 0) }
    const thread = new WorkerThread(file, `skein-${place.index + 1}`, start, news)
    place.thread = thread
    place.since = performance.now()
    void thread.ended.then((why) => this.#ended(place, thread, why))
    await thread.ask({ name: 'prepare', configuration: this.#configuration })
    this.sockets.restore(place.index)
    // What is told after this comes after it.
    if (place.thread === thread) place.isServing = true
    await thread.ask({ name: 'commit', sockets: this.sockets.of(place.index), graceMs: GRACE_MS })
  }

  #ended(place: Place, thread: WorkerThread, why: string): void {
    if (place.thread !== thread) return
    place.thread = undefined
    place.isServing = false
    this.#gone = summed(addable(this.#gone), [counters(place.counted)])
    place.counted = []
    if (!this.#hasStarted || this.#isStopping) return
    this.#deaths.value++
    place.deaths = performance.now() - place.since < SOON_MS ? place.deaths + 1 : 1
    const delay = place.deaths === 1 ? 0 : Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (place.deaths - 2))
    if (delay > 0) this.sockets.withdraw(place.index)
    const next = delay === 0 ? 'another one takes its place' : `another one takes its place in ${delay / 1000} s`
    this.#options.log.error(`worker thread ${place.index + 1} has died, and ${next}: ${why}`)
    place.timer = setTimeout(() => this.#replace(place), delay)
  }

  #replace(place: Place): void {
    this.#start(place).catch((error: unknown) => this.#end(place, `it cannot start: ${thrownText(error)}`))
  }

  /** Has all build and start chains beside those that answer. Throws a WorkerError where one cannot, and has changed nothing then. */
  async prepare(configuration: WorkerConfiguration): Promise<WorkersChange> {
    const next = plain(configuration)
    const threads = this.#serving.map(({ thread }) => thread!)
    const discard = async (): Promise<void> => {
      await Promise.allSettled(threads.map((thread) => askAwake(thread, { name: 'discard' })))
    }
    const prepared = await Promise.allSettled(threads.map((thread) => askAwake(thread, { name: 'prepare', configuration: next })))
    const failed = prepared.find(({ status }) => status === 'rejected') as PromiseRejectedResult | undefined
    if (failed === undefined) return { commit: () => this.#commit(next, threads), discard }
    await discard()
    throw failed.reason
  }

  async #commit(next: WorkerConfiguration, threads: readonly WorkerThread[]): Promise<void> {
    this.#configuration = next
    await Promise.all(this.#places.map((place) => this.#goOver(place, threads)))
  }

  async #goOver(place: Place, threads: readonly WorkerThread[]): Promise<void> {
    const { index, thread } = place
    if (thread === undefined) return
    if (!threads.includes(thread)) {
      // It has just been started with the configuration of before.
      place.thread = undefined
      place.isServing = false
      await thread.terminate()
      this.#replace(place)
      return
    }
    try {
      await thread.ask({ name: 'commit', sockets: this.sockets.of(index), graceMs: GRACE_MS })
    } catch (error) {
      await this.#end(place, `it cannot go over to the new configuration: ${thrownText(error)}`)
    }
  }

  /** Ends a worker, whatever it does. */
  async #end({ index, thread }: Place, why?: string): Promise<void> {
    if (thread === undefined) return
    this.sockets.drop(index)
    await thread.terminate(why)
  }

  async changed(graceMs: number): Promise<void> {
    await Promise.all(
      this.#serving.map(async (place) => {
        const asked = place.thread!.ask({ name: 'sockets', sockets: this.sockets.of(place.index), graceMs })
        // Its number may be another file's soon.
        if (!(await isDone(asked, graceMs + LATE_MS))) await this.#end(place, 'it does not let go of its sockets')
      })
    )
  }

  #tell(news: News): void {
    for (const { thread } of this.#places) thread?.tell(news)
    Atomics.add(this.#news, 0, 1)
  }

  /** What each has counted. Of one that does not say so in time, and of those that have died, what they had when they were asked before. */
  async #collect(): Promise<(readonly MetricFamily[])[]> {
    const all = await Promise.all(this.#serving.map((place) => this.#collectOf(place)))
    return [...all, this.#gone]
  }

  async #collectOf(place: Place): Promise<readonly MetricFamily[]> {
    const { thread } = place
    const late = sleep(COLLECT_MS, undefined, { ref: false })
    const families = await Promise.race([thread!.ask({ name: 'collect' }).catch(() => undefined), late])
    if (families === undefined) {
      this.#silent.value++
      return counters(place.counted)
    }
    if (place.thread === thread) place.counted = families
    return families
  }

  /** Has the layers of all do what they want to before the stop. */
  async drain(): Promise<void> {
    await this.#askAll({ name: 'drain' })
  }

  /** Has all answer what is in flight, and ends them. */
  async stop(graceMs: number): Promise<void> {
    this.#isStopping = true
    for (const { timer } of this.#places) clearTimeout(timer)
    const asked = graceMs > 0 ? this.#serving : []
    const stopped = asked.map(({ thread }) => isDone(thread!.ask({ name: 'stop', graceMs }).catch(this.#tellUnclean), 2 * graceMs))
    for (const place of this.#places) place.isServing = false
    await Promise.all(stopped)
    await Promise.all(this.#places.map((place) => this.#end(place)))
  }

  readonly #tellUnclean = (error: unknown): void => this.#options.log.error(`not everything stopped cleanly: ${thrownText(error)}`)

  async #askAll(order: Order): Promise<void> {
    await Promise.all(this.#serving.map(({ thread }) => askAwake(thread!, order).catch(this.#tellUnclean)))
  }
}

/** Has a worker do what may take its time. Rejects also where it does not so much as answer. */
async function askAwake(thread: WorkerThread, order: Order): Promise<void> {
  const done = thread.ask(order)
  const asleep = async (): Promise<void> => {
    if (!(await isDone(thread.ask({ name: 'collect' }), AWAKE_MS)))
      throw new WorkerError('a worker thread does not answer: a plugin keeps it busy')
    await done
  }
  await Promise.race([done, asleep()])
}

/** Whether something is done, or has failed, in time. */
async function isDone(work: Promise<unknown>, withinMs: number): Promise<boolean> {
  const late = sleep(withinMs, false, { ref: false })
  return Promise.race([
    work.then(
      () => true,
      () => true
    ),
    late
  ])
}

/** What is still true of a thread that has ended. */
function counters(families: readonly MetricFamily[]): MetricFamily[] {
  return families.filter(({ type }) => type !== 'gauge')
}

/** What a worker is sent of a configuration. */
function plain({ file, blocks }: WorkerConfiguration): WorkerConfiguration {
  return { file, blocks }
}
