/**
 * Questions under way, by a key that is equal for equal ones: each is asked once, and whoever asks it meanwhile waits for the same
 * outcome. Each copy in flight would be one more chance to forge a reply (RFC 5452 §5).
 */
export class InFlight<T> {
  readonly #questions = new Map<string, { readonly outcome: Promise<T>; askers: number }>()

  /** How many questions are under way. */
  get size(): number {
    return this.#questions.size
  }

  /** How many wait for this question; 0 where it is not under way. */
  askers(key: string): number {
    return this.#questions.get(key)?.askers ?? 0
  }

  /** What comes of a question, asked now with `ask` or already under way. */
  ask(key: string, ask: () => Promise<T>): Promise<T> {
    const underWay = this.#questions.get(key)
    if (underWay !== undefined) {
      underWay.askers++
      return underWay.outcome
    }
    const outcome = ask().finally(() => this.#questions.delete(key))
    this.#questions.set(key, { outcome, askers: 1 })
    return outcome
  }

  /** Waits until all that are under way have ended, well or not. */
  async ended(): Promise<void> {
    await Promise.allSettled([...this.#questions.values()].map(({ outcome }) => outcome))
  }
}
