import { isIPv4, isIPv6, SocketAddress } from 'node:net'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ipv4Octets, ipv4Text, ipv6Octets, ipv6Text } from './address.js'

describe('reads and writes in the form of RFC 5952', () => {
  test.each([
    ['::', '::'],
    ['::1', '::1'],
    ['1::', '1::'],
    ['2001:DB8::0:1', '2001:db8::1'],
    ['2001:db8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
    ['2001:0:0:1:0:0:0:1', '2001:0:0:1::1'],
    ['2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
    ['1:2:3:4:5:6:0:0', '1:2:3:4:5:6::'],
    ['0:0:3:4:5:6:7:8', '::3:4:5:6:7:8'],
    ['1:2:3:4:5:6:7::', '1:2:3:4:5:6:7:0'],
    ['::2:3:4:5:6:7:8', '0:2:3:4:5:6:7:8'],
    ['::ffff:192.0.2.1', '::ffff:192.0.2.1'],
    ['::ffff:0:0', '::ffff:0.0.0.0'],
    ['1:2:3:4:5:6:7.8.9.10', '1:2:3:4:5:6:708:90a'],
    ['64:ff9b::192.0.2.33', '64:ff9b::c000:221']
  ])('%s', (text, shown) => {
    expect(ipv6Text(ipv6Octets(text)!)).toBe(shown)
    expect(ipv6Octets(shown)).toEqual(ipv6Octets(text))
  })
})

describe('refuses as an address', () => {
  test.each(['', 'not an address', '300.1.2.3', '1.2.3', '1.2.3.4.5', '01.2.3.4', '0x7f.1', '1.2.3.4 ', '::1', 'zz', ':::', '1::2::3'])(
    '%s',
    (text) => {
      expect(ipv4Octets(text)).toBeUndefined()
      if (text !== '::1') expect(ipv6Octets(text)).toBeUndefined()
    }
  )
  test.each(['fe80::1%eth0', '1.2.3.4', '::1.2.3', '1:2:3:4:5:6:7:8:9', '12345::', '::1.2.3.4.5', '[::1]'])('IPv6 %s', (text) => {
    expect(ipv6Octets(text)).toBeUndefined()
  })
})

test('any four octets survive', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 4, maxLength: 4 }), (octets) => {
      const text = ipv4Text(octets)
      expect(isIPv4(text)).toBe(true)
      expect(ipv4Octets(text)).toEqual(octets)
    })
  )
})

test('any sixteen octets survive, and are written as Node writes them', () => {
  const octet = fc.oneof({ weight: 2, arbitrary: fc.constant(0) }, fc.nat(255))
  fc.assert(
    fc.property(fc.array(octet, { minLength: 16, maxLength: 16 }), (list) => {
      const octets = Uint8Array.from(list)
      const text = ipv6Text(octets)
      expect(isIPv6(text)).toBe(true)
      expect(ipv6Octets(text)).toEqual(octets)
      // inet_ntop writes the deprecated ::a.b.c.d with dots, RFC 5952 does not ask for it.
      if (octets.subarray(0, 12).some((each) => each !== 0)) expect(text).toBe(new SocketAddress({ address: text, family: 'ipv6' }).address)
    }),
    { numRuns: 3000 }
  )
})

test('any text is an address exactly where Node says so', () => {
  const text = fc.string({ unit: fc.constantFrom(':', '::', '.', '0', '1', 'f', '255', 'ffff', '192.0.2.1'), maxLength: 12 })
  fc.assert(
    fc.property(text, (each) => {
      expect(ipv4Octets(each) !== undefined).toBe(isIPv4(each))
      expect(ipv6Octets(each) !== undefined).toBe(isIPv6(each))
    }),
    { numRuns: 5000 }
  )
})

test('takes for an IPv4 address what Node takes for one', () => {
  const part = fc.constantFrom(
    '',
    '0',
    '00',
    '01',
    '9',
    '10',
    '99',
    '199',
    '249',
    '255',
    '256',
    '300',
    '1000',
    '-1',
    '+1',
    ' 1',
    '1 ',
    'a',
    '1e1',
    '１'
  )
  fc.assert(
    fc.property(fc.array(part, { minLength: 2, maxLength: 5 }), (parts) => {
      const text = parts.join('.')
      const octets = ipv4Octets(text)
      expect(octets !== undefined, text).toBe(isIPv4(text))
      if (octets !== undefined) expect(ipv4Text(octets)).toBe(text)
    }),
    { numRuns: 5000 }
  )
  for (const text of ['0.0.0.0', '255.255.255.255', '1.2.3.4.', '.1.2.3', '1..2.3', '1.2.3.4.5', '1.2.3.4a', '1.2.3']) {
    expect(ipv4Octets(text) !== undefined, text).toBe(isIPv4(text))
  }
})
