import type { Reading, ResourceRecord } from 'skein/plugin'
import { MemoryStore } from 'skein/testing'
import { describe, expect, test } from 'vitest'
import { addressPath } from './address.js'
import { Lookup } from './lookup.js'
import { Outside, type OutsideAnswer } from './outside.js'
import { mxRecords, nsRecords, srvRecords, txtRecords } from './records.js'
import type { Service } from './service.js'

type Services = Readonly<Record<string, unknown>>

/** Look-ups in services by names of `z.`: `a.b` is the key `/z/b/a`. */
function lookupIn(services: Services): Lookup {
  const store = MemoryStore.of(
    Object.fromEntries(Object.entries(services).map(([name, value]) => [`/z/${name.split('.').reverse().join('/')}`, value]))
  )
  const reading: Reading = {
    reads: [],
    revision: 1,
    subtree: (key) => store.subtree(key),
    at: (key) => store.at(key),
    has: (key) => store.has(key)
  }
  return new Lookup(reading, { path: [], bad: () => {}, cut: () => {} }, 'z.', { ttl: 3600, now: 0, leaseTtl: () => 0 })
}

const shown = ({ owner, ttl, type, rdata }: ResourceRecord): string =>
  `${owner} ${ttl} ${type} ${typeof rdata === 'string' ? rdata : JSON.stringify(rdata)}`

interface Addresses {
  readonly records: readonly string[]
  readonly failed: boolean
  readonly missed: readonly string[]
}

function addressesOf(services: Services, name: string, known: Record<string, OutsideAnswer> = {}): Addresses {
  const outside = new Outside(new Map(Object.entries(known)))
  const { records, failed } = addressPath(lookupIn(services), outside, name, 'A')
  return { records: records.map(shown), failed, missed: outside.missed.map((missed) => `${missed.name} ${missed.type}`) }
}

const to = (host: string, more: object = {}): object => ({ host, ...more })
/** Names 0, 1, … that lead to each other, so many, and the last to this. */
const chainOf = (length: number, last: string): Services =>
  Object.fromEntries(Array.from({ length: length + 1 }, (_, i) => [`n${i}`, to(i === length ? last : `n${i + 1}.z`)]))

describe('a name leads to addresses', () => {
  test.each<[string, Services, string, readonly string[]]>([
    ['its own', { a: to('192.0.2.1') }, 'a.z.', ['a.z. 3600 A 192.0.2.1']],
    ['of the asked family', { 'x.a': to('192.0.2.1'), 'y.a': to('::1') }, 'a.z.', ['a.z. 3600 A 192.0.2.1']],
    ['behind a CNAME', { a: to('b.z', { ttl: 5 }), b: to('192.0.2.1') }, 'a.z.', ['a.z. 5 CNAME b.z.', 'b.z. 3600 A 192.0.2.1']],
    [
      'behind one that several say',
      { 'x.a': to('b.z', { port: 1, ttl: 9 }), 'y.a': to('B.z.'), b: to('192.0.2.1') },
      'a.z.',
      ['a.z. 9 CNAME b.z.', 'b.z. 3600 A 192.0.2.1']
    ],
    [
      'at itself where several names are said, with the lowest TTL on the way',
      { 'x.a': to('b.z'), 'y.a': to('c.z', { ttl: 50 }), b: to('192.0.2.1', { ttl: 70 }), c: to('192.0.2.2') },
      'a.z.',
      ['a.z. 50 A 192.0.2.1', 'a.z. 50 A 192.0.2.2']
    ],
    [
      'at itself where a name stands beside an address',
      { 'x.a': to('b.z'), 'y.a': to('192.0.2.2'), b: to('192.0.2.1') },
      'a.z.',
      ['a.z. 3600 A 192.0.2.1', 'a.z. 3600 A 192.0.2.2']
    ],
    ['also beside one of the other family', { 'x.a': to('b.z'), 'y.a': to('::1'), b: to('192.0.2.1') }, 'a.z.', ['a.z. 3600 A 192.0.2.1']],
    ['each once', { 'x.a': to('b.z'), 'y.a': to('192.0.2.1'), b: to('192.0.2.1') }, 'a.z.', ['a.z. 3600 A 192.0.2.1']],
    [
      'and not by services without a host',
      { 'x.a': { text: 't' }, 'y.a': to('b.z'), b: to('192.0.2.1') },
      'a.z.',
      ['a.z. 3600 CNAME b.z.', 'b.z. 3600 A 192.0.2.1']
    ],
    [
      'nor by those whose TTL counts for nothing',
      { 'x.a': to('::1', { ttl: 1 }), 'y.a': to('192.0.2.1') },
      'a.z.',
      ['a.z. 3600 A 192.0.2.1']
    ]
  ])('%s', (_title, services, name, records) => {
    expect(addressesOf(services, name)).toEqual({ records, failed: false, missed: [] })
  })
})

