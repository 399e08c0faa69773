import { oneLine } from '../message/one-line.js'

/** A key pair that cannot be used, or not be written. The message is one line, and has nothing of a private key. */
export class KeyProblem extends Error {
  override readonly name = 'KeyProblem'
  readonly code = 'SKEIN_KEY'
}

/** What `use` gives; its KeyProblem has this before its text. */
export function problemsOf<T>(where: string, use: () => T): T {
  try {
    return use()
  } catch (error) {
    if (error instanceof KeyProblem) throw new KeyProblem(`${where}: ${error.message}`)
    throw error
  }
}

/** What `make` gives; a KeyProblem with this text where it throws. What OpenSSL or a name's parser says is no help to an operator. */
export function orProblem<T>(text: string, make: () => T): T {
  try {
    return make()
  } catch {
    throw new KeyProblem(text)
  }
}

/** A word of a file, in an error: only where it is short. What is longer may be a private key in a wrong place. */
export function shownWord(text: string): string {
  return text.length > 20 ? 'something long' : oneLine(JSON.stringify(text))
}
