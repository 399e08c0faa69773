/** SkyDNS's order of the layers, and that each two of them that can be told apart are in it: `order` swaps them. docs/skydns.md has the table. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { generateKeyPair } from 'skein/plugin'
import { type AskOptions, MemoryStore, readAnswer, requestOctets, serverOf, TestClock, type TestServer } from 'skein/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { temporaryFolder } from './processes.js'
import { ALL_SORTS, type Asked, LAYERS, type Layer, NOT_TOLD, type Pair, TOLD } from './skydns-order-cases.js'
import { type ListeningStandIn, startStandIn } from './upstream.js'

const keys = temporaryFolder()
afterAll(() => keys.remove())
beforeAll(async () => {
  const { name, publicText, privateText } = await generateKeyPair('skydns.test')
  writeFileSync(join(keys.path, `${name}.key`), publicText)
  writeFileSync(join(keys.path, `${name}.private`), privateText)
})

/** A store that cannot be read. */
function failingStore(): MemoryStore {
  return Object.defineProperty(new MemoryStore(), 'revision', {
    get() {
      throw new Error('the disk is gone')
    }
  })
}

/** A server that says who it is. */
function speaker(name: string, network: string): Promise<ListeningStandIn> {
  let answers = 0
  return startStandIn({
    answer({ qname, qtype }) {
      const rdata: string[] = []
      if (qtype === 'PTR') rdata.push(`PTR ${name}.example.`)
      else if (qname.startsWith('two.')) rdata.push(`A ${network}.1`, `A ${network}.2`)
      else if (qtype === 'A' || qtype === 'ANY') rdata.push(`A ${network}.${++answers}`)
      return { rcode: 'NOERROR', answer: rdata.map((text) => `${qname} 300 ${text}`), isAuthoritative: qname.startsWith('own.') }
    }
  })
}

/** The layers of a pair, in an order that is nobody's: the standard order must not come from the Corefile. */
function corefile({ first, second, others = [], options = {} }: Pair, stub: string, nameserver: string, swapped: boolean): string {
  const used = new Set<Layer>([first, second, ...others])
  const directives: Record<Layer, string> = {
    any: 'any refuse',
    loadbalance: 'loadbalance',
    cache: 'cache',
    stub: options.stub === undefined ? 'stub skydns.test {\nstore\n}' : `stub {\n${options.stub.replace('STUB', stub)}\n}`,
    chaos: 'chaos',
    dnssec: `dnssec skydns.test {\nkeys ${keys.path}\n}`,
    etcd: 'etcd skydns.test in-addr.arpa {\nstore\napi off\nlocal one.skydns.test\nfallthrough in-addr.arpa\n}',
    forward: `forward . ${nameserver} {\n${options.forward ?? 'ndots 2'}\n}`
  }
  const lines = LAYERS.filter((layer) => used.has(layer))
    .toReversed()
    .map((layer) => directives[layer])
  return ['. {', ...lines, ...(swapped ? [`order ${first} after ${second}`] : []), '}'].join('\n')
}

const services = (stubPort: number): Readonly<Record<string, unknown>> => ({
  '/skydns/test/skydns/web/1': { host: '10.0.0.1' },
  '/skydns/test/skydns/web/2': { host: '10.0.0.2' },
  '/skydns/test/skydns/one': { host: '10.0.0.1' },
  '/skydns/test/skydns/two': { host: '10.0.0.2' },
  '/skydns/test/skydns/alias': { host: 'a.corp.example' },
  '/skydns/arpa/in-addr/192/0/2/1': { host: 'web.skydns.test' },
  '/skydns/test/skydns/dns/stub/example/corp/1': { host: '127.0.0.1', port: stubPort },
  '/skydns/test/skydns/dns/stub/arpa/in-addr/192/0/2/1': { host: '127.0.0.1', port: stubPort }
})

