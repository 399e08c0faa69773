import { ZoneKey } from 'skein/plugin'
import { MemoryStore, serverOf, TestClock, type TestServer } from 'skein/testing'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { judged, type KeyFolder, keyFolder } from './judged.testing.js'

const HOUR = 3_600_000
const DAY = 24 * HOUR

let one: KeyFolder
let rsa: KeyFolder
let several: KeyFolder
let server: TestServer | undefined
beforeAll(async () => {
  one = await keyFolder(['skydns.local.'])
  rsa = await keyFolder(['skydns.local.', 8])
  several = await keyFolder(['skydns.local.', 13, 257], ['skydns.local.', 13, 256], ['skydns.local.', 15, 257], ['skydns.local.', 14, 256])
})
afterEach(async () => {
  vi.restoreAllMocks()
  await server?.stop()
  server = undefined
})
afterAll(() => {
  for (const folder of [one, rsa, several]) folder.remove()
})

interface Options {
  readonly folder?: KeyFolder
  readonly lines?: string
  readonly more?: string
  readonly services?: MemoryStore
  readonly clock?: TestClock
  readonly below?: number
}

async function start({ folder = one, lines = '', more = '', services, clock = new TestClock(), below = 0 }: Options): Promise<TestServer> {
  const corefile = `. {\n${more}\ndnssec skydns.local {\nkeys ${folder.path}\n${lines}\n}\netcd skydns.local {\nstore\n}\n}`
  const store = services ?? MemoryStore.of({ '/skydns/local/skydns/web': { host: '192.0.2.1' } })
  server = await serverOf(corefile, { services: store, clock, random: { below: (limit) => Math.min(below, limit - 1) } })
  return server
}

/** Of the first RRSIG in an answer: its TTL, original TTL, and when it begins and ends, in milliseconds. */
async function signature(
  question = 'web.skydns.local. A'
): Promise<{ ttl: number; original: number; begins: number; ends: number; octets: string }> {
  const { message } = await judged(server!, one.keys, question)
  const record = message.answer.find(({ type }) => type === 'RRSIG')!
  const rdata = Buffer.from(record.rdata as Uint8Array)
  const [original, ends, begins] = [4, 8, 12].map((at) => rdata.readUInt32BE(at)) as [number, number, number]
  return { ttl: record.ttl, original, begins: begins * 1000, ends: ends * 1000, octets: rdata.toString('hex') }
}

const hits = (): number => server!.counter('coredns_dnssec_cache_hits_total')!
const misses = (): number => server!.counter('coredns_dnssec_cache_misses_total')!

