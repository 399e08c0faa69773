import { describe, expect, test } from 'vitest'
import { canonicalRdata } from './canonical.js'
import { type ResourceRecord, writtenOnce } from './record.js'

const octets = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, 'latin1'))
const soa = { mname: 'NS.Example.', rname: 'Host.Example.', serial: 1, refresh: 2, retry: 3, expire: 4, minimum: 5 }

describe('rdata in canonical form has lower case in the names of old types (RFC 4034 §6.2), and is as it is otherwise', () => {
  test.each<[ResourceRecord, string]>([
    [{ owner: 'a.', type: 'NS', ttl: 1, rdata: 'B.Example.' }, '\x01b\x07example\0'],
    [{ owner: 'a.', type: 'CNAME', ttl: 1, rdata: 'b\\.C.' }, '\x03b.c\0'],
    [{ owner: 'a.', type: 'MX', ttl: 1, rdata: { preference: 0x4142, exchange: 'AB.' } }, 'AB\x02ab\0'],
    [{ owner: 'a.', type: 'SRV', ttl: 1, rdata: { priority: 0x4141, weight: 1, port: 2, target: 'Z.' } }, 'AA\0\x01\0\x02\x01z\0'],
    [
      { owner: 'a.', type: 'SOA', ttl: 1, rdata: soa },
      '\x02ns\x07example\0\x04host\x07example\0\0\0\0\x01\0\0\0\x02\0\0\0\x03\0\0\0\x04\0\0\0\x05'
    ],
    [{ owner: 'a.', type: 'TXT', ttl: 1, rdata: ['Text'] }, '\x04Text'],
    [{ owner: 'a.', type: 'A', ttl: 1, rdata: '65.66.67.68' }, 'ABCD'],
    // Names of newer types stay (RFC 3597 §7), and that of NSEC (RFC 6840 §5.1).
    [{ owner: 'a.', type: 'NSEC', ttl: 1, rdata: octets('\x01A\0\0\x01\x40') }, '\x01A\0\0\x01\x40'],
    [{ owner: 'a.', type: 'SVCB', ttl: 1, rdata: octets('\0\x01\x01A\0') }, '\0\x01\x01A\0'],
    [{ owner: 'a.', type: 'TYPE65280', ttl: 1, rdata: octets('ABC') }, 'ABC']
  ])('%j', (record, wanted) => {
    expect(Buffer.from(canonicalRdata(record)).toString('latin1')).toBe(wanted)
    expect(Buffer.from(canonicalRdata(writtenOnce(record))).toString('latin1')).toBe(wanted)
  })

  test('without changing the record', () => {
    const rdata = octets('\x01A\0')
    canonicalRdata({ owner: 'a.', type: 'NS', ttl: 1, rdata })
    expect(rdata).toEqual(octets('\x01A\0'))
  })
})
