/**
 * SkyDNS's steps where two neighbours stand in one plugin or in the core, so that no line of a Corefile can swap them. What is done by
 * two layers is in skydns-order.test.ts; docs/skydns.md has the table of both.
 */
import { type Answer, MemoryStore, readAnswer, requestOctets, serverOf, TestClock, type TestServer } from 'skein/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type ListeningStandIn, startStandIn } from './upstream.js'

let nameserver: ListeningStandIn
let stub: ListeningStandIn
let server: TestServer
let store: MemoryStore
let clock: TestClock

const NOT_AUTHORITATIVE = 20
const NOT_SUPPORTED = 21
const directives = (): string => `. {
  any refuse
  loadbalance
  cache
  stub {
    zone corp.skydns.test 127.0.0.1:${stub.port}
  }
  chaos VERSION
  etcd skydns.test in-addr.arpa ip6.arpa {
    store
    api off
    ttl 60
    local web.corp.skydns.test
    fallthrough in-addr.arpa ip6.arpa
  }
  forward . 127.0.0.1:${nameserver.port} {
    ndots 2
  }
}
`

beforeAll(async () => {
  nameserver = await startStandIn()
  stub = await startStandIn({ answer: ({ qname }) => ({ rcode: 'NOERROR', answer: [`${qname} 300 A 198.51.100.1`] }) })
})
afterAll(() => Promise.all([nameserver.stop(), stub.stop()]))

beforeEach(async () => {
  store = MemoryStore.of({
    '/skydns/test/skydns': { text: 'the apex' },
    '/skydns/test/skydns/web/1': { host: '10.0.0.1' },
    '/skydns/test/skydns/corp/web': { host: '10.0.0.7' },
    '/skydns/test/skydns/dns/local': { host: '10.9.9.9' },
    '/skydns/arpa/in-addr/10/0/0/1': { host: 'web.skydns.test' },
    // An etcd may hold what no question should find there.
    '/skydns/net/example/www': { host: '10.6.6.6' },
    '/skydns/bind/version': { text: 'stored' }
  })
  clock = new TestClock()
  server = await start(directives())
  nameserver.asked.length = 0
  stub.asked.length = 0
  return () => server.stop()
})

const start = (corefile: string): Promise<TestServer> => serverOf(corefile, { services: store, clock })
const put = (name: string, service: object): void => store.put(['skydns', 'test', 'skydns', ...name.split('/')], JSON.stringify(service))
const ttls = ({ answer }: Answer): string[] => [...new Set(answer.map((record) => record.split(' ')[1]!))]

/** Asks a server with other options in place of some. */
async function askOther(change: (corefile: string) => string, question: string): Promise<Answer> {
  const other = await start(change(directives()))
  try {
    return await other.ask(question)
  } finally {
    await other.stop()
  }
}

describe('EDNS, type ANY and the class', () => {
  test.each(['web.skydns.test. ANY', 'version.bind. TXT CH'])(
    'a version of EDNS that nobody knows comes before all that: %s',
    async (question) => {
      const request = requestOctets(question, { edns: 1232 })
      // The version stands before the flags and the length of the OPT record, which is the last one.
      request[request.length - 5] = 1
      expect(readAnswer((await server.exchange(request))!).rcode).toBe('BADVERS')
      expect((await server.ask(question, { edns: 1232 })).edns).toBeDefined()
      expect((await server.ask(question)).edns).toBeUndefined()
    }
  )

  test('ANY is refused in every class, before it is said that nobody serves that one', async () => {
    const codes = async (question: string): Promise<number[]> => {
      const { edns } = await server.ask(question, { edns: 1232 })
      return edns!.options.map(([, payload]) => Buffer.from(payload).readUInt16BE(0))
    }
    for (const klass of ['IN', 'CH', 'HS']) expect(await codes(`web.skydns.test. ANY ${klass}`)).toEqual([NOT_SUPPORTED])
    expect(await codes('web.skydns.test. A CH')).toEqual([NOT_AUTHORITATIVE])
  })

  test.each<[string, string, readonly string[]]>([
    ['what is cached', 'web.skydns.test. A', ['web.skydns.test. A']],
    ['stub zones', 'a.corp.skydns.test. A', []],
    ['local.dns', 'local.dns.skydns.test. A', []],
    ['a stored PTR', '1.0.0.10.in-addr.arpa. PTR', []],
    ['the nameservers', 'www.example.net. A', []],
    ['the SOA of the domain', 'skydns.test. SOA', []],
    ['services', 'web.skydns.test. SRV', []]
  ])('class CH never sees %s', async (_title, question, before) => {
    for (const one of before) await server.ask(one)
    expect((await server.ask(`${question} CH`)).rcode).toBe('REFUSED')
    expect([...stub.asked, ...nameserver.asked]).toEqual([])
  })

  test('the names of chaos are those of class CH alone, the apex too, whatever the store holds', async () => {
    const texts = async (question: string): Promise<number> => (await server.ask(question)).answer.length
    expect([await texts('skydns.test. TXT CH'), await texts('authors.bind. TXT CH')]).toEqual([4, 4])
    expect((await server.ask('skydns.test. TXT')).answer).toEqual(['skydns.test. 60 TXT "the apex"'])
    expect((await server.ask('version.bind. TXT CH')).answer).toEqual(['version.bind. 0 CH TXT "VERSION"'])
    await server.ask('version.bind. TXT')
    expect(nameserver.asked).toEqual(['version.bind. TXT'])
  })
})

