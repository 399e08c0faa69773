import { addressRecord, type FakeUpstream, fakeUpstream, MemoryStore, replyTo, serverOf, TestClock, type TestServer } from 'skein/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'

let upstream: FakeUpstream
let clock: TestClock
let store: MemoryStore
let server: TestServer | undefined

beforeEach(async () => {
  // The TTL of a name is its first label.
  upstream = await fakeUpstream({
    udp({ octets }, answer) {
      const [ttl] = /\d+/.exec(octets.toString('latin1', 13))!
      answer(replyTo(octets, { answer: [addressRecord('192.0.2.1', Number(ttl))] }))
    }
  })
  clock = new TestClock()
  store = MemoryStore.of({ '/skydns/local/skydns/web': { host: '10.0.0.1' }, '/skydns/local/skydns/brief': { host: '10.0.0.2', ttl: 20 } })
})
afterEach(async () => {
  await server?.stop()
  server = undefined
  await upstream.stop()
})

async function start(...lines: string[]): Promise<void> {
  const cache = `cache {\n${lines.join('\n')}\n}`
  const etcd = 'etcd skydns.local {\nstore\napi off\nmin_ttl 600\n}'
  server = await serverOf(`. {\n${cache}\n${etcd}\nforward . 127.0.0.1:${upstream.port}\n}`, { services: store, clock })
}

/** The TTLs that are told after so many seconds each, with a `*` where they come from the cache. */
async function told(question: string, ...waits: number[]): Promise<string> {
  const seen: string[] = []
  for (const seconds of [0, ...waits]) {
    clock.advance(seconds * 1000)
    const hits = server!.counter('coredns_cache_hits_total')!
    const { answer, authority } = await server!.ask(question)
    const [, ttl] = (answer[0] ?? authority[0])!.split(' ')
    seen.push(`${ttl}${server!.counter('coredns_cache_hits_total') === hits ? '' : '*'}`)
  }
  return seen.join(' ')
}

describe('with `hold` an answer is kept for so long at most, and its TTLs are told as they came', () => {
  test.each<[string, string, number[], string]>([
    ['of the store', 'web.skydns.local. A', [59, 1], '3600 3541* 3600'],
    ['of the store, that ends before', 'brief.skydns.local. A', [19, 1], '20 1* 20'],
    ['that there is none', 'no.skydns.local. A', [59, 1], '600 541* 600'],
    ['of an upstream', '300.example. A', [59, 1], '300 241* 300'],
    ['of an upstream, that ends before', '3.example. A', [2, 1], '3 1* 3'],
    ['of an upstream, beyond what is kept otherwise', '60000.example. A', [59, 1], '60000 59941* 60000'],
    ['with a TTL of 0, which is not kept', '0.example. A', [1], '0 0']
  ])('%s', async (_title, question, waits, expected) => {
    await start('hold 1m')
    expect(await told(question, ...waits)).toBe(expected)
  })

  test('but within bounds that are written', async () => {
    await start('hold 1m', 'success 100 200 100')
    expect(await told('300.example. A', 59, 1)).toBe('200 141* 200')
    expect(await told('3.example. A', 59, 1)).toBe('100 41* 100')
  })

  test('and a change of the store ends it at once', async () => {
    await start('hold 1h')
    expect(await told('web.skydns.local. A', 10)).toBe('3600 3590*')
    store.put(['skydns', 'local', 'skydns', 'web'], '{"host":"10.0.0.1","ttl":50}')
    expect(await told('web.skydns.local. A')).toBe('50')
  })

  test('without it TTLs alone say how long', async () => {
    await start()
    expect(await told('web.skydns.local. A', 3599, 1)).toBe('3600 1* 3600')
    expect(await told('60000.example. A', 3599, 1)).toBe('3600 1* 3600')
  })
})

test.each([
  ['hold', 'Corefile:3: cache: hold: expected DUR: a duration such as 30s or 5m'],
  ['hold 0s', 'Corefile:3: cache: hold: expected a duration such as 30s or 5m, at least 1s'],
  ['hold x', 'Corefile:3: cache: hold: expected a duration such as 30s or 5m']
])('%s is an error with file and line', async (line, problem) => {
  await expect(start(line)).rejects.toThrow(problem)
})
