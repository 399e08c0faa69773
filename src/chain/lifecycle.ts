import type { Layer } from '../plugin.js'

/** Starts layers in order. Where one fails, it and those before it are stopped and its error is thrown. */
export async function startAll(layers: readonly Layer[]): Promise<void> {
  for (const [index, layer] of layers.entries()) {
    try {
      await layer.start?.()
    } catch (error) {
      await stopAll(layers.slice(0, index + 1)).catch((stopError: unknown) => {
        throw new AggregateError([error, stopError], 'a plugin did not start, and another did not stop')
      })
      throw error
    }
  }
}

/** Stops layers in reverse order. One that fails does not keep the others from stopping. */
export async function stopAll(layers: readonly Layer[]): Promise<void> {
  const errors: unknown[] = []
  for (const layer of [...layers].reverse()) {
    try {
      await layer.stop?.()
    } catch (error) {
      errors.push(error)
    }
  }
  if (errors.length > 0) throw new AggregateError(errors, 'some plugins did not stop cleanly')
}
