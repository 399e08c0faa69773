/** SkyDNS's numbers, told by the whole of its chain. */
import { createHook } from 'node:async_hooks'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Entry } from 'skein/plugin'
import {
  type AskOptions,
  addressRecord,
  decodes,
  type FakeUpstream,
  fakeUpstream,
  MemoryStore,
  replyTo,
  requestOctets,
  serverOf,
  type TestServer,
  TestSlot
} from 'skein/testing'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { CAUSES, SkydnsTraffic, SYSTEMS } from './skydns.js'

const folder = mkdtempSync(join(tmpdir(), 'skein-metrics-'))
let upstream: FakeUpstream
const servers: TestServer[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop()
})
afterAll(async () => {
  await upstream.stop()
  rmSync(folder, { recursive: true, force: true })
})

const NO_ANSWER = { answer: [] }
/** What the other server says of a name, by its first label: the header's second word, and the answer. */
const SAYS: Readonly<Record<string, object>> = {
  big: { answer: Array.from({ length: 40 }, (_, n) => addressRecord(`192.0.2.${n}`)) },
  fails: { flags: 0x8182, ...NO_ANSWER },
  missing: { flags: 0x8183, ...NO_ANSWER },
  refuses: { flags: 0x8185, ...NO_ANSWER },
  empty: { flags: 0x8580, ...NO_ANSWER },
  referral: NO_ANSWER
}
beforeAll(async () => {
  upstream = await fakeUpstream({
    udp: ({ octets }, answer) => answer(replyTo(octets, SAYS[octets.toString('latin1', 13, 13 + octets[12]!)] ?? {}))
  })
})

const at = (name: string): string => `/skydns/local/skydns/${name}`
const services = {
  [at('a')]: { host: '192.0.2.1' },
  [at('b')]: { host: '2001:db8::1' },
  ...Object.fromEntries(Array.from({ length: 40 }, (_, n) => [at(`big/${n}`), { host: `192.0.2.${n}` }])),
  ...Object.fromEntries(Array.from({ length: 30 }, (_, n) => [at(`huge/${n}`), { text: `${n}`.padEnd(3000, 'x') }])),
  '/skydns/arpa/in-addr/192/0/2/1': { host: 'a.skydns.local' }
}

/** A store in which one key cannot be read. */
class Torn extends MemoryStore {
  override subtree(key: readonly string[], limit?: number): Entry[] {
    if (key.includes('torn')) throw new Error('torn')
    return super.subtree(key, limit)
  }
}

/** SkyDNS's chain. */
const chain = (names = 'skydns', cache = 'cache'): string => `. {
  prometheus 127.0.0.1:0 {
    ${names}
  }
  errors
  any refuse
  loadbalance
  ${cache}
  stub skydns.local {
    store
    zone stub.example 127.0.0.1:${upstream.port}
  }
  chaos
  dnssec skydns.local {
    keys ${folder}
    denial nsec3
  }
  etcd skydns.local in-addr.arpa ip6.arpa {
    store
    fallthrough in-addr.arpa ip6.arpa
  }
  forward . 127.0.0.1:${upstream.port}
}`

function startedOf(corefile: string): Promise<TestServer> {
  const store = new Torn()
  for (const [path, value] of Object.entries(services)) store.put(path.slice(1).split('/'), JSON.stringify(value))
  return serverOf(corefile, { services: store })
}

async function started(corefile: string): Promise<TestServer> {
  const server = await startedOf(corefile)
  servers.push(server)
  return server
}

/** The counters that are not 0, without what all names begin with. */
async function counters(server: TestServer, prefix = 'skydns_skydns'): Promise<string[]> {
  const text = await server.metricsText()
  return [...text.matchAll(new RegExp(`^${prefix}_dns_(\\w+_total)\\{(.*)\\} ([1-9]\\d*)$`, 'gm'))].map(
    ([, name, labels, value]) => `${name} ${labels!.replaceAll(/\w+="(\w+)"/g, '$1').replaceAll(',', ' ')} ${value}`
  )
}

/** What counters have become, by how much: of lines as they were, and as they are. */
function grown(before: readonly string[], after: readonly string[]): string[] {
  const split = (line: string): [string, number] => [line.replace(/ \d+$/, ''), Number(/\d+$/.exec(line))]
  const known = new Map(before.map(split))
  return after.map(split).flatMap(([name, value]) => (value === known.get(name) ? [] : [`${name} ${value - (known.get(name) ?? 0)}`]))
}

