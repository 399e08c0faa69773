/** A terminal's Ctrl-C reaches the process twice under npm; so soon after the first it is the same one. */
const SAME_SIGNAL_MS = 500
const FORCED_EXIT = 2

/** Signals that other name servers reload at. Without a handler they would end the process, and SIGUSR1 open Node's debugger to everybody here. */
const RELOADS: readonly NodeJS.Signals[] = ['SIGHUP', 'SIGUSR1']

/** Calls `reload` at a signal for it; SIGUSR2, at which CoreDNS starts a new binary, has `tell` say what there is. */
export function onReloadSignal(reload: (signal: NodeJS.Signals) => void, tell: (text: string) => void): void {
  for (const signal of RELOADS) process.on(signal, reload)
  // Node takes it where it was told to (--heapsnapshot-signal).
  if (process.listenerCount('SIGUSR2') > 0) return
  process.on('SIGUSR2', () => tell('SIGUSR2: the binary is not replaced while it runs: restart the server, or reload with SIGHUP'))
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
