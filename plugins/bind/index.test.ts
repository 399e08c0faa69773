import { syncBuiltinESMExports } from 'node:module'
import os, { networkInterfaces } from 'node:os'
import { serverOf } from 'skein/testing'
import { describe, expect, onTestFinished, test, vi } from 'vitest'

const [name, all] = Object.entries(networkInterfaces()).find(([, addresses]) => addresses?.some(({ internal }) => internal)) ?? []
const loopback = (all ?? []).map(({ address, scopeid }) => (scopeid ? `${address}%${name}` : address))

async function addressesOf(bind: string): Promise<string[]> {
  const server = await serverOf(`. {\n  ${bind}\n}`)
  await server.stop()
  return server.instance.plan.map(({ address }) => address)
}

describe('a server block listens on', () => {
  test.each<[string, string, readonly string[]]>([
    ['every address where nothing is said', '', ['0.0.0.0', '::']],
    ['the addresses named', 'bind 127.0.0.1 ::1', ['127.0.0.1', '::1']],
    ['an address however it is spelled', 'bind 127.0.0.1 [0:0:0:0:0:0:0:1]', ['127.0.0.1', '::1']],
    ['a link-local address with its interface', 'bind FE80:0::1%eth0', ['fe80::1%eth0']],
    ['all of a family', 'bind 0.0.0.0 ::', ['0.0.0.0', '::']],
    [
      'those of all its lines',
      'bind 127.0.0.1 ::1 {\n    except ::1\n  }\n  bind 127.0.0.2\n  bind ::1',
      ['127.0.0.1', '127.0.0.2', '::1']
    ],
    ['all but some', 'bind 127.0.0.1 127.0.0.2 ::1 {\n    except 127.0.0.1\n    except 0::1\n  }', ['127.0.0.2']]
  ])('%s', async (_title, bind, addresses) => {
    expect(await addressesOf(bind)).toEqual(addresses)
  })

  test.runIf(loopback.length > 0)('the addresses of an interface', async () => {
    expect(await addressesOf(`bind ${name}`)).toEqual(loopback)
    expect(await addressesOf(`bind 192.0.2.1 ${name} {\n  except ${name}\n}`)).toEqual(['192.0.2.1'])
  })

  test('the addresses of an interface, of which link-local ones of IPv6 alone carry its name (RFC 4007 §11)', async () => {
    const of = (address: string, more = {}): os.NetworkInterfaceInfo =>
      ({ address, family: address.includes(':') ? 'IPv6' : 'IPv4', netmask: '', mac: '', internal: true, cidr: null, ...more }) as never
    const all = [of('127.0.0.1'), of('169.254.1.1'), of('::1', { scopeid: 0 }), of('fe80::1', { scopeid: 3 })]
    const spy = vi.spyOn(os, 'networkInterfaces').mockReturnValue({ lo: all })
    syncBuiltinESMExports()
    onTestFinished(() => {
      spy.mockRestore()
      syncBuiltinESMExports()
    })
    expect(await addressesOf('bind lo')).toEqual(['127.0.0.1', '169.254.1.1', '::1', 'fe80::1%lo'])
    expect(await addressesOf('bind lo {\n    except 169.254.1.1 fe80::1%lo\n  }')).toEqual(['127.0.0.1', '::1'])
  })

  test('for all zones of the block, and no other', async () => {
    const server = await serverOf('a b:1053 {\n  bind 127.0.0.1\n}\nc {\n  bind 127.0.0.2\n}')
    expect(server.instance.plan.map(({ address, port, routes }) => `${address}:${port} ${routes.zones.join()}`)).toEqual([
      '127.0.0.1:53 a.',
      '127.0.0.1:1053 b.',
      '127.0.0.2:53 c.'
    ])
    await server.stop()
  })
})

describe('a wrong line is an error with file and line', () => {
  test.each([
    ['bind', 'Corefile:2: bind: expected addresses or names of network interfaces, not nothing'],
    ['bind 127.0.0.1 ::1 127.0.0.1', 'Corefile:2: bind: 127.0.0.1 stands twice, expected it once'],
    ['bind ::1 [0:0:0:0:0:0:0:1]', 'Corefile:2: bind: [0:0:0:0:0:0:0:1] stands twice, expected it once'],
    ['bind nowhere0', 'Corefile:2: bind: expected an address or the name of a network interface, not "nowhere0"'],
    ['bind 127.0.0.256', 'Corefile:2: bind: expected an address or the name of a network interface, not "127.0.0.256"'],
    ['bind 127.0.0.1%lo', 'Corefile:2: bind: expected an address or the name of a network interface, not "127.0.0.1%lo"'],
    ['bind 127.0.0.1:53', 'Corefile:2: bind: expected an address or the name of a network interface, not "127.0.0.1:53"'],
    ['bind constructor', 'Corefile:2: bind: expected an address or the name of a network interface, not "constructor"'],
    ['bind ""', 'Corefile:2: bind: expected an address or the name of a network interface, not ""'],
    ['bind ::1 {\n    except\n  }', 'Corefile:3: bind: except: expected addresses or names of network interfaces, not nothing'],
    [
      'bind ::1 {\n    except nowhere0\n  }',
      'Corefile:3: bind: except: expected an address or the name of a network interface, not "nowhere0"'
    ],
    ['bind ::1 {\n    except ::2 {\n    }\n  }', 'Corefile:3: bind: except: takes no block in braces'],
    ['bind ::1 {\n    only ::1\n  }', 'Corefile:3: bind: unknown option "only", expected one of except'],
    ['bind ::1 {\n    excep ::1\n  }', 'Corefile:3: bind: unknown option "excep", did you mean except?'],
    ['bind ::1 {\n    except ::1\n  }', 'Corefile:2: bind: no address is left to listen on'],
    ['bind ::1\n  bind ::2 0::1', 'Corefile:3: bind: ::1 stands in a line before already, expected it once']
  ])('%j', async (line, message) => {
    await expect(serverOf(`. {\n  ${line}\n}`)).rejects.toMatchObject({ code: 'SKEIN_CONFIG', message })
  })
})
