import { performance } from 'node:perf_hooks'
import type { Clock } from '../plugin.js'

/** Node's timers take no more than this; longer ones are made of several. */
const LONGEST_MS = 2 ** 31 - 1

/** The machine's clock. Its timers do not keep the process alive. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(milliseconds, fire) {
    let left = Math.max(0, milliseconds)
    let timer: NodeJS.Timeout
    const wait = (): void => {
      const step = Math.min(left, LONGEST_MS)
      left -= step
      timer = setTimeout(() => (left > 0 ? wait() : fire()), step)
      timer.unref()
    }
    wait()
    return { cancel: () => clearTimeout(timer) }
  }
}
