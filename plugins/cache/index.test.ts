import { createHook } from 'node:async_hooks'
import type { Message, Query, Reply, ReplyParts, ResourceRecord } from 'skein/plugin'
import { type AskOptions, requestOctets, serverOf, TestClock, TestSlot } from 'skein/testing'
import { afterEach, describe, expect, test } from 'vitest'
import { type Act, address, shown, soa, startScripted, upstream } from './scripted-upstream.js'

const open: { readonly stop: () => Promise<void> }[] = []
afterEach(async () => {
  for (const one of open.splice(0)) await one.stop()
})

async function before(act: Act, cache?: string, more?: string) {
  const clock = new TestClock()
  const running = await startScripted((corefile, file) => serverOf(corefile, { file, clock }), act, cache, more)
  open.push(running)
  const { server } = running
  return Object.assign(running, { clock, told: async (question: string) => shown(await server.ask(question)) })
}

const AD = 0x0020
const CD = 0x0010
const says = (parts: ReplyParts) => (query: Query) => upstream(query, parts)
const alias = (owner: string, rdata: string, ttl = 60): ResourceRecord => ({ owner, type: 'CNAME', ttl, rdata })

/** An authoritative reply in octets, with an address. */
function received(query: Query, ttl: number): Reply {
  const octets = Buffer.concat([query.octets(0), Buffer.from('c00c00010001000000000004c0000201', 'hex')])
  octets.writeUInt16BE(0x8400, 2)
  octets.writeUInt16BE(1, 6)
  octets.writeUInt32BE(ttl, octets.length - 10)
  return query.received(octets)
}

