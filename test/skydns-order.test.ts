/** SkyDNS's ServeDNS in its order: what a client sees where two neighbouring steps could be told apart. docs/skydns.md has the table. */
import { MemoryStore, serverOf, type TestServer } from 'skein/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startStandIn } from './upstream.js'

let upstream: Awaited<ReturnType<typeof startStandIn>>
let server: TestServer
let store: MemoryStore

/** The directives in an order that is nobody's: the standard order must not come from the Corefile. */
const corefile = (port: number): string => `. {
  forward . 127.0.0.1:${port} {
    ndots 2
  }
  etcd skydns.test in-addr.arpa ip6.arpa {
    store
    api off
    local web.skydns.test
    fallthrough in-addr.arpa ip6.arpa
  }
  chaos
  cache
  loadbalance
  any refuse
  errors
}
`

beforeAll(async () => {
  upstream = await startStandIn()
})
afterAll(() => upstream.stop())

beforeEach(async () => {
  store = MemoryStore.of({
    '/skydns/test/skydns/web/1': { host: '10.0.0.1' },
    '/skydns/test/skydns/web/2': { host: '10.0.0.2' },
    '/skydns/test/skydns/web/3': { host: '10.0.0.3' },
    '/skydns/test/skydns/dns/local/x': { host: '10.9.9.9' },
    '/skydns/arpa/in-addr/10/0/0/1': { host: 'web.skydns.test' },
    // An etcd may hold what no question should find there.
    '/skydns/net/example/www': { host: '10.6.6.6' }
  })
  server = await serverOf(corefile(upstream.port), { services: store })
  upstream.asked.length = 0
  return () => server.stop()
})

describe('a step comes before the next', () => {
  test('type ANY is refused before anybody is asked, and before the cache', async () => {
    await server.ask('www.example.net. A')
    upstream.asked.length = 0
    for (const name of ['www.example.net.', 'web.skydns.test.', 'skydns.test.', '1.0.0.10.in-addr.arpa.']) {
      for (const type of ['ANY', 'AXFR', 'IXFR']) expect((await server.ask(`${name} ${type}`)).rcode).toBe('REFUSED')
    }
    expect(upstream.asked).toEqual([])
  })

  test('class CH is decided before the store, the cache and the nameservers', async () => {
    await server.ask('web.skydns.test. A')
    for (const question of ['web.skydns.test. A CH', '1.0.0.10.in-addr.arpa. PTR CH', 'skydns.test. SOA CH', 'www.example.net. A CH']) {
      expect((await server.ask(question)).rcode).toBe('REFUSED')
    }
    expect((await server.ask('skydns.test. TXT CH')).answer).toHaveLength(4)
    expect((await server.ask('version.bind. TXT CH')).answer).toHaveLength(1)
    expect(upstream.asked).toEqual([])
  })

  test('what the cache has is shuffled', async () => {
    const orders = new Set<string>()
    for (let i = 0; i < 40; i++) orders.add((await server.ask('web.skydns.test. A')).answer.join())
    expect(orders.size).toBeGreaterThan(3)
    expect(server.counter('coredns_cache_misses_total')).toBe(1)
  })

  test('the cache is asked before the nameservers, and hears of the store', async () => {
    await server.ask('www.example.net. A')
    await server.ask('WWW.example.net. A')
    expect(upstream.asked).toHaveLength(1)
    expect((await server.ask('new.skydns.test. A')).rcode).toBe('NXDOMAIN')
    store.put(['skydns', 'test', 'skydns', 'new'], '{"host":"10.0.0.9"}')
    expect((await server.ask('new.skydns.test. A')).answer).toEqual(['new.skydns.test. 3600 A 10.0.0.9'])
  })

  test('local.dns stands for the configured name before the store is asked for it', async () => {
    expect((await server.ask('local.dns.skydns.test. A')).answer.toSorted()).toEqual([
      'local.dns.skydns.test. 3600 A 10.0.0.1',
      'local.dns.skydns.test. 3600 A 10.0.0.2',
      'local.dns.skydns.test. 3600 A 10.0.0.3'
    ])
  })

  test('a stored address answers PTR without authority before the nameservers are asked; the others are theirs', async () => {
    const stored = await server.ask('1.0.0.10.in-addr.arpa. PTR')
    expect([stored.flags, stored.answer]).toEqual(['rd ra', ['1.0.0.10.in-addr.arpa. 3600 PTR web.skydns.test.']])
    expect(upstream.asked).toEqual([])
    expect((await server.ask('7.100.51.198.in-addr.arpa. PTR')).answer).toEqual(['7.100.51.198.in-addr.arpa. 300 PTR host.example.org.'])
    expect((await server.ask('1.0.0.10.in-addr.arpa. TXT')).rcode).toBe('NXDOMAIN')
    expect(upstream.asked).toHaveLength(2)
  })

  test('a name outside the domain goes to the nameservers whatever the store holds, one inside never', async () => {
    expect((await server.ask('www.example.net. A')).answer.at(-1)).toBe('web.example.net. 300 A 192.0.2.10')
    upstream.asked.length = 0
    for (const question of ['nothere.skydns.test. A', 'web.skydns.test. TXT', 'skydns.test. MX', 'skydns.test. SOA'])
      await server.ask(question)
    expect(upstream.asked).toEqual([])
  })

  test('a name with few labels is not forwarded', async () => {
    expect((await server.ask('org. A')).rcode).toBe('SERVFAIL')
    expect(upstream.asked).toEqual([])
  })

  test('additional data goes before the answer is cut, and the cached answer stays whole', async () => {
    for (let i = 10; i < 22; i++) store.put(['skydns', 'test', 'skydns', 'big', String(i)], `{"host":"10.1.0.${i}","port":80}`)
    const small = await server.ask('big.skydns.test. SRV')
    expect([small.flags, small.answer.length]).toEqual(['aa rd ra', 12])
    expect(small.additional.length).toBeLessThan(12)
    const whole = await server.ask('big.skydns.test. SRV', { client: { transport: 'tcp' } })
    expect([whole.answer.length, whole.additional.length]).toEqual([12, 12])
  })
})
