/** A terminal's Ctrl-C reaches the process twice under npm; so soon after the first it is the same one. */
const SAME_SIGNAL_MS = 500
const FORCED_EXIT = 2

/** Calls `stop` at the first SIGINT or SIGTERM; a second one later ends the process at once. */
export function onStopSignal(stop: (signal: NodeJS.Signals) => void): void {
  let first: number | undefined
  const signalled = (signal: NodeJS.Signals): void => {
    const now = performance.now()
    if (first === undefined) {
      first = now
      stop(signal)
    } else if (now - first > SAME_SIGNAL_MS) process.exit(FORCED_EXIT)
  }
  process.on('SIGINT', signalled)
  process.on('SIGTERM', signalled)
}
