import { EtcdError, type EtcdEvent, type EtcdPatience, type EtcdWatch, type Position, type WatchListener } from './client.js'
import type { V2Refusal } from './v2-failure.js'
import { accepted, type V2Http } from './v2-http.js'
import { changesOf, type Directories, expiresOf, type V2Event } from './v2-node.js'

/** What a watch is about. */
export interface V2WatchSource {
  readonly http: V2Http
  readonly patience: EtcdPatience
  /** The path of the keys, as the API has it, and escaped with what is before it. */
  readonly top: string
  readonly url: string
  readonly directories: Directories
  /** The cluster that was listed, where one was. */
  readonly cluster: string | undefined
  /** Asks the leader. */
  position(withinMs: number): Promise<Position>
}

/** When a wait was registered: the index, and the time by the clock that never jumps, and by the server's. */
interface Since {
  readonly revision: number
  readonly at: number
  readonly date: number
}

/** A request that waits for the first change after an index. */
interface Wait {
  cancel(): void
  /** Undefined until it is registered. */
  since: Since | undefined
}

/** Before the rate is known at which the index grows. */
const FIRST_CHECK_MS = 250
/** etcd keeps 1000 changes of the whole cluster, so it is asked again long before. */
const CHANGES_PER_CHECK = 300
/** Between waits that end without an answer. */
const PAUSE_MS = 200

/**
 * A watch by long polls, each of which gives one change: the first after the index that it asks for, from etcd's history if need be.
 *
 * A poll on which nothing comes may have a dead connection. So now and then the leader is asked how far the cluster is, over another
 * connection, and where there were changes that the poll has not told of, another poll takes its place: whatever the old one has
 * lost, the new one tells at once. Where the new one is silent too until the next time, the changes were elsewhere. That is as good
 * as certain and no more, since etcd never says "nothing"; a change that comes late all the same ends the watch as `compacted`.
 */
export class V2Watch implements EtcdWatch {
  readonly #source: V2WatchSource
  readonly #listener: WatchListener
  #cluster: string | undefined
  /** All changes up to here have been told. */
  #reached: number
  readonly #waits = new Set<Wait>()
  #current: Wait | undefined
  #timer: NodeJS.Timeout | undefined
  #checkMs: number
  #checked = { revision: 0, at: 0 }
  #isOver = false

  constructor(source: V2WatchSource, revision: number, listener: WatchListener) {
    this.#source = source
    this.#listener = listener
    this.#cluster = source.cluster
    this.#reached = revision
    this.#checkMs = Math.min(FIRST_CHECK_MS, source.patience.quietMs)
    void this.#begin()
  }

  cancel(): void {
    this.#isOver = true
    clearTimeout(this.#timer)
    for (const wait of this.#waits) wait.cancel()
    this.#waits.clear()
  }

  async #begin(): Promise<void> {
    // A member that was away may be behind the index that is asked for; the leader's word brings it there.
    const position = await this.#ask(this.#source.patience.callMs)
    if (position === undefined) return
    this.#checked = { revision: position.revision, at: performance.now() }
    this.#renew()
    this.#checkLater()
  }

  #checkLater(): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.#check(), this.#checkMs)
  }

  async #check(): Promise<void> {
    const { callMs, quietMs } = this.#source.patience
    const reached = this.#reached
    const position = await this.#ask(Math.min(callMs, quietMs / 4))
    // Where a change came meanwhile, all has begun anew.
    if (position === undefined || reached !== this.#reached) return
    this.#adapt(position)
    const since = this.#current?.since
    if (since !== undefined && since.revision > reached && performance.now() - since.at >= this.#checkMs / 2) {
      this.#reached = since.revision
      this.#listener.progress(since.revision)
    }
    if (this.#isOver) return
    if (position.revision > this.#reached) this.#renew()
    this.#checkLater()
  }

  #adapt({ revision }: Position): void {
    const at = performance.now()
    const rate = (revision - this.#checked.revision) / (at - this.#checked.at)
    this.#checkMs = Math.min(this.#source.patience.quietMs, Math.max(FIRST_CHECK_MS, CHANGES_PER_CHECK / rate))
    this.#checked = { revision, at }
  }

  async #ask(withinMs: number): Promise<Position | undefined> {
    try {
      const position = await this.#source.position(withinMs)
      return this.#isRight(position) ? position : undefined
    } catch (error) {
      this.#lose(error as EtcdError)
      return undefined
    }
  }

  /** Whether these are the data that are watched; else the watch is over. */
  #isRight({ cluster, revision }: Position): boolean {
    if (this.#isOver) return false
    this.#cluster ??= cluster
    if (cluster !== this.#cluster) this.#lose(new EtcdError('compacted', `the cluster is another one, ${cluster} and not ${this.#cluster}`))
    else if (revision < this.#reached)
      this.#lose(new EtcdError('compacted', `the data of the cluster were put back: its index was ${this.#reached}, and is ${revision}`))
    return !this.#isOver
  }

  /** Has another wait take the place of the current one. */
  #renew(): void {
    const before = [...this.#waits]
    const wait: Wait = { cancel: () => undefined, since: undefined }
    this.#current = wait
    this.#waits.add(wait)
    wait.cancel = this.#source.http.wait(`${this.#source.url}?wait=true&recursive=true&waitIndex=${this.#reached + 1}`, {
      begun: (position, date) => {
        if (!this.#isRight(position)) return
        wait.since = { revision: position.revision, at: performance.now(), date }
        for (const each of before) this.#drop(each)
      },
      answer: (said) => this.#take(said, wait.since),
      empty: () => {
        this.#waits.delete(wait)
        if (wait === this.#current) setTimeout(() => !this.#isOver && wait === this.#current && this.#renew(), PAUSE_MS)
      },
      failed: (error) => this.#lose(error)
    })
  }

  #drop(wait: Wait): void {
    wait.cancel()
    this.#waits.delete(wait)
  }

  #take(said: V2Event | V2Refusal, since: Since | undefined): void {
    if (this.#isOver) return
    let revision: number
    let changes: EtcdEvent[]
    try {
      const event = accepted(said)
      revision = event.node.modifiedIndex ?? 0
      if (revision <= this.#reached) throw new EtcdError('compacted', `the change ${revision} came after ${this.#reached}`)
      changes = this.#changesOf(event, since !== undefined && revision <= since.revision ? since.date : undefined)
    } catch (error) {
      return this.#lose(error as EtcdError)
    }
    for (const wait of this.#waits) this.#drop(wait)
    this.#reached = revision
    if (changes.length > 0) this.#listener.events(changes, revision)
    else this.#listener.progress(revision)
    if (this.#isOver) return
    this.#renew()
    this.#checkLater()
  }

  /** `date` is what the server's clock was where the change is one of before. */
  #changesOf(event: V2Event, date: number | undefined): EtcdEvent[] {
    const { top, directories } = this.#source
    const now = Date.now()
    const { expiration } = event.node
    const expires = expiresOf(event.node, now)
    // The time to live is as of the change; what is left of it the server's clock says, from which the one here may differ.
    const left = date !== undefined && expiration !== undefined ? Date.parse(expiration) - date : Number.NaN
    return changesOf(event, top, directories, Number.isNaN(left) ? expires : now + left)
  }

  #lose(error: EtcdError): void {
    if (this.#isOver) return
    this.cancel()
    this.#listener.lost(error)
  }
}
