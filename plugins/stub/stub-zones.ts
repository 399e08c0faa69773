import {
  canonicalName,
  type Entry,
  type Host,
  isWithin,
  type Key,
  labelsOf,
  nameOfLabels,
  parentName,
  type Query,
  type Store,
  type StoreTrace,
  shown,
  shownKey,
  type Upstream,
  type ZoneCut
} from 'skein/plugin'
import { type Options, together, type Zones } from './options.js'
import { serverOfService } from './stub-service.js'

/** So many keys of a domain are read, in key order. */
const MOST_KEYS = 4000
/** So many lines are written after one change. */
const MOST_LINES = 100

/** A stub zone and its servers, at least one. */
export interface StubZone {
  readonly name: string
  readonly servers: readonly Upstream[]
}

/** The store that zones are read from, and the key below which its names stand. */
export interface ZoneStore {
  readonly store: Store
  readonly path: Key
}

/** The stub zones as they are now. */
export class StubZones {
  /** Where the zones of the store stand: the keys of `stub.dns` of each domain; none without a store, and before the start. */
  keys: readonly Key[] = []
  readonly #options: Options
  readonly #own: ReadonlySet<string>
  #store: Store | undefined
  readonly #host: Pick<Host, 'log' | 'clock'>
  #zones: Zones
  #cuts: { readonly of: Zones; readonly list: readonly ZoneCut[] } | undefined
  #trace: StoreTrace | undefined
  /** On the wall clock, in milliseconds: when the zones have to be read anew; a change of the store makes it now. */
  #until = Number.NEGATIVE_INFINITY
  /** What was told of at the last reading. */
  #told: ReadonlySet<string> = new Set()
  #watches: readonly (() => void)[] = []

  constructor(options: Options, host: Pick<Host, 'log' | 'clock'>) {
    this.#options = options
    this.#own = new Set(options.domains)
    this.#host = host
    this.#zones = options.zones
  }

  /** Reads the zones of a store, where there is one, now and whenever they change. */
  start(from: ZoneStore | undefined): void {
    if (from === undefined) return
    const { store, path } = from
    this.#store = store
    this.keys = this.#options.domains.map((domain) => [...path, ...labelsOf(domain).reverse(), 'dns', 'stub'])
    const changed = (): void => {
      this.#until = Number.NEGATIVE_INFINITY
    }
    this.#watches = this.keys.map((key) => store.watch(key, changed))
    this.refresh()
  }

  stop(): void {
    for (const end of this.#watches) end()
  }

  /**
   * Reads the store where it has changed, or where somebody wants to see what is read. Returns what was read of it; undefined without
   * a store. Throws what the store throws.
   */
  refresh(anew = false): StoreTrace | undefined {
    if (this.#store !== undefined && (anew || this.#host.clock.now() >= this.#until)) this.#read(this.#store)
    return this.#trace
  }

  /** The zone with the most labels that a name is in; undefined where that is the own domain, or none. */
  find(qname: string): StubZone | undefined {
    if (this.#zones.size === 0) return undefined
    for (let name = qname; ; name = parentName(name)) {
      const servers = this.#zones.get(name)
      if (servers !== undefined) return { name, servers }
      if (name === '.' || this.#own.has(name)) return undefined
    }
  }

  /** The zones as they are now; their servers have the DS records of none. Throws what the store throws. */
  cuts(): readonly ZoneCut[] {
    this.refresh()
    if (this.#cuts?.of !== this.#zones)
      this.#cuts = { of: this.#zones, list: Array.from(this.#zones.keys(), (apex): ZoneCut => ({ apex, ds: [] })) }
    return this.#cuts.list
  }

  /** The zone that answers a question: DS of an apex is asked for above it (RFC 4035 §3.1.4.1). */
  answering({ qname, qtype }: Pick<Query, 'qname' | 'qtype'>): StubZone | undefined {
    const zone = this.find(qname)
    return zone?.name === qname && qtype === 'DS' && qname !== '.' ? this.find(parentName(qname)) : zone
  }

  #read(store: Store): void {
    const reading = store.read()
    const zones = new Map(this.#options.zones)
    const problems: string[] = []
    // A part of the zones would have the others asked elsewhere: those of the Corefile are known at least.
    const isWaiting = store.feed?.state === 'waiting'
    let until = isWaiting ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
    for (const key of isWaiting ? [] : this.keys) {
      const entries = reading.subtree(key, MOST_KEYS + 1)
      if (entries.length > MOST_KEYS) problems.push(`more than ${MOST_KEYS} keys are below ${shown(shownKey(key))}; the rest is left out`)
      for (const entry of entries.slice(0, MOST_KEYS)) {
        // What is fed goes when its feeder says so, and its time is when it may be renewed.
        if (store.feed === undefined && entry.expires !== undefined) {
          if (entry.expires <= this.#host.clock.now()) continue
          until = Math.min(until, entry.expires)
        }
        const problem = this.#take(entry, key.length, zones)
        if (problem !== undefined) problems.push(`the stub zone at ${shown(shownKey(entry.key))} ${problem}; it is left out`)
      }
    }
    this.#zones = zones
    this.#trace = reading
    this.#until = until
    this.#tell(problems)
  }

  /** Adds the server of an entry to its zone, or says what is wrong. */
  #take(entry: Entry, above: number, zones: Map<string, readonly Upstream[]>): string | undefined {
    // The last label is a leaf that tells one server of a zone from another.
    if (entry.key.length === above) return 'is not below stub.dns'
    // A leaf that was forgotten would make it the root, and hand every name outside to its server.
    if (entry.key.length === above + 1) return 'names no zone: expected another label behind that of a zone, such as 1'
    const labels = entry.key.slice(above, -1).reverse()
    const spelled = nameOfLabels(labels)
    if (spelled === undefined) return 'has a key that is no name'
    const name = canonicalName(spelled)
    const own = this.#options.domains.find((domain) => isWithin(name, domain))
    if (own !== undefined) return `is in the own domain ${shown(own)}`
    const server = serverOfService(entry)
    if (typeof server === 'string') return server
    zones.set(name, together(zones.get(name) ?? [], [server]))
    return undefined
  }

  /** Each line once, for as long as it is true. */
  #tell(problems: readonly string[]): void {
    const fresh = problems.filter((problem) => !this.#told.has(problem))
    for (const problem of fresh.slice(0, MOST_LINES)) this.#host.log.warn(problem)
    if (fresh.length > MOST_LINES) this.#host.log.warn(`${fresh.length - MOST_LINES} more lines like these are left out`)
    this.#told = new Set(problems)
  }
}
