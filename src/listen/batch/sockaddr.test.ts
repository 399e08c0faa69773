import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { networkInterfaces } from 'node:os'
import { describe, expect, test } from 'vitest'
import { isBatchingKnown, loadLibc } from './libc.js'
import { addressAt, portAt, sockaddrLength, sockaddrOf } from './sockaddr.js'

describe.runIf(isBatchingKnown())('a sockaddr', async () => {
  const libc = await loadLibc()
  const loopback = libc.if_nametoindex('lo')

  test.each([
    ['127.0.0.1', '127.0.0.1', 16],
    ['255.0.10.200', '255.0.10.200', 16],
    ['::', '::', 28],
    ['::1', '::1', 28],
    ['FD00:0:0:1::10', 'fd00:0:0:1::10', 28],
    ['::ffff:192.0.2.1', '::ffff:192.0.2.1', 28],
    ['2001:db8:0:0:1:0:0:1', '2001:db8::1:0:0:1', 28],
    ['fe80::1%lo', 'fe80::1%lo', 28],
    [`fe80::1%${loopback}`, 'fe80::1%lo', 28],
    ['fe80::1%4000', 'fe80::1%4000', 28],
    ['fe80::1', 'fe80::1', 28],
    ['fd00::1%lo', 'fd00::1', 28]
  ])('of %s tells %s', (given, told, length) => {
    const octets = Buffer.concat([Buffer.alloc(3, 0xff), sockaddrOf(libc, given, 5353)!, Buffer.alloc(3, 0xff)])
    expect([addressAt(libc, octets, 3), portAt(octets, 3), sockaddrLength(octets, 3)]).toEqual([told, 5353, length])
  })

  test.each(['', 'localhost', '1.2.3', '1.2.3.4%lo', 'fe80::1%', 'fe80::1%noSuchInterface', 'fe80::1%0', 'fe80::1%-1', 'fe80:::1'])(
    'of %j there is none',
    (text) => {
      expect(sockaddrOf(libc, text, 53)).toBeUndefined()
    }
  )

  test('tells each address of this machine as Node does', async () => {
    const own = Object.entries(networkInterfaces()).flatMap(([name, list]) =>
      list!.map(({ address, scopeid }) => (scopeid ? `${address}%${name}` : address))
    )
    expect(own.length).toBeGreaterThan(0)
    for (const address of own) {
      const socket = createSocket(address.includes(':') ? 'udp6' : 'udp4')
      const [listening, heard] = [once(socket, 'listening'), once(socket, 'message')]
      socket.bind(0, address)
      await listening
      socket.send('x', socket.address().port, address)
      const [, from] = (await heard) as [Buffer, { address: string; port: number }]
      socket.close()
      expect(addressAt(libc, sockaddrOf(libc, address, 1)!, 0)).toBe(from.address)
    }
  })
})
