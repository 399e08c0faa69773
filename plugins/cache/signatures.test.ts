import type { Query, ReplyParts, ResourceRecord } from 'skein/plugin'
import { type AskOptions, serverOf, TestClock } from 'skein/testing'
import { afterEach, describe, expect, test } from 'vitest'
import { soa, startScripted, upstream } from './scripted-upstream.js'

const open: { readonly stop: () => Promise<void> }[] = []
afterEach(async () => {
  for (const one of open.splice(0)) await one.stop()
})

const NOW = Date.UTC(2026, 0, 1)

async function before(parts: ReplyParts, cache = 'cache', now = NOW) {
  const clock = new TestClock(now)
  const act = (query: Query) => upstream(query, parts)
  const running = await startScripted((corefile, file) => serverOf(corefile, { file, clock }), act, cache)
  open.push(running)
  return { ...running, clock }
}

/** A signature that ends so many seconds after a time, in milliseconds; of a server's own data as well as another's. */
function signature(seconds: number, now = NOW, ttl = 3000): ResourceRecord {
  const rdata = Buffer.alloc(27)
  rdata.writeUInt32BE((now / 1000 + seconds) % 2 ** 32, 8)
  return { owner: 'a.example.org.', type: 'RRSIG', ttl, rdata }
}

const address: ResourceRecord = { owner: 'a.example.org.', type: 'A', ttl: 3000, rdata: '192.0.2.1' }
const beside: ResourceRecord = { owner: 'b.example.org.', type: 'A', ttl: 3000, rdata: '192.0.2.2' }
const ttls = (records: readonly string[]): number[] => records.map((record) => Number(record.split(' ')[1]))
const DO: AskOptions = { dnssecOk: true }

/** What is told at first, and for how many seconds it is kept then, up to an hour. */
async function keptFor(parts: ReplyParts, cache?: string, options = DO, now?: number): Promise<readonly [readonly number[], number]> {
  const { server, asked, clock } = await before(parts, cache, now)
  const { answer, authority, additional } = await server.ask('a.example.org. A', options)
  let seconds = 0
  for (; seconds < 3600 && asked.length === 1; seconds++) {
    clock.advance(1000)
    const told = await server.ask('a.example.org. A', options)
    // At any moment nobody is told to keep it longer than that.
    if (asked.length === 1) expect(Math.min(...ttls(told.answer))).toBeGreaterThan(0)
  }
  return [ttls([...answer, ...authority, ...additional]), seconds]
}

describe('an answer is kept until its first signature ends', () => {
  test.each<[string, ReplyParts, string, readonly number[], number]>([
    ['where that is before its TTL', { answer: [address, signature(100)] }, 'cache', [100, 100], 100],
    ['not where that is later', { answer: [address, signature(9999)] }, 'cache', [3000, 3000], 3000],
    ['of several signatures', { answer: [address, signature(500), signature(200)] }, 'cache', [200, 200, 200], 200],
    [
      'in whichever section',
      { answer: [address], authority: [signature(70)], additional: [beside, signature(60)] },
      'cache',
      [60, 60, 60, 60],
      60
    ],
    ['whatever the least TTL is', { answer: [address, signature(100)] }, 'cache {\nsuccess 100 3600 3600\n}', [100, 100], 100],
    ['also where a TTL is made longer', { answer: [address, signature(100, NOW, 5)] }, 'cache {\nsuccess 9 900 900\n}', [100, 100], 100],
    ['not where the longest TTL is less', { answer: [address, signature(100)] }, 'cache 50', [50, 50], 50]
  ])('%s', async (_, parts, cache, told, seconds) => {
    expect(await keptFor(parts, cache)).toEqual([told, seconds])
  })

  test('a denial too, whatever its limits', async () => {
    const parts: ReplyParts = { rcode: 'NXDOMAIN', authority: [soa(3000, 3000), signature(100)] }
    const { server, asked, clock } = await before(parts, 'cache {\ndenial 100 3600 3600\n}')
    expect(ttls((await server.ask('a.example.org. A', DO)).authority)).toEqual([100, 100])
    clock.advance(99_999)
    expect(ttls((await server.ask('a.example.org. A', DO)).authority)).toEqual([1, 1])
    expect(asked).toHaveLength(1)
    clock.advance(1)
    await server.ask('a.example.org. A', DO)
    expect(asked).toHaveLength(2)
  })

  test('with keepttl for half of that, with TTLs that hold to its end', async () => {
    const { server, asked, clock } = await before({ answer: [address, signature(100)] }, 'cache {\nkeepttl\n}')
    expect(ttls((await server.ask('a.example.org. A', DO)).answer)).toEqual([50, 50])
    clock.advance(49_999)
    expect(ttls((await server.ask('a.example.org. A', DO)).answer)).toEqual([50, 50])
    expect(asked).toHaveLength(1)
    clock.advance(1)
    await server.ask('a.example.org. A', DO)
    expect(asked).toHaveLength(2)
  })

  test('also where the seconds since 1970 begin anew before it does', async () => {
    const late = (2 ** 32 - 50) * 1000
    expect(await keptFor({ answer: [address, signature(100, late)] }, 'cache', DO, late)).toEqual([[100, 100], 100])
  })

  test('not for those who get no signatures', async () => {
    expect(await keptFor({ answer: [address, signature(100)] }, 'cache', {})).toEqual([[3000], 3000])
  })

  test.each([
    ['one that is over', signature(-1)],
    ['one that ends now', signature(0)]
  ])('never with %s', async (_, record) => {
    const { server, asked } = await before({ answer: [address, record] })
    for (let i = 0; i < 2; i++) expect(ttls((await server.ask('a.example.org. A', DO)).answer)).toEqual([3000, 3000])
    expect(asked).toHaveLength(2)
  })
})