describe('an answer is kept', () => {
  test('for as long as its lowest TTL, which counts down with the others', async () => {
    const { told, clock, asked } = await before((query) =>
      upstream(query, {
        answer: [alias(query.qname, 'b.example.org.', 100), { owner: 'b.example.org.', type: 'A', ttl: 60, rdata: '192.0.2.1' }]
      })
    )
    const at = (a: number, b: number): string => `NOERROR rd ra: a.example.org. ${a} CNAME b.example.org. + b.example.org. ${b} A 192.0.2.1`
    expect(await told('a.example.org. A')).toBe(at(100, 60))
    clock.advance(999)
    expect(await told('a.example.org. A')).toBe(at(100, 60))
    clock.advance(1)
    expect(await told('a.example.org. A')).toBe(at(99, 59))
    clock.advance(58_999)
    expect(await told('a.example.org. A')).toBe(at(41, 1))
    expect(asked).toHaveLength(1)
    clock.advance(1)
    expect(await told('a.example.org. A')).toBe(at(100, 60))
    expect(asked).toHaveLength(2)
  })

  test('no longer than keep says, with its own TTL', async () => {
    const { told, clock, asked } = await before(address(300), 'cache {\nsuccess 100 2147483647 0\nkeep 45s\n}')
    expect(await told('a.example.org. A')).toBe('NOERROR rd ra: a.example.org. 300 A 192.0.2.1')
    clock.advance(44_000)
    expect(await told('a.example.org. A')).toBe('NOERROR rd ra: a.example.org. 256 A 192.0.2.1')
    expect(asked).toHaveLength(1)
    clock.advance(1000)
    expect(await told('a.example.org. A')).toBe('NOERROR rd ra: a.example.org. 300 A 192.0.2.1')
    expect(asked).toHaveLength(2)
  })

  test('as long as its TTL where keep is longer', async () => {
    const { told, clock, asked } = await before(address(20), 'cache {\nkeep 45s\n}')
    await told('a.example.org. A')
    clock.advance(20_000)
    await told('a.example.org. A')
    expect(asked).toHaveLength(2)
  })

  test('nor a failure', async () => {
    const { told, clock, asked } = await before((query) => upstream(query, { rcode: 'SERVFAIL' }), 'cache {\nkeep 2s\n}')
    await told('a.example.org. A')
    clock.advance(1999)
    await told('a.example.org. A')
    expect(asked).toHaveLength(1)
    clock.advance(1)
    await told('a.example.org. A')
    expect(asked).toHaveLength(2)
  })

  test('with its TTLs where keepttl says so', async () => {
    const { told, clock, asked } = await before(address(60), 'cache {\nkeepttl\n}')
    await told('a.example.org. A')
    clock.advance(59_000)
    expect(await told('a.example.org. A')).toBe('NOERROR rd ra: a.example.org. 60 A 192.0.2.1')
    clock.advance(1000)
    await told('a.example.org. A')
    expect(asked).toHaveLength(2)
  })

  test('with its sections, rcode, RA and AD, without AA, and with the spelling of whoever asks', async () => {
    const act = (query: Query): Reply =>
      (
        upstream(query, {
          aa: true,
          answer: [{ owner: query.qname, type: 'MX', ttl: 60, rdata: { preference: 1, exchange: 'Mail.example.org.' } }],
          authority: [{ owner: 'example.org.', type: 'NS', ttl: 60, rdata: 'ns.example.org.' }],
          additional: [{ owner: 'mail.example.org.', type: 'A', ttl: 60, rdata: '192.0.2.1' }]
        }) as Message
      ).with({ flags: 0x8480 | AD })
    const { server, asked } = await before(act)
    const miss = await server.ask('example.org. MX', { flags: AD })
    const hit = await server.ask('eXample.ORG. MX', { flags: AD })
    expect([miss.flags, hit.flags]).toEqual(['aa rd ra ad', 'rd ra ad'])
    expect((await server.ask('example.org. MX')).flags).toBe('rd ra')
    expect(hit).toMatchObject({ qname: 'eXample.ORG.', authority: ['eXample.ORG. 60 NS ns.example.org.'] })
    expect(hit.answer).toEqual(['eXample.ORG. 60 MX 1 Mail.example.org.'])
    expect(hit.additional).toHaveLength(1)
    expect(asked).toHaveLength(1)
  })

  test.each<[string, number, string[]]>([
    ['as it came over the network', 60, ['NOERROR aa rd: a.example.org. 60 A 192.0.2.1', 'NOERROR rd: a.example.org. 50 A 192.0.2.1']],
    [
      'not where its TTL has the top bit set (RFC 2181 §8)',
      0x8000_0001,
      ['NOERROR aa rd: a.example.org. 0 A 192.0.2.1', 'NOERROR aa rd: a.example.org. 0 A 192.0.2.1']
    ]
  ])('%s', async (_title, ttl, expected) => {
    const { told, clock } = await before((query) => received(query, ttl))
    const first = await told('a.example.org. A')
    clock.advance(10_000)
    expect([first, await told('a.example.org. A')]).toEqual(expected)
  })

  test.each<[string, string, AskOptions, string, AskOptions]>([
    ['name', 'a.example.org. A', {}, 'b.example.org. A', {}],
    ['type', 'a.example.org. A', {}, 'a.example.org. TXT', {}],
    ['DO bit', 'a.example.org. A', { dnssecOk: true }, 'a.example.org. A', {}],
    ['EDNS without DO', 'a.example.org. A', { dnssecOk: true }, 'a.example.org. A', { edns: 1232 }],
    ['CD bit', 'a.example.org. A', { flags: CD }, 'a.example.org. A', {}]
  ])('by %s', async (_title, first, firstOptions, second, secondOptions) => {
    const { server, asked } = await before((query) =>
      upstream(query, { answer: [{ owner: query.qname, type: query.qtype, ttl: 60, rdata: Buffer.from([3, 1, 2, 3]) }] })
    )
    for (let i = 0; i < 2; i++) {
      await server.ask(first, firstOptions)
      await server.ask(second, secondOptions)
    }
    expect(asked).toHaveLength(2)
  })

  test.each<[string, AskOptions, AskOptions]>([
    ['transports', { client: { transport: 'tcp' } }, { client: { transport: 'udp' } }],
    ['clients', { client: { address: '192.0.2.7' } }, { client: { address: '2001:db8::1' } }],
    ['sizes', { edns: 1232 }, {}],
    ['RD bits', {}, { rd: false }]
  ])('for all %s', async (_title, first, second) => {
    const { server, asked } = await before(address(60))
    await server.ask('a.example.org. A', first)
    await server.ask('a.example.org. A', second)
    expect(asked).toHaveLength(1)
  })

  test('not for a class that the cache does not see', async () => {
    const { server, asked } = await before((query) =>
      query.reply({ answer: [{ owner: query.qname, type: 'TXT', ttl: 60, rdata: [query.qclass] }] })
    )
    for (const qclass of ['CH', 'IN', 'CH', 'IN']) {
      const [answer] = (await server.ask(`a.example.org. TXT ${qclass}`)).answer
      expect(answer).toContain(`TXT "${qclass}"`)
    }
    expect(asked).toHaveLength(3)
  })

  test('whole, however little of it a client can take', async () => {
    const answer = (query: Query): ResourceRecord[] =>
      Array.from({ length: 200 }, (_, i) => ({
        owner: query.qname,
        type: 'SRV',
        ttl: 60,
        rdata: { priority: 1, weight: 1, port: i, target: `host-${i}.example.org.` }
      }))
    const { server, asked } = await before((query) => upstream(query, { answer: answer(query) }), 'cache', 'bufsize 4096')
    const tcp = { client: { transport: 'tcp' } } as const
    expect((await server.ask('s.example.org. SRV', tcp)).answer).toHaveLength(200)
    for (const [options, size] of [
      [{}, 512],
      [{ edns: 4084 }, 4084]
    ] as const) {
      const { flags, octets } = await server.ask('s.example.org. SRV', options)
      expect(flags).toBe('tc rd ra')
      expect(octets.length).toBeLessThanOrEqual(size)
    }
    expect((await server.ask('s.example.org. SRV', tcp)).answer).toHaveLength(200)
    expect(asked).toHaveLength(1)
  })

  test('and told without a promise', async () => {
    const { server } = await before(address(60))
    await server.ask('a.example.org. A')
    let promises = 0
    let length = 0
    const slot = new TestSlot(requestOctets('a.example.org. A'), (reply) => (length = reply?.length ?? 0))
    const hook = createHook({ init: (_id, type) => (promises += type === 'PROMISE' ? 1 : 0) }).enable()
    slot.giveTo(server.instance.endpoints[0]!.receive)
    hook.disable()
    expect([length > 0, promises]).toEqual([true, 0])
  })
})

