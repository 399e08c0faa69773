import { setTimeout as sleep } from 'node:timers/promises'
import type { StoreClock } from '../clock.js'
import { spelledOctets } from '../key.js'
import type { EtcdClient, EtcdEntry, EtcdEvent } from './client.js'
import { keyOfEtcdPath } from './etcd-path.js'
import { Lives } from './lives.js'
import { nameOf, type Renewed, type ReplicaStore } from './replica-store.js'

/** How many lives are asked about at one look, and how many at a time. */
const MOST_AT_A_LOOK = 50
const MOST_AT_ONCE = 16
/** One that has ended is not asked about again before that. */
const ENDED_MS = 1000
/** Changes wait so long for the time of lives that are new, so that their first answer has the right TTL. */
const WAIT_MS = 100

/** What the keys of a replica hang on, and what etcd says of it. */
export class ReplicaLives {
  readonly #store: ReplicaStore
  readonly #clock: StoreClock
  readonly #path: string
  readonly #lives = new Lives()

  /** @param path what the keys are below */
  constructor(store: ReplicaStore, clock: StoreClock, path: string) {
    this.#store = store
    this.#clock = clock
    this.#path = path
  }

  /** How many keys hang on something. */
  get size(): number {
    return this.#lives.size
  }

  clear(): void {
    this.#lives.clear()
  }

  /** Takes what the store knows. */
  load(): void {
    const lives = new Lives()
    for (const { name, lease, expires } of this.#store.lives()) lives.note(name, lease, expires)
    this.#lives.replaceBy(lives)
  }

  /**
   * Notes the lives of a list, for {@link ReplicaLives.replaceBy}. Gives the entries with the times that are known: nobody asks for those
   * again before they are over.
   */
  listed(lives: Lives, entries: readonly EtcdEntry[]): readonly EtcdEntry[] {
    const now = this.#clock.now()
    return entries.map((entry) => {
      const { path, lease, expires } = entry
      if (lease === undefined) return entry
      this.#note(lives, path, lease, expires)
      return { ...entry, expires: expires ?? this.#lives.expiresOf(lease, now) }
    })
  }

  replaceBy(lives: Lives): void {
    this.#lives.replaceBy(lives)
  }

  /** The events with the times of their lives: etcd is asked for those that nobody knows yet, some of them and not for long. */
  async timed(client: EtcdClient, events: readonly EtcdEvent[]): Promise<readonly EtcdEvent[]> {
    const unknown = this.#unknown(events)
    const known = unknown.size === 0 ? new Map<string, number>() : await this.#askNew(client, unknown)
    const now = this.#clock.now()
    return events.map((event) =>
      isTimeless(event) ? { ...event, expires: known.get(event.lease) ?? this.#lives.expiresOf(event.lease, now) } : event
    )
  }

  /** Notes what events that were applied have changed. */
  note(events: readonly EtcdEvent[]): void {
    for (const event of events) {
      if (event.op === 'put') this.#note(this.#lives, event.path, event.lease, event.expires)
      else if (event.op === 'delete') this.#note(this.#lives, event.path, undefined, undefined)
    }
    if (events.some(({ op }) => op === 'clear')) this.load()
  }

  /** Asks about those whose time is over, or was never known; some of them. */
  async askDue(client: EtcdClient): Promise<readonly Renewed[]> {
    const due = this.#lives.due(this.#clock.now(), MOST_AT_A_LOOK)
    const renewed: Renewed[] = []
    while (due.length > 0) {
      const some = due.splice(0, MOST_AT_ONCE)
      const asked = await Promise.allSettled(some.map((lease) => this.#ask(client, lease)))
      for (const each of asked) if (each.status === 'fulfilled') renewed.push(...each.value)
      // A client that does not answer is not asked for the rest.
      if (asked.some(({ status }) => status === 'rejected')) break
    }
    return renewed
  }

  async #ask(client: EtcdClient, lease: string): Promise<readonly Renewed[]> {
    // One that has ended says so by its keys' end, which is on its way.
    const left = (await client.remaining(lease)) ?? ENDED_MS
    return this.#lives.learn(lease, this.#clock.now() + left)
  }

  #unknown(events: readonly EtcdEvent[]): ReadonlySet<string> {
    const now = this.#clock.now()
    const unknown = new Set<string>()
    for (const event of events) {
      if (unknown.size === MOST_AT_ONCE) break
      if (isTimeless(event) && this.#lives.expiresOf(event.lease, now) === undefined) unknown.add(event.lease)
    }
    return unknown
  }

  async #askNew(client: EtcdClient, leases: ReadonlySet<string>): Promise<ReadonlyMap<string, number>> {
    const known = new Map<string, number>()
    const ask = async (lease: string): Promise<void> => {
      const left = await client.remaining(lease)
      if (left !== undefined) known.set(lease, this.#clock.now() + left)
    }
    // What is not answered is asked for again later.
    const asked = Promise.all([...leases].map((lease) => ask(lease).catch(() => undefined)))
    await Promise.race([asked, sleep(WAIT_MS, undefined, { ref: false })])
    return known
  }

  #note(lives: Lives, path: Buffer, lease: string | undefined, expires: number | undefined): void {
    const key = keyOfEtcdPath(path, this.#path)
    if (typeof key !== 'string') lives.note(nameOf(spelledOctets(key)), lease, expires)
  }
}

/** Whether the life of what was put is known, and its time is not. */
function isTimeless(event: EtcdEvent): event is EtcdEvent & { op: 'put'; lease: string } {
  return event.op === 'put' && event.lease !== undefined && event.expires === undefined
}
