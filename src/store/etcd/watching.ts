import type { StoreClock } from '../clock.js'
import { type EtcdClient, EtcdError, type EtcdEvent, type Position } from './client.js'

/** What a {@link Watching} does with what it sees. */
export interface WatchingParts {
  readonly clock: StoreClock
  /** Applies changes that bring the replica to a revision. What comes while it does is applied together after that. */
  readonly apply: (events: readonly EtcdEvent[], revision: number) => Promise<void>
  /** There was nothing more up to this revision. */
  readonly advance: (revision: number) => Promise<void>
  /**
   * The cluster was asked how far it is, when the replica had come to `since`; what has come meanwhile may be ahead of the answer. Throws
   * where the replica cannot go on from what it has.
   */
  readonly reached: (at: Position, since: number) => Promise<void>
}

/** How often the cluster is asked how far it is: what is silent is gone. */
const BEAT_MS = 1000

/** One watch of a cluster, for as long as it lasts. */
export class Watching {
  readonly #client: EtcdClient
  readonly #parts: WatchingParts
  #events: EtcdEvent[] = []
  #revision: number
  #applied: number
  #applying: Promise<void> | undefined
  #beat: { cancel(): void } | undefined
  #isOver = false
  #fail: (error: unknown) => void = () => undefined

  constructor(client: EtcdClient, revision: number, parts: WatchingParts) {
    this.#client = client
    this.#revision = revision
    this.#applied = revision
    this.#parts = parts
  }

  /** Whether all that has come is applied. */
  get isIdle(): boolean {
    return this.#applying === undefined
  }

  /** Watches until it is lost or stopped, which it rejects with when all that had come is applied. */
  async last(stop: AbortSignal): Promise<never> {
    const watch = this.#client.watch(this.#revision, {
      events: (events, revision) => {
        for (const event of events) this.#events.push(event)
        this.#come(revision)
      },
      progress: (revision) => this.#come(revision),
      lost: (error) => this.#fail(error)
    })
    try {
      return await new Promise<never>((_, reject) => {
        this.#fail = reject
        stop.addEventListener('abort', this.#stopped)
        if (stop.aborted) this.#stopped()
        this.#askOften()
      })
    } finally {
      this.#isOver = true
      stop.removeEventListener('abort', this.#stopped)
      watch.cancel()
      this.#beat?.cancel()
      await this.#applying
    }
  }

  readonly #stopped = (): void => this.#fail(new EtcdError('failed', 'it was stopped'))

  #come(revision: number): void {
    if (this.#isOver) return
    this.#revision = Math.max(this.#revision, revision)
    // Etcd tells again and again how far it is where nothing happens.
    if (this.#applied < this.#revision || this.#events.length > 0) this.#applying ??= this.#apply()
  }

  /** Applies what has come, until there is no more. */
  async #apply(): Promise<void> {
    try {
      while (this.#applied < this.#revision || this.#events.length > 0) {
        const events = this.#events
        const revision = this.#revision
        this.#events = []
        await (events.length > 0 ? this.#parts.apply(events, revision) : this.#parts.advance(revision))
        this.#applied = revision
      }
    } catch (error) {
      this.#fail(error)
    } finally {
      this.#applying = undefined
    }
  }

  #askOften(): void {
    const ask = async (): Promise<void> => {
      const since = this.#applied
      try {
        await this.#parts.reached(await this.#client.position(), since)
      } catch (error) {
        this.#fail(error)
      }
      if (!this.#isOver) this.#askOften()
    }
    this.#beat = this.#parts.clock.after(BEAT_MS, () => void ask())
  }
}

/** Whether what was kept of a cluster is of another one, or of data that were put back since. */
export function isPutBack(kept: Position, now: Position): boolean {
  return kept.cluster !== now.cluster || now.revision < kept.revision
}

/** For {@link WatchingParts.reached}. */
export function putBack(): EtcdError {
  return new EtcdError('compacted', 'the cluster is another one, or its data were put back')
}