const TCP: AskOptions = { client: { transport: 'tcp' } }
const miss = (count = 1): string => `cachemiss_count_total response ${count}`

describe('one question is counted', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startedOf(chain())
  })
  afterAll(() => server.stop())

  let known: readonly string[] = []
  /** What has been counted since this was called last. */
  async function counted(): Promise<string[]> {
    const now = await counters(server)
    const more = grown(known, now)
    known = now
    return more
  }

  test.each<[string, AskOptions, system: string, cause: string | undefined, misses: number]>([
    ['a.skydns.local. A', {}, 'auth', undefined, 1],
    ['skydns.local. SOA', {}, 'auth', undefined, 1],
    ['no.skydns.local. A', {}, 'auth', 'nxdomain', 1],
    ['a.skydns.local. AAAA', {}, 'auth', 'nodata', 1],
    ['big.skydns.local. A', {}, 'auth', 'truncated', 1],
    ['huge.skydns.local. TXT', TCP, 'auth', 'overflow', 1],
    ['torn.skydns.local. A', {}, 'auth', 'servfail', 1],
    ['a.skydns.local. ANY', {}, 'auth', 'refused', 0],
    ['a.skydns.local. A HS', {}, 'auth', 'refused', 0],
    ['version.bind. TXT CH', {}, 'auth', undefined, 0],
    ['example.org. A', {}, 'recursive', undefined, 0],
    ['missing.org. A', {}, 'recursive', 'nxdomain', 0],
    ['empty.org. A', {}, 'recursive', 'nodata', 0],
    ['referral.org. A', {}, 'recursive', undefined, 0],
    ['big.org. A', {}, 'recursive', 'truncated', 0],
    ['refuses.org. A', {}, 'recursive', 'refused', 0],
    ['fails.org. A', {}, 'recursive', 'servfail', 0],
    ['1.2.0.192.in-addr.arpa. PTR', {}, 'reverse', undefined, 0],
    ['2.2.0.192.in-addr.arpa. PTR', {}, 'reverse', undefined, 0],
    ['missing.ip6.arpa. PTR', {}, 'reverse', 'nxdomain', 0],
    ['fails.ip6.arpa. PTR', {}, 'reverse', 'servfail', 0],
    ['1.2.0.192.in-addr.arpa. TXT', {}, 'recursive', undefined, 0],
    ['example.org. PTR', {}, 'recursive', undefined, 0],
    ['a.stub.example. A', {}, 'stub', undefined, 0],
    ['missing.stub.example. A', {}, 'stub', 'nxdomain', 0],
    ['big.stub.example. A', {}, 'stub', 'truncated', 0],
    ['refuses.stub.example. A', {}, 'stub', 'refused', 0],
    ['fails.stub.example. A', {}, 'stub', 'servfail', 0]
  ])('%s %j as %s, cause %s', async (question, options, system, cause, misses) => {
    await server.ask(question, options)
    expect(await counted()).toEqual([
      `request_count_total ${system} 1`,
      ...(cause === undefined ? [] : [`error_count_total ${system} ${cause} 1`]),
      ...(misses === 0 ? [] : [miss()])
    ])
  })

  test.each<[string, cause: string | undefined]>([
    ['b.skydns.local. AAAA', undefined],
    ['nor.skydns.local. A', 'nxdomain'],
    ['b.skydns.local. A', 'nodata'],
    ['big.skydns.local. A', 'truncated'],
    ['fails.a.stub.example. A', 'servfail'],
    ['1.2.0.192.in-addr.arpa. PTR', undefined],
    ['www.example.org. A', undefined]
  ])('%s as cache where that has the answer, cause %s', async (question, cause) => {
    await server.ask(question)
    await counted()
    await server.ask(question)
    expect(await counted()).toEqual(['request_count_total cache 1', ...(cause === undefined ? [] : [`error_count_total cache ${cause} 1`])])
  })
})

