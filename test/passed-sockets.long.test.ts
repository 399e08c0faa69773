/** Sockets that a service manager passes: without UDP in batches, without rights, by systemd's own hand, and where what it says is wrong. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { describe, expect, onTestFinished, test } from 'vitest'
import { requestOctets } from '../src/testing.js'
import { MAIN } from './command.js'
import { askerIn, block, folderWith, type PassedOptions, startPassed, warningsOf, whoAsked } from './passed.js'
import { servedAndReloaded, servedForAll } from './passed-scenes.js'
import { freePort, startProcess } from './processes.js'
import { needs, tool } from './tools.js'

describe('with SKEIN_UDP=dgram', () => {
  test('they are served in place of what would be opened, and a reload keeps them', needs('python3'), () => servedAndReloaded('dgram'))

  test('one of all addresses, of both families, is one socket', needs('python3'), () => servedForAll('dgram'))
})

test.each<[string, PassedOptions, readonly RegExp[]]>([
  [
    'for another process',
    { pid: 1 },
    [
      /^\[WARNING\] LISTEN_PID is 1, and this process is \d+: the sockets that were passed are not for it$/m,
      /^skein: cannot listen on .* \(udp\): the port is in use$/m
    ]
  ],
  ['of a number that is none', { count: 'two' }, [/^skein: LISTEN_FDS is "two", expected a number\n$/]],
  ['that are not open', { count: '50' }, [/^skein: LISTEN_FDS is 50, but descriptor \d+ is not open: expected descriptors from 3 on\n$/]]
])('sockets %s are not served', needs('python3'), async (_, options, printed) => {
  const port = await freePort()
  const running = await startPassed([['udp', '127.0.0.1', port]], block(port, 'bind 127.0.0.1'), { ...options, ready: /\n/ })
  expect(await running.ended).toBe(1)
  for (const line of printed) expect(running.output()).toMatch(line)
})

test('an address that only a passed socket of all addresses has is an error that says so', needs('python3'), async () => {
  const port = await freePort()
  const running = await startPassed([['udp', '0.0.0.0', port]], block(port, 'bind 127.0.0.1'), { ready: /\n/ })
  expect(await running.ended).toBe(1)
  expect(running.output()).toContain(
    `cannot listen on 127.0.0.1:${port} (udp): the passed socket 0.0.0.0:${port} (udp, descriptor 3) has the port for every address, expected a server block of :${port} without bind, or a passed socket of 127.0.0.1:${port}\n`
  )
})

const firstFree = Number(readFileSync('/proc/sys/net/ipv4/ip_unprivileged_port_start', 'utf8'))
const isRoot = process.getuid?.() === 0
describe.runIf(isRoot && firstFree > 800)('without the right to open its port', () => {
  test('a server serves the socket that was passed, alone', needs('python3'), async () => {
    const port = 600 + (process.pid % 200)
    const running = await startPassed([['udp', '0.0.0.0', port]], block(port), { uid: 65_534 })
    expect(await whoAsked('udp', '127.0.0.2', port)).toBe('127.0.0.1')
    expect(warningsOf(running)).toEqual(
      ['127.0.0.1', '[::1]'].map((address, index) =>
        expect.stringContaining(`cannot listen on ${address}:${port} (${index === 0 ? 'tcp' : 'udp'}): no permission`)
      )
    )
  })
})

test('systemd starts it for a question, which is answered', needs('systemd-socket-activate'), async () => {
  const port = await freePort()
  const cwd = folderWith(block(port, 'bind 127.0.0.1'))
  const args = ['--datagram', '-l', `127.0.0.1:${port}`, process.execPath, MAIN, 'run']
  const running = await startProcess(tool('systemd-socket-activate'), args, { cwd, ready: /Listening on/ })
  onTestFinished(async () => void (await running.stop()))
  const client = createSocket('udp4')
  onTestFinished(() => void client.close())
  client.send(requestOctets('example.org. A', { id: 7 }), port, '127.0.0.1')
  const [reply] = (await once(client, 'message', { signal: AbortSignal.timeout(10_000) })) as [Buffer]
  expect(askerIn(reply)).toBe('127.0.0.1')
  expect(running.output()).toMatch(/listening on the passed socket/)
})
