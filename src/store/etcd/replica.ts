import { setTimeout as sleep } from 'node:timers/promises'
import type { StoreClock } from '../clock.js'
import { spelledOctets } from '../key.js'
import { type EtcdClient, EtcdError, type EtcdEvent, type MakeEtcdClient, type Position } from './client.js'
import { keyOfEtcdPath } from './etcd-path.js'
import { Lives } from './lives.js'
import { ReplicaList } from './replica-list.js'
import type { ReplicaNumbers } from './replica-numbers.js'
import { type Changed, nameOf, type ReplicaStore } from './replica-store.js'
import type { EtcdSource } from './source.js'
import { isPutBack, putBack, Watching } from './watching.js'

/** Whom a replica tells of itself. */
export interface ReplicaTell {
  changed(changed: Changed): void
  log(level: 'info' | 'warn', text: string): void
  /** Why it is not in step with the cluster, in words; undefined where it is. */
  why(text: string | undefined): void
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
const GRACE_MS = 2000
/** How often etcd is asked whether it lives, while it is listed. */
const ALIVE_MS = 1000
const REMIND_MS = 60_000
const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 3000
/** A watch that ends sooner is as bad as none. */
const SHORT_MS = 1000
/** How many lives are asked about in a tick, and how many at a time. */
const LIVES_PER_TICK = 50
const LIVES_AT_ONCE = 16
/** One that has ended is not asked about again before that. */
const ENDED_MS = 1000
/** Changes wait so long for the time of lives that are new, so that their first answer has the right TTL. */
const LIFE_WAIT_MS = 100

/** Keeps a store in step with a cluster: one endpoint after another, for as long as each lasts. */
export class Replica {
  readonly #source: EtcdSource
  readonly #store: ReplicaStore
  readonly #parts: ReplicaParts
  readonly #lives = new Lives()
  readonly #endpoints: readonly string[]
  readonly #closing = new AbortController()
  /** What was said of each endpoint last, and when. */
  readonly #complaints = new Map<string, { readonly text: string; readonly at: number }>()
  #client: EtcdClient | undefined
  #inStepSince: number | undefined
  #lostAt: number
  #contact: number
  #reminded: number
  #timer: { cancel(): void } | undefined
  /** Writes come one after another. */
  #writing: Promise<unknown> = Promise.resolve()

  constructor(parts: ReplicaParts) {
    const { source, store, clock, random } = parts
    this.#parts = parts
    this.#source = source
    this.#store = store
    // Several servers on one cluster spread over its members.
    const first = Math.floor(random() * source.endpoints.length)
    this.#endpoints = [...source.endpoints.slice(first), ...source.endpoints.slice(0, first)]
    this.#contact = store.mark?.contact ?? 0
    this.#lostAt = clock.now()
    this.#reminded = clock.now()
  }

  /** Whether it has all that the cluster has. */
  get isInStep(): boolean {
    return this.#inStepSince !== undefined
  }

