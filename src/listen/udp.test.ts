import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { afterEach, describe, expect, test } from 'vitest'
import { isBatchingKnown } from './batch/libc.js'
import { loadBatch } from './batch/open-batch.js'
import type { Listener, ListenerCounters, Receive, Slot } from './slot.js'
import { ListenError } from './slot.js'
import { openUdp as openDgram } from './udp.js'
import type { OpenUdp } from './udp-driver.js'

const hasV6 = networkInterfaces().lo?.some(({ address }) => address === '::1') ?? false
const drivers: [string, OpenUdp][] = [
  ['node:dgram', openDgram],
  ...(isBatchingKnown() ? [['batches', await loadBatch()] as [string, OpenUdp]] : [])
]

/** Answers with the octets that were asked. */
function echo(slot: Slot): void {
  slot.reserve(slot.length).set(slot.octets.subarray(0, slot.length))
  slot.send(slot.length)
}

async function answered(socket: Socket, port: number, text: string, to = '127.0.0.1'): Promise<[string, string, number]> {
  const arrived = once(socket, 'message')
  socket.send(text, port, to)
  const [octets, from] = (await arrived) as [Buffer, { address: string; port: number }]
  return [octets.toString(), from.address, from.port]
}

function textOf(slot: Slot): string {
  return Buffer.from(slot.octets).toString('latin1', 0, slot.length)
}

