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
import { GRACE_MS, isDone } from './patience.js'
import type { News, Order, WorkerConfiguration, WorkerStart } from './worker-messages.js'
import { AWAKE_MS, WorkerError, WorkerThread } from './worker-thread.js'

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
/** One that has lived so long dies anew: it is replaced at once, and only then later and later. */
const SOON_MS = 10_000
const FIRST_DELAY_MS = 100
const LONGEST_DELAY_MS = 5_000
/** Beyond its grace a worker is given so long to say that it is done. */
const LATE_MS = 200

/** All worker threads of the process; their number may change with the configuration. */
export class Workers implements SocketUsers {
  readonly sockets: SharedSockets
  readonly #options: WorkersOptions
  /** Those that are to be there. */
  #places: Place[] = []
  /** Those that build chains, and may be there then. */
  #coming: Place[] = []
  /** Those that answer what they have, and end. */
  #leaving: Place[] = []
  readonly #deaths: Counter
  readonly #silent: Counter
  /** Grows by one with each change of a store that was sent to all. */
  readonly #news = new Int32Array(new SharedArrayBuffer(4))
  /** What those had counted that have ended. */
  #gone: MetricFamily[] = []
  #configuration: WorkerConfiguration = { file: '', blocks: [] }
  #isStopping = false

  constructor(libc: Libc, options: WorkersOptions) {
    const { metrics, stores } = options
    this.#options = options
    this.sockets = new SharedSockets(libc, this)
    this.#deaths = metrics.counter('skein_worker_deaths_total', 'Worker threads that have died, and were replaced.')
    this.#silent = metrics.counter('skein_worker_silent_total', 'Times that a worker thread did not give its numbers in time.')
    metrics.gauge('skein_workers', 'Worker threads that answer.', () => this.#serving.length)
    metrics.workers = () => this.#collect()
    stores.onChange?.((folder, keys) => this.#tell({ folder, keys }))
  }

  /** How many there are to be. */
  get count(): number {
    return this.#places.length
  }

  get #all(): Place[] {
    return [...this.#places, ...this.#coming, ...this.#leaving]
  }

  get #serving(): Place[] {
    return this.#all.filter(({ isServing }) => isServing)
  }

  /**
   * Has so many build and start the chains of a configuration, beside those that answer. Throws a WorkerError where one cannot, and has
   * changed nothing then.
   */
  async prepare(configuration: WorkerConfiguration, count: number): Promise<WorkersChange> {
    const next = plain(configuration)
    const threads = this.#places.slice(0, count).flatMap(({ isServing, thread }) => (isServing && thread !== undefined ? [thread] : []))
    const coming = Array.from({ length: Math.max(0, count - this.count) }, (_, index) => emptyPlace(this.count + index))
    this.#coming = coming
    if (this.count === 0) this.sockets.count = count
    const discard = async (): Promise<void> => {
      this.#coming = []
      await Promise.allSettled([
        ...threads.map((thread) => askAwake(thread, { name: 'discard' })),
        ...coming.map((place) => this.#end(place))
      ])
    }
    const prepared = await Promise.allSettled([
      ...threads.map((thread) => askAwake(thread, { name: 'prepare', configuration: next })),
      ...coming.map((place) => this.#launch(place, next))
    ])
    const failed = prepared.find(({ status }) => status === 'rejected') as PromiseRejectedResult | undefined
    if (failed === undefined) return { commit: () => this.#commit(next, count, threads, coming), discard }
    await discard()
    throw failed.reason
  }

  async #commit(next: WorkerConfiguration, count: number, threads: readonly WorkerThread[], coming: readonly Place[]): Promise<void> {
    this.#configuration = next
    const staying = this.#places.slice(0, count)
    this.#leaving = this.#places.slice(count)
    this.#places = [...staying, ...coming]
    this.#coming = []
    this.sockets.count = count
    await Promise.all([
      ...staying.map((place) => this.#goOver(place, threads)),
      ...coming.map((place) => this.#begin(place)),
      ...this.#leaving.map((place) => this.#leave(place))
    ])
    this.#leaving = []
  }

  /** Starts a thread, and has it build and start these chains. */
  async #launch(place: Place, configuration: WorkerConfiguration): Promise<void> {
    const { file, start } = this.#options
    const news = { count: this.#news.buffer as SharedArrayBuffer, seen: Atomics.load(this.#news, 0) }
    const thread = new WorkerThread(file, `skein-${place.index + 1}`, start, news)
    place.thread = thread
    place.since = performance.now()
    void thread.ended.then((why) => this.#ended(place, thread, why))
    await thread.ask({ name: 'prepare', configuration })
  }

  /** Has a thread that was launched answer. One that has ended meanwhile, or cannot, is replaced. */
  async #begin(place: Place): Promise<void> {
    const built = place.thread === undefined ? this.#launch(place, this.#configuration) : undefined
    const { thread } = place
    try {
      await built
      if (place.thread === thread) await this.#serve(place, thread!)
    } catch (error) {
      // A reload may have put another one here meanwhile.
      if (place.thread === thread) await this.#end(place, `it cannot start: ${thrownText(error)}`)
    }
  }

  async #serve(place: Place, thread: WorkerThread): Promise<void> {
    this.sockets.restore(place.index)
    // What is told after this comes after it.
    place.isServing = true
    await thread.ask({ name: 'commit', sockets: this.sockets.of(place.index), graceMs: GRACE_MS })
  }

  #ended(place: Place, thread: WorkerThread, why: string): void {
    if (place.thread !== thread) return
    this.#vacate(place)
    if (this.#isStopping || !this.#places.includes(place)) return
    this.#deaths.value++
    place.deaths = performance.now() - place.since < SOON_MS ? place.deaths + 1 : 1
    const delay = place.deaths === 1 ? 0 : Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (place.deaths - 2))
    if (delay > 0) this.sockets.withdraw(place.index)
    const next = delay === 0 ? 'another one takes its place' : `another one takes its place in ${delay / 1000} s`
    this.#options.log.error(`worker thread ${place.index + 1} has died, and ${next}: ${why}`)
    place.timer = setTimeout(() => void this.#begin(place), delay)
  }

  /** The thread of a place is none any more; what it had counted stays in the sums. */
  #vacate(place: Place): void {
    place.thread = undefined
    place.isServing = false
    this.#gone = summed(addable(this.#gone), [counters(place.counted)])
    place.counted = []
  }

  /** Has one answer what it has, and end; what it has counted stays. */
  async #leave(place: Place): Promise<void> {
    const { index, thread, isServing } = place
    clearTimeout(place.timer)
    this.sockets.retire(index)
    if (thread !== undefined && isServing) await isDone(thread.ask({ name: 'sockets', sockets: [], graceMs: GRACE_MS }), GRACE_MS + LATE_MS)
    this.sockets.drop(index)
    if (place.isServing) {
      await this.#collectOf(place)
      await this.#stopThread(thread!, GRACE_MS)
    }
    await this.#end(place)
  }

  async #goOver(place: Place, threads: readonly WorkerThread[]): Promise<void> {
    const { index, thread, isServing } = place
    if (thread === undefined) return
    if (!threads.includes(thread)) {
      // It has just been started with the configuration of before. What waits for one that does not serve yet is its successor's.
      this.#vacate(place)
      await thread.end('a reload came', () => {
        if (isServing) this.sockets.drop(index)
      })
      return this.#begin(place)
    }
    try {
      await thread.ask({ name: 'commit', sockets: this.sockets.of(index), graceMs: GRACE_MS })
    } catch (error) {
      await this.#end(place, `it cannot go over to the new configuration: ${thrownText(error)}`)
    }
  }

  /** Ends a worker, whatever it does. */
  async #end({ index, thread }: Place, why = 'it was ended'): Promise<void> {
    await thread?.end(why, () => this.sockets.drop(index))
  }

