/** A terminal's Ctrl-C reaches the process twice under npm; so soon after the first it is the same one. */
const SAME_SIGNAL_MS = 500
const FORCED_EXIT = 2

/** Signals that other name servers reload at. Without a handler they would end the process, and SIGUSR1 open Node's debugger to everybody here. */
const RELOADS: readonly NodeJS.Signals[] = ['SIGHUP', 'SIGUSR1', 'SIGUSR2']

/** Tells at a signal for a reload that there is none yet. */
export function onReloadSignal(tell: (text: string) => void): void {
  for (const signal of RELOADS) process.on(signal, () => tell(`${signal}: reloading is not supported yet: restart the server`))
}

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
