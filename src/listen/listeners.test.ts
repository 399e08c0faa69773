import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { isWildcard, localAddresses } from './addresses.js'
import { isBatchingKnown } from './batch/libc.js'
import { loadBatch } from './batch/open-batch.js'
import { type Listeners, type ListenOptions, openListeners } from './listeners.js'
import { type Endpoint, ListenError, type Slot } from './slot.js'
import { openUdp as openDgram } from './udp.js'
import type { OpenUdp } from './udp-driver.js'

const local = localAddresses()
const v4 = local.filter((address) => !address.includes(':'))
const v6 = local.filter((address) => address.includes(':'))
const drivers: [string, OpenUdp][] = [
  ['node:dgram', openDgram],
  ...(isBatchingKnown() ? [['batches', await loadBatch()] as [string, OpenUdp]] : [])
]
function echo(slot: Slot): void {
  slot.reserve(slot.length).set(slot.octets.subarray(0, slot.length))
  slot.send(slot.length)
}

/** The address that a reply comes from. */
async function askedAt(address: string, port: number): Promise<string> {
  const socket = createSocket(address.includes(':') ? 'udp6' : 'udp4')
  const arrived = once(socket, 'message')
  socket.send('query', port, address)
  const [, from] = (await arrived) as [Buffer, { address: string; port: number }]
  socket.close()
  expect(from.port).toBe(port)
  return from.address
}

