/** A chain in this process, asked without a socket. */
import { join } from 'node:path'
import type { ProcessServices } from '../src/chain/scope.js'
import { parseCorefile } from '../src/corefile/parser.js'
import type { Receive, Slot } from '../src/listen/slot.js'
import { systemClock } from '../src/process/clock.js'
import { buildInstance } from '../src/process/instance.js'
import { PromRegistry } from '../src/process/metrics.js'
import { SystemRandom } from '../src/process/random.js'
import { Sharing } from '../src/process/shares.js'
import { ProcessStores } from '../src/process/stores.js'
import { type AskOptions, requestOctets, TestLog } from '../src/testing.js'
import { freePort } from '../test/processes.js'
import { placed } from './corefiles.js'

/** Who asks and is answered: each request lies in the same octets, as the kernel would put it there. */
export class BenchSlot implements Slot {
  readonly octets: Buffer = Buffer.alloc(512)
  length = 0
  readonly client = { address: '127.0.0.1', port: 4711, transport: 'udp', local: '127.0.0.1' } as const
  readonly out: Uint8Array = new Uint8Array(4096)
  readonly isKept = false
  /** The octets of the last reply; 0 where there was none. */
  sent = 0
  /** Called after each. */
  answered: (() => void) | undefined

  put(requests: Buffer, from: number, length: number): void {
    requests.copy(this.octets, 0, from, from + length)
    this.length = length
  }

  keep(): void {}

  reserve(): Uint8Array {
    return this.out
  }

  send(length: number): void {
    this.sent = length
    this.answered?.()
  }

  drop(): void {
    this.send(0)
  }
}

/** Requests one behind the other in one piece of memory, asked again and again. */
export class Requests {
  readonly #octets: Buffer
  /** Where each begins, and where the last one ends. */
  readonly #starts: Uint32Array
  #at = 0

  /** The requests of lines of `name TYPE`. */
  constructor(questions: readonly string[], options: AskOptions = {}) {
    const each = questions.map((question) => requestOctets(question.replace(' ', '. '), { edns: 1232, ...options }))
    this.#starts = new Uint32Array(each.length + 1)
    for (const [index, { length }] of each.entries()) this.#starts[index + 1] = this.#starts[index]! + length
    this.#octets = Buffer.concat(each)
  }

  putNext(slot: BenchSlot): void {
    const from = this.#starts[this.#at]!
    slot.put(this.#octets, from, this.#starts[this.#at + 1]! - from)
    if (++this.#at === this.#starts.length - 1) this.#at = 0
  }
}

/** A chain that runs. */
export interface BenchChain {
  readonly receive: Receive
  /** What a counter of its metrics has come to. */
  counted(metric: string): number
  stop(): Promise<void>
}

/** Starts the chain of a Corefile, as `readCorefile` gives it, over the store of `folder`. */
export async function startChain(corefile: string, folder: string): Promise<BenchChain> {
  const places = { port: 0, metricsPort: await freePort(), apiPort: await freePort(), upstreamPort: await freePort() }
  const file = join(folder, 'Corefile')
  const log = new TestLog()
  const metrics = new PromRegistry()
  const services: ProcessServices = {
    log,
    clock: systemClock,
    random: new SystemRandom(),
    metrics,
    stores: new ProcessStores({ clock: systemClock, log, metrics }),
    shares: new Sharing(),
    version: 'Skein-bench'
  }
  const instance = await buildInstance(parseCorefile(placed(corefile, places), file).blocks, {
    services,
    file,
    defaultPort: 53
  })
  await instance.start()
  return {
    receive: instance.endpoints[0]!.receive,
    counted: (metric) => {
      const samples = metrics.families().find(({ name }) => name === metric)?.samples ?? []
      return samples.reduce((sum, { value }) => sum + (typeof value === 'number' ? value : 0), 0)
    },
    stop: () => instance.stop()
  }
}
