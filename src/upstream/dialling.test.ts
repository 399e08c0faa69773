import { createSocket, Socket as UdpSocket } from 'node:dgram'
import { once } from 'node:events'
import { Socket as TcpSocket } from 'node:net'
import { networkInterfaces } from 'node:os'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { accept } from '../message/gate.js'
import { Query } from '../query.js'
import { requestOctets, TestClock } from '../testing.js'
import { readUpstream, type Upstream } from './address.js'
import { askUpstream } from './ask.js'
import type { Exchange } from './exchange.js'
import { replyTo } from './fake-upstream.js'

afterEach(() => {
  vi.restoreAllMocks()
})

function upstreamOf(text: string): Upstream {
  const upstream = readUpstream(text, (problem) => {
    throw new Error(problem)
  })
  if (upstream === undefined) throw new Error(`${text} is no address`)
  return upstream
}

/** Asks for www.example.org over a transport. */
function ask(upstream: Upstream, transport: 'udp' | 'tcp'): Exchange {
  const request = accept({ octets: requestOctets('www.example.org. A') }, 1232)
  if (request.kind !== 'asked') throw new Error('the gate turned it away')
  const query = Query.fromRequest(request, { address: '192.0.2.1', port: 4711, transport, local: '127.0.0.1' }, '.')
  return askUpstream({ query, upstream, transport, octets: query.octets(1), timeoutMs: 1000, why: 'test' }, new TestClock())
}

type Connecting = { connect: (...args: unknown[]) => unknown }

/** Where sockets are told to connect to; none of them does. */
function dialled(): string[] {
  const places: string[] = []
  const refused = Object.assign(new Error('connect ENETUNREACH'), { code: 'ENETUNREACH' })
  vi.spyOn(UdpSocket.prototype as unknown as Connecting, 'connect').mockImplementation((port, address, done) => {
    places.push(`udp ${String(address)} ${String(port)}`)
    process.nextTick(done as (error: Error) => void, refused)
  })
  vi.spyOn(TcpSocket.prototype as unknown as Connecting, 'connect').mockImplementation(function (this: Connecting, given) {
    const [{ host, port }] = given as [{ host: string; port: number }]
    places.push(`tcp ${host} ${port}`)
    return (this as unknown as TcpSocket).destroy(refused)
  })
  return places
}

describe('sockets are connected to the address as it was written', () => {
  test.each([
    ['192.0.2.1', '192.0.2.1 53'],
    ['192.0.2.1:5353', '192.0.2.1 5353'],
    ['[::1]:5353', '::1 5353'],
    ['2001:DB8:0:0::1', '2001:db8::1 53'],
    // Without its zone a link-local address is one of any link (RFC 4007 §11).
    ['fe80::1%eth0', 'fe80::1%eth0 53'],
    ['FE80:0::1%eth0', 'fe80::1%eth0 53'],
    ['[fe80::1%eth0]:5353', 'fe80::1%eth0 5353'],
    ['[fe80::1%2]', 'fe80::1%2 53'],
    ['::ffff:192.0.2.1', '192.0.2.1 53']
  ])('%s: %s', async (text, place) => {
    const places = dialled()
    for (const transport of ['udp', 'tcp'] as const)
      expect(await ask(upstreamOf(text), transport).outcome).toMatchObject({ kind: 'failed' })
    expect(places).toEqual([`udp ${place}`, `tcp ${place}`])
  })
})

const [loopback] = Object.entries(networkInterfaces()).find(([, all]) => all?.some(({ internal }) => internal)) ?? ['lo']

test.each(['::1', `::1%${loopback}`, '::ffff:127.0.0.1'])('what an upstream at %s says is known as its own', async (address) => {
  const socket = createSocket({ type: 'udp6' })
  socket.on('message', (octets: Buffer, from) => socket.send(replyTo(octets), from.port, from.address))
  socket.bind(0, '::')
  await once(socket, 'listening')
  const outcome = await ask(upstreamOf(`[${address}]:${socket.address().port}`), 'udp').outcome
  expect(outcome).toMatchObject({ kind: 'reply', message: { answer: [{ type: 'A', ttl: 300 }] } })
  await new Promise<void>((resolve) => socket.close(resolve))
})
