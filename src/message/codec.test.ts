import { describe, expect, test } from 'vitest'
import { type CodecType, decodeRdata, encodeRdata } from './codec.js'
import { RecordError } from './name.js'
import { type ResourceRecord, rdataOctets, readRdata } from './record.js'
import { typeNumber } from './registry.js'

const octets = Buffer.from('0102', 'hex')

describe('what dns-packet reads and writes unchanged is an object', () => {
  test.each([
    ['HINFO', '0163026f73', { cpu: 'c', os: 'os' }],
    ['CAA', '0005697373756578', { flags: 0, tag: 'issue', value: 'x' }],
    ['CAA', '8005697373756578', { flags: 128, tag: 'issue', value: 'x' }],
    ['DS', '00010d020102', { keyTag: 1, algorithm: 13, digestType: 2, digest: octets }],
    ['DNSKEY', '0101030d0102', { flags: 257, algorithm: 13, key: octets }],
    ['TLSA', '0301010102', { usage: 3, selector: 1, matchingType: 1, certificate: octets }],
    ['SSHFP', `0101${'ab'.repeat(20)}`, { algorithm: 1, hash: 1, fingerprint: 'AB'.repeat(20) }]
  ] as const)('%s %s', (type, wire, rdata) => {
    const read = decodeRdata(type as CodecType, Buffer.from(wire, 'hex'))
    expect(read).toMatchObject(rdata)
    expect(Buffer.from(encodeRdata(type as CodecType, rdata as never)!).toString('hex')).toBe(wire)
    expect(Buffer.from(encodeRdata(type as CodecType, read as never)!).toString('hex')).toBe(wire)
  })
})

describe('what it would change or cannot read stays octets', () => {
  test.each([
    ['CAA', '8105697373756578'],
    ['CAA', '00'],
    ['CAA', ''],
    ['CAA', '00ff61'],
    ['SSHFP', '010301020304'],
    ['SSHFP', '0101ab'],
    ['HINFO', '01ff00'],
    ['DNSKEY', '0101040d0102'],
    ['DNSKEY', '0101'],
    ['DS', '0001'],
    ['TLSA', '03']
  ])('%s %s', (type, wire) => {
    const rdata = Buffer.from(wire, 'hex')
    const read = readRdata(rdata, typeNumber(type)!, 0, rdata.length)
    expect(read).toEqual(Uint8Array.from(rdata))
    expect(rdataOctets({ owner: 'x.', type, ttl: 0, rdata: read } as ResourceRecord)).toEqual(read)
  })
})

describe('an object that it would spoil is refused', () => {
  test.each([
    ['CAA', { flags: 0, tag: 'x'.repeat(300), value: '' }],
    ['CAA', { flags: 0, tag: 'issue', value: undefined }],
    ['SSHFP', { algorithm: 1, hash: 3, fingerprint: '00' }],
    ['SSHFP', { algorithm: 1, hash: 1, fingerprint: 'zz' }],
    ['HINFO', { cpu: 'x'.repeat(256), os: '' }],
    ['HINFO', { cpu: 'x' }],
    ['DS', { keyTag: 65536, algorithm: 1, digestType: 1, digest: octets }],
    ['DS', { keyTag: 1, algorithm: 256, digestType: 1, digest: octets }],
    ['DS', { keyTag: 1, algorithm: 1, digestType: 1, digest: 'hex' }],
    ['TLSA', { usage: 300, selector: 0, matchingType: 0, certificate: octets }],
    ['TLSA', { selector: 0, matchingType: 0, certificate: octets }],
    ['DNSKEY', { flags: 257, algorithm: 999, key: octets }]
  ])('%s %#', (type, rdata) => {
    expect(() => rdataOctets({ owner: 'x.', type, ttl: 0, rdata } as ResourceRecord)).toThrow(RecordError)
  })
})

test('all flags of a CAA object are written', () => {
  expect(encodeRdata('CAA', { flags: 129, tag: 'issue', value: 'x' })).toEqual(Buffer.from('8105697373756578', 'hex'))
})

test('a fingerprint may be written in small letters', () => {
  expect(encodeRdata('SSHFP', { algorithm: 1, hash: 1, fingerprint: 'ab'.repeat(20) })).toHaveLength(22)
})

test('what is read is nobody else’s memory', () => {
  const wire = Buffer.from('00010d020102', 'hex')
  const read = decodeRdata('DS', wire)!
  wire.fill(0)
  expect(read.digest).toEqual(octets)
})