describe('a signature', () => {
  test('begins three hours ago, so that clocks may differ, and ends in eight days', async () => {
    const clock = new TestClock()
    await start({ clock })
    expect(await signature()).toMatchObject({ begins: clock.now() - 3 * HOUR, ends: clock.now() + 8 * DAY, ttl: 3600, original: 3600 })
  })

  test('is made once, and kept: also while a lease counts down', async () => {
    const clock = new TestClock()
    const services = new MemoryStore()
    services.put(['skydns', 'local', 'skydns', 'web'], '{"host":"192.0.2.1"}', clock.now() + 1000_000)
    await start({ services, clock })
    const before = await signature()
    expect(before).toMatchObject({ ttl: 1000, original: 3600 })
    clock.advance(400_000)
    expect(await signature()).toEqual({ ...before, ttl: 600 })
    expect([misses(), hits()]).toEqual([1, 1])
  })

  test.each([
    // A quarter of 8 days and 3 hours before its end, and up to 12 hours earlier.
    ['later where chance says so', 0, 8 * DAY - (8 * DAY + 3 * HOUR) / 4],
    ['sooner where chance says so', DAY / 2 - 1, 8 * DAY - (8 * DAY + 3 * HOUR) / 4 - (DAY / 2 - 1)]
  ])('is made anew when a quarter of its time is left, %s', async (_, below, ageMs) => {
    const clock = new TestClock()
    await start({ clock, below })
    const { octets } = await signature()
    clock.advance(ageMs - 1)
    expect((await signature()).octets).toBe(octets)
    clock.advance(1)
    expect(await signature()).toMatchObject({ begins: Math.floor((clock.now() - 3 * HOUR) / 1000) * 1000 })
  })

  test('is never sent when it ends within the TTL: of long TTLs it is made anew sooner', async () => {
    const clock = new TestClock()
    await start({ clock, services: MemoryStore.of({ '/skydns/local/skydns/web': { host: '192.0.2.1', ttl: 3 * 86_400 } }) })
    const { octets, ends } = await signature()
    // An hour more than three days is left.
    clock.advance(5 * DAY - HOUR - 1000)
    expect((await signature()).octets).toBe(octets)
    clock.advance(1000)
    const later = await signature()
    expect(later.ends).toBeGreaterThan(ends)
    expect(clock.now() + later.ttl * 1000).toBeLessThan(later.ends)
  })

  test('of a time to come is none: where the clock was put back it is made anew', async () => {
    let back = 0
    const clock = new (class extends TestClock {
      override now(): number {
        return super.now() - back
      }
    })()
    await start({ clock })
    await signature()
    back = 5 * DAY
    const { begins } = await signature()
    expect(begins).toBeLessThan(clock.now())
    expect(misses()).toBe(2)
  })

  test('makes longer TTLs shorter: four days are enough', async () => {
    await start({ services: MemoryStore.of({ '/skydns/local/skydns/web': { host: '192.0.2.1', ttl: 2 ** 31 - 1 } }) })
    const { message } = await judged(server!, one.keys, 'web.skydns.local. A')
    expect(message.answer.map(({ ttl }) => ttl)).toEqual([4 * 86_400, 4 * 86_400])
    expect((await judged(server!, one.keys, 'web.skydns.local. A')).answer).toEqual([
      'web.skydns.local. A 192.0.2.1',
      'web.skydns.local. RRSIG A'
    ])
  })

  test('leaves the cache of answers when it ends, whatever that says', async () => {
    const clock = new TestClock()
    await start({ clock, more: 'cache 864000 {\nsuccess 100 864000 864000\n}' })
    const { ends } = await signature()
    for (let day = 0; day < 20; day++) {
      clock.advance(DAY)
      const now = await signature()
      expect(now.ends, `after ${day} days`).toBeGreaterThan(clock.now() + now.ttl * 1000 - 1)
    }
    expect((await signature()).ends).toBeGreaterThan(ends)
  })

  test('goes when others come, so many as cache_capacity says', async () => {
    const services = MemoryStore.of(
      Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`/skydns/local/skydns/n${i}`, { host: '192.0.2.1' }]))
    )
    await start({ services, lines: 'cache_capacity 5' })
    for (let i = 0; i < 20; i++) await signature(`n${i}.skydns.local. A`)
    expect([server!.counter('coredns_dnssec_cache_entries'), misses()]).toEqual([5, 20])
    await signature('n19.skydns.local. A')
    await signature('n0.skydns.local. A')
    expect([hits(), misses()]).toEqual([1, 21])
  })

  test('is not that of another RRset which says the same in another order, or of another TTL', async () => {
    const services = MemoryStore.of({
      '/skydns/local/skydns/web/1': { host: '192.0.2.1' },
      '/skydns/local/skydns/web/2': { host: '192.0.2.2' }
    })
    await start({ services, more: 'loadbalance' })
    const seen = new Set<string>()
    for (let i = 0; i < 5; i++) seen.add((await signature()).octets)
    expect(seen.size).toBe(1)
    services.put(['skydns', 'local', 'skydns', 'web', '2'], '{"host":"192.0.2.2","ttl":60}')
    expect(await signature()).toMatchObject({ original: 60, ttl: 60 })
  })
})

describe('several keys', () => {
  test('of an algorithm with a KSK and a ZSK each has its part; of one with one kind, that signs all', async () => {
    await start({ folder: several })
    const signers = async (question: string): Promise<string[]> => {
      const { message, answer } = await judged(server!, several.keys, question)
      expect(answer.filter((line) => line.endsWith('bogus'))).toEqual([])
      return message.answer
        .filter(({ type }) => type === 'RRSIG')
        .map(({ rdata }) => {
          const octets = Buffer.from(rdata as Uint8Array)
          const key = several.keys.find(({ tag, algorithm }) => tag === octets.readUInt16BE(16) && algorithm === octets[2])!
          return `${key.algorithm} ${key.flags}`
        })
        .toSorted()
    }
    expect(await signers('web.skydns.local. A')).toEqual(['13 256', '14 256', '15 257'])
    for (const type of ['DNSKEY', 'CDS', 'CDNSKEY']) expect(await signers(`skydns.local. ${type}`)).toEqual(['13 257', '14 256', '15 257'])
    const { message } = await judged(server!, several.keys, 'skydns.local. CDS')
    expect(message.answer.filter(({ type }) => type === 'CDS')).toHaveLength(3)
  })
})