describe('local.dns', () => {
  test('stands for another name behind the stub zones: that the other name is in one changes nothing', async () => {
    expect((await server.ask('local.dns.skydns.test. A')).answer).toEqual(['local.dns.skydns.test. 60 A 10.0.0.7'])
    expect(stub.asked).toEqual([])
    expect((await server.ask('web.corp.skydns.test. A')).answer).toEqual(['web.corp.skydns.test. 300 A 198.51.100.1'])
  })

  test('stands for the apex before the SOA and the NS records of the domain are asked for', async () => {
    put('dns/ns/1', { host: '10.0.0.53' })
    const apex = (corefile: string): string => corefile.replace('local web.corp.skydns.test', 'local skydns.test')
    const [soa = ''] = (await askOther(apex, 'local.dns.skydns.test. SOA')).answer
    expect(soa).toContain(' SOA ns.dns.skydns.test. ')
    expect((await askOther(apex, 'local.dns.skydns.test. NS')).answer).toHaveLength(1)
  })
})

describe('the nameservers', () => {
  test('have what is no exact key of an address, and whatever else is asked of that name than PTR', async () => {
    expect((await server.ask('1.0.0.10.in-addr.arpa. PTR')).flags).toBe('rd ra')
    expect(nameserver.asked).toEqual([])
    for (const question of ['1.0.0.10.in-addr.arpa. A', '0.0.10.in-addr.arpa. PTR', '1.1.0.0.10.in-addr.arpa. PTR', '1.0.ip6.arpa. AAAA'])
      await server.ask(question)
    expect(nameserver.asked).toHaveLength(4)
  })

  test('have the names outside the domain, whatever the store holds, and none inside', async () => {
    expect((await server.ask('www.example.net. A')).answer.at(-1)).toBe('web.example.net. 300 A 192.0.2.10')
    nameserver.asked.length = 0
    for (const question of ['no.skydns.test. A', 'web.skydns.test. TXT', 'skydns.test. MX', 'skydns.test. SOA']) await server.ask(question)
    expect(nameserver.asked).toEqual([])
  })

  test.each<[string, string, string]>([
    ['ndots 2', 'org. A', 'SERVFAIL rd ra'],
    ['no_rec\nndots 2', 'www.example.net. A', 'SERVFAIL rd'],
    ['no_rec\nndots 2', 'org. A', 'SERVFAIL rd']
  ])('are not for clients with no_rec, whose labels are not counted then: %j, %s', async (options, question, expected) => {
    const { rcode, flags } = await askOther((corefile) => corefile.replace('ndots 2', options), question)
    expect(`${rcode} ${flags}`).toBe(expected)
    expect(nameserver.asked).toEqual([])
  })
})

