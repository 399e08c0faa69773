import { MemoryStore, serverOf, TestClock, type TestServer } from 'skein/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'

const LIVE = { state: 'live', path: '/skydns', why: undefined } as const
const STALE = { state: 'stale', path: '/skydns', why: 'connect ECONNREFUSED' } as const
const WAITING = { state: 'waiting', path: undefined, why: 'connect ECONNREFUSED' } as const

let clock: TestClock
let store: MemoryStore
let server: TestServer | undefined

beforeEach(() => {
  clock = new TestClock()
  store = new MemoryStore()
  store.feed = LIVE
})

afterEach(async () => {
  await server?.stop()
  server = undefined
})

const key = (...labels: string[]): string[] => ['skydns', 'local', 'skydns', ...labels]
const POINTER = ['skydns', 'arpa', 'in-addr', '192', '0', '2', '1']

async function start(...options: string[]): Promise<TestServer> {
  const lines = options.map((line) => `    ${line}`).join('\n')
  server = await serverOf(`. {\n  cache\n  etcd skydns.local in-addr.arpa {\n${lines}\n  }\n}`, { services: store, clock })
  return server
}

/** The rcode, then the answers and authorities with their TTLs. */
async function told(question: string): Promise<string> {
  const { rcode, answer, authority } = await server!.ask(question)
  return [rcode, ...answer, ...authority.map((record) => record.split(' ').slice(0, 3).join(' '))].join(' | ')
}

describe('a replica', () => {
  test.each(['a.skydns.local. A', 'no.skydns.local. A', 'skydns.local. SOA', '1.2.0.192.in-addr.arpa. PTR', '9.2.0.192.in-addr.arpa. PTR'])(
    'that was never in step refuses %s, and says so',
    async (question) => {
      store.feed = WAITING
      await start()
      const { rcode, flags, edns } = await server!.ask(question, { edns: 1232 })
      expect([rcode, flags]).toEqual(['REFUSED', 'rd'])
      expect(edns?.options.map(([code, octets]) => [code, Buffer.from(octets).readUInt16BE()])).toEqual([[15, 14]])
      store.feed = LIVE
      expect((await server!.ask(question)).rcode).not.toBe('REFUSED')
    }
  )

  test('of another path is refused like one that was never in step', async () => {
    await start('path /other')
    expect((await server!.ask('a.skydns.local. A')).rcode).toBe('REFUSED')
    store.feed = { ...LIVE, path: '/other' }
    expect((await server!.ask('a.skydns.local. A')).rcode).toBe('NXDOMAIN')
  })

  test('that is stale gives everything a TTL of 30 seconds at most, what was cached before too, and is itself again when it is live', async () => {
    store.put(key('a'), '{"host":"192.0.2.1"}')
    store.put(key('b'), '{"host":"192.0.2.1","ttl":20}')
    store.put(key('c'), '{"host":"a.skydns.local","mail":true}')
    store.put(POINTER, '{"host":"a.skydns.local"}')
    await start()
    const questions = ['a', 'b', 'c', 'no'].map((name) => `${name}.skydns.local. A`)
    const all = (): Promise<string[]> =>
      Promise.all([...questions, 'c.skydns.local. MX', 'skydns.local. SOA', '1.2.0.192.in-addr.arpa. PTR'].map(told))
    const live = await all()
    store.feed = STALE
    expect(await all()).toEqual([
      'NOERROR | a.skydns.local. 30 A 192.0.2.1',
      'NOERROR | b.skydns.local. 20 A 192.0.2.1',
      'NOERROR | c.skydns.local. 30 CNAME a.skydns.local. | a.skydns.local. 30 A 192.0.2.1',
      'NXDOMAIN | skydns.local. 30 SOA',
      'NOERROR | c.skydns.local. 30 MX 10 a.skydns.local.',
      expect.stringMatching(/^NOERROR \| skydns\.local\. 30 SOA/),
      'NOERROR | 1.2.0.192.in-addr.arpa. 30 PTR a.skydns.local.'
    ])
    store.feed = LIVE
    expect(await all()).toEqual(live)
    expect(live[0]).toBe('NOERROR | a.skydns.local. 3600 A 192.0.2.1')
  })
})

describe('the TTL of a key of a replica whose life hangs on something', () => {
  test.each<[string, readonly string[], 'live' | 'stale', number, string]>([
    ['is what is left', [], 'live', 40_000, '40'],
    ['is 1 where its time is over and it is still there, until etcd says what is left', [], 'live', -1, '1'],
    ['is 30 at most where etcd cannot be reached', [], 'stale', 40_000, '30'],
    ['is what is left of less where etcd cannot be reached', [], 'stale', 4_000, '4'],
    ['is 30 where its time is over and nobody can renew it', [], 'stale', -1, '30'],
    ['is at least min-lease-ttl', ['min-lease-ttl 60'], 'live', 40_000, '60'],
    ['is at least min-lease-ttl where its time is over', ['min-lease-ttl 1m'], 'live', -1, '60'],
    ['is at most max-lease-ttl', ['max-lease-ttl 20s'], 'live', 40_000, '20'],
    ['is at most that of its value, whatever min-lease-ttl says', ['min-lease-ttl 2h', 'ttl 100'], 'live', 40_000, '100']
  ])('%s', async (_title, options, state, leftMs, ttl) => {
    store.put(key('a'), '{"host":"192.0.2.1"}', clock.now() + leftMs)
    store.feed = { state, path: '/skydns', why: undefined }
    await start(...options)
    expect(await told('a.skydns.local. A')).toBe(`NOERROR | a.skydns.local. ${ttl} A 192.0.2.1`)
  })
})

describe('no_apex_fallback', () => {
  beforeEach(() => store.put(key('web'), '{"host":"192.0.2.1","port":80,"text":"x"}'))

  test('without it the apex answers with all services', async () => {
    await start()
    expect(await told('skydns.local. A')).toBe('NOERROR | skydns.local. 3600 A 192.0.2.1')
  })

  test.each([
    ['A', 'NOERROR | skydns.local. 3600 A 192.0.2.7'],
    ['SRV', 'NOERROR | skydns.local. 3600 SRV 10 100 0 apex.dns.skydns.local.'],
    ['AAAA', 'NOERROR | skydns.local. 60 SOA'],
    ['TXT', 'NOERROR | skydns.local. 60 SOA']
  ])('with it %s comes from apex.dns alone', async (type, expected) => {
    store.put(key('dns', 'apex'), '{"host":"192.0.2.7"}')
    await start('no_apex_fallback')
    expect(await told(`skydns.local. ${type}`)).toBe(expected)
  })

  test('with it the apex has no data without apex.dns, and keeps its SOA', async () => {
    await start('no_apex_fallback')
    expect(await told('skydns.local. A')).toBe('NOERROR | skydns.local. 60 SOA')
    expect(await told('skydns.local. SOA')).toMatch(/^NOERROR \| skydns\.local\. 3600 SOA/)
    expect(await told('web.skydns.local. A')).toBe('NOERROR | web.skydns.local. 3600 A 192.0.2.1')
  })
})