  /** What is served before the cluster is reached may be old. */
  async begin(): Promise<void> {
    this.#lives.replaceBy(this.#livesOfStore())
    if (this.#store.mark !== undefined) await this.#markStale()
    this.#show()
  }

  /** Follows the cluster until it is closed. */
  async run(): Promise<void> {
    this.#tick()
    let failures = 0
    for (let turn = 0; !this.#closing.signal.aborted; turn++) {
      const endpoint = this.#endpoints[turn % this.#endpoints.length]!
      const since = this.#parts.clock.now()
      const failure = await this.#followAt(endpoint)
      if (this.#closing.signal.aborted) break
      const hasLasted = this.#inStepSince !== undefined && this.#parts.clock.now() - since > SHORT_MS
      this.#lost(endpoint, failure)
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
    const client = this.#parts.makeClient(this.#source, endpoint, PATIENCE)
    this.#client = client
    this.#parts.numbers.add('connections', 1)
    try {
      await this.#follow(client)
      return undefined
    } catch (error) {
      return error
    } finally {
      client.close()
    }
  }

  async #follow(client: EtcdClient): Promise<never> {
    const at = await client.position()
    this.#note(at)
    if (await this.#mustList(client, at)) await this.#list(client)
    else await this.#nowInStep()
    for (let lists = 1; ; lists++) {
      try {
        return await this.#watch(client)
      } catch (error) {
        if (!(error instanceof EtcdError) || error.kind !== 'compacted') throw error
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
    const last = mark.last && { path: Buffer.from(mark.last.path, 'base64'), modified: mark.last.modified }
    return !(await client.continues({ ...mark, last }))
  }

  async #list(client: EtcdClient): Promise<void> {
    const list = new ReplicaList(this.#store)
    const lives = new Lives()
    const at = await this.#whileAlive(client, () =>
      client.list(async (entries) => {
        for (const { path, lease, expires } of entries) if (lease !== undefined) this.#noteLife(lives, path, lease, expires)
        await this.#write(() => list.page(entries))
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

  async #watch(client: EtcdClient): Promise<never> {
    const watching = new Watching(client, this.#store.mark!.revision, {
      clock: this.#parts.clock,
      apply: (events, revision) => this.#apply(client, events, revision),
      advance: (revision) => this.#write(() => this.#store.advance(revision, this.#parts.clock.now())),
      reached: (at) => this.#reached(at)
    })
    return watching.last(this.#closing.signal)
  }

  async #apply(client: EtcdClient, events: readonly EtcdEvent[], revision: number): Promise<void> {
    this.#contact = this.#parts.clock.now()
    const known = await this.#askNewLives(client, events)
    const now = this.#parts.clock.now()
    const timed = events.map((event) =>
      event.op === 'put' && event.lease !== undefined && event.expires === undefined
        ? { ...event, expires: known.get(event.lease) ?? this.#lives.expiresOf(event.lease, now) }
        : event
    )
    const changed = await this.#write(() => this.#store.apply(timed, revision))
    for (const event of timed) {
      if (event.op === 'put') this.#noteLife(this.#lives, event.path, event.lease, event.expires)
      else if (event.op === 'delete') this.#noteLife(this.#lives, event.path, undefined, undefined)
    }
    if (events.some(({ op }) => op === 'clear')) this.#lives.replaceBy(this.#livesOfStore())
    this.#parts.numbers.add('events', events.length)
    this.#show()
    this.#parts.tell.changed(changed)
  }

  /** Asks for the time of lives that nobody knows yet, some of them and not for long; the rest is asked for later. */
  async #askNewLives(client: EtcdClient, events: readonly EtcdEvent[]): Promise<ReadonlyMap<string, number>> {
    const { clock } = this.#parts
    const now = clock.now()
    const known = new Map<string, number>()
    const unknown = new Set<string>()
    for (const event of events) {
      if (event.op !== 'put' || event.lease === undefined || event.expires !== undefined) continue
      if (this.#lives.expiresOf(event.lease, now) === undefined) unknown.add(event.lease)
      if (unknown.size >= LIVES_AT_ONCE) break
    }
    if (unknown.size === 0) return known
    const ask = async (lease: string): Promise<void> => {
      const left = await client.remaining(lease)
      if (left !== undefined) known.set(lease, clock.now() + left)
    }
    const asked = Promise.all([...unknown].map((lease) => ask(lease).catch(() => undefined)))
    await Promise.race([asked, sleep(LIFE_WAIT_MS, undefined, { ref: false })])
    return known
  }

  async #askLife(client: EtcdClient, lease: string): Promise<readonly (readonly [string, number])[]> {
    // One that has ended says so by its keys' end, which is on its way.
    const left = (await client.remaining(lease)) ?? ENDED_MS
    return this.#lives.learn(lease, this.#parts.clock.now() + left)
  }

  async #askDueLives(client: EtcdClient): Promise<void> {
    const due = this.#lives.due(this.#parts.clock.now(), LIVES_PER_TICK)
    const renewed: (readonly [string, number])[] = []
    while (due.length > 0) {
      const some = due.splice(0, LIVES_AT_ONCE)
      for (const names of await Promise.all(some.map((lease) => this.#askLife(client, lease)))) renewed.push(...names)
    }
    if (renewed.length > 0) this.#parts.tell.changed(await this.#write(() => this.#store.renew(renewed)))
  }

  #noteLife(lives: Lives, path: Buffer, lease: string | undefined, expires: number | undefined): void {
    const key = keyOfEtcdPath(path, this.#source.path)
    if (typeof key !== 'string') lives.note(nameOf(spelledOctets(key)), lease, expires)
  }

  #livesOfStore(): Lives {
    const lives = new Lives()
    for (const { name, lease, expires } of this.#store.lives()) lives.note(name, lease, expires)
    return lives
  }

  async #reached(at: Position): Promise<void> {
    const { mark } = this.#store
    this.#note(at)
    if (mark !== undefined && isPutBack(mark, at)) throw putBack()
    const now = this.#parts.clock.now()
    if (mark !== undefined && now - mark.contact > REMIND_MS) await this.#write(() => this.#store.advance(mark.revision, now))
  }

  #note(at: Position): void {
    this.#contact = this.#parts.clock.now()
    this.#parts.numbers.set('cluster', at.revision)
    this.#show()
  }

  /** The cluster is reached, and what is served is what it has, or will be at once. */
  async #nowInStep(): Promise<void> {
    const { clock, tell } = this.#parts
    if (this.#store.mark?.isStale === true) tell.changed(await this.#write(() => this.#store.setStale(false, clock.now())))
    if (this.#inStepSince === undefined) {
      const away = Math.round((clock.now() - this.#lostAt) / 1000)
      tell.log('info', `in step with etcd: ${this.#store.keys} keys${away > 1 ? `, after ${away} s` : ''}`)
    }
    this.#inStepSince = clock.now()
    this.#complaints.clear()
    tell.why(undefined)
    this.#show()
  }

  #lost(endpoint: string, failure: unknown): void {
    const { clock, tell } = this.#parts
    const now = clock.now()
    if (this.#inStepSince !== undefined) {
      this.#inStepSince = undefined
      this.#lostAt = now
      this.#reminded = now
    }
    const why = failure instanceof Error ? failure.message : String(failure)
    // What has failed here has nothing to do with the endpoint.
    const text = failure instanceof EtcdError ? `${endpoint}: ${why}` : why
    tell.why(text)
    const before = this.#complaints.get(endpoint)
    if (before?.text === text && now - before.at < REMIND_MS) return
    this.#complaints.set(endpoint, { text, at: now })
    tell.log('warn', text)
  }

  #tick(): void {
    this.#timer = this.#parts.clock.after(TICK_MS, () => {
      this.#lookAfter()
        .catch((error: unknown) => this.#parts.tell.log('warn', `not all that is due was done: ${String(error)}`))
        .finally(() => !this.#closing.signal.aborted && this.#tick())
    })
  }

  /** What is done each second. */
  async #lookAfter(): Promise<void> {
    if (this.#inStepSince !== undefined) {
      // What fails here fails the watch as well, which says so.
      return this.#askDueLives(this.#client!).catch(() => undefined)
    }
    const now = this.#parts.clock.now()
    const { mark } = this.#store
    if (mark?.isStale === false && now - this.#lostAt >= GRACE_MS) await this.#markStale()
    if (now - this.#reminded >= REMIND_MS) this.#remind(now)
    if (this.#lives.size > 0 && now - this.#contact >= this.#source.expireMs) await this.#expireLives()
  }

  #remind(now: number): void {
    this.#reminded = now
    const { mark, keys } = this.#store
    const minutes = Math.round((now - this.#lostAt) / REMIND_MS)
    const served =
      mark === undefined ? 'nothing is answered before it is' : `what is served is its ${keys} keys of then, with a TTL of 30 s at most`
    this.#parts.tell.log('warn', `etcd has not been reached for ${minutes} min: ${served}`)
  }

  async #markStale(): Promise<void> {
    this.#parts.tell.changed(await this.#write(() => this.#store.setStale(true, this.#contact)))
    this.#show()
  }

  async #expireLives(): Promise<void> {
    const gone = this.#lives.size
    const changed = await this.#write(() => this.#store.expireLives())
    this.#lives.clear()
    this.#parts.tell.changed(changed)
    this.#parts.tell.log('warn', `${gone} keys that nobody can renew have expired, as etcd has not been reached for so long`)
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
    numbers.set('stale', mark === undefined || mark.isStale ? 1 : 0)
  }
}
