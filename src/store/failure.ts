import { StoreError } from './store.js'

/** Why a write failed: lmdb says only that it did; the reason is in a second promise, which must not be left rejected and unheard. */
export async function storeFailure(folder: string, error: unknown): Promise<unknown> {
  const cause = (error as { commitError?: Promise<never> }).commitError
  if (cause === undefined) return error
  const reason: Error = await cause.catch((why: Error) => why)
  // LMDB goes on about pages and buffers.
  const [words] = reason.message.split(/: Attempting|\n/)
  return new StoreError(`the store ${folder} could not be written (${words}): see to its disk`, { cause: reason })
}
