/** What the main thread and a worker thread say to each other. All of it is plain, and copied. */
import type { MessagePort } from 'node:worker_threads'
import type { ServerBlock } from '../corefile/parser.js'
import type { SharedSocket } from '../listen/shared-sockets.js'
import type { MetricFamily } from '../metrics.js'
import type { ChangedKeys } from '../store/store.js'
import type { LogFormat } from './log.js'

/** What a worker is started with. */
export interface WorkerStart {
  readonly version: string
  readonly format: LogFormat
  readonly defaultPort: number
  readonly news: NewsStart
}

/** How a worker hears of changes of the stores. */
export interface NewsStart {
  readonly port: MessagePort
  /** One number, which grows by one when a change was sent to all workers. */
  readonly count: SharedArrayBuffer
  /** What it was when the worker began to be sent them. */
  readonly seen: number
}

/** A change of a store. */
export interface News {
  readonly folder: string
  readonly keys: ChangedKeys
}

/** What a worker builds its chains from. */
export interface WorkerConfiguration {
  readonly file: string
  readonly blocks: readonly ServerBlock[]
}

/** What a worker is told to do; it answers each when it is done. */
export type Order =
  /** Builds and starts chains beside those that answer, if any. */
  | { readonly name: 'prepare'; readonly configuration: WorkerConfiguration }
  /** Has them answer from now on, on these sockets; done when those of before have stopped. */
  | { readonly name: 'commit'; readonly sockets: readonly SharedSocket[]; readonly graceMs: number }
  /** Stops them again. */
  | { readonly name: 'discard' }
  /** Takes questions from these sockets alone from now on; done when it has let go of all others. */
  | { readonly name: 'sockets'; readonly sockets: readonly SharedSocket[]; readonly graceMs: number }
  /** Gives what it has counted: {@link MetricFamily}s. */
  | { readonly name: 'collect' }
  /** Has the layers do what they want to before the stop. */
  | { readonly name: 'drain' }
  /** Answers what is in flight, and stops all. */
  | { readonly name: 'stop'; readonly graceMs: number }
  /** Ends the thread, whatever is under way; not answered. */
  | { readonly name: 'end' }

/** An order with the number that its answer has. */
export interface NumberedOrder {
  readonly number: number
  readonly order: Order
}

/** The number of what a worker says unasked, once it hears orders. */
export const HEARS = 0

/** The answer to an order: with a problem where it was not done. */
export interface Answered {
  readonly number: number
  readonly families?: readonly MetricFamily[] | undefined
  readonly problem?: string
}