describe('a name leads to nothing', () => {
  test.each<[string, Services, string]>([
    ['where it names itself', { a: to('a.z') }, 'a.z.'],
    ['where it names what names it', { a: to('b.z'), b: to('a.z') }, 'a.z.'],
    ['where it names what is above it', { 'x.a': to('a.z') }, 'a.z.'],
    ['where its target is not there', { a: to('gone.z') }, 'a.z.'],
    ['where its target has the other family', { a: to('b.z'), b: to('::1') }, 'a.z.'],
    ['behind nine CNAMEs', chainOf(9, '192.0.2.1'), 'n0.z.'],
    ['where the ninth CNAME would go outside', chainOf(8, 'www.example.net'), 'n0.z.']
  ])('%s', (_title, services, name) => {
    expect(addressesOf(services, name)).toEqual({ records: [], failed: false, missed: [] })
  })

  test('and so do many that name each other crosswise, soon', () => {
    const names = Array.from({ length: 12 }, (_, i) => `n${i}`)
    const services = Object.fromEntries(names.flatMap((from) => names.map((target) => [`${target}.${from}`, to(`${target}.z`)])))
    const start = performance.now()
    expect(addressesOf(services, 'n0.z.')).toEqual({ records: [], failed: true, missed: [] })
    expect(performance.now() - start).toBeLessThan(2000)
  })

  test('but behind eight CNAMEs there may be an address', () => {
    expect(addressesOf(chainOf(8, '192.0.2.1'), 'n0.z.').records).toHaveLength(9)
    expect(addressesOf(chainOf(7, 'www.example.net'), 'n0.z.').missed).toEqual(['www.example.net. A'])
  })

  test('a loop beside an address takes nothing away', () => {
    expect(addressesOf({ 'x.a': to('a.z'), 'y.a': to('192.0.2.1') }, 'a.z.').records).toEqual(['a.z. 3600 A 192.0.2.1'])
  })
})

describe('a name outside', () => {
  const services = { a: to('www.example.net'), 'x.b': to('www.example.net'), 'y.b': to('192.0.2.1') }
  const records: ResourceRecord[] = [
    { owner: 'www.example.net.', type: 'CNAME', ttl: 60, rdata: 'web.example.net.' },
    { owner: 'web.example.net.', type: 'A', ttl: 60, rdata: '192.0.2.9' }
  ]

  test.each<[string, OutsideAnswer | undefined, string, Addresses]>([
    ['is missed where nothing is known', undefined, 'a.z.', { records: [], failed: false, missed: ['www.example.net. A'] }],
    ['is left out where it does not exist', { kind: 'none' }, 'a.z.', { records: [], failed: false, missed: [] }],
    ['fails where nobody answered', { kind: 'failed' }, 'a.z.', { records: [], failed: true, missed: [] }],
    [
      'keeps its CNAME where it has no such address',
      { kind: 'found', records: [] },
      'a.z.',
      { records: ['a.z. 3600 CNAME www.example.net.'], failed: false, missed: [] }
    ],
    [
      'is followed',
      { kind: 'found', records },
      'a.z.',
      {
        records: ['a.z. 3600 CNAME www.example.net.', 'www.example.net. 60 CNAME web.example.net.', 'web.example.net. 60 A 192.0.2.9'],
        failed: false,
        missed: []
      }
    ],
    [
      'gives its addresses beside others',
      { kind: 'found', records },
      'b.z.',
      { records: ['b.z. 60 A 192.0.2.9', 'b.z. 60 A 192.0.2.1'], failed: false, missed: [] }
    ],
    ['that failed leaves the others', { kind: 'failed' }, 'b.z.', { records: ['b.z. 3600 A 192.0.2.1'], failed: true, missed: [] }]
  ])('%s', (_title, answer, name, expected) => {
    expect(addressesOf(services, name, answer === undefined ? {} : { 'www.example.net. A': answer })).toEqual(expected)
  })
})

