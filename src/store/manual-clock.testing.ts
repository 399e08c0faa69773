import type { StoreClock } from './clock.js'

interface Timer {
  readonly at: number
  readonly run: () => void
}

/** A clock that stands still until a test moves it. */
export class ManualClock implements StoreClock {
  #now = Date.UTC(2026, 0, 1)
  #timers: Timer[] = []

  now(): number {
    return this.#now
  }

  after(ms: number, run: () => void): { cancel(): void } {
    const timer = { at: this.#now + ms, run }
    this.#timers.push(timer)
    return { cancel: () => void this.#timers.splice(this.#timers.indexOf(timer) >>> 0, 1) }
  }

  /** How long the next timer waits; undefined where none does. */
  get wait(): number | undefined {
    return this.#timers.length === 0 ? undefined : Math.min(...this.#timers.map(({ at }) => at)) - this.#now
  }

  /** Sets the time without a timer firing, as where the event loop is late. */
  set(ms: number): void {
    this.#now = ms
  }

  /** Lets time pass, with the timers that it meets. */
  pass(ms: number): void {
    const end = this.#now + ms
    for (;;) {
      const due = this.#timers.filter(({ at }) => at <= end).sort((one, other) => one.at - other.at)[0]
      if (due === undefined) break
      this.#timers.splice(this.#timers.indexOf(due), 1)
      this.#now = Math.max(this.#now, due.at)
      due.run()
    }
    this.#now = end
  }
}
