import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { describe, expect, test } from 'vitest'
import { isBatchingKnown } from './batch/libc.js'
import { theLibc } from './batch/open-batch.js'
import { openAnywhere } from './free-port.testing.js'
import { SharedSockets } from './shared-sockets.js'
import type { Endpoint } from './slot.js'

const endpoint = (address: string): Endpoint => ({ address, port: 0, receive: () => {} })
const descriptors = (): number => readdirSync('/proc/self/fd').length

/** Sockets for so many workers, and how often these were told of others. */
async function shared(count: number): Promise<{ sockets: SharedSockets; told: number[] }> {
  const told: number[] = []
  const changed = async (graceMs: number): Promise<void> => void told.push(graceMs)
  const sockets = new SharedSockets(await theLibc(), { changed })
  sockets.count = count
  return { sockets, told }
}

describe.skipIf(!isBatchingKnown())('the sockets of workers', () => {
  test.each(['127.0.0.1', '::1'])(
    'are a UDP and a TCP socket for each on one port of %s, closed when nobody uses them',
    async (address) => {
      const { sockets, told } = await shared(3)
      const before = descriptors()
      const listeners = await openAnywhere(sockets, endpoint(address), address)
      const all = [0, 1, 2].flatMap((worker) => sockets.of(worker))
      expect(new Set(all.flatMap(({ udp, tcp }) => [udp, tcp])).size).toBe(6)
      expect(new Set([...all, ...listeners].map(({ port }) => port)).size).toBe(1)
      await Promise.resolve()
      expect(told).toEqual([0])
      const closing = Promise.all(listeners.map((listener) => listener.close(70)))
      expect(sockets.of(0)).toEqual([])
      await closing
      expect(told).toEqual([0, 70])
      expect(descriptors()).toBe(before)
    }
  )

  test('are nobody else’s: a port that is taken for UDP, or for TCP, is an error, and leaves none open', async () => {
    const { sockets } = await shared(2)
    const socket = createSocket('udp4').bind(0, '127.0.0.1')
    await once(socket, 'listening')
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const before = descriptors()
    const tcp = (server.address() as { port: number }).port
    await expect(sockets.open(endpoint('127.0.0.1'), '127.0.0.1', socket.address().port)).rejects.toThrow(/\(udp\): the port is in use/)
    await expect(sockets.open(endpoint('127.0.0.1'), '127.0.0.1', tcp)).rejects.toThrow(/\(tcp\): the port is in use/)
    expect(descriptors()).toBe(before)
    expect(sockets.of(0)).toEqual([])
    socket.close()
    server.close()
  })

  test('are closed while a worker is gone, but for the last, so that others get its share and nobody takes the port', async () => {
    const { sockets } = await shared(2)
    const [{ port }, tcp] = await openAnywhere(sockets, endpoint('127.0.0.1'), '127.0.0.1')
    const before = descriptors()
    sockets.withdraw(0)
    expect([sockets.of(0).length, sockets.of(1).length, descriptors()]).toEqual([0, 1, before - 2])
    sockets.withdraw(1)
    expect([sockets.of(1).length, descriptors()]).toEqual([1, before - 2])
    // The kernel takes connections on what is left.
    const client = connect(port, '127.0.0.1')
    await once(client, 'connect')
    client.destroy()
    sockets.restore(0)
    expect([sockets.of(0).length, descriptors() >= before]).toEqual([1, true])
    await tcp.close(0)
  })
})
