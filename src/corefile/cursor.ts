import { ConfigError, shown } from './directive.js'
import { type Environment, origin } from './environment.js'
import type { Imports } from './imports.js'
import { placeOf, type Token } from './lexer.js'

/** Words that stand together: a file, or the body of a snippet. */
export interface Source {
  /** What it is for messages: a path, or the name of a snippet in parentheses. */
  readonly name: string
  readonly tokens: readonly Token[]
}

/** A source that is being read, and the one that imported it. */
export interface Reading {
  readonly source: Source
  readonly above: Reading | undefined
}

/** Walks over the words of a Corefile once, forwards, and over those of its imports in their places. */
export class Cursor {
  readonly #environment: Environment
  readonly #imports: Imports
  /** What is being read, innermost last, and how far. */
  readonly #open: { readonly reading: Reading; index: number }[] = []
  #last: Token | undefined
  /** Whether the lines of a source begin or end before the next word. */
  #atEdge = true

  constructor(source: Source, environment: Environment, imports: Imports) {
    this.#environment = environment
    this.#imports = imports
    this.#splice([source], undefined)
  }

  /** The next word, not yet taken; `undefined` at the end of the file. */
  get next(): Token | undefined {
    const top = this.#open.at(-1)
    return top?.reading.source.tokens[top.index]
  }

  /** The word taken last. */
  get last(): Token | undefined {
    return this.#last
  }

  /** Whether the next word is the first of its line. */
  get startsLine(): boolean {
    const { last, next } = this
    return this.#atEdge || last === undefined || next === undefined || last.line + last.newlines < next.line
  }

  /**
   * Takes the next word with the values of its environment variables. Every word that becomes a key, a name or an argument
   * passes here, after it was looked at as syntax: so no value can ever be a brace or an `import`.
   */
  take(): Token {
    return this.#environment.expand(this.takeRaw())
  }

  /** Takes the next word as it is spelled: for what is read later, at its place of use. */
  takeRaw(): Token {
    const token = this.next
    if (token === undefined) throw new Error('a word was taken after the end of the file')
    this.#last = token
    this.#atEdge = false
    this.#open.at(-1)!.index++
    this.#leaveEnded()
    return token
  }

  /** Takes an `import` with its name, and goes on with the lines that stand for it. */
  spliceImport(): void {
    // Where the import is the last line of its source, that one is left with the name.
    const above = this.#open.at(-1)!.reading
    const word = this.takeRaw()
    if (this.next === undefined || this.startsLine || isBare(this.next, '{') || isBare(this.next, '}')) {
      refuse(word, 'import without a name, expected that of a snippet or a file')
    }
    // What is imported stands in the place of the line, so its name is looked up even where references are kept.
    const name = this.#environment.valueOf(this.takeRaw())
    if (name.text === '') refuse(name, `import of an empty name${origin(name)}, expected that of a snippet or a file`)
    if (!this.startsLine) refuse(this.next, `${shown(this.next.text)} after the name to import, expected that name alone`)
    this.#splice(this.#imports.find(name, above), above)
  }

  #splice(sources: readonly Source[], above: Reading | undefined): void {
    for (const source of [...sources].reverse()) this.#open.push({ reading: { source, above }, index: 0 })
    this.#atEdge = true
    this.#leaveEnded()
  }

  #leaveEnded(): void {
    while (this.#open.length > 0 && this.next === undefined) {
      this.#open.pop()
      this.#atEdge = true
    }
  }
}

/** Fails at a word. */
export function refuse(token: Token, problem: string): never {
  throw new ConfigError(problem, placeOf(token))
}

/** Whether the token is this word as syntax: a quoted one never is. */
export function isBare(token: Token | undefined, text: string): boolean {
  return token !== undefined && !token.quoted && token.text === text
}
