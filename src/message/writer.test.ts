import fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import { Message } from './message.js'
import { nameOctets, RecordError } from './name.js'
import type { ResourceRecord } from './record.js'
import { Writer } from './writer.js'

const writer = new Writer()
const out = Buffer.alloc(65535)

function begin(qname: string, limit = out.length): void {
  out.fill(0xa5)
  writer.begin(out, limit, 1, 0x8000)
  writer.question(Buffer.concat([nameOctets(qname), Buffer.from([0, 1, 0, 1])]))
}

function record(owner: string, type: string, rdata: unknown, more: object = {}): ResourceRecord {
  return { owner, type, ttl: 5, rdata, ...more } as ResourceRecord
}

/** The octets that a record adds to what is there. */
function added(each: ResourceRecord): string {
  const before = writer.at
  expect(writer.record(each)).toBe(true)
  return out.subarray(before, writer.at).toString('hex')
}

/** The records of what was written. */
function read(count: number): readonly ResourceRecord[] {
  writer.count(6, count)
  return Message.fromOctets(Buffer.from(out.subarray(0, writer.at))).answer
}

const fixed = (type: string, length: string): string => `${type}000100000005${length}`

describe('compresses', () => {
  beforeEach(() => begin('Www.Example.org.'))

  test.each([
    [
      'an owner that was asked for to the question, in any case',
      record('www.example.org.', 'A', '192.0.2.1'),
      `c00c${fixed('0001', '0004')}c0000201`
    ],
    ['an owner to the end of a name', record('a.example.ORG.', 'A', '192.0.2.1'), `0161c010${fixed('0001', '0004')}c0000201`],
    ['a name in rdata of RFC 1035', record('.', 'CNAME', 'a.Example.org.'), `00${fixed('0005', '0004')}0161c010`],
    [
      'a name in rdata only where its case is the same',
      record('.', 'NS', 'a.example.org.'),
      `00${fixed('0002', '000c')}0161076578616d706c65c018`
    ],
    [
      'both names of an SOA',
      record('.', 'SOA', { mname: 'a.org.', rname: 'b.a.org.', serial: 1, refresh: 2, retry: 3, expire: 4, minimum: 5 }),
      `00${fixed('0006', '001c')}0161c0180162c02c0000000100000002000000030000000400000005`
    ],
    ['the exchange of an MX', record('.', 'MX', { preference: 1, exchange: 'org.' }), `00${fixed('000f', '0004')}0001c018`],
    ['no label that only looks like a name', record('.', 'PTR', 'example\\.org.'), `00${fixed('000c', '000d')}0b6578616d706c652e6f726700`]
  ])('%s', (_, each, octets) => {
    expect(added(each)).toBe(octets)
  })

  test.each([
    ['SRV', { priority: 1, weight: 2, port: 3, target: 'Www.Example.org.' }],
    ['DNAME', 'Www.Example.org.'],
    ['RP', Buffer.concat([nameOctets('Www.Example.org.'), nameOctets('Example.org.')])],
    ['HTTPS', Buffer.concat([Buffer.from([0, 1]), nameOctets('Www.Example.org.')])],
    ['TYPE65280', nameOctets('Www.Example.org.')]
  ])('no name in %s (RFC 3597 §4)', (type, rdata) => {
    expect(added(record('.', type, rdata))).toContain(Buffer.from(nameOctets('Example.org.')).toString('hex'))
  })

  test('owners to names in such rdata', () => {
    added(record('.', 'SRV', { priority: 0, weight: 0, port: 0, target: 'host.example.net.' }))
    expect(added(record('host.example.net.', 'A', '192.0.2.1'))).toMatch(/^c03200010001/)
  })
})

test('a name of every case keeps its own spelling in rdata', () => {
  begin('x.')
  const spelled = Array.from(
    { length: 32 },
    (_, i) => `${Array.from('abcde', (c, bit) => (i & (1 << bit) ? c.toUpperCase() : c)).join('')}.`
  )
  for (const each of [...spelled, ...spelled]) added(record('x.', 'CNAME', each))
  expect(read(64).map(({ rdata }) => rdata)).toEqual([...spelled, ...spelled])
})

test('no pointer leads beyond 14 bits', () => {
  begin('x.')
  const filler = record('x.', 'TYPE65280', Buffer.alloc(0x3f00))
  added(filler)
  const list = Array.from({ length: 40 }, (_, i) => record(`host${i % 20}.zone.`, 'CNAME', `target${i % 20}.Zone.`))
  for (const each of list) added(each)
  const answer = read(41)
  expect(answer.slice(1).map(({ owner, rdata }) => [owner, rdata])).toEqual(list.map(({ owner, rdata }) => [owner, rdata]))
})

