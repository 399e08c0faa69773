/** UDP in batches beside everything else that runs in the process. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { afterEach, describe, expect, test } from 'vitest'
import type { ListenerCounters, Slot } from '../slot.js'
import { openTcp } from '../tcp.js'
import { BATCH } from './incoming.js'
import { isBatchingKnown, loadLibc, type Watching } from './libc.js'
import { loadBatch, openWith } from './open-batch.js'

/** Sends as much as it can, to all these ports. */
const FLOOD = `
const { workerData } = require('node:worker_threads')
const socket = require('node:dgram').createSocket('udp4')
socket.on('message', () => {})
const more = () => {
  for (let i = 0; i < 64; i++) socket.send('flood', workerData[i % workerData.length], '127.0.0.1')
  setImmediate(more)
}
more()`

/** Answers with its number, and dies of the question \`die\`. */
const ANSWERS = `
const { workerData: { url, number, port }, parentPort } = require('node:worker_threads')
import(url).then(async ({ loadBatch }) => {
  const open = await loadBatch()
  const listener = await open('127.0.0.1', port, (slot) => {
    if (Buffer.from(slot.octets).toString('latin1', 0, slot.length) === 'die') throw new Error('a fault')
    slot.reserve(1)[0] = 0x30 + number
    slot.send(1)
  }, { received: 0, unsent: 0, refusedConnections: 0 }, '127.0.0.1', number === 0 ? 'first' : 'joins')
  parentPort.on('message', async () => { await listener.close(0); parentPort.close() })
  parentPort.postMessage(listener.port)
})`

const counters: ListenerCounters = { received: 0, unsent: 0, refusedConnections: 0 }
const opened: (() => unknown)[] = []

afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close()
  counters.received = 0
})

function echo(slot: Slot): void {
  slot.reserve(slot.length).set(slot.octets.subarray(0, slot.length))
  slot.send(slot.length)
}

function exitOf(worker: Worker): Promise<number> {
  return new Promise((resolve) => worker.once('exit', resolve))
}

async function asked(port: number, text: string): Promise<string> {
  const socket = createSocket('udp4')
  const reply = once(socket, 'message')
  const ask = (): void => socket.send(text, port, '127.0.0.1')
  // The kernel drops some where it is flooded.
  const again = setInterval(ask, 300)
  ask()
  const [octets] = (await reply) as [Buffer]
  clearInterval(again)
  socket.close()
  return octets.toString()
}

