import type { Query, Reply } from 'skein/plugin'
import { type Answer, serverOf, TestClock } from 'skein/testing'
import { afterEach, describe, expect, test } from 'vitest'
import { startScripted } from './scripted-upstream.js'

const open: { readonly stop: () => Promise<void> }[] = []
afterEach(async () => {
  for (const one of open.splice(0)) await one.stop()
})

/** A record of the name asked for, in octets. */
interface Octets {
  readonly type: number
  readonly ttl: number
  readonly rdata: Buffer
}

interface Sections {
  readonly rcode?: number
  readonly answer?: readonly Octets[]
  readonly authority?: readonly Octets[]
  readonly additional?: readonly Octets[]
}

const a = (ttl: number): Octets => ({ type: 1, ttl, rdata: Buffer.from([192, 0, 2, 1]) })
const mx = (ttl: number): Octets => ({ type: 15, ttl, rdata: Buffer.from([0, 1, 0xc0, 12]) })
const soa = (ttl: number, minimum: number): Octets => {
  const rdata = Buffer.alloc(24)
  // Both of its names are the one asked for.
  rdata.writeUInt32BE(0xc00cc00c)
  rdata.writeUInt32BE(minimum, 20)
  return { type: 6, ttl, rdata }
}

function inOctets({ type, ttl, rdata }: Octets): Buffer {
  const fixed = Buffer.from('c00c0000000100000000', 'hex')
  fixed.writeUInt16BE(type, 2)
  fixed.writeUInt32BE(ttl, 6)
  return Buffer.concat([fixed, Buffer.from([0, rdata.length]), rdata])
}

/** A reply as it comes over the network. */
function received(query: Query, { rcode = 0, answer = [], authority = [], additional = [] }: Sections): Reply {
  const octets = Buffer.concat([query.octets(0), ...[...answer, ...authority, ...additional].map(inOctets)])
  octets.writeUInt16BE(0x8180 | rcode, 2)
  for (const [index, section] of [answer, authority, additional].entries()) octets.writeUInt16BE(section.length, 6 + 2 * index)
  return query.received(octets, { origin: { kind: 'upstream' } })
}

/** The TTLs that are told, each time after so many seconds, and how often the upstream was asked. */
async function told(sections: Sections, cache: string, type: string, ...seconds: number[]): Promise<string> {
  const clock = new TestClock()
  const running = await startScripted(
    (corefile, file) => serverOf(corefile, { file, clock }),
    (query) => received(query, sections),
    cache
  )
  open.push(running)
  const ttls: string[] = []
  for (const after of seconds) {
    clock.advance(after * 1000)
    ttls.push(ttlsOf(await running.server.ask(`a.example.org. ${type}`)))
  }
  return `${ttls.join(', ')}; asked ${running.asked.length}`
}

const ttlsOf = ({ answer, authority, additional }: Answer): string =>
  [...answer, ...authority, ...additional].map((text) => text.split(' ')[1]).join(' ')

describe('what does not exist is known for the lesser of the SOA’s TTL and minimum, which the SOA shows, and which counts down', () => {
  const TOP = 0x8000_0001
  test.each<[string, number, number, string]>([
    ['the TTL', 100, 1800, '100, 99, 1, 100; asked 2'],
    ['the minimum', 3600, 100, '100, 99, 1, 100; asked 2'],
    ['either', 100, 100, '100, 99, 1, 100; asked 2'],
    ['a minimum that no TTL is as large as', 100, TOP, '100, 99, 1, 100; asked 2'],
    ['a TTL of 0: it is not kept', 0, 1800, '0, 0, 0, 0; asked 4'],
    ['a minimum of 0: it is not kept, and told as it came', 1800, 0, '1800, 1800, 1800, 1800; asked 4'],
    ['a TTL with the top bit set, which is 0 (RFC 2181 §8)', TOP, 1800, '0, 0, 0, 0; asked 4']
  ])('%s', async (_title, ttl, minimum, expected) => {
    for (const rcode of [0, 3]) expect(await told({ rcode, authority: [soa(ttl, minimum)] }, 'cache', 'A', 0, 1, 98, 1)).toBe(expected)
  })
})

describe('one TTL of 0 keeps a whole answer from being kept, wherever it stands', () => {
  const zeros: [string, number][] = [
    ['0', 0],
    ['the least with the top bit set', 0x8000_0000],
    ['2^31 + 1', 0x8000_0001],
    ['the greatest', 0xffff_ffff]
  ]
  test.each(zeros)('%s', async (_title, zero) => {
    const places: [Sections, string, string][] = [
      [{ answer: [a(zero)] }, 'A', '0'],
      [{ answer: [a(60), a(zero)] }, 'A', '60 0'],
      [{ answer: [mx(60)], authority: [a(zero)] }, 'MX', '60 0'],
      [{ answer: [mx(60)], additional: [a(60), a(zero)] }, 'MX', '60 60 0']
    ]
    for (const [sections, type, ttls] of places) expect(await told(sections, 'cache', type, 0, 1)).toBe(`${ttls}, ${ttls}; asked 2`)
  })

  test.each(zeros)('but where the operator has written a least one: %s', async (_title, zero) => {
    const least = 'cache {\nsuccess 100 3600 5\ndenial 100 3600 7\n}'
    expect(await told({ answer: [a(zero), a(60)] }, least, 'A', 0, 4, 1)).toBe('5 60, 1 56, 5 60; asked 2')
    expect(await told({ rcode: 3, authority: [soa(zero, 60)] }, least, 'A', 0, 6, 1)).toBe('7, 1, 7; asked 2')
  })

  test('and the greatest that there is, is none', async () => {
    expect(await told({ answer: [a(0x7fff_ffff)] }, 'cache 2147483647', 'A', 0, 1)).toBe('2147483647, 2147483646; asked 1')
  })
})