/** A clock whose wall clock can be set, or goes on while the machine sleeps. */
class SetClock extends TestClock {
  aheadMs = 0

  override now(): number {
    return super.now() + this.aheadMs
  }
}

describe('what is kept is forgotten where the wall clock has moved on its own', () => {
  const DAY = 86_400_000
  const cases: [string, string, AskOptions, number, number][] = [
    ['after nine days of sleep', 'A', DO, 9 * DAY, 2],
    ['set forward', 'A', DO, 60_001, 2],
    ['set back, before any signature holds', 'A', DO, -60_001, 2],
    ['not for so little forward', 'A', DO, 60_000, 1],
    ['nor back', 'A', DO, -60_000, 1],
    ['for a question for signatures alone', 'RRSIG', {}, 9 * DAY, 2],
    ['not for those who get no signatures', 'A', {}, 9 * DAY, 1]
  ]
  test.each(cases)('%s', async (_, type, options, aheadMs, times) => {
    const clock = new SetClock(NOW)
    const act = (query: Query) => {
      const signed = signature(3000, clock.now())
      return upstream(query, { answer: query.qtype === 'A' ? [address, signed] : [signed] })
    }
    const running = await startScripted((corefile, file) => serverOf(corefile, { file, clock }), act)
    open.push(running)
    const { server, asked } = running
    await server.ask(`a.example.org. ${type}`, options)
    await server.ask(`a.example.org. ${type}`, options)
    expect(asked).toHaveLength(1)
    clock.aheadMs = aheadMs
    await server.ask(`a.example.org. ${type}`, options)
    expect(asked).toHaveLength(times)
    // Once is enough.
    await server.ask(`a.example.org. ${type}`, options)
    expect(asked).toHaveLength(times)
  })

  test('a denial too', async () => {
    const clock = new SetClock(NOW)
    const act = (query: Query) => upstream(query, { rcode: 'NXDOMAIN', authority: [soa(3000, 3000), signature(3000)] })
    const running = await startScripted((corefile, file) => serverOf(corefile, { file, clock }), act)
    open.push(running)
    for (const aheadMs of [0, 0, -9 * DAY, -9 * DAY]) {
      clock.aheadMs = aheadMs
      await running.server.ask('a.example.org. A', DO)
    }
    expect(running.asked).toHaveLength(2)
  })
})

test('who asks with DO and CO, with DO and without gets each the denial that he asked for, and CO back, from the cache too', async () => {
  const { server, asked, ...running } = await startScripted(
    (corefile, file) => serverOf(corefile, { file }),
    (query) => {
      const authority = [soa(60, 60), ...(query.dnssecOk ? [signature(100)] : [])]
      return upstream(query, { rcode: query.dnssecOk && !query.compactOk ? 'NOERROR' : 'NXDOMAIN', authority, compactOk: true })
    }
  )
  open.push(running)
  const askers: [AskOptions, string][] = [
    [{ dnssecOk: true, compactOk: true }, 'NXDOMAIN 2 DO CO'],
    [{ dnssecOk: true }, 'NOERROR 2 DO'],
    // CO alone means nothing.
    [{ compactOk: true }, 'NXDOMAIN 1'],
    [{ edns: 1232 }, 'NXDOMAIN 1']
  ]
  for (let round = 0; round < 3; round++) {
    for (const [options, expected] of round === 1 ? askers.toReversed() : askers) {
      const { rcode, authority, edns } = await server.ask('a.example.org. A', options)
      const flags = `${edns?.dnssecOk ? ' DO' : ''}${edns?.compactOk ? ' CO' : ''}`
      expect(`${rcode} ${authority.length}${flags}`).toBe(expected)
    }
  }
  expect(asked).toHaveLength(3)
})
