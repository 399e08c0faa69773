import { type Counter, type Entry, type Host, type Key, shownKey } from 'skein/plugin'

/** How many keys are remembered; of more the oldest is forgotten, and told of and counted anew when it is met again. */
const MOST_REMEMBERED = 10_000
/** How many lines a minute may have: what there is no room for is told of when it is met in a later minute. */
const MOST_LINES = 100
const MINUTE_MS = 60_000

interface Told {
  /** The revision of the value; undefined of what is no value. */
  readonly modified: number | undefined
  readonly written: boolean
}

/** Tells of a value that is no service once, however often its name is asked for, and counts it. */
export class BadValues {
  readonly #host: Pick<Host, 'log' | 'clock'>
  readonly #count: Counter
  readonly #told = new Map<string, Told>()
  #minute = Number.NEGATIVE_INFINITY
  #lines = 0

  constructor(host: Pick<Host, 'log' | 'clock' | 'metrics'>) {
    this.#host = host
    this.#count = host.metrics.counter('skein_etcd_bad_values_total', 'Values in the store that are no services, each counted once.')
  }

  tell({ key, modified }: Pick<Entry, 'key' | 'modified'>, problem: string): void {
    const path = shownPath(key)
    if (this.#told.get(path)?.modified !== modified) this.#count.value++
    this.#once(path, modified, `the value of ${path} ${problem}; it is left out`)
  }

  /** Tells that there is more under a key than a look-up takes. */
  tellCut(key: Key, most: number): void {
    const path = shownPath(key)
    // No path begins so: a value at the same key is something else.
    this.#once(`cut ${path}`, undefined, `more than ${most} keys are at or below ${path}; those after the first ${most} are left out`)
  }

  #once(what: string, modified: number | undefined, line: string): void {
    const before = this.#told.get(what)
    const isSame = before !== undefined && before.modified === modified
    if (isSame && before.written) return
    const written = this.#hasRoom()
    if (written) this.#host.log.warn(line)
    if (isSame && !written) return
    if (before === undefined && this.#told.size >= MOST_REMEMBERED) {
      const [oldest] = this.#told.keys()
      this.#told.delete(oldest!)
    }
    this.#told.set(what, { modified, written })
  }

  #hasRoom(): boolean {
    const now = this.#host.clock.monotonic()
    if (now - this.#minute >= MINUTE_MS) {
      this.#minute = now
      this.#lines = 0
    }
    if (this.#lines === MOST_LINES) {
      this.#host.log.warn(`${MOST_LINES} lines like these in a minute: what else is met until it ends is told of later`)
    }
    return this.#lines++ < MOST_LINES
  }
}

/** The path of a key on one line, whatever octets it has. */
function shownPath(key: Key): string {
  return shownKey(key).replace(/[\p{C}\p{Z}]/gu, (character) =>
    Array.from(Buffer.from(character), (octet) => `\\${String(octet).padStart(3, '0')}`).join('')
  )
}