/** Asks a server with these layers everything in turn; rcode, flags, TTLs and rdata of each answer. */
async function outcomes(pair: Pair & { storeFails?: true }, asked: readonly Asked[], swapped: boolean): Promise<string[]> {
  const [stub, nameserver] = [await speaker('stub', '198.51.100'), await speaker('nameserver', '203.0.113')]
  const clock = new TestClock()
  let shuffles = 0
  // A set of two changes places every other time.
  const random = { below: (limit: number): number => (limit === 2 ? shuffles++ % 2 : 0) }
  const text = corefile(pair, `127.0.0.1:${stub.port}`, `127.0.0.1:${nameserver.port}`, swapped)
  const stored = pair.storeFails === true ? failingStore() : services(stub.port)
  const server = await serverOf(text, { services: stored, clock, random })
  try {
    const seen: string[] = []
    for (const one of asked) {
      const [question, options] = typeof one === 'string' ? [one, {}] : one
      seen.push(await outcome(server, question, options))
      clock.advance(10_000)
    }
    return seen
  } finally {
    await server.stop()
    await Promise.all([stub.stop(), nameserver.stop()])
  }
}

async function outcome(server: TestServer, question: string, options: AskOptions): Promise<string> {
  const octets = await server.exchange(requestOctets(question, options))
  if (octets === undefined) return 'dropped'
  const { rcode, flags, answer } = readAnswer(octets)
  return [rcode, flags, ...answer.map(shownShort)].join(' ')
}

/** The TTL and rdata of a record; of a signature what it covers, and nothing of a key: both are others each time. */
function shownShort(record: string): string {
  const [, ttl, type, rdata = ''] = /^\S+ (\d+) (\S+) (.*)$/s.exec(record) ?? []
  if (type === 'RRSIG') return `${ttl} RRSIG ${rdata.split(' ')[0]}`
  return /^C?D(NSKEY|S)$/.test(type!) ? `${ttl} ${type}` : `${ttl} ${rdata}`
}

describe('the first of two layers comes before the second, and who swaps them notices', () => {
  test.each(TOLD.map((pair) => [`${pair.first}, ${pair.second}: ${pair.behaviour}`, pair] as const))('%s', async (_title, pair) => {
    expect(await outcomes(pair, pair.asked, false)).toEqual(pair.outcome)
    expect(await outcomes(pair, pair.asked, true)).toEqual(pair.swapped)
    expect(pair.swapped).not.toEqual(pair.outcome)
  })
})

describe('the order of two layers makes no difference where', () => {
  test.each(NOT_TOLD.map((pair) => [`${pair.first}, ${pair.second}: ${pair.reason}`, pair] as const))('%s', async (_title, pair) => {
    expect(await outcomes(pair, ALL_SORTS, true)).toEqual(await outcomes(pair, ALL_SORTS, false))
  })
})

test('who only looks on sees the same wherever he stands', async () => {
  const lines = async (order: string): Promise<readonly string[]> => {
    const server = await serverOf(`. {\n${order}\nlog\nany refuse\ncache\nchaos\netcd skydns.test {\nstore\napi off\n}\n}`, {
      services: services(0)
    })
    for (const question of ['web.skydns.test. A', 'web.skydns.test. A', 'web.skydns.test. ANY', 'org. A', 'skydns.test. TXT CH'])
      await server.ask(question)
    await server.stop()
    return server.log.lines
  }
  const standard = await lines('')
  expect([standard.length, await lines('order log after forward')]).toEqual([5, standard])
})

test('each two layers are among those that can be told apart, or among the others', () => {
  const pairs = LAYERS.flatMap((first, place) => LAYERS.slice(place + 1).map((second) => `${first} ${second}`))
  const [told, notTold] = [TOLD, NOT_TOLD].map((list) => new Set(list.map(({ first, second }) => `${first} ${second}`)))
  expect([...told!, ...notTold!].toSorted()).toEqual(pairs.toSorted())
})
