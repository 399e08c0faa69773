import { thrownText } from '../../message/one-line.js'
import type { StoreClock } from '../clock.js'
import { shownPath } from '../key.js'
import type { ReplicaNumbers } from './replica-numbers.js'

/** What is wrong with a value, in words; undefined where it is right. */
export type Judge = (value: Buffer) => string | undefined

/** How many lines a minute may have. */
const MOST_LINES = 100
const MINUTE_MS = 60_000

/** Counts the keys of a replica that are no use, and tells of each when it comes. */
export class BadKeys {
  readonly #judge: Judge
  readonly #numbers: ReplicaNumbers
  readonly #clock: StoreClock
  readonly #warn: (text: string) => void
  readonly #bad = new Set<string>()
  /** Those that are newer than what the scan of all may still tell of. */
  #fresh: Set<string> | undefined = new Set()
  #minute = Number.NEGATIVE_INFINITY
  #lines = 0

  constructor(judge: Judge, numbers: ReplicaNumbers, clock: StoreClock, warn: (text: string) => void) {
    this.#judge = judge
    this.#numbers = numbers
    this.#clock = clock
    this.#warn = warn
  }

  /** Notes a path with its value, or that it has gone; and why it is no key, if so. */
  readonly written = (path: Buffer, value: Buffer | undefined, problem: string | undefined): void => {
    const name = path.toString('latin1')
    this.#fresh?.add(name)
    this.#note(name, value, problem)
  }

  /** Notes one that was there before; not what was written since. */
  readonly found = (path: Buffer, value: Buffer | undefined, problem: string | undefined): void => {
    const name = path.toString('latin1')
    if (this.#fresh?.has(name) !== true) this.#note(name, value, problem)
  }

  /** All that was there before has been told. */
  allFound(): void {
    this.#fresh = undefined
  }

  #note(name: string, value: Buffer | undefined, problem: string | undefined): void {
    const wrong = value === undefined ? undefined : (problem ?? this.#judged(value))
    if (wrong === undefined) this.#bad.delete(name)
    else {
      this.#bad.add(name)
      this.#tell(`the ${problem === undefined ? 'value of' : 'key'} ${shownPath(Buffer.from(name, 'latin1'))} ${wrong}`)
    }
    this.#numbers.set('bad', this.#bad.size)
  }

  /** A judge that fails is no reason to stop following etcd. */
  #judged(value: Buffer): string | undefined {
    try {
      return this.#judge(value)
    } catch (error) {
      return `cannot be judged: ${thrownText(error)}`
    }
  }

  #tell(text: string): void {
    const now = this.#clock.now()
    if (now - this.#minute >= MINUTE_MS) {
      this.#minute = now
      this.#lines = 0
    }
    if (this.#lines++ < MOST_LINES) this.#warn(`${text}; it is left out`)
    else if (this.#lines === MOST_LINES + 1) this.#warn('more such keys in this minute are not told of: `skein kv bad` lists them all')
  }
}
