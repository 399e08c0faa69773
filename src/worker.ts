/** The entry of a worker thread: chains of its own, which answer on sockets that the main thread gives it. */
import { parentPort, workerData } from 'node:worker_threads'
import { inWorker } from './container.js'
import { loadBatch, theLibc } from './listen/batch/open-batch.js'
import { thrownText } from './message/one-line.js'
import { type Answered, HEARS, type NumberedOrder, type WorkerStart } from './process/worker-messages.js'
import { followStores } from './process/worker-news.js'
import { WorkerServer } from './process/worker-server.js'

const { version, format, defaultPort, news } = workerData as WorkerStart
const { services, metrics, stores } = inWorker(version, format)
const server = new WorkerServer({
  services,
  metrics,
  defaultPort,
  news: followStores(news, ({ folder, keys }) => stores.changed(folder, keys)),
  openBatch: await loadBatch(),
  libc: await theLibc()
})
const main = parentPort!

// What is to be told of the end comes with it.
process.on('exit', () => services.log.flush?.())

main.on('message', ({ number, order }: NumberedOrder) => {
  if (order.name === 'end') process.exit()
  server.obey(order).then(
    async (families) => {
      if (order.name === 'stop') await written()
      main.postMessage({ number, families } satisfies Answered)
    },
    (error: unknown) => main.postMessage({ number, problem: thrownText(error) } satisfies Answered)
  )
})

main.postMessage({ number: HEARS } satisfies Answered)

/** Resolves when the main thread has all lines. */
function written(): Promise<void> {
  services.log.flush?.()
  return new Promise((resolve) => process.stdout.write('', () => resolve()))
}