describe('questions are counted', () => {
  test('as a miss each time where there is no cache', async () => {
    const server = await started(chain('skydns', ''))
    for (let i = 0; i < 3; i++) await server.ask('a.skydns.local. A')
    expect(await counters(server)).toEqual(['request_count_total auth 3', miss(3)])
  })

  test('as none where nobody has data to answer with', async () => {
    const server = await started('. {\n  prometheus 127.0.0.1:0 {\n    skydns\n  }\n  any\n}')
    expect((await server.ask('a.skydns.local. ANY')).rcode).toBe('NOERROR')
    expect((await server.ask('a.skydns.local. A')).rcode).toBe('REFUSED')
    expect(await counters(server)).toEqual(['request_count_total auth 2', 'error_count_total auth refused 1'])
  })

  test('as a request without a response where it is dropped', async () => {
    const server = await started(chain())
    const looped = requestOctets('a.stub.example. A', { options: [[65011, Uint8Array.of(1)]] })
    expect(await server.exchange(looped)).toBeUndefined()
    expect(await counters(server)).toEqual(['request_count_total stub 1'])
    const text = await server.metricsText()
    expect(text).toContain('skydns_skydns_dns_request_duration_seconds_count{system="stub"} 1\n')
    expect(text).not.toContain('skydns_skydns_dns_response_size_bytes_count')
  })

  test('and so is each signature that had to be made, and the answer with the keys', async () => {
    const server = await started(chain())
    const signed = { dnssecOk: true, edns: 4096 }
    await server.ask('a.skydns.local. A', signed)
    expect(await counters(server)).toEqual(['request_count_total auth 1', miss(), 'cachemiss_count_total signature 1'])
    await server.ask('a.skydns.local. A', signed)
    await server.ask('a.skydns.local. A', { ...signed, options: [[8, Uint8Array.of(0, 1, 0, 0)]] })
    // The cache has passed the third, whose signature was kept.
    expect((await counters(server)).filter((line) => line.startsWith('cachemiss'))).toEqual([miss(2), 'cachemiss_count_total signature 1'])
    await server.ask('skydns.local. DNSKEY', signed)
    expect((await counters(server)).filter((line) => line.startsWith('cachemiss'))).toEqual([miss(3), 'cachemiss_count_total signature 2'])
  })
})

test('the buckets are those of SkyDNS', async () => {
  const server = await started(chain())
  await server.ask('a.skydns.local. A')
  const text = await server.metricsText()
  const bounds = (name: string): string =>
    [...text.matchAll(new RegExp(`^skydns_skydns_dns_${name}_bucket\\{system="auth",le="(.*)"\\}`, 'gm'))]
      .map(([, bound]) => bound)
      .join(' ')
  expect(bounds('request_duration_seconds')).toBe('0.001 0.003 0.005 0.01 0.025 0.05 0.1 0.25 0.5 1 2.5 5 10 +Inf')
  expect(bounds('response_size_bytes')).toBe(
    '0 512 1024 1500 2048 4096 8192 12288 16384 20480 24576 28672 32768 36864 40960 45056 49152 53248 57344 61440 65536 +Inf'
  )
  expect(text).toMatch(/^skydns_skydns_dns_response_size_bytes_sum\{system="auth"\} 48$/m)
})

test('every counter is there from the start', async () => {
  const server = await started(chain('skydns test test'))
  const text = await server.metricsText()
  const count = (name: string): number => text.match(new RegExp(`^test_test_dns_${name}_total\\{.*\\} 0$`, 'gm'))?.length ?? 0
  expect([count('request_count'), count('error_count'), count('cachemiss_count')]).toEqual([
    SYSTEMS.length,
    SYSTEMS.length * CAUSES.length,
    2
  ])
})

