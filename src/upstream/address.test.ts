import { describe, expect, test } from 'vitest'
import { readUpstream, upstreamAt } from './address.js'

const fail = (problem: string): never => {
  throw new Error(problem)
}

describe('an upstream is an address, with a port or without', () => {
  test.each([
    ['192.0.2.1', '192.0.2.1:53'],
    ['192.0.2.1:5353', '192.0.2.1:5353'],
    ['2001:DB8:0::1', '[2001:db8::1]:53'],
    ['[2001:db8::1]', '[2001:db8::1]:53'],
    ['[2001:db8:0::1]', '[2001:db8::1]:53'],
    ['[2001:db8::1]:5353', '[2001:db8::1]:5353'],
    ['fe80::1%eth0', '[fe80::1%eth0]:53'],
    ['[FE80:0::1%eth0]:5353', '[fe80::1%eth0]:5353'],
    ['::ffff:192.0.2.1', '192.0.2.1:53'],
    ['[::ffff:c000:201]:5353', '192.0.2.1:5353'],
    ['::ff:192.0.2.1', '[::ff:c000:201]:53'],
    ['64:ff9b::ffff:192.0.2.1', '[64:ff9b::ffff:c000:201]:53']
  ])('%s is %s', (text, expected) => {
    expect(readUpstream(text, fail)?.text).toBe(expected)
  })

  test.each([
    '',
    ':53',
    '[::1',
    '192.0.2',
    '192.0.2.1:53:53',
    'localhost',
    'dns-server',
    'ns.example:53',
    'ns.example%eth0',
    './x:53',
    'dns://192.0.2.1',
    'tls://192.0.2.1%dns.example.net'
  ])('%j is none', (text) => {
    expect(readUpstream(text, fail)).toBeUndefined()
  })

  test.each([
    ['192.0.2.1:', 'expected a port from 1 to 65535, not ""'],
    ['192.0.2.1:0', 'expected a port from 1 to 65535, not "0"'],
    ['192.0.2.1:65536', 'expected a port from 1 to 65535, not "65536"'],
    ['192.0.2.1:dns-port', 'expected a port from 1 to 65535, not "dns-port"'],
    ['[::1]:x', 'expected a port from 1 to 65535, not "x"'],
    ['[::1]53', 'expected nothing or a colon and a port after the brackets'],
    ['[192.0.2.1]:53', 'expected an IPv6 address in the brackets'],
    ['[192.0.2.1%eth0]:53', 'expected an IPv6 address in the brackets'],
    ['[dns-server]:53', 'expected an IPv6 address in the brackets'],
    ['192.0.2.1%eth0', 'an IPv4 address has no zone'],
    ['192.0.2.1%eth0:53', 'an IPv4 address has no zone']
  ])('%j fails: %s', (text, problem) => {
    expect(() => readUpstream(text, fail)).toThrow(problem)
  })
})

test.each(['ns.example', 'localhost', 'dns-server', '', '192.0.2.1%eth0', '[::1]', '192.0.2.1:53'])('at %j is none', (address) => {
  expect(upstreamAt(address)).toBeUndefined()
})

test.each([
  ['fe80::1%eth0', 'fe80::1%eth0'],
  ['FE80::1%eth0', 'fe80::1%eth0'],
  ['::ffff:192.0.2.1', '192.0.2.1']
])('%s is asked at %s: without its zone a link-local address is one of any link (RFC 4007 §11)', (address, expected) => {
  expect(upstreamAt(address, 5353)).toMatchObject({ address: expected, port: 5353 })
})
