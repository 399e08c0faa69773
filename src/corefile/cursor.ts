import { ConfigError } from './directive.js'
import { hasReference } from './environment.js'
import { placeOf, type Token } from './lexer.js'

/** Walks over the words of a Corefile once, forwards. */
export class Cursor {
  readonly #tokens: readonly Token[]
  #index = 0

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens
  }

  /** The next word, not yet taken; `undefined` at the end of the file. */
  get next(): Token | undefined {
    return this.#tokens[this.#index]
  }

  /** The word taken last. */
  get last(): Token | undefined {
    return this.#tokens[this.#index - 1]
  }

  /** Whether the next word is the first of its line. */
  get startsLine(): boolean {
    const { last, next } = this
    return last === undefined || next === undefined || last.file !== next.file || last.line + last.newlines < next.line
  }

  /**
   * Takes the next word. Every word that becomes a key, a name or an argument passes here, after it was looked at as
   * syntax: so this is the place for environment variables, and no value can ever be a brace or an `import`.
   */
  take(): Token {
    const token = this.next
    if (token === undefined) throw new Error('a word was taken after the end of the file')
    if (hasReference(token.text))
      refuse(token, `environment variables are not supported yet, expected no ${token.text.includes('{$') ? '{$' : '{%'}`)
    this.#index++
    return token
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

/** Fails at `import`, which is to splice words in here one day. */
export function refuseImport(token: Token): void {
  if (isBare(token, 'import')) refuse(token, 'import is not supported yet, expected the text itself in its place')
}
