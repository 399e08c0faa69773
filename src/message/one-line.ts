/** Line ends, and what a terminal takes for a command. */
const CONTROL = /\s*[\p{Cc}\u2028\u2029]+\s*/gu

/** A text without line ends and control characters, whoever wrote it: it goes to a log or a terminal. */
export function oneLine(text: string): string {
  return text.replace(CONTROL, ' ').trim()
}

/** A text of so many characters at most; what is left out of a longer one is a `…`. */
export function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}…` : text
}

/** Whatever was thrown, in words on one line: an error's message. Telling of a fault must not be another: some objects have no text. */
export function thrownText(thrown: unknown): string {
  try {
    if (thrown instanceof Error) return oneLine(String(thrown.message)) || oneLine(String(thrown.name)) || NO_TEXT
    return oneLine(String(thrown)) || NO_TEXT
  } catch {
    return NO_TEXT
  }
}

/** The same behind the kind of the error: `TypeError: …`. */
export function namedThrownText(thrown: unknown): string {
  const text = thrownText(thrown)
  try {
    if (!isError(thrown) || text === NO_TEXT) return text
    const name = oneLine(String(thrown.name))
    return text === name ? name : `${name}: ${text}`
  } catch {
    return text
  }
}

/** Whether something that was thrown is an error, perhaps with a code. There are objects that cannot even be asked. */
export function isError(thrown: unknown): thrown is Error & { readonly code?: unknown } {
  try {
    return thrown instanceof Error
  } catch {
    return false
  }
}

/** The stack of an error, where it has one that can be read. */
export function stackOf(error: unknown): string | undefined {
  try {
    return isError(error) && error.stack !== undefined ? String(error.stack) : undefined
  } catch {
    return undefined
  }
}

/** The lines of an error's stack without its own text: what that has on several lines could pass for lines of the log. */
export function stackLines(error: unknown): string[] {
  const lines = stackOf(error)?.split('\n') ?? []
  return lines.filter((line) => /^ +at /.test(line)).map((line) => line.replace(/\p{Cc}/gu, ' '))
}

const NO_TEXT = 'something without a text'