describe.each(drivers)('over %s', (_, openUdp) => {
  let counters: ListenerCounters = { received: 0, unsent: 0, refusedConnections: 0 }
  const opened: { close(grace?: number): unknown }[] = []

  afterEach(async () => {
    for (const each of opened.splice(0)) await each.close(0)
    counters = { received: 0, unsent: 0, refusedConnections: 0 }
  })

  async function listen(receive: Receive, address = '127.0.0.1', port = 0): Promise<Listener> {
    const listener = await openUdp(address, port, receive, counters)
    let isClosed = false
    opened.push({ close: () => (isClosed ? undefined : listener.close(0)) })
    return {
      address,
      port: listener.port,
      transport: 'udp',
      serve: (other, endpoint) => listener.serve(other, endpoint),
      close: (grace) => {
        isClosed = true
        return listener.close(grace)
      }
    }
  }

  async function client(address = '127.0.0.1'): Promise<Socket> {
    const socket = createSocket(address.includes(':') ? 'udp6' : 'udp4')
    socket.bind(0, address)
    await once(socket, 'listening')
    opened.push({ close: () => new Promise<void>((resolve) => socket.close(() => resolve())) })
    return socket
  }

  test('answers from the address and port that were asked, and tells who asked', async () => {
    const clients: unknown[] = []
    const listener = await listen((slot) => {
      const { address, port, transport, local, endpoint } = slot.client
      clients.push({ address, port, transport, local, endpoint })
      echo(slot)
    })
    const socket = await client()
    expect(await answered(socket, listener.port, 'query')).toEqual(['query', '127.0.0.1', listener.port])
    expect(clients).toEqual([
      { address: '127.0.0.1', port: socket.address().port, transport: 'udp', local: '127.0.0.1', endpoint: `127.0.0.1:${listener.port}` }
    ])
  })

  test.runIf(hasV6)('answers over IPv6', async () => {
    const listener = await listen(echo, '::1')
    expect(await answered(await client('::1'), listener.port, 'query', '::1')).toEqual(['query', '::1', listener.port])
  })

  test('a reply that comes late has its own buffer', async () => {
    const slots: Slot[] = []
    const listener = await listen((slot) => {
      if (textOf(slot).startsWith('late')) slots.push(slot)
      else echo(slot)
    })
    const socket = await client()
    for (let i = 0; i < 3; i++) socket.send(`late${i}`, listener.port, '127.0.0.1')
    expect(await answered(socket, listener.port, 'now')).toEqual(['now', '127.0.0.1', listener.port])
    const buffers = slots.map((slot) => slot.reserve(5))
    expect(new Set(buffers).size).toBe(3)
    // Room may be asked for again, for another reply.
    expect(slots[0]!.reserve(4)).toBe(buffers[0])
    const seen: string[] = []
    const all = new Promise<void>((resolve) => socket.on('message', (octets) => seen.push(octets.toString()) === 3 && resolve()))
    for (const slot of slots.reverse()) echo(slot)
    await all
    expect(seen.sort()).toEqual(['late0', 'late1', 'late2'])
  })

  test('a reply larger than usual has room', async () => {
    const listener = await listen((slot) => {
      slot.reserve(100)
      slot.reserve(9000).fill(0x61)
      slot.send(9000)
    })
    expect((await answered(await client(), listener.port, 'query'))[0]).toBe('a'.repeat(9000))
  })

  test('what is dropped gets no reply, and is not waited for', async () => {
    const listener = await listen((slot) => {
      if (slot.length === 0) return slot.drop()
      slot.reserve(10)
      if (textOf(slot) === 'drop') slot.drop()
      else echo(slot)
    })
    const socket = await client()
    socket.send('drop', listener.port, '127.0.0.1')
    socket.send('', listener.port, '127.0.0.1')
    expect((await answered(socket, listener.port, 'query'))[0]).toBe('query')
    expect(counters.received).toBe(3)
    await listener.close(5000)
  })

  test('many queries at once are all answered', async () => {
    const listener = await listen((slot) => setImmediate(() => echo(slot)))
    const socket = await client()
    const seen = new Set<string>()
    const all = new Promise<void>((resolve) => socket.on('message', (octets) => seen.add(octets.toString()).size === 200 && resolve()))
    // A socket of Linux's default size holds so many replies until its owner comes to read them.
    for (let i = 0; i < 200; i++) socket.send(`query ${i}`, listener.port, '127.0.0.1')
    await all
  })

  test('a client that has gone harms nobody', async () => {
    const slots: Slot[] = []
    const listener = await listen((slot) => (textOf(slot) === 'gone' ? slots.push(slot) : echo(slot)))
    const gone = createSocket('udp4')
    for (let i = 0; i < 5; i++) gone.send('gone', listener.port, '127.0.0.1')
    const socket = await client()
    while (slots.length < 5) await answered(socket, listener.port, 'query')
    await new Promise<void>((resolve) => gone.close(() => resolve()))
    for (const slot of slots) {
      echo(slot)
      expect((await answered(socket, listener.port, 'query'))[0]).toBe('query')
    }
  })

  describe('closing', () => {
    test('answers what is in flight, and what comes meanwhile, then takes nothing more', async () => {
      const slots: Slot[] = []
      const listener = await listen((slot) => slots.push(slot))
      const socket = await client()
      const got: string[] = []
      socket.on('message', (octets) => got.push(String(octets)))
      socket.send('query', listener.port, '127.0.0.1')
      while (slots.length === 0) await new Promise(setImmediate)
      const closed = listener.close(5000)
      await new Promise((resolve) => setTimeout(resolve, 20))
      // Node reads it whether we want it or not.
      socket.send('meanwhile', listener.port, '127.0.0.1')
      while (slots.length === 1) await new Promise(setImmediate)
      for (const slot of slots) echo(slot)
      await closed
      socket.send('too late', listener.port, '127.0.0.1')
      await new Promise((resolve) => setTimeout(resolve, 20))
      expect(got).toEqual(['query', 'meanwhile'])
      expect(slots).toHaveLength(2)
    })

    test('answers what waits in the kernel, read or not', async () => {
      const listener = await listen(echo)
      const socket = await client()
      let replies = 0
      socket.on('message', () => replies++)
      for (let i = 0; i < 120; i++) await new Promise((resolve) => socket.send(`query ${i}`, listener.port, '127.0.0.1', resolve))
      const read = counters.received
      for (let i = 0; i < 120; i++) socket.send(`query ${i}`, listener.port, '127.0.0.1')
      expect(counters.received).toBe(read)
      await listener.close(5000)
      await new Promise((resolve) => setTimeout(resolve, 20))
      expect([counters.received, replies]).toEqual([240, 240])
    })

    test('ends though a client never pauses', async () => {
      const slots: Slot[] = []
      const listener = await listen((slot) => {
        slots.push(slot)
        // Each one asks again as soon as it is answered, and sooner.
        for (let i = 0; i < 2; i++) socket.send('more', listener.port, '127.0.0.1')
        echo(slot)
      })
      const socket = await client()
      socket.send('first', listener.port, '127.0.0.1')
      while (slots.length === 0) await new Promise(setImmediate)
      const begun = performance.now()
      await listener.close(100)
      expect(performance.now() - begun).toBeLessThan(600)
      expect(slots.length).toBeGreaterThan(10)
    })

    test('waits no longer than the grace, and a reply after that is lost without harm', async () => {
      const slots: Slot[] = []
      const listener = await listen((slot) => slots.push(slot))
      const socket = await client()
      socket.send('one', listener.port, '127.0.0.1')
      socket.send('two', listener.port, '127.0.0.1')
      while (slots.length < 2) await new Promise(setImmediate)
      await listener.close(10)
      echo(slots[0]!)
      slots[1]!.drop()
      expect(counters.unsent).toBe(1)
    })
  })

  describe('a port that cannot be opened', () => {
    test('that is in use', async () => {
      const { port } = await listen(echo)
      const failed = openUdp('127.0.0.1', port, echo, counters)
      await expect(failed).rejects.toThrow(ListenError)
      await expect(failed).rejects.toThrow(`cannot listen on 127.0.0.1:${port} (udp): the port is in use`)
    })

    test('of an address that is not here', async () => {
      const failed = openUdp('192.0.2.250', 5353, echo, counters)
      await expect(failed).rejects.toThrow('cannot listen on 192.0.2.250:5353 (udp): this machine has no such address')
      await expect(failed).rejects.toMatchObject({ code: 'SKEIN_LISTEN', reason: 'EADDRNOTAVAIL' })
    })

    test('shows an IPv6 address in brackets, and the cause in one line', () => {
      const error = (code: string): string => new ListenError('::1', 53, 'tcp', Object.assign(new Error('bind X'), { code })).message
      expect(error('EACCES')).toBe(
        'cannot listen on [::1]:53 (tcp): no permission: ports below 1024 need root or CAP_NET_BIND_SERVICE, or choose another port'
      )
      expect(error('EMFILE')).toBe('cannot listen on [::1]:53 (tcp): bind X')
    })

    test.runIf(existsSync('/proc/self/fd'))('leaves no descriptor open', async () => {
      const { port } = await listen(echo)
      const before = descriptors()
      for (let i = 0; i < 20; i++) await openUdp('127.0.0.1', port, echo, counters).catch(() => {})
      await new Promise(setImmediate)
      expect(descriptors()).toBeLessThan(before + 10)
    })
  })
})

function descriptors(): number {
  return readdirSync('/proc/self/fd').length
}
