import { describe, expect, test } from 'vitest'
import { shownDnssec } from './dnssec-rdata.js'

const octets = (hex: string): Uint8Array => new Uint8Array(Buffer.from(hex.replaceAll(' ', ''), 'hex'))

describe('records of DNSSEC in presentation format', () => {
  test.each([
    ['DNSKEY', '0101 03 0d 616263', '257 3 13 YWJj'],
    ['CDNSKEY', '0000 03 00 00', '0 3 0 AA=='],
    ['DS', 'ec45 05 01 2bb183af', '60485 5 1 2bb183af'],
    ['CDS', 'ec45 05 02 00', '60485 5 2 00'],
    // RFC 4034 §3.3, with a shorter signature.
    [
      'RRSIG',
      '0001 05 03 00015180 3e79e34f 3e523ff0 0a52 07 6578616d706c65 03 636f6d 00 a09000',
      'A 5 3 86400 20030320155039 20030218141512 2642 example.com. oJAA'
    ],
    // RFC 4034 §4.3.
    [
      'NSEC',
      '04 686f7374 07 6578616d706c65 03 636f6d 00 0006400100000003 041b000000000000000000000000000000000000000000000000000020',
      'host.example.com. A MX RRSIG NSEC TYPE1234'
    ],
    ['NSEC', '00', '.'],
    ['NSEC', '0161 00 0011 0000000000030000000000000000000080', 'a. RRSIG NSEC NXNAME'],
    ['NSEC3', '01 01 000c 04 aabbccdd 05 666f6f6261 0006400000000002', '1 1 12 aabbccdd cpnmuoj1 A RRSIG'],
    ['NSEC3', '01 00 0000 00 01 ff', '1 0 0 - vs'],
    ['NSEC3PARAM', '01 00 0000 00', '1 0 0 -']
  ])('%s %s', (type, hex, wanted) => {
    expect(shownDnssec(type, octets(hex))).toBe(wanted)
  })

  test.each([
    ['DS', 'ec45'],
    ['RRSIG', '0001 05 03 00015180 3e79e34f 3e523ff0 0a52 07 65'],
    ['RRSIG', '0001'],
    ['NSEC', ''],
    ['NSEC', '00 00'],
    ['NSEC', '00 0006 40'],
    ['NSEC3', '01 01 000c 04 aabb'],
    ['NSEC3', '01 00 0000 00'],
    ['NSEC3', '01 00 0000 00 05 ff'],
    ['NSEC3PARAM', ''],
    ['A', '01020304'],
    ['constructor', '00']
  ])('malformed, or of another type, is left to others: %s %s', (type, hex) => {
    expect(shownDnssec(type, octets(hex))).toBeUndefined()
  })
})
