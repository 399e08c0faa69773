import type { EventEmitter } from 'node:events'

/**
 * Resolves when one whole turn of the event loop has brought no such event, or at `deadline` (of `performance.now()`). What the kernel
 * holds for a socket has come in then: each turn asks the kernel, and takes a part of what is there.
 */
export async function untilQuiet(emitter: EventEmitter, event: string, deadline: number): Promise<void> {
  let isQuiet = false
  const heard = (): void => {
    isQuiet = false
  }
  emitter.on(event, heard)
  // The first turn is one that has begun already.
  await turn()
  while (!isQuiet && performance.now() < deadline) {
    isQuiet = true
    await turn()
  }
  emitter.off(event, heard)
}

/** Resolves when the turn of the event loop has asked the kernel what there is; from one such moment to the next it is asked once. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
