/**
 * Asks each in turn, the next one as soon as the one before has failed or been silent for `apartMs`, and resolves with the first answer.
 * Where none answers it rejects with an AggregateError, which has why in the order of those asked.
 */
export async function firstAnswer<T>(asks: readonly (() => Promise<T>)[], apartMs: number): Promise<T> {
  const over = new AbortController()
  const asked: Promise<T>[] = []
  for (const ask of asks) {
    const before = asked.at(-1)
    asked.push(before === undefined ? ask() : failedOrSilent(before, apartMs, over.signal).then(ask))
  }
  try {
    return await Promise.any(asked)
  } finally {
    over.abort()
  }
}

/** Never resolves once there is an answer: nobody else is asked then. */
function failedOrSilent(before: Promise<unknown>, ms: number, over: AbortSignal): Promise<void> {
  return new Promise((go) => {
    const timer = setTimeout(go, ms)
    const end = (): void => clearTimeout(timer)
    over.addEventListener('abort', end)
    before.then(end, () => {
      end()
      if (!over.aborted) go()
    })
  })
}
