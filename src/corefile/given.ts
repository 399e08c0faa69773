/** What the author of a plugin hands over, looked at without trusting it: one in plain JavaScript may hand over anything. */
import { thrownText } from '../message/one-line.js'
import { nearest, shown } from './directive.js'

/** Something is not what a plugin must hand over. The message is without the plugin's name: `its api is 2, expected 1`. */
export class GivenError extends Error {
  override readonly name = 'GivenError'
}

/** Runs a check, and gives what is wrong, in words; undefined where nothing is. */
export function problemOf(check: () => void): string | undefined {
  try {
    check()
    return undefined
  } catch (error) {
    // A getter, or a proxy, may throw whatever it likes.
    return error instanceof GivenError ? error.message : `it cannot be read: ${thrownText(error)}`
  }
}

/** A value, and the way to it. Its methods throw {@link GivenError}. */
export class Given {
  readonly value: unknown
  /** As its author would write it: `schema.args[0]`; empty for the whole. */
  readonly path: string
  readonly #owner: string
  readonly #key: string

  private constructor(value: unknown, owner: string, key: string) {
    this.value = value
    this.path = key.startsWith('[') || owner === '' ? `${owner}${key}` : `${owner}.${key}`
    this.#owner = owner
    this.#key = key
  }

  /** The whole. */
  static of(value: unknown, path = ''): Given {
    return new Given(value, '', path)
  }

  /** A member. */
  get(key: string): Given {
    try {
      return new Given((this.value as Record<string, unknown>)[key], this.path, key)
    } catch (error) {
      return new Given(undefined, this.path, key).refuse(`cannot be read: ${thrownText(error)}`)
    }
  }

  get isMissing(): boolean {
    return this.value === undefined
  }

  /** Fails with what is here, and what should be. */
  fail(expected: string): never {
    if (this.isMissing && !this.#key.startsWith('['))
      throw new GivenError(`${this.#owner === '' ? 'it' : `its ${this.#owner}`} has no ${this.#key}, expected ${expected}`)
    return this.refuse(`is ${found(this.value)}, expected ${expected}`)
  }

  /** Fails with what is wrong with it, a part of a sentence. */
  refuse(problem: string): never {
    throw new GivenError(`${this.path === '' ? 'it' : `its ${this.path}`} ${problem}`)
  }

  /** A text of one line. */
  text(expected = 'a text'): string {
    if (typeof this.value !== 'string') this.fail(expected)
    if (/[\p{Cc}\u2028\u2029]/u.test(this.value)) this.refuse('has a line end or a control character, expected one line')
    return this.value
  }

  /** A number, a whole one where `isWhole`. */
  number(isWhole: boolean, expected = isWhole ? 'a whole number' : 'a number'): number {
    const isRight = isWhole ? Number.isSafeInteger(this.value) : Number.isFinite(this.value)
    return isRight ? (this.value as number) : this.fail(expected)
  }

  /** True or false, where it is given. */
  flag(): boolean {
    if (this.value !== undefined && typeof this.value !== 'boolean') this.fail('true or false')
    return this.value === true
  }

  /** A list with its items. */
  list(expected: string): Given[] {
    if (!Array.isArray(this.value)) this.fail(expected)
    return Array.from(this.value, (item: unknown, index) => new Given(item, this.path, `[${index}]`))
  }

  /** An object with its members. */
  members(expected: string): [key: string, member: Given][] {
    if (!isPlain(this.value)) this.fail(expected)
    return Object.keys(this.value).map((key) => [key, this.get(key)])
  }

  /** Has no other keys than these. `also` are other words for them, and where what they mean belongs. */
  onlyKeys(known: readonly string[], also: Readonly<Record<string, string>> = {}): void {
    for (const key of Object.keys(this.value as object)) {
      if (known.includes(key)) continue
      const near = nearest(key, known)
      const meant = near === undefined ? `expected one of ${known.join(', ')}` : `did you mean ${near}?`
      this.refuse(`has ${shown(key)}, which means nothing there: ${Object.hasOwn(also, key) ? also[key] : meant}`)
    }
  }
}

/** A plain object, and not a list, a map or an instance of a class. */
export function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype
}

/** What a value is, in words. */
export function found(value: unknown): string {
  if (typeof value === 'string') return `the text ${shown(value)}`
  if (typeof value === 'function') return 'a function'
  if (typeof value !== 'object' || value === null) return String(value)
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list'
  return value instanceof RegExp ? `the pattern ${shown(String(value)).slice(1, -1)}` : 'an object'
}
