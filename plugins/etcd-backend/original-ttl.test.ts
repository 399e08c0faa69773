import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Message, ResourceRecord, RRType } from 'skein/plugin'
import { MemoryStore, serverOf, TestClock } from 'skein/testing'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'

/** Replies as a plugin before `etcd` gets them. */
const replies: Message[] = []
Object.assign(globalThis, { etcdOriginals: replies })
const folder = mkdtempSync(join(tmpdir(), 'skein-etcd-'))
const spy = join(folder, 'node_modules/skein-plugin-spy')
mkdirSync(spy, { recursive: true })
writeFileSync(join(spy, 'package.json'), JSON.stringify({ type: 'module', exports: './index.js' }))
writeFileSync(
  join(spy, 'index.js'),
  `export default { name: 'spy', api: 1, order: { before: 'etcd' }, setup: () => ({
    async handle(query, next) {
      const reply = await next(query)
      globalThis.etcdOriginals.push(reply)
      return reply
    }
  }) }`
)
afterAll(() => rmSync(folder, { recursive: true, force: true }))
beforeEach(() => void replies.splice(0))

interface Said {
  readonly host?: string
  readonly ttl?: number
  readonly text?: string
  readonly mail?: boolean
  readonly port?: number
  /** Seconds that are left of the key at first. */
  readonly lease?: number
}

/** The TTLs told in answer and additional, and the configured ones that go with them: of each set the least. */
async function ttlsOf(
  services: Readonly<Record<string, Said>>,
  question: string,
  { after = 0, stale = false } = {}
): Promise<Readonly<Record<string, readonly [told: number, configured: number]>>> {
  const clock = new TestClock()
  const store = new MemoryStore()
  for (const [name, { lease, ...value }] of Object.entries(services)) {
    const key = ['skydns', ...`${name}`.split('.').reverse()]
    store.put(key, JSON.stringify(value), lease === undefined ? undefined : clock.now() + lease * 1000)
  }
  clock.advance(after * 1000)
  if (stale) store.feed = { state: 'stale', path: '/skydns', endpoints: [] } as never
  const options = { services: store, clock, file: join(folder, 'Corefile') }
  const server = await serverOf('. {\n spy\n etcd z 2.0.192.in-addr.arpa {\n store\n }\n}', options)
  await server.ask(question)
  await server.stop()
  const sets: Record<string, [number, number]> = {}
  const { answer, additional } = replies.at(-1)!
  for (const record of [...answer, ...additional]) {
    const set = `${record.owner} ${record.type}`
    const { ttl, originalTtl = ttl } = record as ResourceRecord
    // What is the same is not said.
    expect(originalTtl > ttl || (record as ResourceRecord).originalTtl === undefined).toBe(true)
    const [told = ttl, configured = originalTtl] = sets[set] ?? []
    sets[set] = [Math.min(told, ttl), Math.min(configured, originalTtl)]
  }
  return sets
}