describe('SRV', () => {
  const srv = (services: Services): readonly string[] =>
    srvRecords(lookupIn(services), new Outside(), 'a.z.', 'a.z.', 10).answer.map(({ rdata }) => Object.values(rdata as object).join(' '))

  test.each<[string, Services, readonly string[]]>([
    ['has priority 10 and the whole weight by default', { a: to('192.0.2.1', { port: 80 }) }, ['10 100 80 a.z.']],
    [
      'shares 100 within a priority',
      { '1.a': to('::1', { weight: 1 }), '2.a': to('::2', { weight: 3 }) },
      ['10 25 0 1.a.z.', '10 75 0 2.a.z.']
    ],
    ['counts 100 for no weight', { '1.a': to('::1', { weight: 300 }), '2.a': to('::2') }, ['10 75 0 1.a.z.', '10 25 0 2.a.z.']],
    ['rounds down', { '1.a': to('::1'), '2.a': to('::2'), '3.a': to('::3') }, ['10 33 0 1.a.z.', '10 33 0 2.a.z.', '10 33 0 3.a.z.']],
    ['but not to 0', { '1.a': to('::1', { weight: 1 }), '2.a': to('::2', { weight: 65535 }) }, ['10 1 0 1.a.z.', '10 99 0 2.a.z.']],
    [
      'keeps priorities apart',
      { '1.a': to('::1', { priority: 5 }), '2.a': to('::2', { priority: 5 }), '3.a': to('::3') },
      ['5 50 0 1.a.z.', '5 50 0 2.a.z.', '10 100 0 3.a.z.']
    ],
    [
      'counts the default among those that say it',
      { '1.a': to('::1', { priority: 10 }), '2.a': to('::2') },
      ['10 50 0 1.a.z.', '10 50 0 2.a.z.']
    ],
    ['has the host where that is a name', { a: to('Web.Example.net') }, ['10 100 0 web.example.net.']],
    ['has none for text alone', { '1.a': { text: 't', weight: 100 }, '2.a': to('::2') }, ['10 100 0 2.a.z.']],
    ['strips labels off its own name', { '1.x.a': to('::1', { targetstrip: 1 }) }, ['10 100 0 x.a.z.']],
    ['strips labels off a host', { a: to('a.b.example.net', { targetstrip: 2 }) }, ['10 100 0 example.net.']],
    ['leaves one label at least', { a: to('b.c', { targetstrip: 1 }) }, ['10 100 0 c.']],
    ['leaves the name where nothing would be left', { a: to('b.c', { targetstrip: 2 }) }, ['10 100 0 b.c.']],
    ['leaves the name where less than that would be', { a: to('b.c', { targetstrip: 2147483647 }) }, ['10 100 0 b.c.']]
  ])('%s', (_title, services, answer) => {
    expect(srv(services)).toEqual(answer)
  })

  test.each<[string, Services, readonly string[]]>([
    [
      'after labels are stripped',
      { 'x.a': to('192.0.2.1', { targetstrip: 1 }), 'y.a': to('192.0.2.2', { targetstrip: 1 }) },
      ['10 50 0 a.z.']
    ],
    ['where one says the default priority', { 'x.a': to('b.c'), 'y.a': to('b.c', { priority: 10 }) }, ['10 50 0 b.c.']],
    ['where one says the default weight', { 'x.a': to('b.c'), 'y.a': to('b.c', { weight: 100 }) }, ['10 50 0 b.c.']],
    [
      'where weights are rounded',
      { 'x.a': to('b.c', { weight: 1000 }), 'y.a': to('b.c', { weight: 1001 }), 'z.a': to('c.c', { weight: 1 }) },
      ['10 49 0 b.c.', '10 50 0 b.c.', '10 1 0 c.c.']
    ],
    ['where texts alone differ', { 'x.a': to('b.c', { text: '1' }), 'y.a': to('b.c', { text: '2' }) }, ['10 50 0 b.c.']],
    ['where keys differ in case alone', { 'X.a': to('192.0.2.1'), 'x.a': to('192.0.2.2') }, ['10 50 0 x.a.z.']],
    ['but not where ports differ', { 'x.a': to('b.c'), 'y.a': to('b.c', { port: 1 }) }, ['10 50 0 b.c.', '10 50 1 b.c.']]
  ])('is there once: %s', (_title, services, answer) => {
    expect(srv(services)).toEqual(answer)
  })

  test('has a weight of at least 1 among a hundred and one', () => {
    const services = Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`n${i}.a`, to(`192.0.2.${i}`)]))
    const weights = srv(services).map((text) => text.split(' ')[1])
    expect([weights.length, new Set(weights)]).toEqual([101, new Set(['1'])])
  })

  test('has the addresses of its targets, each once, and misses names outside in both families', () => {
    const outside = new Outside()
    const services = {
      '1.a': to('192.0.2.1', { targetstrip: 1 }),
      '2.a': to('b.z', { ttl: 7 }),
      '3.a': to('b.z', { port: 2 }),
      b: to('192.0.2.2'),
      '4.a': to('www.example.net')
    }
    const { additional } = srvRecords(lookupIn(services), outside, 'a.z.', 'a.z.', 10)
    expect(additional.map(shown)).toEqual(['a.z. 3600 A 192.0.2.1', 'b.z. 3600 A 192.0.2.2'])
    expect(outside.missed).toEqual([
      { name: 'www.example.net.', type: 'A' },
      { name: 'www.example.net.', type: 'AAAA' }
    ])
  })

  test('has no target for a key with a segment that is no label', () => {
    const store = new MemoryStore()
    store.put(['z', 'a', 'x'.repeat(64)], '{"host":"192.0.2.1"}')
    store.put(['z', 'a', 'y'], '{"host":"192.0.2.2"}')
    const reading: Reading = { reads: [], revision: 1, subtree: (key) => store.subtree(key), at: (key) => store.at(key), has: () => true }
    const lookup = new Lookup(reading, { path: [], bad: () => {}, cut: () => {} }, 'z.', { ttl: 60, now: 0, leaseTtl: () => 0 })
    expect(srvRecords(lookup, new Outside(), 'a.z.', 'a.z.', 10).answer).toHaveLength(1)
    expect(addressPath(lookup, new Outside(), 'a.z.', 'A').records).toHaveLength(2)
  })
})

