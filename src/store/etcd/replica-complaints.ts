import { thrownText } from '../../message/one-line.js'
import type { StoreClock } from '../clock.js'
import { EtcdError } from './client.js'
import type { ReplicaStore } from './replica-store.js'

/** Whom a replica's troubles are told. */
export interface ComplaintsTell {
  log(level: 'info' | 'warn', text: string): void
  /** Why it is not in step with the cluster, in words; undefined where it is. */
  why(text: string | undefined): void
}

const MINUTE_MS = 60_000

/** Tells of what is wrong once, and once a minute that it still is. */
export class Complaints {
  readonly #store: ReplicaStore
  readonly #clock: StoreClock
  readonly #tell: ComplaintsTell
  /** What was said of each endpoint last, and when. */
  readonly #said = new Map<string, { readonly text: string; readonly at: number }>()
  #isInStep = false
  /** Whether the log says that it is in step. */
  #isSaid = false
  #lostAt: number
  #reminded: number

  constructor(store: ReplicaStore, clock: StoreClock, tell: ComplaintsTell) {
    this.#store = store
    this.#clock = clock
    this.#tell = tell
    this.#lostAt = clock.now()
    this.#reminded = this.#lostAt
  }

  /** How long the replica has not been in step, in milliseconds. */
  get awayMs(): number {
    return this.#isInStep ? 0 : this.#clock.now() - this.#lostAt
  }

  /** It is in step. */
  inStep(): void {
    if (!this.#isSaid) {
      const away = Math.round(this.awayMs / 1000)
      this.#tell.log('info', `in step with etcd: ${keysText(this.#store.keys)}${away > 1 ? `, after ${away} s` : ''}`)
    }
    this.#isInStep = true
    this.#isSaid = true
    this.#tell.why(undefined)
  }

  /** It is not any more. */
  outOfStep(): void {
    if (this.#isInStep) this.#lostAt = this.#reminded = this.#clock.now()
    this.#isInStep = false
  }

  /** It could not be kept in step, or brought in step, there. */
  failed(endpoint: string, failure: unknown): void {
    const why = thrownText(failure)
    // What has failed here has nothing to do with the endpoint.
    const text = failure instanceof EtcdError ? `${endpoint}: ${why}` : why
    this.#tell.why(text)
    this.#say(endpoint, text)
  }

  /** Something else has failed. */
  trouble(error: unknown): void {
    this.#say('', thrownText(error))
  }

  /** Once, and again after a minute. */
  #say(of: string, text: string): void {
    const now = this.#clock.now()
    const before = this.#said.get(of)
    if (before?.text === text && now - before.at < MINUTE_MS) return
    this.#said.set(of, { text, at: now })
    this.#isSaid = false
    this.#tell.log('warn', text)
  }

  /** Says once a minute that it is not in step. */
  remind(): void {
    const now = this.#clock.now()
    if (this.#isInStep || now - this.#reminded < MINUTE_MS) return
    this.#reminded = now
    this.#isSaid = false
    const { mark, keys } = this.#store
    const minutes = Math.round((now - this.#lostAt) / MINUTE_MS)
    const served =
      mark === undefined
        ? 'nothing is answered before it is'
        : `its ${keysText(keys)} of then ${keys === 1 ? 'is' : 'are'} served, with a TTL of 30 s at most`
    this.#tell.log('warn', `etcd has not been reached for ${minutes} min: ${served}`)
  }
}

/** How many keys, in words. */
export function keysText(count: number): string {
  return `${count} key${count === 1 ? '' : 's'}`
}
