import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { isBatchingKnown } from './batch/libc.js'
import { loadBatch, theLibc } from './batch/open-batch.js'
import { openSocket } from './batch/socket.js'
import { openAnywhere } from './free-port.testing.js'
import { OwnSockets } from './own-sockets.js'
import { SharedSockets } from './shared-sockets.js'
import type { Both, Endpoint, ListenerCounters } from './slot.js'

const endpoint = (address: string): Endpoint => ({ address, port: 0, receive: (slot) => slot.drop() })
const counters = (): ListenerCounters => ({ received: 0, unsent: 0, refusedConnections: 0 })
const descriptors = (): number => readdirSync('/proc/self/fd').length

async function drivers(): Promise<{ own: OwnSockets; shared: SharedSockets }> {
  const shared = new SharedSockets(await theLibc(), { changed: async () => {} })
  shared.count = 2
  return { own: new OwnSockets({ openUdp: await loadBatch() }), shared }
}

async function closeAll(...all: Both[]): Promise<void> {
  await Promise.all(all.flat().map((listener) => listener.close(0)))
}

/** So many datagrams from ports of their own: the kernel spreads them by these. */
async function send(address: string, port: number, times: number): Promise<void> {
  const sockets: Socket[] = []
  for (let i = 0; i < times; i++) {
    const socket = createSocket(address.includes(':') ? 'udp6' : 'udp4')
    sockets.push(socket)
    await new Promise((resolve) => socket.send('a datagram that is long enough', port, address, resolve))
  }
  for (const socket of sockets) socket.close()
}

describe.skipIf(!isBatchingKnown())('sockets go from one driver to another', () => {
  test.each(['127.0.0.1', '::1'])('on %s, with what waits in them', async (address) => {
    const { own, shared } = await drivers()
    const before = descriptors()
    const first = await openAnywhere(own, endpoint(address), address)
    const { port } = first[0]
    const theirs = await (await shared.take(endpoint(address), address, first)).apply()
    await closeAll(first)
    // Nobody reads now; the second worker has no socket yet.
    await send(address, port, 20)
    const client = connect(port, address)
    await once(client, 'connect')
    shared.restore(1)
    expect([shared.of(0).length, shared.of(1).length]).toEqual([1, 1])
    expect(theirs.map((listener) => listener.port)).toEqual([port, port])
    const back = await (await own.take(endpoint(address), address, theirs)).apply()
    await expect.poll(() => own.counters.received).toBe(20)
    await closeAll(theirs, back)
    client.destroy()
    await expect.poll(descriptors).toBe(before)
    await expect(once(connect(port, address), 'connect')).rejects.toThrow('ECONNREFUSED')
  })

  test('or stay where they are, and the port is nobody else’s when they have come back', async () => {
    const { own, shared } = await drivers()
    const both = await openAnywhere(own, endpoint('127.0.0.1'), '127.0.0.1')
    const before = descriptors()
    ;(await shared.take(endpoint('127.0.0.1'), '127.0.0.1', both)).discard()
    expect([descriptors(), shared.of(0)]).toEqual([before, []])
    const theirs = await (await shared.take(endpoint('127.0.0.1'), '127.0.0.1', both)).apply()
    const back = await (await own.take(endpoint('127.0.0.1'), '127.0.0.1', theirs)).apply()
    await closeAll(both, theirs)
    const libc = await theLibc()
    for (const transport of ['udp', 'tcp'] as const)
      expect(() => openSocket(libc, '127.0.0.1', both[0].port, 'joins', transport)).toThrow('EADDRINUSE')
    await closeAll(back)
  })

  test('those of a worker that goes get nothing more, and what waits in them is there to be read', async () => {
    const { shared } = await drivers()
    const both = await openAnywhere(shared, endpoint('127.0.0.1'), '127.0.0.1')
    const { port } = both[0]
    const openBatch = await loadBatch()
    await send('127.0.0.1', port, 40)
    shared.retire(1)
    await send('127.0.0.1', port, 160)
    const counts = await Promise.all(
      [0, 1].map(async (worker) => {
        const counted = counters()
        const { udp } = shared.of(worker)[0]!
        const listener = await openBatch('127.0.0.1', port, (slot) => slot.drop(), counted, '127.0.0.1', { fd: udp, isOwn: false })
        await sleep(50)
        await listener.close(0)
        return counted.received
      })
    )
    expect(counts[0]! + counts[1]!).toBe(200)
    // Of the first 40 each had about a half.
    expect(counts[1]).toBeGreaterThan(0)
    expect(counts[1]).toBeLessThanOrEqual(40)
    expect(counts[0]).toBeGreaterThanOrEqual(160)
    await closeAll(both)
  })
})