describe('what the store has', () => {
  test.each<[string, number, number]>([
    ['skydns.test. SOA', 1, 0],
    ['web.skydns.test. SOA', 0, 1],
    ['no.skydns.test. SOA', 0, 1],
    ['skydns.test. CAA', 0, 1]
  ])('%s: the SOA is the answer for the domain before a type is looked at, and beside no answer else', async (question, ...counts) => {
    const { answer, authority } = await server.ask(question)
    expect([answer.length, authority.length]).toEqual(counts)
  })

  test('is made into records first, and records that say the same are one: services that differ may say the same', async () => {
    put('same/1', { host: 'a.skydns.test', text: 'x', port: 1 })
    put('same/2', { host: 'b.skydns.test', text: 'x', port: 1 })
    put('same/3', { host: 'x.y.skydns.test', port: 9, targetstrip: 1 })
    put('same/4', { host: 'z.y.skydns.test', port: 9, targetstrip: 1 })
    expect((await server.ask('same.skydns.test. TXT')).answer).toHaveLength(1)
    expect((await server.ask('same.skydns.test. SRV')).answer).toHaveLength(3)
  })

  test('has doubles taken out before TTLs are made one: what is single then keeps its own', async () => {
    put('same/1', { host: 'a.skydns.test', text: 'x', ttl: 500 })
    put('same/2', { host: 'b.skydns.test', text: 'x', ttl: 400 })
    expect((await server.ask('same.skydns.test. TXT')).answer).toEqual(['same.skydns.test. 400 TXT "x"'])
  })

  test('has one TTL before it is cached, so that the cached one counts down', async () => {
    put('two/1', { host: '10.0.0.1', ttl: 500 })
    put('two/2', { host: '10.0.0.2', ttl: 400 })
    expect(ttls(await server.ask('two.skydns.test. A'))).toEqual(['60'])
    clock.advance(20_000)
    expect(ttls(await server.ask('two.skydns.test. A'))).toEqual(['40'])
  })

  test('has one TTL, that of a record which is cut off too, and doubles do not cut', async () => {
    for (let i = 10; i < 50; i++) put(`many/${i}`, { host: `10.1.0.${i}`, ttl: i === 49 ? 7 : 50, text: 'x'.repeat(200) })
    const plain = (corefile: string): string => corefile.replace('loadbalance', '').replace('cache', '')
    const cut = await askOther(plain, 'many.skydns.test. SRV')
    expect([cut.flags, ttls(cut), cut.answer.join().includes(' 49.many')]).toEqual(['aa tc rd ra', ['7'], false])
    const whole = await askOther(plain, 'many.skydns.test. TXT')
    expect([whole.flags, whole.answer.length]).toEqual(['aa rd ra', 1])
  })
})

describe('what is sent', () => {
  const tcp = { client: { transport: 'tcp' } } as const

  test('is shuffled before it is cut: what is cut off is not always the same', async () => {
    for (let i = 10; i < 50; i++) put(`many/${i}`, { host: `10.1.0.${i}` })
    const seen = new Set<string>()
    for (let i = 0; i < 20; i++) {
      const { flags, answer } = await server.ask('many.skydns.test. A')
      expect([flags, answer.length]).toEqual(['aa tc rd ra', 29])
      for (const record of answer) seen.add(record)
    }
    expect(seen.size).toBe(40)
  })

  test('is cached whole where the additional data was left out, and fitted to each client', async () => {
    for (let i = 10; i < 22; i++) put(`big/${i}`, { host: `10.1.0.${i}`, port: 80 })
    const small = await server.ask('big.skydns.test. SRV')
    // Additional data goes before the answer is cut.
    expect([small.flags, small.answer.length, small.additional.length < 12]).toEqual(['aa rd ra', 12, true])
    const whole = await server.ask('big.skydns.test. SRV', tcp)
    expect([whole.answer.length, whole.additional.length]).toEqual([12, 12])
    expect((await server.ask('big.skydns.test. SRV')).additional).toHaveLength(small.additional.length)
    expect(server.counter('coredns_cache_misses_total')).toBe(1)
  })

  test('is cached with DO and without it: the bit is read before', async () => {
    for (const dnssecOk of [false, true, false, true]) await server.ask('www.example.net. A', { dnssecOk })
    expect(nameserver.asked).toHaveLength(2)
  })

  test('is cached whole where the answer was cut', async () => {
    for (let i = 10; i < 50; i++) put(`many/${i}`, { host: `10.1.0.${i}` })
    expect((await server.ask('many.skydns.test. A')).flags).toBe('aa tc rd ra')
    expect((await server.ask('many.skydns.test. A', tcp)).answer).toHaveLength(40)
    expect((await server.ask('many.skydns.test. A', { edns: 1232 })).answer).toHaveLength(40)
    expect((await server.ask('many.skydns.test. A')).flags).toBe('aa tc rd ra')
    expect(server.counter('coredns_cache_misses_total')).toBe(1)
  })
})
