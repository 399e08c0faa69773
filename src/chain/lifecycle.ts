import { ConfigError, placeText } from '../corefile/directive.js'
import { thrownText } from '../message/one-line.js'
import { type Configured, pluginError } from './build.js'
import { inTime, PATIENCE_MS } from './in-time.js'

/** A layer, and what its errors are told by. */
export type Startable = Pick<Configured, 'layer' | 'directive' | 'url'>

/** How long layers may take to start, in milliseconds. */
export interface Patience {
  /** Each. */
  readonly startMs?: number
  /** Before it is told that one is waited for. */
  readonly tellMs?: number
  readonly tell?: (text: string) => void
}

const TELL_MS = 5_000
/** For all layers together, where nobody is in a hurry. */
const STOP_MS = 5_000

/**
 * Starts layers in order. Where one fails, or has not started in time, it and those before it are stopped and its error is thrown: a
 * ConfigError, at its directive.
 */
export async function startAll(configured: readonly Startable[], patience: Patience = {}): Promise<void> {
  for (const [index, each] of configured.entries()) {
    try {
      await start(each, patience)
    } catch (error) {
      const failure = pluginError(error, each, 'failed to start')
      await stopAll(configured.slice(0, index + 1)).catch((also: unknown) => {
        throw new ConfigError(`${failure.problem}; ${thrownText(also)}`, failure.at, { cause: new AggregateError([error, also]) })
      })
      throw failure
    }
  }
}

async function start({ layer, directive: { name, at } }: Startable, patience: Patience): Promise<void> {
  const { startMs = PATIENCE_MS, tellMs = TELL_MS, tell } = patience
  const told = `${placeText(at)}: ${name}: its plugin is still starting after ${tellMs / 1000} s, and is waited for`
  const late = setTimeout(() => tell?.(told), tellMs)
  try {
    await inTime(layer.start?.(), startMs)
  } finally {
    clearTimeout(late)
  }
}

/**
 * Has layers finish what they tell others of, all at once, and tells of those that fail. A third party's has a minute; one of Skein's own
 * takes as long as its directive says.
 */
export async function drainAll(configured: readonly Startable[], tell: (text: string) => void, withinMs = PATIENCE_MS): Promise<void> {
  const drain = async (each: Startable): Promise<void> => {
    try {
      const drained = each.layer.drain?.()
      await (each.url === undefined ? drained : inTime(drained, withinMs))
    } catch (error) {
      tell(thrownText(pluginError(error, each, 'failed before the stop')))
    }
  }
  await Promise.all(configured.map(drain))
}

/**
 * Stops layers in reverse order, all within a time in milliseconds. One that fails, or takes longer, does not keep the others from
 * stopping; the AggregateError that is thrown in the end says in its message what each of them has thrown.
 */
export async function stopAll(configured: readonly Startable[], withinMs = STOP_MS): Promise<void> {
  const begun = performance.now()
  const failures: ConfigError[] = []
  for (const each of configured.toReversed()) {
    try {
      await inTime(each.layer.stop?.(), withinMs, begun)
    } catch (error) {
      failures.push(pluginError(error, each, 'failed to stop'))
    }
  }
  if (failures.length > 0) throw new AggregateError(failures, failures.map(thrownText).join('; '))
}
