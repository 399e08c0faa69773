/** What the whole example chain costs without a socket: ns per query, promises and decodes. `node dist/bench/in-process.js` */
import { createHook } from 'node:async_hooks'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ProcessServices } from '../src/chain/scope.js'
import { parseCorefile } from '../src/corefile/parser.js'
import type { Slot } from '../src/listen/slot.js'
import { decodes } from '../src/message/read.js'
import { systemClock } from '../src/process/clock.js'
import { buildInstance } from '../src/process/instance.js'
import { SystemRandom } from '../src/process/random.js'
import { Sharing } from '../src/process/shares.js'
import { EmbeddedStores } from '../src/process/stores.js'
import { EmbeddedStore } from '../src/store/embedded.js'
import { keyOfPath } from '../src/store/key.js'
import { requestOctets, TestLog } from '../src/testing.js'

const QUERIES = 200_000
const QUESTIONS = ['web.bench.test. A', 'pool.bench.test. SRV', 'nothere.bench.test. A', 'version.bind. TXT CH', 'elsewhere.example. ANY']
const COREFILE = `.:0 {
  bind 127.0.0.1
  errors
  any refuse
  chaos
  etcd bench.test {
    store ./store
    api off
  }
}
`

/** Services as the questions need them: one address, and a pool of eight. */
async function fill(folder: string): Promise<void> {
  const store = await EmbeddedStore.open(folder)
  const put = (path: string, value: object) => ({ op: 'put', key: keyOfPath(path), value: Buffer.from(JSON.stringify(value)) }) as const
  const pool = Array.from({ length: 8 }, (_, i) => put(`/skydns/test/bench/pool/${i}`, { host: `10.0.0.${i}`, port: 80 }))
  await store.apply([put('/skydns/test/bench/web', { host: '10.0.0.1' }), ...pool])
  await store.close()
}

class BenchSlot implements Slot {
  readonly octets: Uint8Array
  readonly client = { address: '127.0.0.1', port: 4711, transport: 'udp', local: '127.0.0.1' } as const
  readonly out = new Uint8Array(4096)
  sent = 0

  constructor(octets: Uint8Array) {
    this.octets = octets
  }

  get length(): number {
    return this.octets.length
  }

  keep(): void {}

  reserve(): Uint8Array {
    return this.out
  }

  send(length: number): void {
    this.sent = length
  }

  drop(): void {
    this.sent = 0
  }
}

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'skein-bench-'))
  await fill(join(folder, 'store'))
  const log = new TestLog()
  const services: ProcessServices = {
    log,
    clock: systemClock,
    random: new SystemRandom(),
    metrics: { counter: () => ({ value: 0 }), gauge() {}, collect: () => () => {}, text: async () => '' },
    stores: new EmbeddedStores(systemClock, log),
    shares: new Sharing(),
    version: 'Skein-bench'
  }
  const instance = await buildInstance(parseCorefile(COREFILE, join(folder, 'Corefile')).blocks, {
    services,
    file: join(folder, 'Corefile'),
    defaultPort: 53
  })
  await instance.start()
  const receive = instance.endpoints[0]!.receive
  let promises = 0
  const hook = createHook({
    init(_id, type) {
      if (type === 'PROMISE') promises++
    }
  })
  console.log('| question | ns per query | octets | promises | decodes |\n| --- | --- | --- | --- | --- |')
  for (const question of QUESTIONS) {
    const octets = requestOctets(question, { edns: 1232 })
    const slot = new BenchSlot(octets)
    for (let i = 0; i < QUERIES / 10; i++) receive(slot)
    const start = process.hrtime.bigint()
    for (let i = 0; i < QUERIES; i++) receive(slot)
    const ns = Number(process.hrtime.bigint() - start) / QUERIES
    // Counting costs, so it is done apart from timing.
    promises = 0
    decodes.count = 0
    hook.enable()
    for (let i = 0; i < 100; i++) receive(slot)
    hook.disable()
    console.log(`| ${question} | ${ns.toFixed(0)} | ${slot.sent} | ${promises / 100} | ${decodes.count / 100} |`)
  }
  await instance.stop()
  rmSync(folder, { recursive: true })
}

await main()
