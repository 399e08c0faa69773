import { countLabels, type Entry, fold, type Key, labelsOf, type Reading } from 'skein/plugin'
import { distinct, grouped } from './group.js'
import { readService, type Service, ServiceProblem, type Times } from './service.js'

/** How many keys one look-up takes, in key order: of the smallest records, those of A, not many more fit a message. */
export const MOST_KEYS = 4000
/** How many keys the look-ups of one query take together, before what leads further is followed no more. */
const MOST_KEYS_OF_QUERY = 4 * MOST_KEYS

/** What a look-up has found at a name and below it. */
interface Found {
  readonly name: string
  /** Whether the name exists: a key, or any below it. */
  readonly exists: boolean
  /** In key order. */
  readonly all: readonly Service[]
  /** Whether there were more keys than it took. */
  readonly isCut: boolean
  /** Grouped and without doubles, made when first asked for. */
  services?: readonly Service[]
}

/** What all look-ups of one configuration share. */
export interface Source {
  /** The segments before the labels, `/skydns` by default. */
  readonly path: Key
  /** Told of a value that is no service. */
  readonly bad: (entry: Entry, problem: string) => void
  /** Told of a key with more than {@link MOST_KEYS} at or below it. */
  readonly cut: (key: Key) => void
}

/** The key of a canonical name: its labels from right to left, below the path. */
export function keyOf(path: Key, name: string): Key {
  const key = path.slice()
  if (name.includes('\\')) {
    for (const label of labelsOf(name).reverse()) key.push(label)
    return key
  }
  // Without escapes labels are what stands between the dots.
  for (let end = name.length - 1; end > 0; ) {
    const dot = name.lastIndexOf('.', end - 1)
    key.push(name.slice(dot + 1, end))
    end = dot
  }
  return key
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
  readonly #times: Times
  /** How many keys one look-up takes. */
  readonly #most: number
  /** How many segments the apex has. */
  readonly #fixed: number
  // Most queries look at one name only.
  #first: Found | undefined
  #others: Map<string, Found> | undefined
  #keys = 0
  /** Whether there was more at and below any name than a look-up takes, of those that were made. */
  hasCut = false

  constructor(reading: Reading, source: Source, apex: string, times: Times, most = MOST_KEYS) {
    this.#reading = reading
    this.source = source
    this.apex = apex
    this.#times = times
    this.#most = most
    this.#fixed = source.path.length + countLabels(apex)
  }

  get reading(): Reading {
    return this.#reading
  }

  /** Whether a name exists, whatever it has. Reads no value; a pattern exists like the part right of its topmost wildcard. */
  exists(name: string): boolean {
    if (name === this.apex) return true
    const known = this.#known(name)
    if (known !== undefined) return known.exists
    const base = this.#baseOf(keyOf(this.source.path, name))
    return base.length === this.#fixed || this.#reading.has(base)
  }

  /** The services at a name and below it, `*` and `any` in it matching one label each: of the first {@link MOST_KEYS} keys, or of as many as were said. */
  all(name: string): readonly Service[] {
    return this.#find(name).all
  }

  /** {@link Lookup.all}, grouped and without doubles. */
  services(name: string): readonly Service[] {
    const found = this.#find(name)
    found.services ??= distinct(grouped(found.all))
    return found.services
  }

  /** The services at exactly this name. */
  exact(name: string): readonly Service[] {
    return distinct(grouped(this.#read(this.#reading.at(keyOf(this.source.path, name)))))
  }

  /** Whether a look-up at this name has taken nothing, and there was more than it takes: nobody knows then. */
  gaveUp(name: string): boolean {
    const known = this.#known(name)
    return known?.isCut === true && known.all.length === 0
  }

  /** Whether there was more at and below this name than a look-up takes, of one that was made. */
  isCut(name: string): boolean {
    return this.#known(name)?.isCut === true
  }

  /** Whether this query may look at a name, as it may at all that are known, and at others until it has read too much. */
  mayLook(name: string): boolean {
    return this.#keys < MOST_KEYS_OF_QUERY || this.#known(name) !== undefined
  }

  #known(name: string): Found | undefined {
    return this.#first?.name === name ? this.#first : this.#others?.get(name)
  }

  #find(name: string): Found {
    const known = this.#known(name)
    if (known !== undefined) return known
    const found = this.#look(name)
    if (this.#first === undefined) this.#first = found
    else {
      this.#others ??= new Map()
      this.#others.set(name, found)
    }
    return found
  }

  #look(name: string): Found {
    const key = keyOf(this.source.path, name)
    const base = this.#baseOf(key)
    // One more than is taken says whether there are more.
    const found = this.#reading.subtree(base, this.#most + 1)
    const isCut = found.length > this.#most
    if (isCut) {
      this.hasCut = true
      this.source.cut(base)
    }
    const entries = isCut ? found.slice(0, this.#most) : found
    this.#keys += entries.length
    const matching = base === key ? entries : entries.filter((entry) => matches(entry.key, key, base.length))
    return { name, exists: entries.length > 0 || base.length === this.#fixed, all: this.#read(matching), isCut }
  }

  /** What is right of the topmost wildcard, or all of it. A label of the zone is none. */
  #baseOf(key: Key): Key {
    for (let i = this.#fixed; i < key.length; i++) if (isWildcard(key[i]!)) return key.slice(0, i)
    return key
  }

  #read(entries: readonly Entry[]): Service[] {
    const services: Service[] = []
    for (const entry of entries) {
      const service = readService(entry, this.#times)
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
    if (!isWildcard(pattern[i]!) && fold(key[i]!) !== pattern[i]) return false
  }
  return true
}
