/** The time, and what to do at a later one: a test hands in its own. */
export interface StoreClock {
  /** Milliseconds since 1970. */
  now(): number
  /** Calls `run` once, `ms` milliseconds from now, unless it is cancelled first. */
  after(ms: number, run: () => void): { cancel(): void }
}

/** The machine's clock. Its timers keep no process alive: what a store waits for is no reason to stay. */
export const systemClock: StoreClock = {
  now: () => Date.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms).unref()
    return { cancel: () => clearTimeout(timer) }
  }
}
