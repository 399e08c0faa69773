/** How long what ends is waited for, in milliseconds. */
import { setTimeout as sleep } from 'node:timers/promises'

/** How long queries in flight may take at a stop: so long by themselves, then what is left for the layers to end them. */
export const PATIENCE_MS = 250
export const GRACE_MS = 400
/** How long queries of before may take after a reload, as CoreDNS has it: nobody waits for it. */
export const RELOAD_PATIENCE_MS = 5000

/** Whether something is done, or has failed, in time. */
export async function isDone(work: Promise<unknown>, withinMs: number): Promise<boolean> {
  const late = sleep(withinMs, false, { ref: false })
  return Promise.race([
    work.then(
      () => true,
      () => true
    ),
    late
  ])
}
