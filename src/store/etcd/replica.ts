import { setTimeout as sleep } from 'node:timers/promises'
import type { StoreClock } from '../clock.js'
import { type EtcdClient, EtcdError, type EtcdEvent, type MakeEtcdClient, type Position } from './client.js'
import { Lives } from './lives.js'
import { Complaints, type ComplaintsTell, keysText } from './replica-complaints.js'
import { ReplicaList } from './replica-list.js'
import { ReplicaLives } from './replica-lives.js'
import type { ReplicaNumbers } from './replica-numbers.js'
import type { Changed, ReplicaStore } from './replica-store.js'
import type { EtcdSource } from './source.js'
import { isPutBack, putBack, Watching } from './watching.js'

/** Whom a replica tells of itself. */
export interface ReplicaTell extends ComplaintsTell {
  changed(changed: Changed): void
}

/** What a replica is made of. */
export interface ReplicaParts {
  readonly source: EtcdSource
  readonly store: ReplicaStore
  readonly makeClient: MakeEtcdClient
  readonly clock: StoreClock
  /** From 0 up to 1. */
  readonly random: () => number
  readonly numbers: ReplicaNumbers
  readonly tell: ReplicaTell
}

const PATIENCE = { callMs: 2000, quietMs: 2000 }
const TICK_MS = 250
/** A leader that changes, and a node that is started again, are no reason to shorten all TTLs. */
const GRACE_MS = 3000
/** After a start the members have so long to say that they are there. */
const TRIED_MS = 10_000
/** How often etcd is asked whether it lives, while it is listed. */
const ALIVE_MS = 1000
/** How often it is written when the cluster was reached last. */
const CONTACT_MS = 60_000
const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 3000
/** A watch that ends sooner is as bad as none. */
const SHORT_MS = 1000

/** Keeps a store in step with a cluster: one endpoint after another, for as long as each lasts. */
export class Replica {
  readonly #source: EtcdSource
  readonly #store: ReplicaStore
  readonly #parts: ReplicaParts
  readonly #lives: ReplicaLives
  readonly #complaints: Complaints
  readonly #endpoints: readonly string[]
  readonly #closing = new AbortController()
  #client: EtcdClient | undefined
  #inStepSince: number | undefined
  /** Whether a member answers, so that what has expired there is not in its list. */
  #isReached = false
  #contact: number
  /** Whether it should be said to be stale, be it that the disk can take that or not. */
  #isStale = false
  #timer: { cancel(): void } | undefined
  /** Writes come one after another. */
  #writing: Promise<unknown> = Promise.resolve()

  constructor(parts: ReplicaParts) {
    const { source, store, clock, random, tell } = parts
    this.#parts = parts
    this.#source = source
    this.#store = store
    this.#lives = new ReplicaLives(store, clock, source.path)
    this.#complaints = new Complaints(store, clock, tell)
    // Several servers on one cluster spread over its members.
    const first = Math.floor(random() * source.endpoints.length)
    this.#endpoints = [...source.endpoints.slice(first), ...source.endpoints.slice(0, first)]
    this.#contact = store.mark?.contact ?? 0
  }

  /** Aborted when it is to end. */
  get closing(): AbortSignal {
    return this.#closing.signal
  }

  /** Whether it has all that the cluster has. */
  get isInStep(): boolean {
    return this.#inStepSince !== undefined
  }

