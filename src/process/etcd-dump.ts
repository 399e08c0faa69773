/** Dumps of etcd as `skein kv import` takes them, made into the lines that every store takes. */
import { isUtf8 } from 'node:buffer'
import { getHeapStatistics } from 'node:v8'
import { thrownText } from '../message/one-line.js'
import { keyOfEtcdPath } from '../store/etcd/etcd-path.js'
import { MAX_VALUE_OCTETS } from '../store/limits.js'
import { lineOf, MAX_TTL } from '../store/lines.js'
import { StoreError } from '../store/store.js'
import { type DumpEntry, isObject, shownKey } from './dump-entry.js'
import { entriesOfV2, V2_FIELDS } from './dump-v2.js'
import { entriesOfV3, V3_ERROR_FIELDS, V3_FIELDS } from './dump-v3.js'
import { jsonObjects, shownSize } from './json-objects.js'

/** Which API of etcd made a dump, by the field that its first object begins with; undefined of what begins otherwise. */
export function versionOfDump(field: string): 2 | 3 | undefined {
  if (V3_FIELDS.includes(field) || V3_ERROR_FIELDS.includes(field)) return 3
  return V2_FIELDS.includes(field) ? 2 : undefined
}

/** How a dump is read. */
export interface DumpOptions {
  /** Seconds that keys get which have a lease in v3. */
  readonly ttl: number | undefined
  /** Milliseconds since 1970. */
  readonly now: number
  /** The largest object that is read. */
  readonly atMost?: number
}

/** What a dump has. */
export interface Dump {
  /** Some lines each. */
  readonly lines: readonly Buffer[]
  /** What whoever imports it has to know, a sentence each. */
  readonly notes: readonly string[]
  /** Whether something of it is by v3. */
  readonly hasV3: boolean
}

/** How much of the heap an object of JSON takes, as text and as what is read of it, by octet of it. */
const HEAP_PER_OCTET = 4
const LINES_AT_ONCE = 500
const REPLACEMENT = Buffer.from('\ufffd')

/** Reads all of it. Throws StoreError where anything is wrong with it. */
export async function readDump(stream: AsyncIterable<Buffer>, options: DumpOptions): Promise<Dump> {
  const made = new DumpLines(options)
  let number = 0
  let hasV3 = false
  try {
    for await (const octets of jsonObjects(stream, options.atMost)) {
      const version = addAll(made, octets, options.now, ++number)
      hasV3 ||= version === 3
    }
    return { lines: made.all(), notes: made.notes(), hasV3 }
  } catch (error) {
    throw error instanceof StoreError ? new StoreError(`${error.message}; nothing was imported`, { cause: error }) : error
  }
}

/** Adds the keys of an object, the first one being 1; gives by which API it is. */
function addAll(made: DumpLines, octets: Buffer, now: number, number: number): 2 | 3 {
  try {
    const dump = parsed(octets)
    const version = 'node' in dump || 'action' in dump || 'errorCode' in dump ? 2 : 3
    for (const entry of version === 2 ? entriesOfV2(dump, now) : entriesOfV3(dump)) made.add(entry, version)
    return version
  } catch (error) {
    if (!(error instanceof StoreError) || number === 1) throw error
    throw new StoreError(`object ${number} of the dump: ${error.message}`, { cause: error })
  }
}

function parsed(octets: Buffer): Record<string, unknown> {
  const { heap_size_limit: limit, used_heap_size: used } = getHeapStatistics()
  if (octets.length * HEAP_PER_OCTET > limit - used)
    throw new StoreError(
      `the dump has ${shownSize(octets.length)}, for which the memory here is too small: dump several narrower prefixes, or set NODE_OPTIONS=--max-old-space-size=MIB`
    )
  if (!isUtf8(octets)) throw new StoreError('the dump is no UTF-8')
  let dump: unknown
  try {
    dump = JSON.parse(octets.toString('utf8'))
  } catch (error) {
    throw new StoreError(`the dump is no JSON (${thrownText(error)})`, { cause: error })
  }
  return isObject(dump) ? dump : {}
}

/** The lines of entries; of the odd ones what is to be said. */
class DumpLines {
  readonly #options: DumpOptions
  readonly #made: Buffer[] = []
  #lines: string[] = []
  #leased = 0
  #ended = 0
  #replaced = 0
  /** What is wrong with the first key that can be none here, and how many more there are. */
  #odd: string | undefined
  #others = 0

  constructor(options: DumpOptions) {
    this.#options = options
  }

  add({ path, value, ends }: DumpEntry, version: 2 | 3): void {
    const key = keyOfEtcdPath(path, '')
    if (typeof key === 'string') {
      if (this.#odd === undefined) this.#odd = `the key ${shownKey(path)} ${key}`
      else this.#others++
      return
    }
    if (value.length > MAX_VALUE_OCTETS)
      throw new StoreError(`the value of ${shownKey(path)} has ${value.length} octets: ${MAX_VALUE_OCTETS} is the limit`)
    const { now, ttl } = this.#options
    if (typeof ends === 'number' && ends <= now) {
      this.#ended++
      return
    }
    if (ends === 'unknown') this.#leased++
    if (version === 2 && (value.includes(REPLACEMENT) || path.includes(REPLACEMENT))) this.#replaced++
    this.#lines.push(lineOf(key, value, ends === 'unknown' ? ttl : ends && Math.min(Math.ceil((ends - now) / 1000), MAX_TTL)))
    if (this.#lines.length >= LINES_AT_ONCE) this.#flush()
  }

  all(): readonly Buffer[] {
    if (this.#odd !== undefined) {
      const others = this.#others === 0 ? '' : ` (and ${this.#others} more)`
      throw new StoreError(`${this.#odd}${others}, so that it can be no key here: delete it in etcd, or dump a prefix without it`)
    }
    this.#flush()
    return this.#made
  }

  notes(): string[] {
    const notes: string[] = []
    if (this.#leased > 0 && this.#options.ttl === undefined)
      notes.push(
        `${counted(this.#leased)} a lease in etcd, and a dump does not say until when: imported to stay for ever; with -ttl SECONDS such keys vanish after so many`
      )
    if (this.#ended > 0)
      notes.push(
        `${counted(this.#ended)} come to the end of ${this.#ended === 1 ? 'its' : 'their'} time since, and ${this.#ended === 1 ? 'was' : 'were'} left out`
      )
    if (this.#replaced > 0)
      notes.push(`${counted(this.#replaced)} U+FFFD in key or value, which v2 of etcd gives in place of octets that are no UTF-8`)
    return notes
  }

  #flush(): void {
    if (this.#lines.length > 0) this.#made.push(Buffer.from(`${this.#lines.join('\n')}\n`))
    this.#lines = []
  }
}

function counted(keys: number): string {
  return keys === 1 ? '1 key has' : `${keys} keys have`
}
