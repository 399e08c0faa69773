import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, test } from 'vitest'
import { ListenError, type Listener, type ListenerCounters, type Receive, type Slot } from '../slot.js'
import { EAGAIN } from './layout.js'
import { isBatchingKnown, type Libc, loadLibc } from './libc.js'
import { type OpenBatch, openWith } from './open-batch.js'
import type { PortSharing } from './socket.js'

const ECONNREFUSED = 111
const UV_EBADF = -9

let counters: ListenerCounters = { received: 0, unsent: 0, refusedConnections: 0 }
const opened: (() => unknown)[] = []

afterEach(async () => {
  for (const close of opened.splice(0)) await close()
  counters = { received: 0, unsent: 0, refusedConnections: 0 }
})

async function client(address = '127.0.0.1'): Promise<Socket> {
  const socket = createSocket(address.includes(':') ? 'udp6' : 'udp4')
  socket.bind(0, address)
  await once(socket, 'listening')
  opened.push(() => new Promise<void>((resolve) => socket.close(() => resolve())))
  return socket
}

async function answered(socket: Socket, port: number, text: string | Buffer, to = '127.0.0.1'): Promise<string> {
  const arrived = once(socket, 'message')
  socket.send(text, port, to)
  return String((await arrived)[0])
}

function textOf(slot: Slot): string {
  return Buffer.from(slot.octets).toString('latin1', 0, slot.length)
}

function echo(slot: Slot): void {
  slot.reserve(slot.length).set(slot.octets.subarray(0, slot.length))
  slot.send(slot.length)
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await sleep(2)
}

