import { ConfigError, shown } from './directive.js'
import { placeOf, type Token } from './lexer.js'
import type { Warnings } from './warnings.js'

/** The environment: names and values, as `process.env` has them. */
export type Variables = Readonly<Record<string, string | undefined>>

/** How deep values may refer to further variables. */
const MAX_DEPTH = 16
/** Values of values grow by powers; nothing in a Corefile is this long. */
const MAX_LENGTH = 100_000

/**
 * Whether a word holds a reference to an environment variable: `{$NAME}` or `{%NAME%}`.
 *
 * As CoreDNS has it: without a name or without its end it is plain text, `{{$x}}` holds one and `{{ $x }}` does not.
 */
export function hasReference(word: string): boolean {
  return referenceIn(word, '{$', '}') !== undefined || referenceIn(word, '{%', '%}') !== undefined
}

/** ` from "{$ZONE}"` where the word was spelled with variables, for messages. */
export function origin({ spelled }: Token): string {
  return spelled === undefined ? '' : ` from ${shown(spelled)}`
}

/** A line as it was spelled, where one of its words had variables. */
export function spelledOf(words: readonly Token[]): string | undefined {
  if (words.every(({ spelled }) => spelled === undefined)) return undefined
  return words.map(({ text, spelled = text }) => spelled).join(' ')
}

/** What is made of references to environment variables: `values` puts their values in their place, `keep` leaves them, for converting. */
export type References = 'values' | 'keep'

/** Puts the values of environment variables in the place of their references. */
export class Environment {
  readonly references: References
  readonly #variables: Variables
  readonly #warnings: Warnings

  constructor(variables: Variables, warnings: Warnings, references: References = 'values') {
    this.#variables = variables
    this.#warnings = warnings
    this.references = references
  }

  /** {@link valueOf} the word, or the word as it is where references are kept. */
  expand(token: Token): Token {
    return this.references === 'keep' ? token : this.valueOf(token)
  }

  /**
   * The word with its references replaced. It stays one word on the lines of the file, whatever the values hold.
   * Throws ConfigError where values refer to themselves.
   */
  valueOf(token: Token): Token {
    if (!hasReference(token.text)) return token
    return { ...token, text: this.#expanded(token.text, token, []), spelled: token.text }
  }

  #expanded(text: string, token: Token, within: readonly string[]): string {
    const value = (name: string): string => this.#value(name, token, within)
    const expanded = replaced(text, '{%', '%}', value, (rest) => replaced(rest, '{$', '}', value, (plain) => plain))
    if (expanded.length <= MAX_LENGTH) return expanded
    throw new ConfigError(`${shown(token.text)} has more than ${MAX_LENGTH} characters, expected shorter values`, placeOf(token))
  }

  #value(name: string, token: Token, within: readonly string[]): string {
    const value = Object.hasOwn(this.#variables, name) ? this.#variables[name] : undefined
    if (value === undefined) {
      this.#warnings.add(`the environment variable ${shown(name)} is not set, and is read as an empty text`, token)
      return ''
    }
    // CoreDNS would spin for ever.
    if (within.includes(name)) {
      const way = [...within.slice(within.indexOf(name)), name].map(shown).join(' → ')
      throw new ConfigError(`environment variables that hold themselves: ${way}, expected values with an end`, placeOf(token))
    }
    if (within.length === MAX_DEPTH) {
      throw new ConfigError(`${shown(token.text)}: variables in variables, expected at most ${MAX_DEPTH} one in another`, placeOf(token))
    }
    return this.#expanded(value, token, [...within, name])
  }
}

/** Replaces what stands between the marks by `value`, and the text around by `plain`, so that a value is never looked at again. */
function replaced(
  text: string,
  opening: string,
  closing: string,
  value: (name: string) => string,
  plain: (text: string) => string
): string {
  let result = ''
  let at = 0
  for (let found = referenceIn(text, opening, closing, at); found !== undefined; found = referenceIn(text, opening, closing, at)) {
    result += plain(text.slice(at, found.start)) + value(text.slice(found.start + opening.length, found.end))
    at = found.end + closing.length
    if (result.length > MAX_LENGTH) return result
  }
  return result + plain(text.slice(at))
}

/** The first reference, or undefined. One without a name, or without end, is plain text with all that follows it. */
function referenceIn(text: string, opening: string, closing: string, from = 0): { start: number; end: number } | undefined {
  const start = text.indexOf(opening, from)
  const end = start < 0 ? -1 : text.indexOf(closing, start)
  return end > start + opening.length ? { start, end } : undefined
}
