import * as packet from 'dns-packet'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Message } from './message.js'
import { name, plainMessage, sections } from './messages.testing.js'
import { nameOctets, readName } from './name.js'
import { plainRdata } from './rdata.js'
import type { ResourceRecord, WireRecord } from './record.js'
import { Writer } from './writer.js'

function written(message: Message, change: (record: ResourceRecord) => ResourceRecord = (record) => record): Buffer {
  const writer = new Writer()
  const out = Buffer.alloc(65535, 0xa5)
  writer.begin(out, out.length, 0, message.flags)
  writer.question(message.octets!.subarray(12, message.question.end))
  for (const [i, records] of [message.answer, message.authority, message.additional].entries()) {
    const list = records.map(change)
    expect(writer.records(list, 0, list.length)).toBe(true)
    writer.count((6 + 2 * i) as 6, records.length)
  }
  return out.subarray(0, writer.at)
}

/** What a message says, with owners without case: they may be written as the asker spelled them. */
function said(message: Message): unknown {
  return [message.answer, message.authority, message.additional].map((records) =>
    (records as unknown as WireRecord[]).map((record) => ({
      owner: record.owner.toLowerCase(),
      type: record.type,
      class: record.class,
      ttl: record.ttl,
      rdata: Buffer.from(plainRdata(record.octets, record.typeNumber, record.rdataStart, record.rdataEnd)).toString('hex')
    }))
  )
}

describe('reading and writing is the identity', () => {
  test('for records as they were read', () => {
    fc.assert(
      fc.property(name, sections, (qname, list) => {
        const before = Message.fromOctets(plainMessage(qname, list))
        const after = written(before)
        expect(after.length).toBeLessThanOrEqual(before.octets!.length)
        expect(said(Message.fromOctets(after))).toEqual(said(before))
        // What is compressed reads the same when it is read and written again.
        expect(written(Message.fromOctets(after))).toEqual(after)
      }),
      { numRuns: 400 }
    )
  })

  test('for records as plugins make them', () => {
    fc.assert(
      fc.property(name, sections, (qname, list) => {
        const before = Message.fromOctets(plainMessage(qname, list))
        const after = written(
          before,
          ({ owner, type, class: klass, ttl, rdata }) => ({ owner, type, class: klass, ttl, rdata }) as ResourceRecord
        )
        expect(said(Message.fromOctets(after))).toEqual(said(before))
      }),
      { numRuns: 400 }
    )
  })

  test('for a message so long that pointers cannot reach all of it', () => {
    const long = Array.from({ length: 900 }, (_, i) => ({
      owner: nameOctets(`host-${i % 700}.zone-${i % 7}.Example.org.`),
      type: i % 2 ? 33 : 15,
      klass: 1,
      ttl: i,
      rdata: Buffer.concat([Buffer.alloc(i % 2 ? 6 : 2), nameOctets(`target-${i % 600}.Zone-${i % 5}.example.org.`)])
    }))
    const before = Message.fromOctets(plainMessage(nameOctets('example.ORG.'), [long, [], []]))
    const after = written(before)
    expect(after.length).toBeGreaterThan(0x4000 * 1.5)
    expect(said(Message.fromOctets(after))).toEqual(said(before))
  })
})

/** Types that dns-packet reads right, with names that it does not spoil. */
const second = fc.constantFrom<ResourceRecord['type']>('A', 'AAAA', 'NS', 'CNAME', 'PTR', 'MX', 'SRV', 'SOA', 'TXT', 'DNAME')
const clean = fc.constantFrom('a.example.org.', 'Example.org.', 'b.a.example.org.', 'xn--bcher-kva.example.')
const word = fc.nat(0xffff)
const long = fc.nat(0xffffffff)

function contentOf(type: string): fc.Arbitrary<unknown> {
  if (type === 'A') return fc.ipV4()
  if (type === 'AAAA') return fc.ipV6()
  if (type === 'MX') return fc.record({ preference: word, exchange: clean })
  if (type === 'SRV') return fc.record({ priority: word, weight: word, port: word, target: clean })
  if (type === 'SOA')
    return fc.record({ mname: clean, rname: clean, serial: long, refresh: long, retry: long, expire: long, minimum: long })
  if (type === 'TXT') return fc.array(fc.uint8Array({ maxLength: 30 }), { minLength: 1, maxLength: 3 })
  return clean
}

const content = second.chain((type) =>
  fc.record({ owner: clean, type: fc.constant(type), ttl: fc.nat(0x7fffffff), rdata: contentOf(type) })
) as fc.Arbitrary<ResourceRecord>

test('dns-packet reads in what is written here what was to be said', () => {
  fc.assert(
    fc.property(fc.array(content, { minLength: 1, maxLength: 20 }), (records) => {
      const writer = new Writer()
      const out = Buffer.alloc(65535)
      writer.begin(out, out.length, 7, 0x8400)
      writer.question(Buffer.concat([nameOctets('a.example.org.'), Buffer.from([0, 255, 0, 1])]))
      expect(writer.records(records, 0, records.length)).toBe(true)
      writer.count(6, records.length)
      const read = packet.decode(out.subarray(0, writer.at))
      const answers = read.answers as unknown as { name: string; type: string; ttl: number; class: string; data: unknown }[]
      expect(answers).toHaveLength(records.length)
      for (const [i, record] of records.entries()) {
        const { name: owner, type, ttl, class: klass, data } = answers[i]!
        expect([owner.toLowerCase(), type, ttl, klass]).toEqual([record.owner.slice(0, -1).toLowerCase(), record.type, record.ttl, 'IN'])
        expect(asSecond(record.type, data)).toEqual(expected(record))
      }
    }),
    { numRuns: 500 }
  )
})

/** dns-packet writes names without their final dot. */
function expected({ type, rdata }: ResourceRecord): unknown {
  const value = rdata as unknown
  if (type === 'AAAA' || type === 'A') return new URL(`http://${type === 'A' ? String(value) : `[${String(value)}]`}`).hostname
  if (type === 'TXT') return (value as Uint8Array[]).map((each) => Buffer.from(each))
  if (typeof value === 'string') return value.slice(0, -1)
  return Object.fromEntries(
    Object.entries(value as object).map(([key, field]) => [key, typeof field === 'string' ? field.slice(0, -1) : field])
  )
}

function asSecond(type: string, data: unknown): unknown {
  if (type === 'A') return data
  if (type === 'AAAA') return new URL(`http://[${String(data)}]`).hostname
  return data
}

test('an SOA keeps a dot inside the first label of its rname', () => {
  const rdata = { mname: 'ns.x.', rname: 'john\\.doe.x.', serial: 0xffffffff, refresh: 0, retry: 1, expire: 2, minimum: 3 }
  const soa: ResourceRecord = { owner: 'x.', type: 'SOA', ttl: 1, rdata }
  const writer = new Writer()
  const out = Buffer.alloc(512)
  writer.begin(out, out.length, 0, 0x8000)
  writer.question(Buffer.concat([nameOctets('x.'), Buffer.from([0, 6, 0, 1])]))
  expect(writer.record(soa)).toBe(true)
  writer.count(6, 1)
  const read = Message.fromOctets(out.subarray(0, writer.at)).answer[0]!
  expect(read.rdata).toEqual(soa.rdata)
  expect(readName(out, 12)).toBe('x.')
})
