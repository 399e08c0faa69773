import { isPromiseLike, type MaybePromise } from '../plugin.js'

/** How long a plugin may take to be set up, to start, or to drain, in milliseconds: what takes longer to be ready says so by `ready`. */
export const PATIENCE_MS = 60_000

/** Waits for what a plugin does, so many milliseconds from `begun` on; fails where it takes longer. */
export async function inTime<T>(done: MaybePromise<T>, withinMs: number, begun = performance.now()): Promise<T> {
  if (!isPromiseLike(done)) return done
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    const error = new Error(`it has not within ${withinMs / 1000} s, and is not waited for`)
    timer = setTimeout(() => reject(error), Math.max(0, begun + withinMs - performance.now()))
  })
  try {
    return await Promise.race([done, late])
  } finally {
    clearTimeout(timer)
  }
}
