/** The entry of the thread that keeps the replica of an etcd cluster in step: it alone writes that store. */
import { parentPort, workerData } from 'node:worker_threads'
import { thrownText } from './message/one-line.js'
import type { JudgeModule } from './plugin.js'
import { END, type FeederNews, type FeederStart } from './process/feeder-messages.js'
import { systemClock } from './store/clock.js'
import { BadKeys } from './store/etcd/bad-keys.js'
import { loadClient } from './store/etcd/load-client.js'
import { Replica } from './store/etcd/replica.js'
import { ReplicaNumbers } from './store/etcd/replica-numbers.js'
import { ReplicaStore } from './store/etcd/replica-store.js'
import { identityOfFile } from './store/folder.js'
import { StoreError } from './store/store.js'

const { folder, source, file, judge, numbers: memory } = workerData as FeederStart
const main = parentPort!
const tell = (news: FeederNews): void => main.postMessage(news)
const warn = (text: string): void => tell({ kind: 'log', level: 'warn', text })
const numbers = new ReplicaNumbers(memory)

await run().catch((error: unknown) => tell({ kind: 'failed', problem: thrownText(error) }))
main.close()

async function run(): Promise<void> {
  const problemOf = judge === undefined ? () => undefined : ((await import(judge)) as JudgeModule).problemOf
  // What is written to another file would be read by nobody.
  if (file !== undefined && file !== identityOfFile(folder))
    throw new StoreError(
      `the replica in ${folder} was deleted or replaced, and what is answered does not change any more: restart the server`
    )
  const bad = new BadKeys(problemOf, numbers, systemClock, warn)
  const store = await ReplicaStore.open(folder, source, bad.written)
  const replica = new Replica({
    source,
    store,
    makeClient: await loadClient(source.version),
    clock: systemClock,
    random: Math.random,
    numbers,
    tell: {
      changed: (changed) => tell({ kind: 'changed', keys: changed === 'all' ? undefined : changed }),
      log: (level, text) => tell({ kind: 'log', level, text }),
      why: (why) => tell({ kind: 'why', why })
    }
  })
  main.on('message', (said) => said === END && replica.close())
  await replica.begin()
  tell({ kind: 'open' })
  const found = store
    .tellFound(bad.found, replica.closing)
    .catch((error: unknown) => warn(`not all keys of before were looked at: ${thrownText(error)}`))
    .then(() => bad.allFound())
  await replica.run()
  await found
  await store.close()
}
