import { connect, type Socket } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { STREAM_LIMITS, type StreamLimits } from './limits.js'
import type { Listener, ListenerCounters, Receive, Slot } from './slot.js'
import { openTcp } from './tcp.js'

let counters: ListenerCounters = { received: 0, unsent: 0, refusedConnections: 0 }
const listeners: Listener[] = []
const clients: Socket[] = []

afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy()
  await Promise.all(listeners.splice(0).map((listener) => listener.close(0)))
  counters = { received: 0, unsent: 0, refusedConnections: 0 }
})

async function listen(receive: Receive, limits: Partial<StreamLimits> = {}, address = '127.0.0.1'): Promise<Listener> {
  const listener = await openTcp(address, 0, receive, counters, { ...STREAM_LIMITS, ...limits })
  listeners.push(listener)
  return listener
}

/** A client and what it has been answered so far: texts without their padding. */
class TestClient {
  readonly socket: Socket
  readonly replies: string[] = []
  closed = false
  ended = false
  #rest = Buffer.alloc(0)

  constructor({ port, address }: Listener, localAddress = address) {
    this.socket = connect({ port, host: address, localAddress, allowHalfOpen: true })
    clients.push(this.socket)
    this.socket.on('error', () => {})
    this.socket.on('close', () => (this.closed = true))
    this.socket.on('end', () => (this.ended = true))
    this.socket.on('data', (chunk) => {
      this.#rest = Buffer.concat([this.#rest, chunk])
      while (this.#rest.length >= 2 && this.#rest.length >= 2 + this.#rest.readUInt16BE(0)) {
        const end = 2 + this.#rest.readUInt16BE(0)
        this.replies.push(this.#rest.toString('latin1', 2, end).trimEnd())
        this.#rest = this.#rest.subarray(end)
      }
    })
  }

  /** Whether the server has closed its half, or all. */
  get left(): boolean {
    return this.ended || this.closed
  }

  async asked(text: string): Promise<string> {
    const before = this.replies.length
    this.socket.write(framed(text))
    await until(() => this.replies.length > before || this.left)
    return this.replies.at(-1) ?? 'closed'
  }
}

/** A message as it stands in a stream; no shorter than a header. */
function framed(text: string): Buffer {
  const octets = Buffer.from(text.padEnd(12))
  return Buffer.concat([Buffer.from([octets.length >> 8, octets.length & 0xff]), octets])
}

async function until(isSo: () => boolean): Promise<void> {
  const started = Date.now()
  while (!isSo()) {
    if (Date.now() - started > 5000) throw new Error('waited in vain')
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

function echo(slot: Slot): void {
  slot.reserve(65535).set(slot.octets)
  slot.send(slot.octets.length)
}

/** Answers in a later turn, like a forwarder. */
function later(slot: Slot): void {
  setTimeout(() => echo(slot), 1)
}

const many = (count: number): string[] => Array.from({ length: count }, (_, i) => `query ${i}`)

describe('answers', () => {
  test('one query after another, and tells who asked', async () => {
    const seen: unknown[] = []
    const listener = await listen((slot) => {
      seen.push(slot.client)
      echo(slot)
    })
    const client = new TestClient(listener)
    expect([await client.asked('one'), await client.asked('two')]).toEqual(['one', 'two'])
    expect(seen[0]).toEqual({
      address: '127.0.0.1',
      port: client.socket.localPort,
      transport: 'tcp',
      local: '127.0.0.1',
      endpoint: `127.0.0.1:${listener.port}`
    })
    expect(counters).toEqual({ received: 2, unsent: 0, refusedConnections: 0 })
  })

  test('queries that come in pieces', async () => {
    const client = new TestClient(await listen(echo))
    client.socket.setNoDelay()
    for (const octet of Buffer.concat([framed('one'), framed('two')])) {
      client.socket.write(Uint8Array.of(octet))
      await new Promise(setImmediate)
    }
    await until(() => client.replies.length === 2)
    expect(client.replies).toEqual(['one', 'two'])
  })

  test('queries of one segment as replies come, in any order', async () => {
    const slots: Slot[] = []
    const client = new TestClient(await listen((slot) => slots.push(slot)))
    client.socket.write(Buffer.concat(['one', 'two', 'three', 'drop', 'last'].map(framed)))
    await until(() => slots.length === 5)
    slots[3]!.drop()
    for (const i of [2, 0, 1, 4]) {
      echo(slots[i]!)
      await new Promise(setImmediate)
    }
    await until(() => client.replies.length === 4)
    expect(client.replies).toEqual(['three', 'one', 'two', 'last'])
  })

  test('the largest messages', async () => {
    const client = new TestClient(await listen(echo))
    expect(await client.asked('x'.repeat(65535))).toBe('x'.repeat(65535))
  })

  test.each([
    ['at once', echo, {}],
    ['later', later, {}],
    ['later, a few at a time', later, { inFlight: 3 }],
    ['at once, with little room for what is unread', echo, { unread: 100 }],
    ['later, with little room for what is unread', later, { unread: 1, inFlight: 7 }]
  ])('a client that has closed its half after 500 queries in one go, %s', async (_, receive, limits) => {
    const client = new TestClient(await listen(receive, limits))
    client.socket.end(Buffer.concat(many(500).map(framed)))
    await until(() => client.closed)
    expect(client.replies.toSorted()).toEqual(many(500).sort())
    expect(client.socket.errored).toBeNull()
  })

  test.each([
    ['later', later, {}],
    ['later, one at a time', later, { inFlight: 1 }],
    ['at once, with little room for what is unread', echo, { unread: 1 }]
  ])('a client that sends 500 queries in one go and stays, %s', async (_, receive, limits) => {
    const client = new TestClient(await listen(receive, limits))
    client.socket.write(Buffer.concat(many(500).map(framed)))
    await until(() => client.replies.length === 500)
    expect(client.replies.toSorted()).toEqual(many(500).sort())
    expect(await client.asked('more')).toBe('more')
  })

  test('never more at once than it may', async () => {
    let inFlight = 0
    let most = 0
    const client = new TestClient(
      await listen(
        (slot) => {
          most = Math.max(most, ++inFlight)
          setTimeout(() => {
            inFlight--
            if (slot.octets.toString().endsWith('7 ')) slot.drop()
            else echo(slot)
          }, 1)
        },
        { inFlight: 5 }
      )
    )
    client.socket.end(Buffer.concat(many(100).map(framed)))
    await until(() => client.closed)
    expect(most).toBe(5)
  })
})

describe('closes', () => {
  test.each([
    [
      'where a prefix is too small for a header',
      Buffer.concat([framed('one'), Buffer.from([0, 11]), Buffer.alloc(11), framed('two')]),
      ['one']
    ],
    ['where a prefix is 0', Buffer.from([0, 0]), []],
    ['after the whole queries, where half a one follows before the end', Buffer.concat([framed('one'), Buffer.from([0])]), ['one']]
  ])('%s', async (_, octets, replies) => {
    for (const receive of [echo, later]) {
      const client = new TestClient(await listen(receive))
      if (octets.at(-1) === 0 && octets.length > 2) client.socket.end(octets)
      else client.socket.write(octets)
      await until(() => client.ended)
      expect(client.replies).toEqual(replies)
    }
  })

  test('an idle connection', async () => {
    const client = new TestClient(await listen(echo, { idleMs: 40 }))
    await client.asked('one')
    await until(() => client.left)
  })

  test('not one that waits for its reply', async () => {
    const client = new TestClient(await listen((slot) => setTimeout(() => echo(slot), 100), { idleMs: 20 }))
    expect(await client.asked('slow')).toBe('slow')
  })

  test('an idle connection whose last query was dropped late', async () => {
    const client = new TestClient(await listen((slot) => setTimeout(() => slot.drop(), 60), { idleMs: 20 }))
    client.socket.write(framed('slow'))
    await until(() => client.left)
  })

  test('a connection whose query comes too slowly, octet by octet', async () => {
    const client = new TestClient(await listen(echo, { messageMs: 60, idleMs: 10_000 }))
    await client.asked('one')
    client.socket.setNoDelay()
    const started = performance.now()
    for (const octet of framed('x'.repeat(1000))) {
      if (client.left || performance.now() - started > 400) break
      client.socket.write(Uint8Array.of(octet))
      await pause(10)
    }
    expect(client.left).toBe(true)
    expect(performance.now() - started).toBeGreaterThan(50)
  })

  test('not one that sends a query now and then', async () => {
    const client = new TestClient(await listen(echo, { messageMs: 40 }))
    for (let i = 0; i < 4; i++) {
      expect(await client.asked(`query ${i}`)).toBe(`query ${i}`)
      await pause(20)
    }
    expect(client.left).toBe(false)
  })

  test('the connection of a client that takes no replies, while others are served', async () => {
    const inFlight = { now: 0, all: 0 }
    const big: Receive = (slot) => {
      inFlight.all++
      slot.reserve(65535).fill(0x61)
      slot.send(slot.octets.toString().startsWith('big') ? 60_000 : 12)
    }
    const listener = await listen(big, { writeMs: 150, unread: 100_000 })
    const slow = new TestClient(listener)
    slow.socket.pause()
    slow.socket.write(Buffer.concat(many(20_000).map((text) => framed(`big ${text}`))))
    const other = new TestClient(listener)
    for (let i = 0; i < 10; i++) expect(await other.asked('small')).toBe('a'.repeat(12))
    // What the kernel holds for the client, and then no more than may stay unread.
    expect(inFlight.all).toBeLessThan(300)
    slow.socket.resume()
    slow.socket.pause()
    await until(() => listenerIsLeftBy(slow))
    expect(await other.asked('small')).toBe('a'.repeat(12))
  })
})

/** Whether the server has given up on this client: what it still writes is answered with a reset. */
function listenerIsLeftBy({ socket, closed }: TestClient): boolean {
  if (!closed) socket.write('x')
  return closed
}

describe('takes no more connections than it may', () => {
  test('of one client', async () => {
    const listener = await listen(echo, { connectionsPerClient: 2 })
    const [one, two] = [new TestClient(listener), new TestClient(listener)]
    expect([await one.asked('one'), await two.asked('two')]).toEqual(['one', 'two'])
    expect(await new TestClient(listener).asked('three')).toBe('closed')
    expect(await new TestClient(listener, '127.0.0.2').asked('other')).toBe('other')
    one.socket.destroy()
    await until(() => one.left)
    await pause(5)
    expect(await new TestClient(listener).asked('again')).toBe('again')
    expect(counters.refusedConnections).toBe(1)
  })

  test('in all: the one that has been idle for longest goes', async () => {
    const listener = await listen(echo, { connections: 3 })
    const [one, two, three] = [new TestClient(listener), new TestClient(listener), new TestClient(listener)]
    for (const client of [two, three, one]) await client.asked('first')
    expect(await new TestClient(listener).asked('four')).toBe('four')
    await until(() => two.left)
    expect([one.left, three.left]).toEqual([false, false])
    expect(await one.asked('still')).toBe('still')
  })

  test('in all: where none is idle, the new one goes', async () => {
    const listener = await listen(() => {}, { connections: 2 })
    for (const client of [new TestClient(listener), new TestClient(listener)]) client.socket.write(framed('waits'))
    await until(() => counters.received === 2)
    expect(await new TestClient(listener).asked('three')).toBe('closed')
    expect(counters.refusedConnections).toBe(1)
  })

  test('in all: when many come at once', async () => {
    const listener = await listen(echo, { connections: 3 })
    const all = Array.from({ length: 30 }, () => new TestClient(listener))
    await until(() => all.filter(({ left }) => left).length >= 27)
    await pause(20)
    expect(all.filter(({ left }) => left)).toHaveLength(27)
  })
})

describe('closing the listener', () => {
  test('answers what is in flight, ends idle connections, and takes no new ones', async () => {
    const slots: Slot[] = []
    const listener = await listen((slot) => (slot.octets.toString().startsWith('wait') ? slots.push(slot) : echo(slot)))
    const [idle, busy] = [new TestClient(listener), new TestClient(listener)]
    await idle.asked('one')
    busy.socket.write(framed('wait'))
    await until(() => slots.length === 1)
    const closed = listener.close(5000)
    await until(() => idle.ended)
    idle.socket.end()
    busy.socket.write(framed('too late'))
    expect(await new TestClient(listener).asked('new')).toBe('closed')
    echo(slots[0]!)
    await until(() => busy.ended)
    busy.socket.end()
    await closed
    expect([busy.replies, slots.length]).toEqual([['wait'], 1])
  })

  test('takes connections that wait in the kernel, and answers what was sent on them', async () => {
    const listener = await listen(echo)
    const asked = Array.from({ length: 20 }, () => new TestClient(listener))
    for (const client of asked) client.socket.write(Buffer.concat([framed('one'), framed('two')]))
    // The kernel has made them; libuv accepts one a turn.
    await Promise.all(asked.map(({ socket }) => new Promise((resolve) => socket.once('ready', resolve))))
    await listener.close(5000)
    await until(() => asked.every(({ left }) => left))
    for (const { replies } of asked) expect(replies).toEqual(['one', 'two'])
  })

  test('answers what a client has in the stream beyond what is taken at once, then sends FIN and no reset', async () => {
    const slots: Slot[] = []
    const listener = await listen((slot) => slots.push(slot), { inFlight: 2 })
    const client = new TestClient(listener)
    let fault: Error | undefined
    client.socket.on('error', (error) => (fault = error))
    client.socket.write(Buffer.concat([1, 2, 3, 4, 5].map((n) => framed(`query ${n}`)).concat(framed('half').subarray(0, 5))))
    await until(() => slots.length === 2)
    const closed = listener.close(5000)
    for (let n = 0; n < 5; n++) {
      await until(() => slots.length > n)
      echo(slots[n]!)
    }
    await until(() => client.ended)
    client.socket.end(framed('too late'))
    await closed
    expect(client.replies).toEqual(['query 1', 'query 2', 'query 3', 'query 4', 'query 5'])
    expect(fault).toBeUndefined()
  })

  test('waits no longer than the grace, and a reply after that is lost without harm', async () => {
    const slots: Slot[] = []
    const listener = await listen((slot) => slots.push(slot))
    const client = new TestClient(listener)
    client.socket.write(Buffer.concat([framed('one'), framed('two')]))
    await until(() => slots.length === 2)
    await listener.close(10)
    echo(slots[0]!)
    slots[1]!.drop()
    await until(() => client.left)
    expect(client.replies).toEqual([])
  })

  test('does not wait for a client that does not close in turn', async () => {
    const listener = await listen(echo, { writeMs: 30 })
    const client = new TestClient(listener)
    await client.asked('one')
    await listener.close(5000)
    expect(client.ended).toBe(true)
  })
})

test('a client that resets harms nobody', async () => {
  const slots: Slot[] = []
  const listener = await listen((slot) => (slot.octets.toString().startsWith('wait') ? slots.push(slot) : echo(slot)))
  const gone = new TestClient(listener)
  gone.socket.write(framed('wait'))
  await until(() => slots.length === 1)
  gone.socket.resetAndDestroy()
  echo(slots[0]!)
  expect(await new TestClient(listener).asked('one')).toBe('one')
})

test('listens on IPv6', async () => {
  const listener = await listen(echo, {}, '::1').catch(() => undefined)
  if (listener !== undefined) expect(await new TestClient(listener).asked('one')).toBe('one')
})
