import { serverOf } from 'skein/testing'
import { describe, expect, test } from 'vitest'
import { readServer, serverAt } from './server-address.js'

async function problemOf(directive: string, zones = '.'): Promise<string | undefined> {
  try {
    const server = await serverOf(`${zones} {\n${directive}\n}`)
    await server.stop()
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

describe('a stub that is wrong is told with its place', () => {
  test.each<[string, string]>([
    ['stub', 'Corefile:2: stub: expected `store [DIR]`, or a zone: `zone ZONE ADDRESS…`'],
    ['stub a..b', 'Corefile:2: stub: '],
    ['stub {\nstore\n}', 'Corefile:2: stub: expected DOMAIN, such as skydns.local'],
    ['stub . {\nstore\n}', 'Corefile:2: stub: expected DOMAIN, such as skydns.local'],
    ['stub {\npath /x\nzone example 192.0.2.1\n}', 'Corefile:3: stub: path: stands for a place in a store, expected `store [DIR]` too'],
    ['stub {\nzone example\n}', 'Corefile:3: stub: zone: expected '],
    ['stub {\nzone a..b 192.0.2.1\n}', 'Corefile:3: stub: zone: "a..b": no domain name'],
    [
      'stub {\nzone a 192.0.2.1 ns.example\nzone b 192.0.2.1\n}',
      'Corefile:3: stub: zone: expected an address such as 192.0.2.1, 192.0.2.1:53 or [2001:db8::1]:53, not "ns.example"'
    ],
    ['stub {\nzone a 192.0.2.1\nzone b 192.0.2.1:0\n}', 'Corefile:4: stub: zone: "192.0.2.1:0": expected a port from 1 to 65535, not "0"'],
    [
      'stub skydns.local {\nzone skydns.LOCAL 192.0.2.1\n}',
      'Corefile:3: stub: zone: "skydns.local." is no stub zone: it is the own domain'
    ],
    [
      'stub skydns.local {\nzone a.skydns.local 192.0.2.1\n}',
      'Corefile:3: stub: zone: "a.skydns.local." is no stub zone: it is within "skydns.local.", the own domain'
    ],
    ['stub {\nservers\n}', 'Corefile:3: stub: ']
  ])('%j', async (directive, problem) => {
    expect(await problemOf(directive)).toContain(problem)
  })

  test('a zone of the block is its own domain', async () => {
    expect(await problemOf('stub {\nzone example 192.0.2.1\n}', 'example')).toBe(
      'Corefile:3: stub: zone: "example." is no stub zone: it is the own domain'
    )
    expect(await problemOf('stub {\nzone a.example 192.0.2.1\n}', 'example')).toBeUndefined()
  })
})

function fail(problem: string): never {
  throw new Error(problem)
}

describe('a server is an address', () => {
  test.each<[string, string]>([
    ['192.0.2.1', '192.0.2.1:53'],
    ['192.0.2.1:5353', '192.0.2.1:5353'],
    ['2001:DB8::1', '[2001:db8::1]:53'],
    ['[2001:db8:0::1]', '[2001:db8::1]:53'],
    ['[2001:db8::1]:5353', '[2001:db8::1]:5353'],
    ['fe80::1%eth0', '[fe80::1%eth0]:53'],
    ['[FE80:0::1%eth0]:5353', '[fe80::1%eth0]:5353'],
    ['::ffff:192.0.2.1', '192.0.2.1:53']
  ])('%s', (text, expected) => {
    expect(readServer(text, fail).text).toBe(expected)
  })

  test.each([
    '',
    ':53',
    '192.0.2.1:',
    '192.0.2.1:65536',
    '[192.0.2.1]:53',
    '[::1]53',
    '[::1',
    '192.0.2',
    '192.0.2.1%eth0',
    '192.0.2.1%eth0:53',
    '[192.0.2.1%eth0]:53',
    'tls://192.0.2.1%dns.example.net',
    '192.0.2.1:53:53',
    'dns://192.0.2.1'
  ])('%j is none', (text) => {
    expect(() => readServer(text, fail)).toThrow('expected a')
  })

  test.each(['ns.example', 'localhost', 'dns-server', '192.0.2.1%eth0'])('in the store %s is none', (host) => {
    expect(serverAt(host, 53)).toBeUndefined()
  })

  test.each([
    ['fe80::1%eth0', 'fe80::1%eth0'],
    ['FE80::1%eth0', 'fe80::1%eth0'],
    ['::ffff:192.0.2.1', '192.0.2.1']
  ])('%s is asked at %s: without its zone a link-local address is one of any link (RFC 4007 §11)', (host, address) => {
    expect(serverAt(host, 53)?.address).toBe(address)
  })
})
