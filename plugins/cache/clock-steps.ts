import type { Clock } from 'skein/plugin'

/** By how much the clocks may part before what was signed is thought to be out of its time: far less than a signature is good for. */
const TOLERATED_MS = 60_000

/**
 * Notices that the wall clock has moved on its own: it was set, or the machine has slept. Entries are kept by the clock that does not,
 * and signatures hold by the one that does.
 */
export class ClockSteps {
  readonly #clock: Pick<Clock, 'now'>
  /** How far the wall clock is ahead, in milliseconds. */
  #ahead: number

  constructor(clock: Pick<Clock, 'now' | 'monotonic'>) {
    this.#clock = clock
    this.#ahead = clock.now() - clock.monotonic()
  }

  /** Whether it has, to whichever side, since this was true last. `monotonic` is that clock now. */
  haveParted(monotonic: number): boolean {
    const ahead = this.#clock.now() - monotonic
    if (Math.abs(ahead - this.#ahead) <= TOLERATED_MS) return false
    this.#ahead = ahead
    return true
  }
}