describe('what does not exist is kept', () => {
  test.each<[string, ReplyParts, number]>([
    ['as long as the SOA lives', { rcode: 'NXDOMAIN', authority: [soa(100, 1800)] }, 100],
    ['as long as its minimum says', { rcode: 'NXDOMAIN', authority: [soa(3600, 30)] }, 30],
    ['1800 seconds at most', { rcode: 'NXDOMAIN', authority: [soa(86400, 86400)] }, 1800],
    ['5 seconds at least', { rcode: 'NXDOMAIN', authority: [soa(100, 1)] }, 5],
    ['where it is a type', { authority: [soa(100, 50)] }, 50]
  ])('%s', async (_title, parts, seconds) => {
    const { server, clock, asked } = await before(says(parts))
    const ttl = async (): Promise<string | undefined> => (await server.ask('a.example.org. A')).authority[0]?.split(' ')[1]
    expect(await ttl()).toBe(String(seconds))
    clock.advance((seconds - 1) * 1000)
    expect(await ttl()).toBe('1')
    expect(asked).toHaveLength(1)
    clock.advance(1000)
    await ttl()
    expect(asked).toHaveLength(2)
  })
})

test('a CNAME that leads to no address is kept with its SOA', async () => {
  const answer = [alias('a.example.org.', 'b.example.org.')]
  const { server, asked } = await before(says({ answer, authority: [soa(60, 60)] }))
  for (let i = 0; i < 2; i++) expect((await server.ask('a.example.org. A')).answer).toHaveLength(1)
  expect(asked).toHaveLength(1)
})