describe.runIf(isBatchingKnown())('UDP in batches', async () => {
  const open = await loadBatch()

  test('leaves timers, TCP and other sockets their turn in a flood', async () => {
    const flooded = [await open('127.0.0.1', 0, echo, counters), await open('127.0.0.1', 0, (slot) => setImmediate(echo, slot), counters)]
    const spared = await open('127.0.0.1', 0, echo, counters)
    const tcp = await openTcp('127.0.0.1', 0, echo, counters)
    opened.push(...[...flooded, spared, tcp].map((listener) => () => listener.close(0)))
    const flood = new Worker(FLOOD, { eval: true, workerData: flooded.map(({ port }) => port) })
    opened.push(() => flood.terminate())
    while (counters.received < 1000) await sleep(1)
    const [begun, before] = [performance.now(), counters.received]
    let ticks = 0
    const timer = setInterval(() => ticks++, 10)
    const connection = connect(tcp.port, '127.0.0.1')
    let exchanges = 0
    while (performance.now() - begun < 1000) {
      connection.write(Buffer.from('\0\x0ca long query', 'latin1'))
      expect(String(await once(connection, 'data'))).toBe('\0\x0ca long query')
      expect(await asked(spared.port, 'a question')).toBe('a question')
      exchanges++
      // So that the flood fills the sockets again.
      await sleep(5)
    }
    clearInterval(timer)
    connection.destroy()
    expect(counters.received - before).toBeGreaterThan(1000)
    expect(exchanges).toBeGreaterThan(5)
    expect(ticks).toBeGreaterThan(20)
  })

  test.each([
    ['makes no object for a datagram that is answered at once', false, 0, 30],
    ['would be seen to: a slot that is kept has its own', true, 100, Number.POSITIVE_INFINITY]
  ])('%s', async (_, isKept, least, most) => {
    let woken: Watching | undefined
    const flooded = openWith({
      ...(await loadLibc()),
      // A kernel that always has a whole batch, from a client whose port is not 0, and takes each reply.
      addressOf: (view) => {
        if (view instanceof Uint8Array && view.byteLength === BATCH * 32) view.fill(2)
        return 4096n
      },
      recvmmsg: () => BATCH,
      sendmmsg: (_fd, _headers, count) => count,
      watch: (_fd, _events, callback) => {
        woken = callback
        return { start: () => {}, close: () => {} }
      }
    })
    const WINDOW = 2048
    const used: number[] = []
    let seen = 0
    const receive = (slot: Slot): void => {
      if (isKept) slot.keep()
      if (seen++ % WINDOW === 0) used.push(process.memoryUsage().heapUsed)
      slot.reserve(512)
      slot.send(100)
    }
    const listener = await flooded('127.0.0.1', 0, receive, counters)
    opened.push(() => listener.close(0))
    while (used.length < 100) {
      woken!(0, { readable: true, writable: false })
      await new Promise(setImmediate)
    }
    const grown = used.slice(1).map((now, i) => (now - used[i]!) / WINDOW)
    // Half of the windows at least see no collection, and no compilation.
    const median = grown.sort((a, b) => a - b)[Math.floor(grown.length / 2)]!
    expect(median).toBeGreaterThanOrEqual(least)
    expect(median).toBeLessThan(most)
  })

  test('uses no CPU while nobody asks, before and after somebody has', async () => {
    for (const port of [0, 0, 0]) {
      const listener = await open('127.0.0.1', port, echo, counters)
      opened.push(() => listener.close(0))
      for (let i = 0; i < 100; i++) await asked(listener.port, 'query')
    }
    const before = process.cpuUsage()
    await sleep(1000)
    const { user, system } = process.cpuUsage(before)
    // Whoever looks again and again uses all of it.
    expect((user + system) / 1000).toBeLessThan(300)
  })

  test('serves in each worker, in the event loop of that one, and goes with the worker', { timeout: 60_000 }, async () => {
    const url = new URL('./open-batch.js', import.meta.url).href
    const start = async (number: number, port: number): Promise<{ worker: Worker; port: number }> => {
      const worker = new Worker(ANSWERS, { eval: true, workerData: { url, number, port } })
      worker.on('error', () => {})
      opened.push(() => worker.terminate())
      const [bound] = (await once(worker, 'message')) as [number]
      return { worker, port: bound }
    }
    const before = readdirSync('/proc/self/fd').length
    const { worker, port } = await start(0, 0)
    const workers = [worker, (await start(1, port)).worker, (await start(2, port)).worker]
    const heard = new Set<string>()
    while (heard.size < 3) heard.add(await asked(port, 'query'))
    // One dies of a fault, another ends in order: the third has all the questions then.
    const socket = createSocket('udp4')
    const gone = Promise.race(workers.map((each, number) => exitOf(each).then(() => number)))
    socket.send('die', port, '127.0.0.1')
    const dead = await gone
    socket.close()
    const [next, last] = [0, 1, 2].filter((number) => number !== dead) as [number, number]
    const ended = exitOf(workers[next]!)
    workers[next]!.postMessage('end')
    expect(await ended).toBe(0)
    for (let i = 0; i < 30; i++) expect(await asked(port, 'query')).toBe(String(last))
    const lastEnded = exitOf(workers[last]!)
    workers[last]!.postMessage('end')
    await lastEnded
    expect(readdirSync('/proc/self/fd').length).toBeLessThan(before + 10)
  })
})