describe.runIf(isBatchingKnown())('UDP in batches', async () => {
  const libc = await loadLibc()
  const openReal = openWith(libc)

  async function listen(
    receive: Receive,
    address = '127.0.0.1',
    port = 0,
    open: OpenBatch = openReal,
    sharing?: PortSharing
  ): Promise<Listener> {
    const listener = await open(address, port, receive, counters, address, sharing)
    let isClosed = false
    const close = async (graceMs: number): Promise<void> => {
      if (!isClosed) await listener.close(graceMs)
      isClosed = true
    }
    opened.push(() => close(0))
    return { address, port: listener.port, transport: 'udp', serve: (...given) => listener.serve(...given), close }
  }

  /** The calls with some in another way. */
  function openOver(calls: Partial<Libc>): OpenBatch {
    return openWith({ ...libc, ...calls })
  }

  describe('a slot', () => {
    test('that is answered at once serves the next datagram, client and all', async () => {
      const [slots, clients, octets] = [new Set<Slot>(), new Set<unknown>(), new Set<unknown>()]
      const listener = await listen((slot) => {
        slots.add(slot)
        clients.add(slot.client)
        octets.add(slot.octets)
        echo(slot)
      })
      const socket = await client()
      for (let i = 0; i < 20; i++) expect(await answered(socket, listener.port, `query ${i}`)).toBe(`query ${i}`)
      expect([slots.size, clients.size, octets.size]).toEqual([1, 1, 1])
    })

    test('that is kept, or waits for its reply, stays as it is while others come', async () => {
      const slots: Slot[] = []
      const listener = await listen((slot) => {
        const text = textOf(slot)
        if (text.startsWith('keep')) slot.keep()
        if (!text.startsWith('plain')) slots.push(slot)
        if (!text.startsWith('wait')) echo(slot)
      })
      const [one, other] = [await client(), await client()]
      await answered(one, listener.port, 'keep this one')
      one.send('wait for it', listener.port, '127.0.0.1')
      await until(() => slots.length === 2)
      for (let i = 0; i < 200; i++) await answered(other, listener.port, `plain ${i} and some more of it`)
      expect(slots.map((slot) => [textOf(slot), slot.client.address, slot.client.port])).toEqual([
        ['keep this one', '127.0.0.1', one.address().port],
        ['wait for it', '127.0.0.1', one.address().port]
      ])
      const reply = once(one, 'message')
      echo(slots[1]!)
      expect(String((await reply)[0])).toBe('wait for it')
    })

    test('gives its buffer back where nothing is sent', async () => {
      const buffers = new Set<unknown>()
      const listener = await listen((slot) => {
        buffers.add(slot.reserve(20))
        if (textOf(slot) === 'drop') slot.drop()
        else echo(slot)
      })
      const socket = await client()
      for (let i = 0; i < 10; i++) {
        socket.send('drop', listener.port, '127.0.0.1')
        await answered(socket, listener.port, 'query')
      }
      // Both may have come in one batch, and the first of the replies to be in use then.
      expect(buffers.size).toBeLessThan(4)
    })
  })

  test('each of 10 000 replies, at once or up to 20 ms later, carries its own question to its own asker', { timeout: 60_000 }, async () => {
    const [CLIENTS, QUERIES, OUTSTANDING] = [8, 1250, 60]
    const wrong: string[] = []
    const kept: { slot: Slot; text: string; port: number }[] = []
    const check = ({ slot, text, port }: { slot: Slot; text: string; port: number }): void => {
      if (textOf(slot) !== text || slot.client.port !== port) wrong.push(`${text} became ${textOf(slot)}`)
    }
    const listener = await listen((slot) => {
      const was = { slot, text: textOf(slot), port: slot.client.port }
      const chance = Math.random()
      if (chance < 0.3) return echo(slot)
      if (chance < 0.5) {
        slot.keep()
        kept.push(was)
      }
      if (chance < 0.4) return echo(slot)
      const later = (): void => {
        check(was)
        echo(slot)
      }
      if (chance < 0.6) setImmediate(later)
      else setTimeout(later, Math.random() * 20)
    })
    const ask = async (name: number): Promise<number> => {
      const socket = await client()
      const waiting = new Set<string>()
      let [asked, good] = [0, 0]
      const next = (): void => {
        const text = `${name}.${asked++}.${'x'.repeat(Math.floor(Math.random() * 200))}`
        waiting.add(text)
        socket.send(text, listener.port, '127.0.0.1')
      }
      await new Promise<void>((resolve) => {
        socket.on('message', (octets) => {
          if (waiting.delete(String(octets))) good++
          else wrong.push(`${name} got ${String(octets)}`)
          if (asked < QUERIES) next()
          else if (waiting.size === 0) resolve()
        })
        for (let i = 0; i < OUTSTANDING; i++) next()
      })
      return good
    }
    const good = await Promise.all(Array.from({ length: CLIENTS }, (_, name) => ask(name)))
    for (const each of kept) check(each)
    expect(wrong).toEqual([])
    expect(good).toEqual(good.map(() => QUERIES))
    expect(kept.length).toBeGreaterThan(1000)
    expect([counters.received, counters.unsent]).toEqual([CLIENTS * QUERIES, 0])
  })

  test.each([0, 1, 4096, 4097, 9000, 65_507])('a datagram of %i octets comes whole', async (length) => {
    const octets = Buffer.alloc(length, 'ab')
    const listener = await listen(echo)
    expect(await answered(await client(), listener.port, octets)).toBe(octets.toString())
  })

  const linkLocal = Object.entries(networkInterfaces()).flatMap(([name, list]) =>
    list!.flatMap(({ address, scopeid }) => (scopeid ? [`${address}%${name}`] : []))
  )
  test.runIf(linkLocal.length > 0)('a link-local address has its interface, as asked and as asker', async () => {
    const [address = ''] = linkLocal
    const clients: string[] = []
    const listener = await listen((slot) => {
      clients.push(slot.client.address)
      echo(slot)
    }, address)
    expect(await answered(await client(address), listener.port, 'query', address)).toBe('query')
    expect(clients).toEqual([address])
  })

  describe('a kernel without room for replies', () => {
    test('gets them, each once and in order, when it has room again; who asks meanwhile waits too', async () => {
      let tries = 0
      const open = openOver({
        // Room for one datagram at each third call.
        sendmmsg: (fd, headers, count, flags) => (++tries % 3 === 0 ? libc.sendmmsg(fd, headers, Math.min(1, count), flags) : -1),
        errno: () => EAGAIN
      })
      const listener = await listen(
        (slot) => (textOf(slot).startsWith('late') ? setTimeout(echo, 5, slot) : echo(slot)),
        '127.0.0.1',
        0,
        open
      )
      const socket = await client()
      const got: string[] = []
      socket.on('message', (octets) => got.push(String(octets)))
      const asked = Array.from({ length: 100 }, (_, i) => (i % 10 === 0 ? `late ${i}` : `now ${i}`))
      for (const text of asked) socket.send(text, listener.port, '127.0.0.1')
      await until(() => got.length === 100)
      const ofKind = (kind: string, texts: string[]): string[] => texts.filter((text) => text.startsWith(kind))
      expect(ofKind('now', got)).toEqual(ofKind('now', asked))
      expect(ofKind('late', got).sort()).toEqual(ofKind('late', asked).sort())
      expect(counters.unsent).toBe(0)
    })

    test('does not keep the event loop busy: it waits for the socket', async () => {
      let [tries, hasRoom] = [0, false]
      const open = openOver({
        sendmmsg: (...given) => (++tries > 0 && hasRoom ? libc.sendmmsg(...given) : -1),
        errno: () => EAGAIN,
        // Real sockets of this machine always have room, so the event loop would tell of it again and again.
        watch: (fd, events, callback) => {
          const handle = libc.watch(fd, events, callback)
          return {
            close: () => handle.close(),
            start: (wanted, called) => handle.start({ ...wanted, writable: wanted.writable && hasRoom }, called)
          }
        }
      })
      const listener = await listen(echo, '127.0.0.1', 0, open)
      const socket = await client()
      for (let i = 0; i < 10; i++) socket.send('query', listener.port, '127.0.0.1')
      await until(() => counters.received === 10)
      await sleep(20)
      expect(tries).toBe(1)
      const closed = listener.close(100)
      hasRoom = true
      await closed
      // The grace is over and the replies are still there: they are told of.
      expect(counters.unsent).toBe(10)
    })

    test('a close waits for it', async () => {
      let hasRoom = false
      const open = openOver({ sendmmsg: (...given) => (hasRoom ? libc.sendmmsg(...given) : -1), errno: () => EAGAIN })
      const listener = await listen(echo, '127.0.0.1', 0, open)
      const socket = await client()
      const reply = once(socket, 'message')
      socket.send('query', listener.port, '127.0.0.1')
      await until(() => counters.received === 1)
      const closed = listener.close(5000)
      setTimeout(() => {
        hasRoom = true
      }, 50)
      expect(String((await reply)[0])).toBe('query')
      await closed
      expect(counters.unsent).toBe(0)
    })
  })

  test('an error of an earlier reply, told by ICMP, stops neither reading nor sending', async () => {
    let fail = (): void => {}
    let [reads, errno] = [0, 0]
    const open = openOver({
      recvmmsg: (...given) => {
        if (++reads % 2 === 0) return libc.recvmmsg(...given)
        errno = ECONNREFUSED
        return -1
      },
      errno: () => errno || libc.errno(),
      watch: (fd, events, callback) => {
        const handle = libc.watch(fd, events, callback)
        // So libuv tells of an error: it does not wait any more, and says nothing of what else there is.
        fail = () => {
          ;(handle as unknown as { stop(): void }).stop()
          callback(UV_EBADF, { readable: false, writable: false })
        }
        return handle
      }
    })
    const listener = await listen(echo, '127.0.0.1', 0, open)
    const socket = await client()
    for (let i = 0; i < 5; i++) expect(await answered(socket, listener.port, 'query')).toBe('query')
    fail()
    for (let i = 0; i < 5; i++) expect(await answered(socket, listener.port, 'query')).toBe('query')
    expect(counters).toEqual({ received: 10, unsent: 0, refusedConnections: 0 })
  })

  test('several sockets have their queries at once, each its own', async () => {
    const local = networkInterfaces().lo!.some(({ address }) => address === '::1')
      ? ['127.0.0.1', '127.0.0.2', '::1']
      : ['127.0.0.1', '127.0.0.2']
    const says = (slot: Slot): void => {
      const text = `${slot.client.local} ${slot.client.endpoint} ${textOf(slot)}`
      slot.reserve(200).set(Buffer.from(text))
      slot.send(text.length)
    }
    const listeners = await Promise.all(
      [...local, ...local].map((address) => listen((slot) => (Math.random() < 0.5 ? says(slot) : setImmediate(says, slot)), address))
    )
    await Promise.all(
      listeners.map(async ({ address, port }) => {
        const socket = await client(address)
        const endpoint = address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`
        for (let i = 0; i < 100; i++) expect(await answered(socket, port, `query ${i}`, address)).toBe(`${address} ${endpoint} query ${i}`)
      })
    )
    expect(counters.received).toBe(listeners.length * 100)
  })

  test('a port that workers share is theirs alone', async () => {
    const first = await listen(echo, '127.0.0.1', 0, openReal, 'first')
    const heard = [0, 0]
    const hearing =
      (worker: number): Receive =>
      (slot) => {
        heard[worker]!++
        echo(slot)
      }
    const second = await listen(hearing(1), '127.0.0.1', first.port, openReal, 'joins')
    first.serve(hearing(0), '127.0.0.1')
    for (let i = 0; i < 50 || heard.includes(0); i++) expect(await answered(await client(), first.port, 'query')).toBe('query')
    for (const sharing of ['first', undefined] as const) {
      const failed = listen(echo, '127.0.0.1', first.port, openReal, sharing)
      await expect(failed).rejects.toThrow(ListenError)
      await expect(failed).rejects.toThrow(`cannot listen on 127.0.0.1:${first.port} (udp): the port is in use`)
    }
    await second.close(100)
    for (let i = 0; i < 20; i++) expect(await answered(await client(), first.port, 'query')).toBe('query')
  })

  test.each([
    ['no address', 'localhost', 'cannot listen on localhost:5399 (udp): bind EINVAL localhost:5399'],
    ['an interface that is not here', 'fe80::1%noSuch', 'cannot listen on [fe80::1%noSuch]:5399 (udp): bind EINVAL fe80::1%noSuch:5399'],
    ['an address that is not here', '192.0.2.250', 'cannot listen on 192.0.2.250:5399 (udp): this machine has no such address']
  ])('what cannot be listened on is one line: %s', async (_, address, line) => {
    await expect(listen(echo, address, 5399)).rejects.toThrow(line)
  })

  test('no descriptor stays open, whether it went well or not', async () => {
    const descriptors = (): number => readdirSync('/proc/self/fd').length
    const before = descriptors()
    for (let i = 0; i < 20; i++) {
      const listener = await listen(echo)
      await expect(listen(echo, '127.0.0.1', listener.port)).rejects.toThrow(ListenError)
      const failing = openOver({
        watch: () => {
          throw new Error('no room in the event loop')
        }
      })
      await expect(listen(echo, '127.0.0.1', 0, failing)).rejects.toThrow('(udp): no room in the event loop')
      await listener.close(i % 2)
    }
    expect(descriptors()).toBe(before)
  })

  test('after the close nothing is sent, and what was the slot’s can still be read and written', async () => {
    const slots: Slot[] = []
    const listener = await listen((slot) => slots.push(slot))
    const socket = await client()
    const got: unknown[] = []
    socket.on('message', (octets) => got.push(octets))
    for (const text of ['a', 'b', 'c']) socket.send(text, listener.port, '127.0.0.1')
    await until(() => slots.length === 3)
    const room = slots[0]!.reserve(4096)
    await listener.close(5)
    room.fill(0xff)
    slots[0]!.send(4096)
    echo(slots[1]!)
    slots[2]!.drop()
    await sleep(20)
    expect([slots.map(textOf), slots[1]!.client.port, got, counters.unsent]).toEqual([['a', 'b', 'c'], socket.address().port, [], 2])
  })
})