  /** What is served before the cluster is reached may be old. */
  async begin(): Promise<void> {
    this.#lives.load()
    // A full disk is no reason not to serve what is on it.
    if (this.#store.mark !== undefined) await this.#markStale().catch((error: unknown) => this.#complaints.trouble(error))
    this.#show()
  }

  /** Follows the cluster until it is closed. */
  async run(): Promise<void> {
    this.#tick()
    let failures = 0
    for (let turn = 0; !this.#closing.signal.aborted; turn++) {
      const endpoint = this.#endpoints[turn % this.#endpoints.length]!
      const failure = await this.#followAt(endpoint)
      if (this.#closing.signal.aborted) break
      const hasLasted = this.#inStepSince !== undefined && this.#parts.clock.now() - this.#inStepSince > SHORT_MS
      this.#outOfStep()
      this.#complaints.failed(endpoint, failure)
      failures = hasLasted ? 0 : failures + 1
      // The other members are tried at once.
      if (failures > 0 && failures % this.#endpoints.length === 0) await this.#pause(failures / this.#endpoints.length)
    }
    this.#timer?.cancel()
    await this.#writing.catch(() => undefined)
  }

  /** Has it end. */
  close(): void {
    this.#closing.abort()
    this.#client?.close()
  }

  /** Resolves with why it could not go on there. */
  async #followAt(endpoint: string): Promise<unknown> {
    let client: EtcdClient | undefined
    try {
      client = this.#parts.makeClient(this.#source, endpoint, PATIENCE)
      this.#client = client
      this.#parts.numbers.add('connections', 1)
      await this.#follow(client)
      return undefined
    } catch (error) {
      return error
    } finally {
      this.#isReached = false
      client?.close()
    }
  }

  async #follow(client: EtcdClient): Promise<never> {
    const at = await client.position()
    this.#isReached = true
    this.#note(at)
    if (await this.#mustList(client, at)) await this.#list(client)
    else if (this.#store.mark!.revision === at.revision) await this.#nowInStep()
    for (let lists = 1; ; lists++) {
      try {
        return await this.#watch(client)
      } catch (error) {
        if (!(error instanceof EtcdError) || error.kind !== 'compacted') throw error
        this.#outOfStep()
        this.#parts.tell.log('info', `etcd is listed anew: ${error.message}`)
        // A history that is shorter than a list takes is over again by then.
        if (lists > 1) await this.#pause(lists - 1)
        await this.#list(client)
      }
    }
  }

  async #mustList(client: EtcdClient, at: Position): Promise<boolean> {
    const { mark } = this.#store
    if (mark === undefined || mark.revision === 0 || this.#store.isOfAnother || isPutBack(mark, at)) return true
    const recent = mark.recent.map(({ path, modified }) => ({ path: Buffer.from(path, 'base64'), modified }))
    return !(await client.continues({ ...mark, recent }))
  }

  async #list(client: EtcdClient): Promise<void> {
    const list = new ReplicaList(this.#store, this.#closing.signal)
    const lives = new Lives()
    const at = await this.#whileAlive(client, () =>
      client.list(async (entries) => {
        const timed = this.#lives.listed(lives, entries)
        await this.#write(() => list.page(timed))
      })
    )
    const changed = await this.#write(() => list.finish(at, this.#parts.clock.now()))
    // Those that were known are not asked about again.
    this.#lives.replaceBy(lives)
    this.#parts.numbers.add('lists', 1)
    this.#note(at)
    this.#parts.tell.changed(changed)
    await this.#nowInStep()
  }

  /** Does what may take long, and ends it where the cluster does not say any more that it lives. */
  async #whileAlive<T>(client: EtcdClient, work: () => Promise<T>): Promise<T> {
    let failure: unknown
    let isDone = false
    let timer: { cancel(): void } | undefined
    const ask = async (): Promise<void> => {
      try {
        await client.position()
        this.#contact = this.#parts.clock.now()
        if (!isDone) next()
      } catch (error) {
        if (isDone) return
        failure = error
        client.close()
      }
    }
    const next = (): void => {
      timer = this.#parts.clock.after(ALIVE_MS, () => void ask())
    }
    next()
    try {
      return await work()
    } catch (error) {
      throw failure ?? error
    } finally {
      isDone = true
      timer?.cancel()
    }
  }

  /** What was missed is made up for before the replica is in step again. */
  async #watch(client: EtcdClient): Promise<never> {
    const behind = this.#parts.numbers.get('cluster')
    const caughtUp = async (): Promise<void> => {
      if (this.#inStepSince === undefined && this.#store.mark!.revision >= behind) await this.#nowInStep()
    }
    const watching = new Watching(client, this.#store.mark!.revision, {
      clock: this.#parts.clock,
      apply: async (events, revision) => {
        await this.#apply(client, events, revision, revision >= behind)
        await caughtUp()
      },
      advance: async (revision) => {
        await this.#write(() => this.#store.advance(revision, this.#parts.clock.now()))
        this.#show()
        await caughtUp()
      },
      reached: async (at, since) => {
        await this.#reached(at, since)
        // What has changed since may be of other keys, of which a watch tells nothing.
        if (this.#inStepSince === undefined && watching.isIdle) await this.#nowInStep()
      }
    })
    return watching.last(this.#closing.signal)
  }

  async #apply(client: EtcdClient, events: readonly EtcdEvent[], revision: number, isCaughtUp: boolean): Promise<void> {
    this.#contact = this.#parts.clock.now()
    const timed = await this.#lives.timed(client, events)
    const changed = await this.#write(() => this.#store.apply(timed, revision, isCaughtUp))
    this.#lives.note(timed)
    this.#parts.numbers.add('events', events.length)
    this.#show()
    this.#parts.tell.changed(changed)
  }

  async #askDueLives(client: EtcdClient): Promise<void> {
    const renewed = await this.#lives.askDue(client)
    if (renewed.length > 0) this.#parts.tell.changed(await this.#write(() => this.#store.renew(renewed)))
  }

