/** Which types there are at a name, for whoever proves what is not there. */
import { type Clock, isWithin, type Key, type KnownName, type NamesKnown, type Reading, type RRType, type Store } from 'skein/plugin'
import { isCircular, isZone, onlyName } from './alias.js'
import { exists } from './answer.js'
import { askedOf, type Standing } from './asked.js'
import { Lookup, type Source } from './lookup.js'
import type { Options } from './options.js'
import type { Service, Times } from './service.js'
import { apexOf, below, isReverse } from './zone.js'

/** How many keys are read for one name: of what is at a name with more, more is told than may be there. */
export const MOST_READ = 256
/** How many names are remembered. */
const MOST_NAMES = 1000
/** What may be at a name with more keys than are read. No CNAME: a name that has one is never denied, and of one that has none it must not be told. */
const UNSURE: readonly RRType[] = ['A', 'AAAA', 'MX', 'SRV', 'TXT']
const ADDRESSES: readonly RRType[] = ['A', 'AAAA']
const ALIAS: readonly RRType[] = ['CNAME']
const NO_TYPES: readonly RRType[] = []
/** Types depend on no TTL. */
const TIMES: Times = { ttl: 1, now: 0, leaseTtl: () => 1 }
const NO_READS: readonly number[] = []

type NamesOptions = Standing & Pick<Options, 'fallthrough' | 'path'>

interface Remembered extends KnownName {
  /** On the wall clock, in milliseconds: a key that it rests on ends then. */
  readonly until: number
}

/** The types at names of the zones for which nobody else is asked. */
export class KnownNames implements NamesKnown {
  readonly zones: readonly string[]
  readonly #options: NamesOptions
  readonly #store: () => Pick<Store, 'read' | 'feed'>
  readonly #clock: Pick<Clock, 'now'>
  readonly #source: Source
  /** Whoever asks for names that do not exist has what is above them asked for again and again. */
  readonly #remembered = new Map<string, Remembered>()
  #revision = Number.NaN

  /** `store` throws where it cannot be read. */
  constructor(options: NamesOptions, store: () => Pick<Store, 'read' | 'feed'>, { clock }: { readonly clock: Pick<Clock, 'now'> }) {
    const { zones, fallthrough = [] } = options
    const others = [...fallthrough, ...zones.filter(isReverse)]
    this.zones = zones.filter((zone) => !others.some((other) => isWithin(zone, other) || isWithin(other, zone)))
    this.#options = options
    this.#store = store
    this.#clock = clock
    // Whoever answers tells of what is wrong.
    this.#source = { path: options.path, bad: () => {}, cut: () => {} }
  }

  at(name: string): KnownName {
    const store = this.#store()
    const reading = store.read()
    if (reading.revision !== this.#revision) this.#remembered.clear()
    this.#revision = reading.revision
    const before = this.#remembered.get(name)
    this.#remembered.delete(name)
    const known = before !== undefined && this.#clock.now() < before.until ? before : this.#look(name, reading, store.feed !== undefined)
    // Those that are asked for again and again stay: the first of the map was not for the longest time.
    this.#remembered.set(name, known)
    if (this.#remembered.size > MOST_NAMES) this.#remembered.delete(this.#remembered.keys().next().value!)
    return known
  }

  #look(name: string, reading: Reading, isFed: boolean): Remembered {
    const apex = this.#apexOf(name)
    const ends = new Ends(reading)
    const lookup = new Lookup(ends, this.#source, apex, TIMES, MOST_READ)
    const types = typesAt(lookup, this.#options, name)
    // What is fed goes when its feeder says so. The apex exists whatever happens, and tells no reads on purpose: it has what the whole
    // zone has, and each change there would end every proof that is kept. So one may lack a new type of the apex until its TTL ends.
    return { types, reads: name === apex ? NO_READS : reading.reads, until: isFed ? Number.POSITIVE_INFINITY : ends.first }
  }

  #apexOf(name: string): string {
    const best = apexOf(this.#options.zones, name)
    if (best === undefined) throw new Error(`${name} is in none of the zones ${this.#options.zones.join(', ')}`)
    return best
  }
}

/** A reading that notes when the first of the keys that are read ends. */
class Ends implements Reading {
  readonly #reading: Reading
  first = Number.POSITIVE_INFINITY

  constructor(reading: Reading) {
    this.#reading = reading
  }

  get reads(): readonly number[] {
    return this.#reading.reads
  }

  get revision(): number {
    return this.#reading.revision
  }

  subtree(key: Key, limit?: number): ReturnType<Reading['subtree']> {
    return this.#noted(this.#reading.subtree(key, limit))
  }

  at(key: Key): ReturnType<Reading['at']> {
    return this.#noted(this.#reading.at(key))
  }

  /** As a reading of one key, so that its end is known. */
  has(key: Key): boolean {
    return this.subtree(key, 1).length > 0
  }

  #noted(entries: ReturnType<Reading['at']>): ReturnType<Reading['at']> {
    for (const { expires } of entries) if (expires !== undefined && expires < this.first) this.first = expires
    return entries
  }
}

/** The types that questions for the name get; undefined where it does not exist. */
function typesAt(lookup: Lookup, standing: Standing, owner: string): readonly RRType[] | undefined {
  const asked = askedOf(standing, lookup.apex, { owner, type: 'A', now: 0, dnssecOk: true })
  const all = lookup.all(asked.name)
  const services = lookup.services(asked.name)
  const ofName = isZone(standing, asked) ? ADDRESSES : isCircular(lookup, standing, owner) ? NO_TYPES : ALIAS
  // Whether CNAMEs lead back is not known either where there is more on the way.
  const types = lookup.hasCut ? UNSURE : typesOf(services, all, ofName)
  if (!isZone(standing, asked)) return types.length > 0 || exists(lookup, asked) ? types : undefined
  return [...types, 'SOA', ...(hasServers(lookup) ? (['NS'] as const) : [])]
}

/** `ofName` is what is there where all services have the same host name. */
function typesOf(services: readonly Service[], all: readonly Service[], ofName: readonly RRType[]): RRType[] {
  const kinds = new Set(services.map(({ host }) => host?.kind))
  const types: RRType[] = []
  if (onlyName(services) !== undefined) types.push(...ofName)
  else types.push(...(['A', 'AAAA'] as const).filter((type) => kinds.has(type) || kinds.has('name')))
  if (all.some(({ mail, host }) => mail && host !== undefined)) types.push('MX')
  if (kinds.has('A') || kinds.has('AAAA') || kinds.has('name')) types.push('SRV')
  if (services.some(({ text }) => text !== '')) types.push('TXT')
  return types
}

/** Whether the apex has NS records. */
function hasServers(lookup: Lookup): boolean {
  const name = below('ns.dns', lookup.apex)
  return lookup.services(name).some(({ host }) => host !== undefined && host.kind !== 'name') || lookup.isCut(name)
}