describe('signing', () => {
  test('of the same RRset, asked for by many at once, is done once', async () => {
    await start({ folder: rsa })
    const sign = vi.spyOn(ZoneKey.prototype, 'sign')
    const all = await Promise.all(Array.from({ length: 20 }, () => judged(server!, rsa.keys, 'web.skydns.local. A')))
    expect(all.map(({ answer }) => answer)).toEqual(all.map(() => ['web.skydns.local. A 192.0.2.1', 'web.skydns.local. RRSIG A']))
    expect(sign).toHaveBeenCalledTimes(1)
  })

  test('of many RRsets at once in the thread pool mixes up nothing', async () => {
    const services = MemoryStore.of(
      Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`/skydns/local/skydns/n${i}`, { host: `192.0.2.${i}` }]))
    )
    await start({ folder: rsa, services, lines: 'denial nsec3' })
    const questions = Array.from({ length: 50 }, (_, i) => [
      `n${i}.skydns.local. A`,
      `n${i}.skydns.local. TXT`,
      `x.n${i}.skydns.local. A`
    ]).flat()
    for (const { answer, authority } of await Promise.all(questions.map((question) => judged(server!, rsa.keys, question))))
      expect([...answer, ...authority].filter((line) => line.endsWith('bogus'))).toEqual([])
  })

  test.each([
    [
      'throws',
      () => {
        throw new Error('no entropy')
      }
    ],
    ['fails late', () => Promise.reject(new Error('no entropy'))]
  ])('that %s makes the answer SERVFAIL, which nothing keeps', async (_, fail) => {
    await start({ more: 'cache\nerrors' })
    vi.spyOn(ZoneKey.prototype, 'sign').mockImplementation(fail)
    for (let i = 1; i <= 2; i++) {
      const { rcode, answer, edns } = await server!.ask('web.skydns.local. A', { edns: 1232, dnssecOk: true })
      expect([rcode, answer, edns!.options.map(([code, payload]) => [code, Buffer.from(payload.subarray(2)).toString()])]).toEqual([
        'SERVFAIL',
        [],
        [[15, 'signing-failed']]
      ])
      expect(server!.counter('skein_dnssec_failures_total')).toBe(i)
    }
    expect(server!.log.lines.at(-1)).toContain('no entropy')
    vi.restoreAllMocks()
    expect((await judged(server!, one.keys, 'web.skydns.local. A')).answer).toHaveLength(2)
  })

  test('of more than a thousand RRsets at once is a failure of those beyond, and the others are signed', async () => {
    const names = Array.from({ length: 1100 }, (_, i) => `n${i}`)
    const services = MemoryStore.of(Object.fromEntries(names.map((name) => [`/skydns/local/skydns/${name}`, { host: '192.0.2.1' }])))
    await start({ folder: rsa, services, more: 'errors' })
    const waiting: (() => void)[] = []
    vi.spyOn(ZoneKey.prototype, 'sign').mockImplementation(() => new Promise((resolve) => waiting.push(() => resolve(new Uint8Array(256)))))
    const asked = names.map((name) => server!.ask(`${name}.skydns.local. A`, { edns: 4096, dnssecOk: true }))
    for (const go of waiting) go()
    const rcodes = (await Promise.all(asked)).map(({ rcode }) => rcode)
    expect(rcodes).toEqual(names.map((_, i) => (i < 1024 ? 'NOERROR' : 'SERVFAIL')))
    expect(server!.log.lines.at(-1)).toContain('1024 other RRsets are being signed')
  })

  test('that gives what does not verify is found by verify', async () => {
    await start({ lines: 'verify 100', more: 'errors' })
    await judged(server!, one.keys, 'web.skydns.local. A')
    vi.spyOn(ZoneKey.prototype, 'sign').mockImplementation(() => new Uint8Array(64))
    expect(await judged(server!, one.keys, 'nowhere.skydns.local. A')).toMatchObject({ rcode: 'SERVFAIL', authority: [] })
    const text = await server!.metricsText()
    expect(text).toMatch(/^skein_dnssec_verified_total\{server="[^"]+",result="good"\} 1$/m)
    expect(text).toMatch(/^skein_dnssec_verified_total\{server="[^"]+",result="bad"\} 2$/m)
    expect(server!.log.lines.at(-1)).toContain('does not verify')
  })
})

test('what two server blocks count at one endpoint is told in one sample, and nothing before somebody asks', async () => {
  const block = (zone: string): string =>
    `${zone} {\nprometheus localhost:0\ndnssec skydns.local {\nkeys ${one.path}\n}\netcd skydns.local {\nstore\n}\n}\n`
  const services = MemoryStore.of({
    '/skydns/local/skydns/web': { host: '192.0.2.1' },
    '/skydns/local/skydns/a/web': { host: '192.0.2.1' }
  })
  server = await serverOf(`${block('skydns.local')}${block('a.skydns.local')}`, { services })
  expect(await server.metricsText()).not.toMatch(/^\w+_dnssec_/m)
  for (const name of ['web', 'web.a']) await judged(server, one.keys, `${name}.skydns.local. A`)
  const lines = (await server.metricsText()).split('\n').filter((line) => /^\w+_dnssec_/.test(line))
  expect(lines.map((line) => line.replace(/\{.*\}/, ''))).toEqual([
    'coredns_dnssec_cache_entries 2',
    'coredns_dnssec_cache_hits_total 0',
    'coredns_dnssec_cache_misses_total 2',
    'skein_dnssec_failures_total 0',
    'skein_dnssec_verified_total 0',
    'skein_dnssec_verified_total 0'
  ])
})

test('the judge of these tests takes no signature by another key', async () => {
  await start({})
  expect((await judged(server!, rsa.keys, 'web.skydns.local. A')).answer[1]).toBe('web.skydns.local. RRSIG A bogus')
})
