import { serverOf } from 'skein/testing'
import { describe, expect, test } from 'vitest'

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
    ['stub', 'Corefile:2: stub: expected `store [DIR]`, `etcd`, or a zone: `zone ZONE ADDRESS…`'],
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
    ['stub {\nzone a [192.0.2.1]:53\n}', 'Corefile:3: stub: zone: "[192.0.2.1]:53": expected an IPv6 address in the brackets'],
    ['stub {\nzone a 192.0.2.1%eth0\n}', 'Corefile:3: stub: zone: "192.0.2.1%eth0": an IPv4 address has no zone'],
    [
      'stub {\nzone a dns://192.0.2.1\n}',
      'Corefile:3: stub: zone: expected an address such as 192.0.2.1, 192.0.2.1:53 or [2001:db8::1]:53, not "dns://192.0.2.1"'
    ],
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
