/** The feeder of a replica, as the main thread has it: a thread of its own, since the work of a list must not make a query wait. */
import { Worker } from 'node:worker_threads'
import { namedThrownText } from '../message/one-line.js'
import type { Log } from '../plugin.js'
import { identityOfFile } from '../store/folder.js'
import { type ChangedKeys, StoreError } from '../store/store.js'
import { END, type FeederNews, type FeederStart } from './feeder-messages.js'
import { isDone } from './patience.js'

/** Whom a feeder tells. */
export interface FeederTell {
  readonly log: Log
  changed(keys: ChangedKeys): void
  /** Why it is not in step with its cluster; undefined where it is. */
  why(why: string | undefined): void
}

const FILE = new URL('../feeder.js', import.meta.url)
/** One that has died is started again after this, and later each time. */
const FIRST_DELAY_MS = 100
const LONGEST_DELAY_MS = 10_000
/** One that has lived so long dies anew. */
const SOON_MS = 60_000
const END_MS = 800

/** Keeps the replica in a folder in step with its cluster. */
export class Feeder {
  #start: FeederStart
  readonly #tell: FeederTell
  #worker: Worker | undefined
  #ended: Promise<void> = Promise.resolve()
  #timer: NodeJS.Timeout | undefined
  #deaths = 0
  #complaints = 0
  #isClosed = false
  /** Resolves when it is in step for the first time, or knows why not. */
  readonly tried: Promise<void>
  #hasTried: () => void = () => undefined

  /** For a folder whose lock this process holds. */
  constructor(start: FeederStart, tell: FeederTell) {
    this.#start = start
    this.#tell = tell
    this.tried = new Promise((resolve) => {
      this.#hasTried = resolve
    })
  }

  /** Starts it; resolves when the replica can be read. Throws StoreError where it cannot be opened. */
  async open(): Promise<void> {
    const opened = await this.#launch()
    if (opened !== undefined) throw new StoreError(opened)
  }

  /** Starts it, and again later where it cannot be opened. */
  begin(): void {
    const since = performance.now()
    void this.#launch().then((problem) => {
      if (problem !== undefined) this.#died(problem, since)
    })
  }

  /** Which file it writes, once it is open. */
  get file(): string | undefined {
    return this.#start.file
  }

  /**
   * Ends it; whether it has. One that is amid a change that takes long is left alone: ended by force it would leave the store locked for
   * all who have it open, those who are to close it too.
   */
  async close(): Promise<boolean> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    this.#worker?.postMessage(END)
    const hasEnded = await isDone(this.#ended, END_MS)
    if (!hasEnded) this.#worker?.unref()
    return hasEnded
  }

  /** Resolves with why it could not be opened, if so. */
  #launch(): Promise<string | undefined> {
    // The database's package writes stacks there, of what is told of anyway.
    const worker = new Worker(FILE, { name: 'skein-feeder', workerData: this.#start, stderr: true })
    worker.stderr.setEncoding('utf8').on('data', (text: string) => this.#tell.log.debug(text.trimEnd()))
    this.#worker = worker
    const since = performance.now()
    let problem: string | undefined
    let isOpen = false
    return new Promise((resolve) => {
      worker.on('message', (news: FeederNews) => {
        if (news.kind === 'open') {
          isOpen = true
          const { folder, file = identityOfFile(folder) } = this.#start
          this.#start = { ...this.#start, file }
          resolve(undefined)
        } else if (news.kind === 'failed') problem = news.problem
        else this.#hear(news)
      })
      worker.on('error', (error) => {
        problem ??= namedThrownText(error)
      })
      this.#ended = new Promise((ended) => {
        worker.once('exit', (code) => {
          ended()
          problem ??= `it has ended itself, with ${code}`
          if (isOpen) this.#died(problem, since)
          else resolve(problem)
        })
      })
    })
  }

  #hear(news: Exclude<FeederNews, { kind: 'open' | 'failed' }>): void {
    if (news.kind === 'changed') this.#tell.changed(news.keys)
    else if (news.kind === 'log') this.#tell.log[news.level](news.text)
    else {
      this.#tell.why(news.why)
      // One endpoint that is dead says nothing of the others.
      if (news.why === undefined || ++this.#complaints >= this.#start.source.endpoints.length) this.#hasTried()
    }
  }

  #died(why: string, since: number): void {
    if (this.#isClosed) return
    this.#deaths = performance.now() - since > SOON_MS ? 1 : this.#deaths + 1
    const delay = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(10, this.#deaths - 1))
    this.#tell.log.error(`the feeder of ${this.#start.folder} has ended, and is started again in ${delay / 1000} s: ${why}`)
    this.#tell.why(`the feeder has ended: ${why}`)
    this.#timer = setTimeout(() => this.begin(), delay)
  }
}
