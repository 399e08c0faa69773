import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { createServer } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { isBatchingKnown } from './batch/libc.js'
import { loadBatch, theLibc } from './batch/open-batch.js'
import { openSocket } from './batch/socket.js'
import { type Listeners, openListeners } from './listeners.js'
import { type PassedSockets, toldApart } from './passed-sockets.js'
import type { Endpoint, Slot } from './slot.js'
import { openUdp as openDatagrams } from './udp.js'

const descriptors = (): number => readdirSync('/proc/self/fd').length

function echo(slot: Slot): void {
  slot.reserve(slot.length).set(slot.octets.subarray(0, slot.length))
  slot.send(slot.length)
}

const at = (address: string, port: number): Endpoint => ({ address, port, receive: echo })

async function answer(address: string, port: number): Promise<string> {
  const socket = createSocket('udp4')
  try {
    const arrived = once(socket, 'message', { signal: AbortSignal.timeout(2000) })
    socket.send('query', port, address)
    const [octets] = (await arrived) as [Buffer]
    return String(octets)
  } finally {
    socket.close()
  }
}

describe.runIf(isBatchingKnown())('sockets that were passed', async () => {
  const [libc, openBatch] = [await theLibc(), await loadBatch()]

  /** One of UDP on that address, which this process has at a descriptor as if it had been passed. */
  function passedUdp(withLibc: boolean, address = '127.0.0.1'): { passed: PassedSockets; port: number; fd: number } {
    const { fd, port } = openedUdp(address)
    return { fd, port, passed: toldApart([{ fd, name: '' }], [], withLibc ? libc : undefined) }
  }

  /** On a port that is free for TCP too, and not among those that the kernel gives to others meanwhile. */
  function openedUdp(address: string): { fd: number; port: number } {
    for (;;) {
      const port = 10_000 + Math.floor(Math.random() * 20_000)
      try {
        const { fd } = openSocket(libc, address, port)
        try {
          libc.close(openSocket(libc, address, port, undefined, 'tcp').fd)
          return { fd, port }
        } catch {
          libc.close(fd)
        }
      } catch {
        // The next one may be free.
      }
    }
  }

  async function open(
    endpoints: readonly Endpoint[],
    passed: PassedSockets,
    isBatch: boolean
  ): Promise<Listeners & { warnings: string[] }> {
    const warnings: string[] = []
    const openUdp = isBatch ? openBatch : openDatagrams
    const listeners = await openListeners(endpoints, { openUdp, passed, warn: (text) => warnings.push(text) })
    onTestFinished(() => listeners.close(0))
    return Object.assign(listeners, { warnings })
  }

  const transports = ({ list }: Listeners): string[] => list.map(({ transport }) => transport)

  test.each([true, false])(
    'are served alone where the port of the other transport is taken, until a reload finds it free (batch: %s)',
    async (isBatch) => {
      const { passed, port } = passedUdp(isBatch)
      const taken = createServer().listen(port, '127.0.0.1')
      await once(taken, 'listening')
      const listeners = await open([at('127.0.0.1', port)], passed, isBatch)
      expect([transports(listeners), listeners.passed]).toEqual([['udp'], passed.list])
      expect(listeners.warnings).toEqual([`cannot listen on 127.0.0.1:${port} (tcp): the port is in use`])
      expect(await answer('127.0.0.1', port)).toBe('query')
      taken.close()
      await once(taken, 'close')
      await (await listeners.prepare([at('127.0.0.1', port)])).apply(0)
      expect(transports(listeners)).toEqual(['udp', 'tcp'])
      expect(await answer('127.0.0.1', port)).toBe('query')
    }
  )

  test('are told of where nobody serves them, and are there for a reload; no copy of them stays open', async () => {
    const { passed, port, fd } = passedUdp(true)
    const before = descriptors()
    const listeners = await open([at('127.0.0.2', port)], passed, true)
    const told = `the passed socket 127.0.0.1:${port} (udp, descriptor ${fd}) is where no server block listens: nobody answers there`
    expect(listeners.warnings).toEqual([told])
    for (let i = 0; i < 3; i++) {
      const change = await listeners.prepare([at('127.0.0.1', port)])
      if (i === 1) await change.discard()
      else await change.apply(0)
      if (i !== 1) expect(await answer('127.0.0.1', port)).toBe('query')
      await (await listeners.prepare([at('127.0.0.2', port)])).apply(0)
    }
    expect(listeners.warnings).toEqual([told, told, told, told])
    await listeners.close(0)
    await expect.poll(descriptors).toBe(before)
    libc.close(fd)
  })

  test('are gone after a reload that did not come about, where Node alone drives them', async () => {
    const { passed, port, fd } = passedUdp(false)
    const listeners = await open([at('127.0.0.2', port)], passed, false)
    await (await listeners.prepare([at('127.0.0.1', port)])).discard()
    expect(listeners.warnings.at(-1)).toBe(
      `the passed socket 127.0.0.1:${port} (udp, descriptor ${fd}) is closed: only a restart brings it back`
    )
    await (await listeners.prepare([at('127.0.0.1', port)])).apply(0)
    expect([transports(listeners), listeners.passed]).toEqual([['udp', 'tcp'], []])
    expect(await answer('127.0.0.1', port)).toBe('query')
  })

  test('for all addresses are one socket, and the watch of addresses opens none', async () => {
    const { passed, port } = passedUdp(true, '0.0.0.0')
    const warnings: string[] = []
    let addresses = ['127.0.0.1']
    const options = { openUdp: openBatch, passed, watchMs: 5, localAddresses: () => addresses, warn: (text: string) => warnings.push(text) }
    const listeners = await openListeners([at('0.0.0.0', port)], options)
    onTestFinished(() => listeners.close(0))
    const shown = (): string[] => listeners.list.map(({ transport, address }) => `${transport} ${address}`)
    expect(shown()).toEqual(['udp 0.0.0.0', 'tcp 127.0.0.1'])
    addresses = ['127.0.0.2']
    await expect.poll(shown).toEqual(['udp 0.0.0.0', 'tcp 127.0.0.2'])
    expect([await answer('127.0.0.3', port), warnings]).toEqual(['query', []])
  })
})
