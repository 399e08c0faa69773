import { RE2JS, RE2JSSyntaxException } from 're2js'

/** As many as CoreDNS takes: a longer one keeps the start busy. */
const LONGEST_PATTERN = 10_000

/** A regular expression of Go (RE2). JavaScript's own are others, and some texts keep them busy for years. */
export class Expression {
  readonly #compiled: RE2JS

  /** Throws SyntaxError, which says what is wrong. */
  constructor(pattern: string) {
    if (pattern.length > LONGEST_PATTERN) throw new SyntaxError(`it has more than ${LONGEST_PATTERN} characters`)
    try {
      this.#compiled = RE2JS.compile(pattern)
    } catch (error) {
      if (error instanceof RE2JSSyntaxException)
        throw new SyntaxError(error.message.replace(/^error parsing regexp: /, ''), { cause: error })
      throw error
    }
  }

  /** Whether any part of the text matches. */
  matches(text: string): boolean {
    return this.#compiled.matcher(text).find()
  }
}
