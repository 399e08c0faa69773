import { describe, expect, test } from 'vitest'
import { RecordError } from './name.js'
import { shownRecord } from './presentation.js'
import { type ResourceRecord, rdataOctets, readRdata, readTtl, withTtl, writtenOnce } from './record.js'
import { typeNumber } from './registry.js'

function record(type: string, rdata: unknown): ResourceRecord {
  return { owner: 'x.org.', type, ttl: 5, rdata } as ResourceRecord
}

const hex = (octets: Uint8Array): string => Buffer.from(octets).toString('hex')
const soa = { mname: 'a.', rname: 'b\\.c.d.', serial: 4294967295, refresh: 1, retry: 2, expire: 3, minimum: 4 }

describe('writes rdata and reads it back', () => {
  test.each([
    ['A', '192.0.2.1', 'c0000201', '192.0.2.1'],
    ['AAAA', '2001:db8::1', '20010db8000000000000000000000001', '2001:db8::1'],
    ['NS', 'A.b.', '0141016200', 'A.b.'],
    ['CNAME', '.', '00', '.'],
    ['PTR', 'a\\.b.c.', '03612e62016300', 'a\\.b.c.'],
    ['DNAME', 'a.', '016100', 'a.'],
    ['MX', { preference: 65535, exchange: 'a.' }, 'ffff016100', '65535 a.'],
    ['SRV', { priority: 1, weight: 2, port: 53, target: 'a.' }, '000100020035016100', '1 2 53 a.'],
    ['SOA', soa, '01610003622e63016400ffffffff00000001000000020000000300000004', 'a. b\\.c.d. 4294967295 1 2 3 4'],
    ['TXT', [Uint8Array.of(0x61, 0x22), Uint8Array.of(0, 255), new Uint8Array(0)], '0261220200ff00', '"a\\"" "\\000\\255" ""'],
    ['HINFO', { cpu: 'c', os: '' }, '016300', '"c" ""'],
    ['TYPE65280', Uint8Array.of(1, 2), '0102', '\\# 2 0102'],
    ['LOC', new Uint8Array(0), '', '\\# 0'],
    ['DS', { keyTag: 1, algorithm: 13, digestType: 2, digest: Buffer.from([7]) }, '00010d0207', '1 13 2 07']
  ])('%s %#', (type, rdata, octets, shown) => {
    const made = record(type, rdata)
    const wire = rdataOctets(made)
    expect(hex(wire)).toBe(octets)
    expect(readRdata(wire, typeNumber(type)!, 0, wire.length)).toEqual(rdata)
    expect(shownRecord(made)).toBe(`x.org. 5 ${type} ${shown}`)
  })

  test('a TXT of text as UTF-8, and one without strings as one empty string', () => {
    expect(hex(rdataOctets(record('TXT', ['ü', '', 'b'])))).toBe('02c3bc000162')
    expect(hex(rdataOctets(record('TXT', [])))).toBe('00')
  })
})

test('what is read is a copy, be the message a Buffer or not', () => {
  const wire = Buffer.from('02abcd', 'hex')
  const read = [readRdata(wire, 16, 0, 3), readRdata(wire, 29, 0, 3), readRdata(wire, 43, 0, 3)]
  wire.fill(0)
  expect(read).toEqual([[Uint8Array.of(0xab, 0xcd)], Uint8Array.of(2, 0xab, 0xcd), Uint8Array.of(2, 0xab, 0xcd)])
})

describe('refuses to write', () => {
  test.each([
    ['A', 'not an address', 'must be an IPv4 address'],
    ['A', '300.1.2.3', 'must be an IPv4 address'],
    ['A', '::1', 'must be an IPv4 address'],
    ['A', undefined, 'must be an IPv4 address'],
    ['AAAA', 'zz', 'must be an IPv6 address'],
    ['AAAA', 'fe80::1%eth0', 'must be an IPv6 address'],
    ['NS', 'a..b', 'an empty label'],
    ['CNAME', '', 'an empty name'],
    ['PTR', 'x'.repeat(70), 'longer than 63'],
    ['MX', { preference: 65536, exchange: 'a.' }, 'numbers from 0 to 65535'],
    ['MX', { preference: -1, exchange: 'a.' }, 'numbers from 0 to 65535'],
    ['SRV', { priority: 1, weight: 1.5, port: 1, target: 'a.' }, 'numbers from 0 to 65535'],
    ['SRV', { priority: 1, weight: 1, port: Number.NaN, target: 'a.' }, 'numbers from 0 to 65535'],
    ['SOA', { ...soa, serial: 4294967296 }, 'numbers from 0 to 4294967295'],
    ['TXT', ['x'.repeat(256)], 'at most 255 octets'],
    ['TXT', ['ü'.repeat(128)], 'at most 255 octets'],
    ['LOC', 'somewhere', 'must be octets'],
    ['TYPE1', '192.0.2.1', 'must be octets']
  ])('%s %#', (type, rdata, problem) => {
    expect(() => rdataOctets(record(type, rdata))).toThrow(RecordError)
    expect(() => rdataOctets(record(type, rdata))).toThrow(problem)
  })
})

test.each([
  ['00000000', 0],
  ['7fffffff', 0x7fffffff],
  ['80000000', 0],
  ['ffffffff', 0]
])('reads the TTL %s as %d (RFC 2181 §8)', (octets, ttl) => {
  expect(readTtl(Buffer.from(octets, 'hex'), 0)).toBe(ttl)
})

test.each<[string, ResourceRecord]>([
  ['an SOA', record('SOA', soa)],
  ['a TXT', record('TXT', [Uint8Array.of(1, 2)])],
  ['another class', { ...record('A', '192.0.2.1'), class: 'CH', owner: 'X.y.' }],
  ['an unknown type at the root', { ...record('TYPE65280', Uint8Array.of(1)), owner: '.' }]
])('%s that is written once says what it did', (_what, from) => {
  const { owner, type, class: of, ttl, rdata } = writtenOnce(from)
  expect({ owner, type, class: of, ttl, rdata }).toEqual({ class: 'IN', ...from })
})

test('a record that cannot be written is not written once either', () => {
  expect(() => writtenOnce(record('A', 'x'))).toThrow(RecordError)
  expect(() => writtenOnce({ ...record('A', '192.0.2.1'), owner: 'a..b.' })).toThrow(RecordError)
})

describe('a record with another TTL says the configured one where its own is less', () => {
  const plain: ResourceRecord = { owner: 'x.org.', type: 'A', ttl: 60, rdata: '192.0.2.1' }
  test.each<[string, ResourceRecord, number, Partial<ResourceRecord>]>([
    ['less', plain, 20, { ttl: 20, originalTtl: 60 }],
    ['less again', { ...plain, ttl: 20, originalTtl: 60 }, 5, { ttl: 5, originalTtl: 60 }],
    ['more, not all of it', { ...plain, ttl: 5, originalTtl: 60 }, 20, { ttl: 20, originalTtl: 60 }],
    ['as much', { ...plain, ttl: 5, originalTtl: 60 }, 60, { ttl: 60 }],
    ['more', plain, 90, { ttl: 90 }],
    ['of a class', { ...plain, class: 'CH' }, 20, { class: 'CH', ttl: 20, originalTtl: 60 }]
  ])('%s', (_, record, ttl, expected) => {
    const { owner, type, rdata } = plain
    expect(withTtl(record, ttl)).toEqual({ owner, type, rdata, ...expected })
  })

  test('one that was written keeps its parts', () => {
    expect(withTtl(writtenOnce(plain), 20)).toEqual({ ...plain, class: 'IN', ttl: 20, originalTtl: 60 })
  })
})
