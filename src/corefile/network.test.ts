import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { reverseZones } from './network.js'

const range = (from: number, to: number, suffix: string): string[] =>
  Array.from({ length: to - from + 1 }, (_, i) => `${from + i}.${suffix}`)

describe('names the reverse zones of', () => {
  test.each([
    ['192.0.2.0/24', ['2.0.192.in-addr.arpa.']],
    ['192.0.2.77/24', ['2.0.192.in-addr.arpa.']],
    ['10.0.0.0/8', ['10.in-addr.arpa.']],
    ['192.0.2.1/32', ['1.2.0.192.in-addr.arpa.']],
    ['0.0.0.0/0', ['in-addr.arpa.']],
    ['10.20.224.0/22', range(224, 227, '20.10.in-addr.arpa.')],
    ['10.20.231.9/22', range(228, 231, '20.10.in-addr.arpa.')],
    ['192.0.2.128/25', range(128, 255, '2.0.192.in-addr.arpa.')],
    ['128.0.0.0/1', range(128, 255, 'in-addr.arpa.')],
    ['10.0.0.0/9', range(0, 127, '10.in-addr.arpa.')],
    ['2001:db8::/32', ['8.b.d.0.1.0.0.2.ip6.arpa.']],
    ['2001:DB8::/33', ['0', '1', '2', '3', '4', '5', '6', '7'].map((nibble) => `${nibble}.8.b.d.0.1.0.0.2.ip6.arpa.`)],
    ['2001:db8::/115', ['0', '1'].map((nibble) => `${nibble}.${'0.'.repeat(20)}8.b.d.0.1.0.0.2.ip6.arpa.`)],
    ['2001:db8::f/127', ['e', 'f'].map((nibble) => `${nibble}.${'0.'.repeat(23)}8.b.d.0.1.0.0.2.ip6.arpa.`)],
    ['::/0', ['ip6.arpa.']]
  ])('%s', (text, zones) => {
    expect(reverseZones(text)).toEqual(zones)
  })
})

test.each([
  '192.0.2.0',
  '192.0.2.0/33',
  '192.0.2/24',
  '192.000.002.0/24',
  '192.0.2.0/',
  '192.0.2.0/-1',
  '/24',
  '2001:db8::/129',
  'fe80::1%1/64'
])('%s is no network', (text) => {
  expect(reverseZones(text)).toBeUndefined()
})

test('an IPv4 network never makes more than 128 zones, nor an IPv6 one more than 8, and never a zone outside of it', () => {
  fc.assert(
    fc.property(fc.ipV4(), fc.integer({ min: 0, max: 32 }), (address, mask) => {
      const zones = reverseZones(`${address}/${mask}`)!
      expect(zones.length).toBeLessThanOrEqual(128)
      const bits = (octets: readonly string[]): string => octets.map((octet) => Number(octet).toString(2).padStart(8, '0')).join('')
      const network = bits(address.split('.')).slice(0, mask)
      for (const zone of zones) expect(bits(zone.split('.').slice(0, -3).reverse()).startsWith(network)).toBe(true)
    })
  )
  fc.assert(
    fc.property(fc.ipV6(), fc.integer({ min: 0, max: 128 }), (address, mask) => {
      const zones = reverseZones(`${address}/${mask}`)!
      expect(zones.length).toBeLessThanOrEqual(8)
      for (const zone of zones) expect(zone.split('.').length - 3).toBe(Math.ceil(mask / 4))
    })
  )
})
