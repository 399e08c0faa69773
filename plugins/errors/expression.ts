import { RE2JS, RE2JSSyntaxException } from 're2js'

/** As many as CoreDNS takes: a longer one keeps the start busy. */
const LONGEST_PATTERN = 10_000
/** How many instructions counted repeats may make beyond one for each character: a match takes longer by each, and keeps the server busy. */
const MOST_REPEATED = 1000

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
    if (this.#compiled.programSize() > pattern.length + MOST_REPEATED) throw new SyntaxError('its counted repeats make it too large')
  }

  /** Whether any part of the text matches. */
  matches(text: string): boolean {
    return this.#compiled.matcher(text).find()
  }
}
