import { countLabels, type Entry, type Key, labelsOf, type Reading } from 'skein/plugin'
import { distinct, grouped } from './group.js'
import { readService, type Service, ServiceProblem } from './service.js'

/** What a look-up has found at a name and below it. */
export interface Found {
  /** Whether the name exists: a key, or any below it. */
  readonly exists: boolean
  /** In key order. */
  readonly services: readonly Service[]
}

/** What all look-ups of one configuration share. */
export interface Source {
  /** The segments before the labels, `/skydns` by default. */
  readonly path: Key
  /** Seconds, for values that say no ttl. */
  readonly ttl: number
  /** Told of a value that is no service. */
  readonly bad: (entry: Entry, problem: string) => void
}

/** The key of a name: its labels from right to left, below the path. */
export function keyOf(path: Key, name: string): Key {
  return [...path, ...labelsOf(name).reverse()]
}

/** The labels of the name that a key stands for, leftmost first. */
export function labelsOfKey(path: Key, key: Key): string[] {
  return key.slice(path.length).reverse()
}

/**
 * The look-ups of one query in one zone. What it finds at a name is kept, since answers and additional records ask again.
 */
export class Lookup {
  readonly apex: string
  readonly source: Source
  readonly #reading: Reading
  readonly #now: number
  readonly #found = new Map<string, Found>()
  readonly #services = new Map<string, readonly Service[]>()

  constructor(reading: Reading, source: Source, apex: string, now: number) {
    this.#reading = reading
    this.source = source
    this.apex = apex
    this.#now = now
  }

  get reading(): Reading {
    return this.#reading
  }

  /** Everything at a name and below it, `*` and `any` in it matching one label each. */
  all(name: string): Found {
    let found = this.#found.get(name)
    if (found === undefined) {
      found = this.#look(name)
      this.#found.set(name, found)
    }
    return found
  }

  /** {@link Lookup.all}, grouped and without doubles. */
  services(name: string): readonly Service[] {
    let services = this.#services.get(name)
    if (services === undefined) {
      services = distinct(grouped(this.all(name).services))
      this.#services.set(name, services)
    }
    return services
  }

  /** The services at exactly this name. */
  exact(name: string): readonly Service[] {
    return distinct(grouped(this.#read(this.#reading.at(keyOf(this.source.path, name)))))
  }

  #look(name: string): Found {
    const key = keyOf(this.source.path, name)
    const fixed = this.source.path.length + countLabels(this.apex)
    const pattern = key.findIndex((segment, index) => index >= fixed && isWildcard(segment))
    if (pattern < 0) {
      const entries = this.#reading.subtree(key)
      return { exists: entries.length > 0 || name === this.apex, services: this.#read(entries) }
    }
    const base = key.slice(0, pattern)
    const entries = this.#reading.subtree(base)
    const matching = entries.filter((entry) => matches(entry.key, key, pattern))
    // A pattern that matches nothing exists like the part right of its topmost wildcard.
    return { exists: entries.length > 0 || base.length === fixed, services: this.#read(matching) }
  }

  #read(entries: readonly Entry[]): Service[] {
    const services: Service[] = []
    for (const entry of entries) {
      const service = readService(entry, this.source.ttl, this.#now)
      if (service instanceof ServiceProblem) this.source.bad(entry, service.problem)
      else services.push(service)
    }
    return services
  }
}

function isWildcard(label: string): boolean {
  return label === '*' || label === 'any'
}

/** Whether a key matches a pattern whose first wildcard is at `from`: one segment each, and everything below. */
function matches(key: Key, pattern: Key, from: number): boolean {
  if (key.length < pattern.length) return false
  for (let i = from; i < pattern.length; i++) {
    if (!isWildcard(pattern[i]!) && folded(key[i]!) !== pattern[i]) return false
  }
  return true
}

/** Letters of ASCII in lower case. A segment is octets: those above 0x7f are no letters (RFC 4343 §2). */
function folded(segment: string): string {
  return segment.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
}
