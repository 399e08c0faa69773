/** One worker thread, as the main thread has it. */
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads'
import { namedThrownText } from '../message/one-line.js'
import type { MetricFamily } from '../metrics.js'
import { isDone } from './patience.js'
import { type Answered, HEARS, type News, type NewsStart, type NumberedOrder, type Order, type WorkerStart } from './worker-messages.js'

/** A worker thread could not do what it is there for; or has ended meanwhile. The message is one line. */
export class WorkerError extends Error {
  override readonly name = 'WorkerError'
  readonly code = 'SKEIN_WORKER'
}

/** One that does not answer for so long hangs. */
export const AWAKE_MS = 2_000

interface Waiting {
  readonly resolve: (families: readonly MetricFamily[]) => void
  readonly reject: (error: WorkerError) => void
}

/** A thread that runs, or has run. */
export class WorkerThread {
  readonly #worker: Worker
  readonly #news: MessagePort
  readonly #waiting = new Map<number, Waiting>()
  /** Resolves when it has loaded what it needs. */
  readonly #hears: Promise<void>
  #lastNumber = 0
  #death: string | undefined
  /** What it dies of. */
  #fault: string | undefined
  /** Resolves when it has ended, with why, in words. */
  readonly ended: Promise<string>

  constructor(file: URL, name: string, start: Omit<WorkerStart, 'news'>, news: Omit<NewsStart, 'port'>) {
    const { port1, port2 } = new MessageChannel()
    this.#news = port1
    const workerData: WorkerStart = { ...start, news: { ...news, port: port2 } }
    this.#worker = new Worker(file, { name, workerData, transferList: [port2] })
    this.#hears = new Promise((resolve) => {
      this.#worker.on('message', (answered: Answered) => (answered.number === HEARS ? resolve() : this.#answered(answered)))
    })
    this.#worker.on('error', (error) => {
      this.#fault ??= namedThrownText(error)
    })
    this.ended = new Promise((resolve) => {
      this.#worker.once('exit', (code) => {
        this.#news.close()
        const why = this.#fault ?? `it has ended itself, with ${code}`
        this.#death = why
        for (const { reject } of this.#waiting.values()) reject(new WorkerError(`a worker thread has ended: ${why}`))
        this.#waiting.clear()
        resolve(why)
      })
    })
  }

  /** Has it do something. Rejects with a WorkerError where that fails, and where it has ended, or ends meanwhile. */
  ask(order: Order): Promise<readonly MetricFamily[]> {
    if (this.#death !== undefined) return Promise.reject(new WorkerError(`a worker thread has ended: ${this.#death}`))
    return new Promise((resolve, reject) => {
      const number = ++this.#lastNumber
      this.#waiting.set(number, { resolve, reject })
      this.#worker.postMessage({ number, order } satisfies NumberedOrder)
    })
  }

  /** Sends it a change of a store. */
  tell(news: News): void {
    this.#news.postMessage(news)
  }

  /**
   * Has it end itself, for this reason. One that does not, since a plugin keeps it busy, is ended after `release`, which takes its sockets
   * away: koffi ends the process where it is loaded, or would tell of a socket, in a thread that can run nothing any more.
   */
  async end(why: string, release: () => void): Promise<void> {
    this.#fault ??= why
    this.#worker.postMessage({ number: 0, order: { name: 'end' } } satisfies NumberedOrder)
    await Promise.race([this.#hears, this.ended])
    if (await isDone(this.ended, AWAKE_MS)) return
    release()
    await this.#worker.terminate()
  }

  #answered({ number, families = [], problem }: Answered): void {
    const waiting = this.#waiting.get(number)
    this.#waiting.delete(number)
    if (problem === undefined) waiting?.resolve(families)
    else waiting?.reject(new WorkerError(problem))
  }
}
