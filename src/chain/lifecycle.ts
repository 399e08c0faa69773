import { ConfigError } from '../corefile/directive.js'
import { thrownText } from '../message/one-line.js'
import { isPromiseLike, type MaybePromise } from '../plugin.js'
import { type Configured, pluginError } from './build.js'

/** A layer, and what its errors are told by. */
type Started = Pick<Configured, 'layer' | 'directive' | 'url'>

/** How long all layers together may take to stop where nobody is in a hurry. */
const PATIENCE_MS = 5000

/** Starts layers in order. Where one fails, it and those before it are stopped and its error is thrown: a ConfigError, at its directive. */
export async function startAll(configured: readonly Started[]): Promise<void> {
  for (const [index, each] of configured.entries()) {
    try {
      await each.layer.start?.()
    } catch (error) {
      const failure = pluginError(error, each, 'failed to start')
      await stopAll(configured.slice(0, index + 1)).catch((also: unknown) => {
        throw new ConfigError(`${failure.problem}; ${thrownText(also)}`, failure.at, { cause: new AggregateError([error, also]) })
      })
      throw failure
    }
  }
}

/**
 * Stops layers in reverse order. One that fails, or is not done after `patienceMs` for all of them, does not keep the others from
 * stopping; the AggregateError that is thrown in the end says in its message what each of them has thrown.
 */
export async function stopAll(configured: readonly Started[], patienceMs = PATIENCE_MS): Promise<void> {
  const deadline = performance.now() + patienceMs
  const failures: ConfigError[] = []
  for (const each of configured.toReversed()) {
    try {
      await inTime(each.layer.stop?.(), deadline)
    } catch (error) {
      failures.push(pluginError(error, each, 'failed to stop'))
    }
  }
  if (failures.length > 0) throw new AggregateError(failures, failures.map(thrownText).join('; '))
}

async function inTime(stopped: MaybePromise<void>, deadline: number): Promise<void> {
  if (!isPromiseLike(stopped)) return
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error('it takes too long, and is not waited for')), deadline - performance.now())
  })
  try {
    await Promise.race([stopped, late])
  } finally {
    clearTimeout(timer)
  }
}
