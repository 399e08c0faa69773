/** Longer words are cut in messages. */
const LONGEST = 60

/** A word of the Corefile as messages show it. */
export function quoted(word: string): string {
  return JSON.stringify(word.length > LONGEST ? `${word.slice(0, LONGEST)}…` : word)
}
