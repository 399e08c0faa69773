import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { ListenerCounters, Slot } from '../slot.js'
import { AF_INET6, IPPROTO_IPV6, IPV6_V6ONLY, SOCK_DGRAM_ALONE, SOCKADDR_IN6_OCTETS, SOL_SOCKET } from './layout.js'
import { isBatchingKnown, type Libc, loadLibc } from './libc.js'
import { openWith } from './open-batch.js'
import { portAt, sockaddrOf } from './sockaddr.js'
import { openSocket } from './socket.js'

/** A UDP socket of `::` that takes IPv4 too. */
function openDual(libc: Libc): { fd: number; port: number } {
  const fd = libc.socket(AF_INET6, SOCK_DGRAM_ALONE, 0)
  const name = sockaddrOf(libc, '::', 0)!
  libc.setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, new Uint8Array(4), 4)
  expect(libc.bind(fd, name, name.length)).toBe(0)
  libc.getsockname(fd, name, new Uint8Array(Int32Array.of(SOCKADDR_IN6_OCTETS).buffer))
  return { fd, port: portAt(name, 0) }
}

/** Has the kernel tell of something else, which leaves no room for the address (with systemd, Timestamping=us). */
const SO_TIMESTAMP = 29

/** Tells the asker where it has asked, and who it is; at once, later, or of a slot that was kept. */
function answer(slot: Slot): void {
  const say = (): void => {
    const { local, address } = slot.client
    const text = `${local} ${address} ${Buffer.from(slot.octets).toString('latin1', 0, slot.length)}`
    slot.reserve(text.length).set(Buffer.from(text))
    slot.send(text.length)
  }
  const [how] = Buffer.from(slot.octets).toString('latin1', 0, slot.length).split(' ')
  if (how === 'keep') slot.keep()
  if (how === 'late') setTimeout(say, 10)
  else say()
}

async function client(address: string): Promise<Socket> {
  const socket = createSocket(address.includes(':') ? 'udp6' : 'udp4').bind(0)
  await once(socket, 'listening')
  onTestFinished(() => void socket.close())
  return socket
}

describe.runIf(isBatchingKnown())('a socket that is bound to every address', async () => {
  const libc = await loadLibc()
  const open = openWith(libc)

  test.each([
    ['of IPv4', '0.0.0.0', ['127.0.0.1', '127.0.0.2', '127.0.0.3']],
    ['of IPv6', '::', ['::1']],
    ['of both families', 'dual', ['127.0.0.1', '127.0.0.2', '::1']]
  ])('%s answers from the address that was asked, at once and later, and knows it', async (_, bound, addresses) => {
    const counters: ListenerCounters = { received: 0, unsent: 0, refusedConnections: 0 }
    const { fd, port } = bound === 'dual' ? openDual(libc) : openSocket(libc, bound, 0)
    const address = bound === 'dual' ? '::' : bound
    const listener = await open(address, port, answer, counters, address, { fd, isOwn: true })
    onTestFinished(() => listener.close(0))
    const got: string[] = []
    const wanted: string[] = []
    for (const asked of addresses) {
      const socket = await client(asked)
      socket.on('message', (octets, from) => got.push(`${from.address} ${String(octets)}`))
      const asker = asked.includes(':') ? '::1' : '127.0.0.1'
      for (let i = 0; i < 60; i++) {
        const text = `${['now', 'late', 'keep'][i % 3]} ${i}`
        socket.send(text, port, asked)
        wanted.push(`${asked} ${asked} ${asker} ${text}`)
      }
    }
    await expect.poll(() => got.length).toBe(wanted.length)
    expect(got.sort()).toEqual(wanted.sort())
    expect(counters).toEqual({ received: wanted.length, unsent: 0, refusedConnections: 0 })
  })

  test('of which the kernel does not say what was asked answers all the same', async () => {
    const counters: ListenerCounters = { received: 0, unsent: 0, refusedConnections: 0 }
    const { fd, port } = openSocket(libc, '0.0.0.0', 0)
    expect(libc.setsockopt(fd, SOL_SOCKET, SO_TIMESTAMP, new Uint8Array(Int32Array.of(1).buffer), 4)).toBe(0)
    const listener = await open('0.0.0.0', port, answer, counters, '0.0.0.0', { fd, isOwn: true })
    onTestFinished(() => listener.close(0))
    const socket = await client('127.0.0.1')
    const answered = once(socket, 'message')
    socket.send('now', port, '127.0.0.1')
    expect(String((await answered)[0])).toBe('0.0.0.0 127.0.0.1 now')
  })
})