  async #reached(at: Position, since: number): Promise<void> {
    const mark = this.#store.mark!
    this.#note(at)
    if (isPutBack({ cluster: mark.cluster, revision: since }, at)) throw putBack()
    const now = this.#parts.clock.now()
    if (now - mark.contact > CONTACT_MS) await this.#write(() => this.#store.advance(since, now))
  }

  #note(at: Position): void {
    this.#contact = this.#parts.clock.now()
    this.#parts.numbers.set('cluster', at.revision)
    this.#show()
  }

  /** What is served is what the cluster has. */
  async #nowInStep(): Promise<void> {
    const { clock, tell } = this.#parts
    this.#isStale = false
    if (this.#store.mark?.isStale === true) tell.changed(await this.#write(() => this.#store.setStale(false, clock.now())))
    this.#inStepSince = clock.now()
    this.#complaints.inStep()
    this.#show()
  }

  #outOfStep(): void {
    this.#inStepSince = undefined
    this.#complaints.outOfStep()
  }

  #tick(): void {
    this.#timer = this.#parts.clock.after(TICK_MS, () => {
      this.#lookAfter()
        .catch((error: unknown) => this.#complaints.trouble(error))
        .finally(() => !this.#closing.signal.aborted && this.#tick())
    })
  }

  /** What is done at each tick. */
  async #lookAfter(): Promise<void> {
    if (this.#inStepSince !== undefined) {
      // What fails here fails the watch as well, which says so.
      return this.#askDueLives(this.#client!).catch(() => undefined)
    }
    if (this.#store.mark?.isStale === false && this.#complaints.awayMs >= GRACE_MS) await this.#markStale()
    this.#complaints.remind()
    if (this.#store.mark === undefined || this.#isReached || this.#lives.size === 0) return
    const isExpired = this.#parts.clock.now() - this.#contact >= this.#source.expireMs
    if (isExpired && this.#complaints.awayMs >= TRIED_MS) await this.#expireLives()
  }

  async #markStale(): Promise<void> {
    this.#isStale = true
    this.#show()
    this.#parts.tell.changed(await this.#write(() => this.#store.setStale(true, this.#contact)))
    this.#show()
  }

  async #expireLives(): Promise<void> {
    const gone = this.#lives.size
    const changed = await this.#write(() => this.#store.expireLives())
    this.#lives.clear()
    this.#parts.tell.changed(changed)
    this.#parts.tell.log(
      'warn',
      `etcd has not been reached for so long that ${keysText(gone)} with a lease ${gone === 1 ? 'is' : 'are'} left out, which nobody can have renewed`
    )
    this.#show()
  }

  /** Waits before the next try, longer after each failure, and never as long as another server that failed at the same time. */
  async #pause(failures: number): Promise<void> {
    const longest = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(failures - 1, 10))
    const ms = longest * (0.5 + this.#parts.random() / 2)
    await sleep(ms, undefined, { signal: this.#closing.signal, ref: false }).catch(() => undefined)
  }

  #write<T>(write: () => Promise<T>): Promise<T> {
    const written = this.#writing.then(write)
    this.#writing = written.catch(() => undefined)
    return written
  }

  #show(): void {
    const { numbers } = this.#parts
    const { mark, keys } = this.#store
    numbers.set('revision', mark?.revision ?? 0)
    numbers.set('keys', keys)
    numbers.set('lives', this.#lives.size)
    numbers.set('contact', this.#contact)
    numbers.set('stale', mark === undefined || mark.isStale || this.#isStale ? 1 : 0)
  }
}