describe.each(drivers)('over %s', (_, openUdp) => {
  const opened: Listeners[] = []

  afterEach(async () => {
    await Promise.all(opened.splice(0).map((listeners) => listeners.close(0)))
  })

  async function open(addresses: readonly string[], port = 0, options?: ListenOptions): Promise<Listeners> {
    const listeners = await openListeners(
      addresses.map((address): Endpoint => ({ address, port, receive: echo })),
      { openUdp, ...options }
    )
    opened.push(listeners)
    return listeners
  }

  test('port 0 is the same for UDP and TCP', async () => {
    const { list } = await open(['127.0.0.1'])
    expect(list.map(({ transport, address }) => [transport, address])).toEqual([
      ['udp', '127.0.0.1'],
      ['tcp', '127.0.0.1']
    ])
    expect(list[0]!.port).toBe(list[1]!.port)
    expect(list[0]!.port).toBeGreaterThan(0)
  })

  test.runIf(v4.length > 0)('0.0.0.0 is one socket for each local address, from which its replies leave', async () => {
    const { list } = await open(['0.0.0.0'])
    expect(list.filter(({ transport }) => transport === 'udp').map(({ address }) => address)).toEqual(v4)
    expect(new Set(list.map(({ port }) => port)).size).toBe(1)
    for (const { address, port } of list) expect(await askedAt(address, port)).toBe(address)
  })

  test.runIf(v6.length > 0)(':: is one socket for each local IPv6 address', async () => {
    const { list } = await open(['::'])
    expect(list.filter(({ transport }) => transport === 'tcp').map(({ address }) => address)).toEqual(v6)
    for (const { address, port } of list) expect(await askedAt(address, port)).toBe(address)
  })

  test('both wildcards go together', async () => {
    const { list } = await open(['0.0.0.0', '::'])
    expect(list).toHaveLength(2 * local.length)
  })

  test('a wildcard leaves an address to the endpoint that names it', async () => {
    const free = await open(['127.0.0.1'])
    const { port } = free.list[0]!
    await opened.pop()!.close(0)
    const { list } = await open(['0.0.0.0', '127.0.0.1'], port)
    expect(list.map(({ address }) => address).filter((address) => address === '127.0.0.1')).toHaveLength(2)
  })

  test.each([
    ['0.0.0.0', true],
    ['::', true],
    ['0:0:0:0:0:0:0:0', true],
    ['::1', false],
    ['10.0.0.0', false]
  ])('%s stands for all addresses: %s', (address, expected) => {
    expect(isWildcard(address)).toBe(expected)
  })

  describe('where one cannot be opened, none stays open', () => {
    test('for UDP', async () => {
      const taken = createSocket('udp4')
      taken.bind(0, '127.0.0.1')
      await once(taken, 'listening')
      const { port } = taken.address()
      await expect(
        openListeners(
          ['127.0.0.2', '127.0.0.1'].map((address) => ({ address, port, receive: echo })),
          { openUdp }
        )
      ).rejects.toThrow(`cannot listen on 127.0.0.1:${port} (udp): the port is in use`)
      await open(['127.0.0.2'], port)
      taken.close()
    })

    test('for TCP', async () => {
      const taken = createServer().listen(0, '127.0.0.1')
      await once(taken, 'listening')
      const { port } = taken.address() as { port: number }
      const failed = openListeners(
        ['127.0.0.2', '127.0.0.1'].map((address) => ({ address, port, receive: echo })),
        { openUdp }
      )
      await expect(failed).rejects.toThrow(ListenError)
      await expect(failed).rejects.toThrow(`cannot listen on 127.0.0.1:${port} (tcp): the port is in use`)
      taken.close()
      await once(taken, 'close')
      await open(['127.0.0.1', '127.0.0.2'], port)
    })

    test('for an address that is named and not here', async () => {
      await expect(open(['127.0.0.1', '192.0.2.250'])).rejects.toThrow('(udp): this machine has no such address')
    })
  })

  test('the watch of addresses leaves what is right as it is, and ends with the sockets', async () => {
    const warnings: string[] = []
    const listeners = await open(['0.0.0.0', '127.0.0.1'], 0, { watchMs: 5, warn: (text) => warnings.push(text) })
    const before = listeners.list
    await new Promise((resolve) => setTimeout(resolve, 30))
    expect(listeners.list).toEqual(before)
    await listeners.close(0)
    await new Promise((resolve) => setTimeout(resolve, 15))
    expect([listeners.list, warnings]).toEqual([[], []])
  })

  test('a wildcard follows the machine’s addresses, and waits for what is not ready', async () => {
    const warnings: string[] = []
    let addresses = ['127.0.0.2', '192.0.2.250']
    const options = { watchMs: 5, warn: (text: string) => warnings.push(text), localAddresses: () => addresses }
    const listeners = await open(['0.0.0.0', '127.0.0.1'], 0, options)
    const shown = (): string[] => listeners.list.filter(({ transport }) => transport === 'udp').map(({ address }) => address)
    const { port } = listeners.list[0]!
    expect(shown()).toEqual(['127.0.0.2', '127.0.0.1'])
    expect(warnings).toEqual([`cannot listen on 192.0.2.250:${port} (udp): this machine has no such address`])
    addresses = ['127.0.0.2', '127.0.0.3']
    await until(() => shown().length === 3)
    expect(await askedAt('127.0.0.3', port)).toBe('127.0.0.3')
    addresses = ['127.0.0.3']
    await until(() => shown().length === 2)
    expect(shown()).toEqual(['127.0.0.1', '127.0.0.3'])
    expect(new Set(listeners.list.filter(({ address }) => address === '127.0.0.3').map((each) => each.port))).toEqual(new Set([port]))
  })

  test('a failing look at the addresses is told, and the next one is made', async () => {
    const warnings: string[] = []
    let looks = 0
    const localAddresses = (): string[] => {
      if (++looks === 2) throw new Error('no addresses')
      return looks === 1 ? ['127.0.0.2'] : ['127.0.0.2', '127.0.0.3']
    }
    const listeners = await open(['0.0.0.0'], 0, { watchMs: 5, warn: (text) => warnings.push(text), localAddresses })
    await until(() => listeners.list.length === 4)
    expect(warnings).toEqual(['no addresses'])
  })

  async function until(isSo: () => boolean): Promise<void> {
    while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 2))
  }

  test.runIf(v4.length > 0)('a client is told of the endpoint that it has asked, and not of each socket of a wildcard', async () => {
    const told = new Set<string | undefined>()
    const receive = (slot: Slot): void => {
      told.add(slot.client.endpoint)
      echo(slot)
    }
    const endpoints = ['0.0.0.0', '127.0.0.99'].map((address): Endpoint => ({ address, port: 0, receive }))
    const listeners = await openListeners(endpoints, { openUdp })
    opened.push(listeners)
    for (const { address, port } of listeners.list) await askedAt(address, port)
    const [wildcard, named] = [listeners.list[0]!.port, listeners.list.at(-1)!.port]
    expect([...told]).toEqual([`:${wildcard}`, `127.0.0.99:${named}`])
  })

  describe('other endpoints', () => {
    /** Answers with one word. */
    const says =
      (word: string) =>
      (slot: Slot): void => {
        slot.reserve(word.length).set(Buffer.from(word))
        slot.send(word.length)
      }

    async function answerOf(address: string, port: number): Promise<string> {
      const socket = createSocket('udp4')
      const arrived = once(socket, 'message')
      socket.send('query', port, address)
      const [octets] = (await arrived) as [Buffer]
      socket.close()
      return octets.toString()
    }

    const at = (address: string, port: number, word: string): Endpoint => ({ address, port, receive: says(word) })

    test('take over the sockets that they need, open what is missing and close what is not needed', async () => {
      const listeners = await open(['127.0.0.1', '127.0.0.2'])
      const [one, , two] = listeners.list
      const change = await listeners.prepare([at('127.0.0.1', one!.port, 'new'), at('127.0.0.3', one!.port, 'newer')])
      expect(await answerOf('127.0.0.1', one!.port)).toBe('query')
      await change.apply(0)
      expect(listeners.list[0]).toBe(one)
      expect(listeners.list.map(({ address }) => address)).toEqual(['127.0.0.1', '127.0.0.1', '127.0.0.3', '127.0.0.3'])
      expect(await answerOf('127.0.0.1', one!.port)).toBe('new')
      expect(await answerOf('127.0.0.3', one!.port)).toBe('newer')
      // Its port is free again.
      await open(['127.0.0.2'], two!.port)
    })

    test('keep what port 0 has become', async () => {
      const listeners = await open(['127.0.0.1'])
      const { port } = listeners.list[0]!
      await (await listeners.prepare([at('127.0.0.1', 0, 'again')])).apply(0)
      expect(listeners.list.map((listener) => listener.port)).toEqual([port, port])
      expect(await answerOf('127.0.0.1', port)).toBe('again')
    })

    test('leave everything as it was where a port is taken, or where nobody wants them after all', async () => {
      const listeners = await open(['127.0.0.1'])
      const { port } = listeners.list[0]!
      const other = await open(['127.0.0.2'])
      const taken = other.list[0]!.port
      await expect(listeners.prepare([at('127.0.0.3', port, 'new'), at('127.0.0.2', taken, 'new')])).rejects.toThrow(ListenError)
      const change = await listeners.prepare([at('127.0.0.3', port, 'new')])
      await change.discard()
      expect(listeners.list.map(({ address }) => address)).toEqual(['127.0.0.1', '127.0.0.1'])
      expect(await answerOf('127.0.0.1', port)).toBe('query')
      await open(['127.0.0.3'], port)
    })

    test('take an address from a wildcard, and give it back', async () => {
      const options = { localAddresses: () => ['127.0.0.1', '127.0.0.2'] }
      const listeners = await open(['0.0.0.0'], 0, options)
      const { port } = listeners.list[0]!
      const before = listeners.list
      await (await listeners.prepare([at('0.0.0.0', port, 'all'), at('127.0.0.2', port, 'own')])).apply(0)
      expect([await answerOf('127.0.0.1', port), await answerOf('127.0.0.2', port)]).toEqual(['all', 'own'])
      await (await listeners.prepare([at('0.0.0.0', port, 'both')])).apply(0)
      expect([await answerOf('127.0.0.1', port), await answerOf('127.0.0.2', port)]).toEqual(['both', 'both'])
      expect(listeners.list).toEqual(before)
    })

    test('wait for each other', async () => {
      const listeners = await open(['127.0.0.1'])
      const { port } = listeners.list[0]!
      const first = await listeners.prepare([at('127.0.0.1', port, 'first')])
      const second = listeners.prepare([at('127.0.0.1', port, 'second')]).then((change) => change.apply(0))
      await first.apply(0)
      expect(await answerOf('127.0.0.1', port)).toMatch(/first|second/)
      await second
      expect(await answerOf('127.0.0.1', port)).toBe('second')
    })
  })
})