describe('names', () => {
  const blocks = (first: string, second: string): string =>
    [
      ['a.test', first],
      ['b.test', second]
    ]
      .map(([zone, names]) => `${zone} {\n  prometheus 127.0.0.1:0 {\n    ${names}\n  }\n  whoami\n}`)
      .join('\n')

  test.each<[string, string, string, Readonly<Record<string, number>>]>([
    ['of one kind count all server blocks together', 'skydns', 'skydns skydns', { skydns_skydns: 2 }],
    ['that come to the same too', 'skydns a b_c', 'skydns a_b c', { a_b_c: 2 }],
    ['of two kinds count each its own', 'skydns one', 'skydns two x', { one_skydns: 1, two_x: 1 }],
    ['of CoreDNS collide with none of its own', 'skydns coredns dns', 'runtime_metrics', { coredns_dns: 1 }],
    ['may have colons, and digits behind', 'skydns a:b 9c', 'runtime_metrics', { 'a:b_9c': 1 }],
    ['of a block that does not ask for them are not there', 'runtime_metrics', 'path /numbers', {}]
  ])('%s', async (_title, first, second, counts) => {
    const server = await started(blocks(first, second))
    for (const zone of ['a', 'b']) await server.ask(`x.${zone}.test. A`)
    const text = await server.metricsText()
    const told = [...text.matchAll(/^(\S+)_dns_request_count_total\{system="auth"\} (\d+)$/gm)]
    expect(Object.fromEntries(told.map(([, prefix, count]) => [prefix, Number(count)]))).toEqual(counts)
    expect(text.match(/^coredns_dns_requests_total\{/gm)).toHaveLength(2)
    const declared = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name)
    expect(declared.length).toBe(new Set(declared).size)
  })

  test.each(['error_count_total', 'request_duration_seconds'])('that a plugin has already, %s, are that plugin’s', async (name) => {
    const counter = `host.metrics.counter('skydns_skydns_dns_${name}', 'Mine.').value = 7`
    writeFileSync(join(folder, `${name}.mjs`), `export default { name: 'mine', api: 1, setup(_, host) { ${counter}; return {} } }`)
    const corefile = `. {\n  plugin ./${name}.mjs\n  mine\n  prometheus 127.0.0.1:0 {\n    skydns\n  }\n  whoami\n}`
    const server = await serverOf(corefile, { file: join(folder, 'Corefile') })
    servers.push(server)
    await server.ask('example.org. A')
    const text = await server.metricsText()
    expect(text.match(new RegExp(`^skydns_skydns_dns_${name}.*`, 'gm'))).toEqual([`skydns_skydns_dns_${name} 7`])
    expect(text).toContain('skydns_skydns_dns_request_count_total{system="auth"} 1\n')
  })

  test.each([
    ['skydns 9 x', '"9"', 'first'],
    ['skydns a-b', '"a-b"', 'first'],
    ['skydns ü', '"ü"', 'first'],
    ['skydns ""', '""', 'first'],
    ['skydns a b.c', '"b.c"', 'second'],
    ['skydns a ""', '""', 'second']
  ])('that Prometheus would not take are an error: %s', async (line, word, part) => {
    const digits = part === 'first' ? ', no digit first' : ''
    await expect(serverOf(`. {\n  prometheus {\n    ${line}\n  }\n}`)).rejects.toMatchObject({
      code: 'SKEIN_CONFIG',
      message: `Corefile:3: prometheus: skydns: expected the ${part} part of names such as skydns: letters, digits, _ and :${digits}, not ${word}`
    })
  })
})

describe('what it costs', () => {
  test.each([
    ['path /metrics', false],
    ['skydns', true]
  ])('with %s queries carry which layer has answered: %j', async (line, marks) => {
    const server = await started(`. {\n  prometheus 127.0.0.1:0 {\n    ${line}\n  }\n  whoami\n}`)
    expect(server.instance.blocks[0]!.chain.chains.of(1).marks).toBe(marks)
  })

  test('is no promise, and no answer of the cache is read', async () => {
    const server = await started(chain())
    const questions = ['a.skydns.local. AAAA', 'no.skydns.local. A', 'a.skydns.local. A']
    for (const question of questions) await server.ask(question)
    const slots = questions.map((question) => new TestSlot(requestOctets(question), () => {}))
    const { receive } = server.instance.endpoints[0]!
    const before = decodes.count
    let promises = 0
    const hook = createHook({ init: (_id, type) => void (type === 'PROMISE' && promises++) }).enable()
    for (const slot of slots) slot.giveTo(receive)
    hook.disable()
    expect({ promises, decodes: decodes.count - before }).toEqual({ promises: 0, decodes: 0 })
    expect(await counters(server)).toContain('error_count_total cache nodata 1')
  })
})

test('the signatures of a server block that has gone are counted on', () => {
  const traffic = new SkydnsTraffic('x')
  const signatures = (): unknown =>
    traffic
      .families()
      .find(({ name }) => name === 'x_dns_cachemiss_count_total')
      ?.samples.find(({ labels }) => labels[0] === 'signature')?.value
  let made = 0
  const leave = traffic.askFor(() => made)
  made = 3
  const leaveToo = traffic.askFor(() => 4)
  expect(signatures()).toBe(7)
  leave()
  leave()
  made = 9
  expect(signatures()).toBe(7)
  leaveToo()
  expect(signatures()).toBe(7)
})