describe('a record says the configured TTL where a lease makes its own less', () => {
  test.each<[string, Readonly<Record<string, Said>>, string, Readonly<Record<string, readonly [number, number]>>]>([
    ['an address', { 'a.z': { host: '192.0.2.1', lease: 50 } }, 'a.z. A', { 'a.z. A': [50, 3600] }],
    ['with a TTL of its own', { 'a.z': { host: '192.0.2.1', lease: 50, ttl: 300 } }, 'a.z. A', { 'a.z. A': [50, 300] }],
    ['of which the lease has more', { 'a.z': { host: '192.0.2.1', lease: 500, ttl: 300 } }, 'a.z. A', { 'a.z. A': [300, 300] }],
    [
      'several addresses, the least of them',
      { 'x.a.z': { host: '192.0.2.1', lease: 50 }, 'y.a.z': { host: '192.0.2.2', ttl: 300 } },
      'a.z. A',
      { 'a.z. A': [50, 300] }
    ],
    [
      'a CNAME and what it leads to',
      { 'a.z': { host: 'b.z', lease: 50, ttl: 900 }, 'b.z': { host: '192.0.2.1', lease: 20 } },
      'a.z. A',
      { 'a.z. CNAME': [20, 900], 'b.z. A': [20, 3600] }
    ],
    ['the CNAME alone', { 'a.z': { host: 'b.z', lease: 50 } }, 'a.z. CNAME', { 'a.z. CNAME': [50, 3600] }],
    [
      'addresses that names lead to',
      { 'x.a.z': { host: 'b.z' }, 'y.a.z': { host: '192.0.2.2' }, 'b.z': { host: '192.0.2.1', lease: 20, ttl: 700 } },
      'a.z. A',
      { 'a.z. A': [20, 700] }
    ],
    [
      'SRV, with its target',
      { 'a.z': { host: '192.0.2.1', lease: 50, port: 1 } },
      'a.z. SRV',
      { 'a.z. SRV': [50, 3600], 'a.z. A': [50, 3600] }
    ],
    ['MX', { 'a.z': { host: 'b.z', mail: true, lease: 50 } }, 'a.z. MX', { 'a.z. MX': [50, 3600] }],
    ['TXT', { 'a.z': { text: 't', lease: 50 } }, 'a.z. TXT', { 'a.z. TXT': [50, 3600] }],
    ['NS', { 'n.ns.dns.z': { host: '192.0.2.1', lease: 50 } }, 'z. NS', { 'z. NS': [50, 3600], 'n.ns.dns.z. A': [50, 3600] }],
    [
      'PTR',
      { '1.2.0.192.in-addr.arpa': { host: 'a.z', lease: 50 } },
      '1.2.0.192.in-addr.arpa. PTR',
      { '1.2.0.192.in-addr.arpa. PTR': [50, 3600] }
    ],
    [
      'equal services, the lowest of both TTLs',
      { 'x.a.z': { host: '192.0.2.1', lease: 50, ttl: 900 }, 'y.a.z': { host: '192.0.2.1', ttl: 100 } },
      'a.z. A',
      { 'a.z. A': [50, 100] }
    ],
    [
      'equal records too',
      { 'x.a.z': { text: 't', lease: 50, ttl: 900, port: 1 }, 'y.a.z': { text: 't', ttl: 100 } },
      'a.z. TXT',
      { 'a.z. TXT': [50, 100] }
    ]
  ])('%s', async (_, services, question, expected) => {
    expect(await ttlsOf(services, question)).toEqual(expected)
  })

  test('so does one of a replica that is stale', async () => {
    const services = { 'a.z': { host: '192.0.2.1' }, 'b.z': { host: '192.0.2.1', ttl: 5 } }
    expect(await ttlsOf(services, 'a.z. A', { stale: true })).toEqual({ 'a.z. A': [30, 3600] })
    expect(await ttlsOf(services, 'b.z. A', { stale: true })).toEqual({ 'b.z. A': [5, 5] })
  })

  test('and the SOA of a denial says what is configured', async () => {
    await ttlsOf({}, 'a.z. A', { stale: true })
    expect(replies.at(-1)!.authority.map(({ ttl, originalTtl }) => [ttl, originalTtl])).toEqual([[30, 60]])
  })
})

describe('the configured TTL of a set stays the same while leases run down', () => {
  const services = {
    'x.a.z': { host: '192.0.2.1', lease: 100, ttl: 900 },
    'y.a.z': { host: '192.0.2.1', ttl: 70, text: 't' },
    'w.a.z': { host: 'b.z', lease: 80, mail: true, text: 't' },
    'v.a.z': { host: 'c.z', ttl: 7200, mail: true },
    'b.z': { host: '192.0.2.3', lease: 60, ttl: 800 },
    'c.z': { host: 'd.z', lease: 90, ttl: 500 },
    'd.z': { host: '192.0.2.4', lease: 70 },
    'n.ns.dns.z': { host: '192.0.2.1', lease: 95, ttl: 4000 },
    'm.ns.dns.z': { host: '::1', lease: 75, ttl: 40 }
  }

  test.each<[RRType, string]>([
    ['A', 'a.z.'],
    ['SRV', 'a.z.'],
    ['MX', 'a.z.'],
    ['TXT', 'a.z.'],
    ['A', 'c.z.'],
    ['CNAME', 'c.z.'],
    ['NS', 'z.'],
    ['SRV', 'z.']
  ])('%s of %s', async (type, name) => {
    const configured = async (after: number): Promise<unknown> =>
      Object.entries(await ttlsOf(services, `${name} ${type}`, { after })).map(([set, [, original]]) => [set, original])
    const first = await configured(0)
    expect(first).not.toEqual([])
    for (const after of [1, 10, 30, 59]) expect(await configured(after)).toEqual(first)
    expect(await ttlsOf(services, `${name} ${type}`, { after: 59 })).not.toEqual(await ttlsOf(services, `${name} ${type}`))
  })
})
