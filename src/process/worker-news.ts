import { receiveMessageOnPort } from 'node:worker_threads'
import type { News, NewsStart } from './worker-messages.js'

/** What a worker hears of changes of the stores. */
export interface StoreFollower {
  /** Whether something was sent that it has not taken: asked for each query, and costs as much as reading a number. */
  readonly hasCome: boolean
  /** Takes what was sent. */
  take(): void
}

/**
 * Has `changed` told of changes, as they come, or where somebody asks for them: the main thread counts them up before it says to whoever
 * has written that this is done, so whoever looks at the count first sees them all.
 */
export function followStores({ port, count, seen }: NewsStart, changed: (news: News) => void): StoreFollower {
  const sent = new Int32Array(count)
  let taken = seen
  const take = (news: News): void => {
    taken = (taken + 1) | 0
    changed(news)
  }
  port.on('message', take)
  // A thread ends when it is told to, not when nobody writes any more.
  port.unref()
  return {
    get hasCome() {
      return Atomics.load(sent, 0) !== taken
    },
    take() {
      for (let next = receiveMessageOnPort(port); next !== undefined; next = receiveMessageOnPort(port)) take(next.message as News)
    }
  }
}