  async changed(graceMs: number): Promise<void> {
    await Promise.all(
      this.#serving.map(async (place) => {
        const sockets = this.#leaving.includes(place) ? [] : this.sockets.of(place.index)
        const asked = place.thread!.ask({ name: 'sockets', sockets, graceMs })
        // Its number may be another file's soon.
        if (!(await isDone(asked, graceMs + LATE_MS))) await this.#end(place, 'it does not let go of its sockets')
      })
    )
  }

  #tell(news: News): void {
    for (const { thread } of this.#all) thread?.tell(news)
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
    for (const { timer } of this.#all) clearTimeout(timer)
    const stopped = this.#serving.map(({ thread }) => this.#stopThread(thread!, graceMs))
    for (const place of this.#all) place.isServing = false
    await Promise.all(stopped)
    await Promise.all(this.#all.map((place) => this.#end(place)))
  }

  #stopThread(thread: WorkerThread, graceMs: number): Promise<boolean> {
    return isDone(thread.ask({ name: 'stop', graceMs }).catch(this.#tellUnclean), 2 * graceMs)
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

function emptyPlace(index: number): Place {
  return { index, thread: undefined, isServing: false, since: 0, deaths: 0, counted: [], timer: undefined }
}

/** What is still true of a thread that has ended. */
function counters(families: readonly MetricFamily[]): MetricFamily[] {
  return families.filter(({ type }) => type !== 'gauge')
}

/** What a worker is sent of a configuration. */
function plain({ file, blocks }: WorkerConfiguration): WorkerConfiguration {
  return { file, blocks }
}
