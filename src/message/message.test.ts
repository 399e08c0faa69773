import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { AA, Message, QR, RD, TC } from './message.js'
import { FormatError } from './name.js'
import type { ResourceRecord } from './record.js'

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex')
const record: ResourceRecord = { owner: 'a.', type: 'A', ttl: 1, rdata: '192.0.2.1' }
const wire = hex('0001 8180 0001 0001 0000 0001 0161 00 0001 0001 c00c 0001 0001 80000000 0004 c0000201 00 0029 1000 01008000 0000')

test('reads octets when it is asked, and only then', () => {
  const message = Message.fromOctets(wire)
  expect(message.question).toMatchObject({ qname: 'a.', qtype: 1 })
  expect(message.answer.map(({ owner, type, class: klass, ttl, rdata }) => [owner, type, klass, ttl, rdata])).toEqual([
    ['a.', 'A', 'IN', 0, '192.0.2.1']
  ])
  expect(message.additional).toEqual([])
  expect(message.edns).toMatchObject({ size: 4096, dnssecOk: true, extendedRcode: 1 })
  expect(message.rcode).toBe('BADVERS')
  expect(message.answer).toBe(message.answer)
})

test('changed, it is a new one with the rest as it was', () => {
  const before = Message.fromOctets(wire, { why: 'x', origin: { kind: 'upstream' }, extendedErrors: [{ code: 1 }] })
  const after = before.with({ additional: [record] })
  expect(after).not.toBe(before)
  expect(after.answer).toBe(before.answer)
  expect([after.rcode, after.flags & 0xfff0, after.why, after.origin, after.extendedErrors]).toEqual([
    'BADVERS',
    0x8180,
    'x',
    { kind: 'upstream' },
    [{ code: 1 }]
  ])
  expect([before.additional, after.additional]).toEqual([[], [record]])
  expect(after.with({ rcode: 'NXDOMAIN', flags: QR | AA })).toMatchObject({ rcode: 'NXDOMAIN', flags: QR | AA | 3 })
})

test('made here, it has what it was given', () => {
  const message = Message.of({ flags: QR | RD | TC, rcode: 'NXDOMAIN', answer: [record] })
  expect(message.flags).toBe(QR | RD | TC | 3)
  expect([message.rcode, message.answer, message.authority, message.edns, message.octets]).toEqual([
    'NXDOMAIN',
    [record],
    [],
    undefined,
    undefined
  ])
  expect(() => message.question).toThrow(FormatError)
  expect(Message.of({ flags: QR | 0xf }).rcode).toBe('NOERROR')
})

describe('is malformed', () => {
  test.each([
    ['shorter than a header', '0001 8180 0001 0001 0000 00'],
    ['without a question', '0001 8180 0000 0000 0000 0000'],
    ['an A of three octets', '0001 8180 0001 0001 0000 0000 00 0001 0001 00 0001 0001 00000000 0003 c00002'],
    ['an A without rdata', '0001 8180 0001 0001 0000 0000 00 0001 0001 00 0001 0001 00000000 0000'],
    ['a CNAME longer than its name', '0001 8180 0001 0001 0000 0000 00 0001 0001 00 0005 0001 00000000 0002 0000'],
    ['a CNAME whose name runs out of its rdata', '0001 8180 0001 0001 0000 0000 00 0001 0001 00 0005 0001 00000000 0001 0161 00'],
    ['an NSEC with a pointer forward', '0001 8180 0001 0001 0000 0000 00 0001 0001 00 002f 0001 00000000 0005 c01e 000000'],
    ['a TXT without strings', '0001 8180 0001 0001 0000 0000 00 0001 0001 00 0010 0001 00000000 0000'],
    ['a TXT with half a string', '0001 8180 0001 0001 0000 0000 00 0001 0001 00 0010 0001 00000000 0002 0261'],
    ['an OPT in the answer', '0001 8180 0001 0001 0000 0000 00 0001 0001 00 0029 1000 00000000 0000'],
    ['counts of 65535', '0001 8180 0001 ffff ffff ffff 00 0001 0001']
  ])('%s', (_, octets) => {
    expect(() => Message.fromOctets(hex(octets)).answer).toThrow(FormatError)
  })
})

test('records without rdata are those of UPDATE', () => {
  const message = Message.fromOctets(
    hex('0001 8180 0001 0002 0000 0000 00 0001 0001 00 0001 00ff 00000000 0000 00 0005 00fe 00000000 0000')
  )
  expect(message.answer.map(({ type, class: klass, rdata }) => [type, klass, rdata])).toEqual([
    ['A', 'ANY', new Uint8Array(0)],
    ['CNAME', 'NONE', new Uint8Array(0)]
  ])
})

test('any octets can be read, or are a FormatError', () => {
  const types = fc.constantFrom(1, 2, 5, 6, 12, 15, 16, 28, 33, 35, 41, 43, 46, 47, 257)
  const octet = fc.oneof(fc.constantFrom(0, 0, 0, 1, 1, 0xc0, 0x0c), fc.nat(255))
  const tail = fc.array(
    fc.oneof(
      octet.map((each) => [each]),
      fc.tuple(types, fc.nat(20)).map(([type, length]) => [0xc0, 0x0c, type >> 8, type & 0xff, 0, 1, 0, 0, 0, 9, 0, length])
    ),
    { maxLength: 40 }
  )
  fc.assert(
    fc.property(fc.nat(3), fc.nat(2), fc.nat(2), tail, (answers, authorities, additionals, rest) => {
      const octets = Buffer.from([
        0,
        1,
        0x81,
        0x80,
        0,
        1,
        0,
        answers,
        0,
        authorities,
        0,
        additionals,
        1,
        0x61,
        0,
        0,
        1,
        0,
        1,
        ...rest.flat()
      ])
      try {
        const message = Message.fromOctets(octets)
        const records = [...message.answer, ...message.authority, ...message.additional]
        for (const { owner, type, class: klass, rdata } of records) expect([typeof owner, type, klass, rdata]).not.toContain(undefined)
        expect(message.rcode).toBeDefined()
      } catch (error) {
        expect(error).toBeInstanceOf(FormatError)
      }
    }),
    { numRuns: 10_000 }
  )
})

test('a reply of pointers to pointers costs little', () => {
  const octets = Buffer.alloc(0xffff)
  octets.set([0, 1, 0x81, 0x80, 0, 1, 0x20, 0, 0, 0, 0, 0, 1, 0x61, 0, 0, 1, 0, 1])
  octets.set([0, 0, 10, 0, 1, 0, 0, 0, 0, 0x3f, 0xe0], 19)
  let last = 12
  for (let at = 30; at < 0x3ff0; at += 2) {
    octets.writeUInt16BE(0xc000 | last, at)
    last = at
  }
  for (let at = 30 + 0x3fe0; at + 12 < octets.length; at += 12) {
    octets.writeUInt16BE(0xc000 | last, at)
    octets.writeUInt16BE(65280, at + 2)
    octets.writeUInt16BE(1, at + 4)
  }
  const started = performance.now()
  expect(() => Message.fromOctets(octets).answer).toThrow(FormatError)
  expect(performance.now() - started).toBeLessThan(50)
})
