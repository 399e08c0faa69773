import { ConfigError, type Directive } from '../corefile/directive.js'
import { isError, thrownText } from '../message/one-line.js'
import { isPromiseLike, type Layer, type MaybePromise } from '../plugin.js'
import { thrownAt } from './thrown-at.js'

/** A layer, and what it was set up from. */
export interface Startable {
  readonly layer: Layer
  readonly directive: Pick<Directive, 'name' | 'at'>
  readonly url?: string
}

/** How long layers may take, in milliseconds. */
export interface Patience {
  /** To start, each; what takes longer to be ready says so by `ready`. */
  readonly startMs?: number
  /** Before it is told that one is waited for. */
  readonly tellMs?: number
  readonly tell?: (text: string) => void
}

const START_MS = 60_000
const TELL_MS = 5_000
/** For all layers together, where nobody is in a hurry. */
const STOP_MS = 5_000

/** Starts layers in order. Where one fails, or does not start in time, it and those before it are stopped and its error is thrown. */
export async function startAll(layers: readonly Startable[], patience: Patience = {}): Promise<void> {
  for (const [index, each] of layers.entries()) {
    try {
      await start(each, patience)
    } catch (error) {
      await stopAll(layers.slice(0, index + 1)).catch((stopError: unknown) => {
        throw new AggregateError([error, stopError], `${thrownText(error)}; and ${thrownText(stopError)}`)
      })
      throw error
    }
  }
}

async function start({ layer, directive, url }: Startable, { startMs = START_MS, tellMs = TELL_MS, tell }: Patience): Promise<void> {
  const { name, at } = directive
  const late = setTimeout(() => tell?.(`${name}: its plugin is still starting after ${tellMs / 1000} s, and is waited for`), tellMs)
  try {
    await inTime(layer.start?.(), startMs, 'it has not within')
  } catch (error) {
    if (isError(error) && String(error.code).startsWith('SKEIN_')) throw error
    const place = url === undefined ? undefined : thrownAt(error, url)
    const where = place === undefined ? '' : ` (at ${place})`
    throw new ConfigError(`${name}: its plugin failed to start: ${thrownText(error)}${where}`, at, { cause: error })
  } finally {
    clearTimeout(late)
  }
}

/**
 * Stops layers in reverse order, all within a time in milliseconds. One that fails, or takes longer, does not keep the others from
 * stopping.
 */
export async function stopAll(layers: readonly Startable[], withinMs = STOP_MS): Promise<void> {
  const deadline = performance.now() + withinMs
  const errors: Error[] = []
  for (const { layer, directive } of [...layers].reverse()) {
    try {
      await inTime(layer.stop?.(), deadline - performance.now(), 'it has not within', withinMs)
    } catch (error) {
      errors.push(new Error(`${directive.name}: ${thrownText(error)}`, { cause: error }))
    }
  }
  if (errors.length === 0) return
  throw new AggregateError(errors, `some plugins did not stop cleanly: ${errors.map(({ message }) => message).join('; ')}`)
}

/** Waits for what may take so long; fails with the problem and the time where it takes longer. */
async function inTime(done: MaybePromise<void> | undefined, milliseconds: number, problem: string, told = milliseconds): Promise<void> {
  if (!isPromiseLike(done)) return
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`${problem} ${told / 1000} s`)), Math.max(0, milliseconds))
  })
  try {
    await Promise.race([done, late])
  } finally {
    clearTimeout(timer)
  }
}