test('a question for a CNAME is answered by one', async () => {
  const { server, asked } = await before(says({ answer: [alias('a.example.org.', 'b.example.org.')] }))
  for (let i = 0; i < 2; i++) expect((await server.ask('a.example.org. CNAME')).answer).toHaveLength(1)
  expect(asked).toHaveLength(1)
})

describe('a failure', () => {
  test.each<[string, string, number]>([
    ['is kept for 5 seconds', 'cache', 5000],
    ['is kept as long as is written', 'cache {\nservfail 1m\n}', 60_000],
    ['is not kept where 0 is written', 'cache {\nservfail 0\n}', 0]
  ])('%s', async (_title, cache, ms) => {
    const { server, clock, asked } = await before(says({ rcode: 'SERVFAIL' }), cache)
    await server.ask('a.example.org. A')
    clock.advance(Math.max(ms - 1, 0))
    expect((await server.ask('a.example.org. A')).rcode).toBe('SERVFAIL')
    expect(asked).toHaveLength(ms === 0 ? 2 : 1)
    clock.advance(1)
    await server.ask('a.example.org. A')
    expect(asked).toHaveLength(ms === 0 ? 3 : 2)
  })

  test('is told of as an error once', async () => {
    const fail = (query: Query): Reply => query.fail('SERVFAIL', 'upstream-failed', { problem: 'no answer' })
    const { server } = await before(fail, 'cache', 'errors\nlog "{common} {why}"')
    await server.ask('a.example.org. A')
    await server.ask('a.example.org. A')
    expect(server.log.lines.filter((line) => line.startsWith('[ERROR]'))).toHaveLength(1)
    expect(server.log.lines.at(-1)).toMatch(/ cached$/)
  })
})

describe('the number of answers is bounded', () => {
  test('and those that are asked for stay', async () => {
    const { server, asked } = await before(address(60), 'cache {\nsuccess 100\n}')
    const ask = (i: number) => server.ask(`a${i}.example.org. A`)
    for (let i = 0; i < 1000; i++) {
      await ask(i)
      await ask(0)
    }
    expect(asked).toHaveLength(1000)
    expect(server.counter('coredns_cache_evictions_total')).toBe(900)
  })

  test('and counted', async () => {
    const { server } = await before(address(60))
    for (const name of ['a', 'b', 'a', 'a']) await server.ask(`${name}.example.org. A`)
    const counters = ['requests', 'hits', 'misses', 'evictions'].map((name) => server.counter(`coredns_cache_${name}_total`))
    expect(counters).toEqual([4, 2, 2, 0])
  })
})

test('the numbers have the labels of CoreDNS', async () => {
  const { server } = await before(address(60), 'cache {\nsuccess 100\n}')
  for (const local of ['127.0.0.1', '::1', '127.0.0.1']) await server.ask('a.example.org. A', { client: { local } })
  const text = (await server.metricsText()).split('\n').filter((line) => line.startsWith('coredns_cache'))
  expect(text).toEqual([
    'coredns_cache_entries{server="dns://:53",type="success",zones=".",view=""} 1',
    'coredns_cache_entries{server="dns://:53",type="denial",zones=".",view=""} 0',
    'coredns_cache_requests_total{server="dns://127.0.0.1",zones=".",view=""} 2',
    'coredns_cache_requests_total{server="dns://::1",zones=".",view=""} 1',
    'coredns_cache_hits_total{server="dns://127.0.0.1",type="success",zones=".",view=""} 1',
    'coredns_cache_hits_total{server="dns://127.0.0.1",type="denial",zones=".",view=""} 0',
    'coredns_cache_hits_total{server="dns://::1",type="success",zones=".",view=""} 1',
    'coredns_cache_hits_total{server="dns://::1",type="denial",zones=".",view=""} 0',
    'coredns_cache_misses_total{server="dns://127.0.0.1",zones=".",view=""} 1',
    'coredns_cache_misses_total{server="dns://::1",zones=".",view=""} 0',
    'coredns_cache_evictions_total{server="dns://:53",type="success",zones=".",view=""} 0',
    'coredns_cache_evictions_total{server="dns://:53",type="denial",zones=".",view=""} 0'
  ])
})
