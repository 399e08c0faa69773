import { closeSync, openSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import * as C from './batch/layout.js'
import { isBatchingKnown } from './batch/libc.js'
import { theLibc } from './batch/open-batch.js'
import { openSocket } from './batch/socket.js'
import { kindByLibc, kindByProc } from './passed-kind.js'
import { takeDescriptors, toldApart } from './passed-sockets.js'

describe('what the environment says is read once, and is gone', () => {
  const warning = 'LISTEN_PID is 8, and this process is 7: the sockets that were passed are not for it'
  test.each<[string, Record<string, string>, readonly (readonly [number, string])[], readonly string[]]>([
    ['nothing', {}, [], []],
    [
      'two sockets',
      { LISTEN_PID: '7', LISTEN_FDS: '2' },
      [
        [3, ''],
        [4, '']
      ],
      []
    ],
    [
      'names, of which one is missing',
      { LISTEN_PID: '7', LISTEN_FDS: '2', LISTEN_FDNAMES: 'dns' },
      [
        [3, 'dns'],
        [4, '']
      ],
      []
    ],
    ['no sockets', { LISTEN_PID: '7', LISTEN_FDS: '0' }, [], []],
    ['no number of sockets', { LISTEN_PID: '7' }, [], []],
    ['no process', { LISTEN_FDS: '2' }, [], []],
    ['another process', { LISTEN_PID: '8', LISTEN_FDS: '2' }, [], [warning]]
  ])('%s', (_, variables, descriptors, warnings) => {
    const env: NodeJS.ProcessEnv = { ...variables, LISTEN_PIDFDID: '1', HOME: '/' }
    expect(takeDescriptors(env, 7)).toEqual({ list: descriptors.map(([fd, name]) => ({ fd, name })), warnings })
    expect(env).toEqual({ HOME: '/' })
  })

  test.each([
    [{ LISTEN_PID: 'me', LISTEN_FDS: '2' }, 'LISTEN_PID is "me", expected a number'],
    [{ LISTEN_PID: '7', LISTEN_FDS: '-1' }, 'LISTEN_FDS is "-1", expected a number'],
    [{ LISTEN_PID: '7', LISTEN_FDS: '9999999' }, 'LISTEN_FDS is 9999999, expected at most 65535'],
    [{ LISTEN_PID: '7', LISTEN_FDS: '2.5' }, 'LISTEN_FDS is "2.5", expected a number'],
    [{ LISTEN_PID: '7', LISTEN_FDS: '99999999999' }, 'LISTEN_FDS is "99999999999", expected a number']
  ])('%j is an error', (variables, message) => {
    expect(() => takeDescriptors({ ...variables }, 7)).toThrow(message)
  })
})

describe.runIf(isBatchingKnown())('what a descriptor is', async () => {
  const libc = await theLibc()
  const nothing = openSync('/dev/null', 'r')
  closeSync(nothing)

  function opened(transport: 'udp' | 'tcp', address: string): { fd: number; port: number } {
    const socket = openSocket(libc, address, 0, undefined, transport)
    onTestFinished(() => void libc.close(socket.fd))
    return socket
  }

  test.each<['udp' | 'tcp', string]>([
    ['udp', '127.0.0.1'],
    ['tcp', '127.0.0.2'],
    ['udp', '0.0.0.0'],
    ['udp', '::1'],
    ['tcp', '::1'],
    ['tcp', '::']
  ])('%s on %s', (transport, address) => {
    const { fd, port } = opened(transport, address)
    expect(kindByLibc(libc, fd)).toEqual({ transport, address, port, isDual: false })
    // The kernel's tables do not say whether it takes IPv4 too.
    expect(kindByProc(fd)).toEqual({ transport, address, port, isDual: address === '::' })
  })

  test('TCP on :: that takes IPv4 too', async () => {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '::', resolve))
    onTestFinished(() => void server.close())
    const { fd } = (server as unknown as { _handle: { fd: number } })._handle
    const { port } = server.address() as { port: number }
    for (const kind of [kindByLibc(libc, fd), kindByProc(fd)]) expect(kind).toEqual({ transport: 'tcp', address: '::', port, isDual: true })
  })

  const raw = (family: number, type: number): number => {
    const fd = libc.socket(family, type, 0)
    onTestFinished(() => void libc.close(fd))
    return fd
  }
  const file = (): number => {
    const fd = openSync(join('/dev', 'null'), 'r')
    onTestFinished(() => closeSync(fd))
    return fd
  }
  const connected = (): number => {
    const { fd, port } = opened('udp', '127.0.0.1')
    libc.connect(fd, Uint8Array.of(C.AF_INET, 0, port >> 8, port & 0xff, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0), C.SOCKADDR_IN_OCTETS)
    return fd
  }
  const AF_NETLINK = 16

  test.each<[string, () => number, string, string]>([
    ['a file', file, 'it is no socket', 'it is no socket'],
    ['a Unix socket', () => raw(C.AF_UNIX, C.SOCK_STREAM), 'it is a Unix socket', 'it is a Unix socket'],
    ['a socket of another kind', () => raw(AF_NETLINK, 3), 'it is a socket of another kind', 'it is in no table'],
    ['a connected socket', connected, 'it is connected', 'it is connected'],
    ['a UDP socket without port', () => raw(C.AF_INET, C.SOCK_DGRAM_ALONE), 'it is bound to no port', 'it is in no table'],
    ['no TCP listener', () => raw(C.AF_INET, C.SOCK_STREAM_ALONE), 'it is bound to no port', 'it is in no table']
  ])('%s is not used, with a warning', (_, make, asked, looked) => {
    const list = [
      { fd: make(), name: '' },
      { fd: make(), name: 'web' }
    ]
    for (const [calls, why] of [
      [libc, asked],
      [undefined, looked]
    ] as const) {
      const { list: used, warnings } = toldApart(list, ['one before'], calls)
      expect([used, warnings]).toEqual([
        [],
        [
          'one before',
          expect.stringContaining(`descriptor ${list[0]!.fd}, which was passed, is not used: ${why}`),
          expect.stringContaining(`descriptor ${list[1]!.fd} (web), which was passed, is not used: ${why}`)
        ]
      ])
    }
  })

  test.each([undefined, libc])('one that is not open is an error', (calls) => {
    expect(() => toldApart([{ fd: 99_999, name: '' }], [], calls)).toThrow('LISTEN_FDS is 1, but descriptor 99999 is not open')
  })
})
