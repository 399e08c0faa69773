import type { Clock } from 'skein/plugin'

/** Somebody at the turnstile. */
export interface Entering {
  /** Whether there was a place; false where the time was up before, or it was cancelled. Who got one must leave. */
  readonly entered: true | Promise<boolean>
  cancel(): void
}

const AT_ONCE: Entering = { entered: true, cancel() {} }

/** Lets so many in at once; the others wait for a place, first come first served. */
export class Turnstile {
  readonly #places: number
  #taken = 0
  /** Those who wait, in the order in which they came. */
  readonly #waiting = new Set<() => void>()

  constructor(places: number) {
    this.#places = places
  }

  /** Takes a place now, or the next that is free within so many milliseconds. */
  enter(clock: Clock, withinMs: number): Entering {
    if (this.#taken < this.#places) {
      this.#taken++
      return AT_ONCE
    }
    let settle!: (hasEntered: boolean) => void
    const entered = new Promise<boolean>((resolve) => {
      settle = resolve
    })
    const end = (hasEntered: boolean): void => {
      timer.cancel()
      this.#waiting.delete(admit)
      settle(hasEntered)
    }
    const admit = (): void => end(true)
    const timer = clock.after(withinMs, () => end(false))
    this.#waiting.add(admit)
    return { entered, cancel: () => end(false) }
  }

  /** Gives a place to the next. */
  leave(): void {
    const [next] = this.#waiting
    if (next === undefined) this.#taken--
    else next()
  }
}
