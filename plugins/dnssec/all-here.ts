import { isPromiseLike, type MaybePromise } from 'skein/plugin'

/** All values, at once where all are here: a promise is made only where one is waited for. */
export function allHere<T>(values: readonly MaybePromise<T>[]): MaybePromise<readonly T[]> {
  return values.some(isPromiseLike) ? Promise.all(values.map(async (value) => value)) : (values as readonly T[])
}