describe('what does not fit is not there', () => {
  test('whatever room there is', () => {
    const soa = { mname: 'ns.b.org.', rname: 'c.d.', serial: 1, refresh: 1, retry: 1, expire: 1, minimum: 1 }
    for (let room = 0; room < 60; room++) {
      begin('a.org.', 12 + 11 + room)
      const before = writer.at
      const isWritten = writer.record(record('b.org.', 'SOA', soa))
      expect([isWritten, writer.at]).toEqual(room >= 44 ? [true, before + 44] : [false, before])
      expect(out.subarray(before + room).every((octet) => octet === 0xa5)).toBe(true)
    }
  })

  // A name is remembered at offset 40; then it is taken back, and these octets stand there, the last of the message.
  test.each([
    ['half a pointer, of which the other half is still there', 'a.x.', [1, 0x61, 0xc0]],
    ['a pointer into the name itself, which no reader takes', '\\000a.', [2, 0, 0x61, 0xc0, 41]],
    ['a pointer into the header', 'a.', [1, 0x61, 0xc0, 4]],
    ['a name without its end', 'a.b.x.', [1, 0x61]]
  ])('and no name points to %s', (_, name, octets) => {
    begin('x.', 1000)
    const filler = (more: number[]): ResourceRecord => record('.', 'NULL', Buffer.from([...Array(10).fill(0), ...more]))
    const big = record('.', 'NULL', Buffer.alloc(1000))
    expect(writer.records([filler([]), record(name, 'A', '192.0.2.1'), big], 0, 3)).toBe(false)
    expect(out.subarray(40, 42)).toEqual(Buffer.from(nameOctets(name).subarray(0, 2)))
    added(filler(octets))
    added(record(name, 'A', '192.0.2.1'))
    expect(read(2)[1]!.owner).toBe(name)
  })

  test('and no name points to it', () => {
    begin('x.', 100)
    const long = record('a.b.c.d.', 'MX', { preference: 1, exchange: `${'l'.repeat(60)}.a.b.c.d.` })
    expect(writer.record(long)).toBe(false)
    expect(writer.records([record('q.b.c.d.', 'A', '192.0.2.1'), long], 0, 2)).toBe(false)
    expect(added(record('z.c.d.', 'A', '192.0.2.1'))).toMatch(/^017a0163016400/)
    expect(added(record('a.b.c.d.', 'A', '192.0.2.1'))).toMatch(/^01610162c015/)
    expect(read(2).map(({ owner }) => owner)).toEqual(['z.c.d.', 'a.b.c.d.'])
  })
})

test('any records, some of which are taken back, read as they were written', () => {
  // Texts that look like labels and pointers stand where names were that have been taken back.
  const text = fc
    .array(fc.constantFrom(0, 1, 0x61, 0x62, 0xc0, 0xc0, 12, 15, 20, 0x1d, 0x25), { maxLength: 30 })
    .map((list) => Uint8Array.from(list))
  const name = fc.array(fc.constantFrom('a', 'b', 'B', 'ab'), { maxLength: 5 }).map((labels) => `${labels.join('.')}.`)
  const each = fc.oneof(
    fc.record({ owner: name, type: fc.constant('TXT'), ttl: fc.constant(5), rdata: fc.array(text, { minLength: 1, maxLength: 2 }) }),
    fc.record({ owner: name, type: fc.constant('NULL'), ttl: fc.constant(5), rdata: text }),
    fc.record({ owner: name, type: fc.constantFrom('NS', 'DNAME'), ttl: fc.constant(5), rdata: name })
  ) as fc.Arbitrary<ResourceRecord>
  fc.assert(
    fc.property(
      name,
      fc.array(fc.tuple(fc.array(each, { minLength: 1, maxLength: 3 }), fc.nat(120)), { maxLength: 12 }),
      (qname, groups) => {
        begin(qname)
        const kept: ResourceRecord[] = []
        for (const [records, room] of groups) {
          writer.limit = writer.at + room
          if (writer.records(records, 0, records.length)) kept.push(...records)
        }
        const seen = read(kept.length).map(({ owner, type, rdata }) => [owner.toLowerCase(), type, rdata])
        expect(seen).toEqual(kept.map(({ owner, type, rdata }) => [owner.toLowerCase(), type, rdata]))
      }
    ),
    { numRuns: 3000 }
  )
})

describe('refuses, with the message as it was, ', () => {
  test.each([
    ['a bad owner', record('a..b.', 'A', '192.0.2.1')],
    ['a bad address', record('a.', 'A', 'x')],
    ['an unknown type', record('a.', 'NOTYPE', Buffer.alloc(1))],
    ['an unknown class', record('a.', 'A', '192.0.2.1', { class: 'XX' })],
    ['a negative TTL', record('a.', 'A', '192.0.2.1', { ttl: -1 })],
    ['half a second', record('a.', 'A', '192.0.2.1', { ttl: 0.5 })],
    ['a TTL of 2^31', record('a.', 'A', '192.0.2.1', { ttl: 0x80000000 })],
    ['an A of five octets', record('a.', 'A', Buffer.alloc(5))],
    ['an A of no octets', record('a.', 'A', Buffer.alloc(0))],
    ['an MX that ends in its name', record('a.', 'MX', Buffer.from([0, 1, 1, 0x61]))],
    ['a CNAME with octets behind it', record('a.', 'CNAME', Buffer.from([1, 0x61, 0, 0]))],
    ['a pointer in rdata', record('a.', 'CNAME', Buffer.from([0xc0, 0x0c]))]
  ])('%s', (_, each) => {
    begin('x.')
    const before = writer.at
    expect(() => writer.record(each)).toThrow(RecordError)
    expect(writer.at).toBe(before)
    expect(added(record('a.', 'A', '192.0.2.1'))).toBe(`016100${fixed('0001', '0004')}c0000201`)
  })
})

test('an OPT record that does not fit is not written', () => {
  begin('x.', 30)
  expect(writer.opt(1232, 16, 0x8000, [[15, Buffer.alloc(2)]])).toBe(false)
  expect(writer.at).toBe(19)
  expect(writer.opt(1232, 16, 0x8000, [])).toBe(true)
  expect(out.subarray(19, 30).toString('hex')).toBe('00002904d00100800000' + '00')
})
