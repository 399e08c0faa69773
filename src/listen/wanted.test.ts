import { describe, expect, test } from 'vitest'
import type { PassedSocket } from './passed-sockets.js'
import type { Endpoint, Slot } from './slot.js'
import { wantedBy } from './wanted.js'

const LOCAL = ['127.0.0.1', '192.0.2.1', '::1']

/** `udp 127.0.0.1`, `udp dual` for a socket of `::` that takes IPv4 too; all of port 53. */
function passedOf(texts: readonly string[]): PassedSocket[] {
  return texts.map((text, index) => {
    const [transport = '', address = ''] = text.split(' ')
    const isDual = address === 'dual'
    return { fd: 3 + index, name: '', transport: transport as 'udp' | 'tcp', address: isDual ? '::' : address, port: 53, isDual }
  })
}

function endpointOf(address: string, port = 53): Endpoint & { heard: string[] } {
  const heard: string[] = []
  return { address, port, heard, receive: (slot) => heard.push(slot.client.address) }
}

/** What is wanted: `transport address`, with `passed` behind it, and the address of the endpoint where that is another. */
function wantedText(addresses: readonly string[], passed: readonly string[], port = 53): string[] {
  const endpoints = addresses.map((address) => endpointOf(address, port))
  const known = { passed: passedOf(passed), local: () => LOCAL, portOf: (endpoint: Endpoint) => endpoint.port }
  return wantedBy(endpoints, known).map(({ endpoint, address, transport, passed: socket }) =>
    [transport, address, ...(socket ? ['passed'] : []), ...(endpoint.address === address ? [] : ['for', endpoint.address])].join(' ')
  )
}

describe('a passed socket is taken in place of one that would be opened', () => {
  test.each<[string, string[], string[], string[]]>([
    ['for both transports', ['127.0.0.1'], ['udp 127.0.0.1', 'tcp 127.0.0.1'], ['udp 127.0.0.1 passed', 'tcp 127.0.0.1 passed']],
    ['for UDP alone', ['127.0.0.1'], ['udp 127.0.0.1'], ['udp 127.0.0.1 passed', 'tcp 127.0.0.1']],
    ['for TCP alone', ['127.0.0.1'], ['tcp 127.0.0.1'], ['tcp 127.0.0.1 passed', 'udp 127.0.0.1']],
    [
      'each of several',
      ['127.0.0.1'],
      ['udp 127.0.0.1', 'udp 127.0.0.1'],
      ['udp 127.0.0.1 passed', 'udp 127.0.0.1 passed', 'tcp 127.0.0.1']
    ],
    [
      'in whichever spelling',
      ['0:0:0:0:0:0:0:1'],
      ['udp ::1', 'tcp ::1'],
      ['udp ::1 passed for 0:0:0:0:0:0:0:1', 'tcp ::1 passed for 0:0:0:0:0:0:0:1']
    ],
    ['not where another address is served', ['127.0.0.2'], ['udp 127.0.0.1'], ['both 127.0.0.2']],
    [
      'for one address of a wildcard',
      ['0.0.0.0'],
      ['udp 127.0.0.1'],
      ['udp 127.0.0.1 passed for 0.0.0.0', 'tcp 127.0.0.1 for 0.0.0.0', 'both 192.0.2.1 for 0.0.0.0']
    ],
    ['for a wildcard', ['0.0.0.0'], ['udp 0.0.0.0', 'tcp 0.0.0.0'], ['udp 0.0.0.0 passed', 'tcp 0.0.0.0 passed']],
    [
      'for UDP of a wildcard',
      ['0.0.0.0'],
      ['udp 0.0.0.0'],
      ['udp 0.0.0.0 passed', 'tcp 127.0.0.1 for 0.0.0.0', 'tcp 192.0.2.1 for 0.0.0.0']
    ],
    [
      'for IPv6 alone',
      ['0.0.0.0', '::'],
      ['udp ::', 'tcp ::'],
      ['udp :: passed', 'tcp :: passed', 'both 127.0.0.1 for 0.0.0.0', 'both 192.0.2.1 for 0.0.0.0']
    ],
    ['for both families', ['0.0.0.0', '::'], ['udp dual', 'tcp dual'], ['udp :: passed', 'tcp :: passed']],
    [
      'for both families, where one is served',
      ['0.0.0.0'],
      ['udp dual', 'tcp dual'],
      ['udp :: passed for 0.0.0.0', 'tcp :: passed for 0.0.0.0']
    ]
  ])('%s', (_, addresses, passed, wanted) => {
    expect(wantedText(addresses, passed)).toEqual(wanted)
  })

  test('not at another port', () => {
    for (const port of [5353, 0]) expect(wantedText(['127.0.0.1'], ['udp 127.0.0.1', 'tcp 127.0.0.1'], port)).toEqual(['both 127.0.0.1'])
  })
})

test.each([
  ['0.0.0.0', 'udp 0.0.0.0', '127.0.0.1:53 (udp): the passed socket 0.0.0.0:53 (udp, descriptor 3) has the port for every address'],
  ['both families', 'tcp dual', '127.0.0.1:53 (tcp): the passed socket [::]:53 (tcp, descriptor 3) has the port for every address']
])('a passed socket of %s leaves no room for one address', (_, passed, message) => {
  expect(() => wantedText(['127.0.0.1'], [passed])).toThrow(message)
})

test('each family of a socket of both is answered by its own endpoint', () => {
  const [v4, v6] = [endpointOf('0.0.0.0'), endpointOf('::')]
  const [wanted] = wantedBy([v4, v6], { passed: passedOf(['udp dual']), local: () => LOCAL, portOf: ({ port }) => port })
  for (const address of ['192.0.2.7', '2001:db8::7']) wanted!.endpoint.receive({ client: { address } } as Slot)
  expect([v4.heard, v6.heard]).toEqual([['192.0.2.7'], ['2001:db8::7']])
})