test('MX has the services that it is given, with priorities and stripped targets', () => {
  const lookup = lookupIn({
    '1.a': to('192.0.2.1', { mail: true, targetstrip: 1 }),
    '2.a': to('mx.example.net', { mail: true, priority: 5 })
  })
  const { answer, additional } = mxRecords(lookup, new Outside(), lookup.all('a.z.'), 'a.z.', 10)
  expect(answer.map(shown)).toEqual([
    'a.z. 3600 MX {"preference":10,"exchange":"a.z."}',
    'a.z. 3600 MX {"preference":5,"exchange":"mx.example.net."}'
  ])
  expect(additional.map(shown)).toEqual(['a.z. 3600 A 192.0.2.1'])
})

test('NS has the addresses under ns.dns, by the names of their keys; what is none is told of', () => {
  const skipped: string[] = []
  const lookup = lookupIn({
    'a.ns.dns': to('192.0.2.1', { targetstrip: 1 }),
    'b.ns.dns': to('::2'),
    'c.ns.dns': to('d.z'),
    'e.ns.dns': { text: 't' }
  })
  const { answer, additional } = nsRecords(lookup, 'z.', ({ key }) => skipped.push(key.join('/')))
  expect(answer.map(shown)).toEqual(['z. 3600 NS a.ns.dns.z.', 'z. 3600 NS b.ns.dns.z.'])
  expect(additional.map(shown)).toEqual(['a.ns.dns.z. 3600 A 192.0.2.1', 'b.ns.dns.z. 3600 AAAA ::2'])
  expect(skipped).toEqual(['z/dns/ns/c', 'z/dns/ns/e'])
})

describe('TXT', () => {
  const strings = (text: string): readonly Buffer[] => {
    const [record] = txtRecords([{ text, ttl: 1 } as Service], 'a.')
    return (record?.rdata ?? []) as unknown as Buffer[]
  }

  test.each([
    ['nothing', '', []],
    ['one octet', 'a', [1]],
    ['255 octets', 'a'.repeat(255), [255]],
    ['256 octets', 'a'.repeat(256), [255, 1]],
    ['510 octets', 'a'.repeat(510), [255, 255]],
    ['511 octets', 'a'.repeat(511), [255, 255, 1]],
    ['letters of two octets', 'é'.repeat(128), [255, 1]]
  ])('of %s is cut every 255', (_title, text, lengths) => {
    expect(strings(text).map(({ length }) => length)).toEqual(lengths)
    expect(Buffer.concat([...strings(text)]).toString()).toBe(text)
  })

  test('keeps every octet', () => {
    const text = 'a\\b"c;\0\n\u007f\u0080ÿ\u212a'
    expect(strings(text)[0]).toEqual(Buffer.from(text))
  })
})
