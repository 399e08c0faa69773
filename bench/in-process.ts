/**
 * What a query costs without a socket, in nanoseconds of processor time, with the promises that are made and the messages that are
 * read into records. Prints a line of JSON for each kind of question: `node dist/bench/in-process.js`
 */
import { createHook } from 'node:async_hooks'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Receive } from '../src/listen/slot.js'
import { decodes } from '../src/message/read.js'
import { temporaryFolder } from '../test/processes.js'
import { BenchSlot, Requests, startChain } from './chain.js'
import { readCorefile } from './corefiles.js'
import { fillStore } from './fill-store.js'
import { poolQuestions, serviceQuestions, ZONE } from './services.js'
import { median } from './statistics.js'

/** What a kind of question costs. */
export interface InProcess {
  readonly case: 'in-process'
  readonly corefile: string
  readonly what: string
  /** Nanoseconds a query, the middle of several rounds; what collects garbage beside it counts too. */
  readonly nanoseconds: number
  /** Of the last reply. */
  readonly octets: number
  /** How many of a hundred came from the cache. */
  readonly fromCache: number
  /** A query. */
  readonly promises: number
  readonly decodes: number
}

const ROUNDS = 7
const ROUND_MS = 300
const AT_ONCE = 1000
const COUNTED = 100
const FEW = 4
const MANY = 100_000

/** Asks the same questions again and again, and says what that costs. */
class Asker {
  readonly slot = new BenchSlot()
  readonly #receive: Receive
  readonly #requests: Requests

  constructor(receive: Receive, requests: Requests) {
    this.#receive = receive
    this.#requests = requests
  }

  /** Hands over the next `count` requests. */
  ask(count: number, receive = this.#receive): void {
    for (let i = 0; i < count; i++) {
      this.#requests.putNext(this.slot)
      receive(this.slot)
    }
  }

  /** Nanoseconds a query, asked for a while; what putting the request there costs is not counted. */
  cost(): number {
    return this.#timed(this.#receive) - this.#timed(() => {})
  }

  #timed(receive: Receive): number {
    const before = process.cpuUsage()
    let count = 0
    for (const end = performance.now() + ROUND_MS; performance.now() < end; count += AT_ONCE) this.ask(AT_ONCE, receive)
    const { user, system } = process.cpuUsage(before)
    return ((user + system) * 1000) / count
  }
}

function measure(receive: Receive, questions: readonly string[], hits: () => number): Omit<InProcess, 'case' | 'corefile' | 'what'> {
  const asker = new Asker(receive, new Requests(questions))
  asker.ask(Math.max(questions.length, AT_ONCE))
  asker.cost()
  const nanoseconds = median(Array.from({ length: ROUNDS }, () => asker.cost()))
  const before = hits()
  asker.ask(AT_ONCE)
  const fromCache = ((hits() - before) / AT_ONCE) * 100
  return { nanoseconds, octets: asker.slot.sent, fromCache, ...counted(asker) }
}

/** Counting costs, so it is done apart from timing. */
function counted(asker: Asker): { promises: number; decodes: number } {
  let promises = 0
  const hook = createHook({
    init(_id, type) {
      if (type === 'PROMISE') promises++
    }
  })
  decodes.count = 0
  hook.enable()
  asker.ask(COUNTED)
  hook.disable()
  return { promises: promises / COUNTED, decodes: decodes.count / COUNTED }
}

interface Kind {
  readonly what: string
  readonly questions: readonly string[]
}

const cachedKinds: readonly Kind[] = [
  { what: `A from the cache, ${FEW} names`, questions: serviceQuestions(MANY, FEW) },
  { what: `A from the cache, ${MANY} names`, questions: serviceQuestions(MANY, MANY) },
  { what: 'SRV from the cache, 4 targets', questions: poolQuestions() }
]

const uncachedKinds: readonly Kind[] = [
  { what: 'A from the store', questions: serviceQuestions(MANY, FEW) },
  { what: 'SRV from the store, 4 targets', questions: poolQuestions() },
  { what: 'a name that does not exist', questions: [`nothere.${ZONE} A`] },
  { what: 'version.bind', questions: ['version.bind TXT CH'] }
]

async function measureChain(corefile: string, folder: string, kinds: readonly Kind[]): Promise<InProcess[]> {
  const chain = await startChain(readCorefile(corefile), folder)
  try {
    return kinds.map(({ what, questions }) => ({
      case: 'in-process',
      corefile: join('bench', corefile),
      what,
      ...measure(chain.receive, questions, () => chain.counted('coredns_cache_hits_total'))
    }))
  } finally {
    await chain.stop()
  }
}

async function main(): Promise<void> {
  const folder = temporaryFolder()
  await fillStore(join(folder.path, 'data'), MANY)
  const results = [
    ...(await measureChain('Corefile.cached-100k', folder.path, cachedKinds)),
    ...(await measureChain('Corefile.no-cache', folder.path, uncachedKinds))
  ]
  for (const result of results) console.log(JSON.stringify(result))
  folder.remove()
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) await main()
