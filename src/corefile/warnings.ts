import { type Place, placeText } from './directive.js'

/** Something in the Corefile that is read, and most likely not what was meant. */
export interface Warning {
  /** One line that starts with where, as a ConfigError's message does. */
  readonly text: string
  readonly at: Place
}

/** Collects warnings while a Corefile is read; what a snippet says at each of its uses counts once. */
export class Warnings {
  readonly #found = new Map<string, Warning>()

  /** All of them, in the order in which they came up. */
  get list(): readonly Warning[] {
    return [...this.#found.values()]
  }

  add(problem: string, at: Place): void {
    const { file, line, column } = at
    const text = `${placeText(at)}: ${problem}`
    if (!this.#found.has(text)) this.#found.set(text, { text, at: { file, line, column } })
  }
}
