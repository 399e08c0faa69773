/** Reloads that change how many threads answer. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, describe, expect, test } from 'vitest'
import { isBatchingKnown } from '../src/listen/batch/libc.js'
import { readAnswer, requestOctets } from '../src/testing.js'
import { skein, start } from './command.js'
import { openClient } from './dns-client.js'
import { counted, ETCD, put, removeFolders, type Server, startedWith, threadsOf } from './worker-scene.js'

afterAll(removeFolders)

/** Has it go over to so many threads; `text` is in all answers from then on. */
async function reload(server: Server, threads: number, text: string, ...lines: string[]): Promise<void> {
  server.writeFor(threads, text, ...lines)
  expect(await skein(['reload'], server.cwd)).toMatchObject({ code: 0, err: '' })
}

/** One question after another from ports of their own, until it is told to stop: how many there were, and how many got no answer. */
function load(server: Server, transport: 'udp' | 'tcp'): () => Promise<{ asked: number; lost: number }> {
  let isOver = false
  const done = (async () => {
    const sum = { asked: 0, lost: 0 }
    const ask = () => server.ask('a. TXT', 1, transport)
    // A connection may be closed at any time, and whoever has no answer then asks once more (RFC 7766 §6.2.4).
    const again = transport === 'tcp' ? ask : () => Promise.reject(new Error('lost'))
    for (; !isOver; sum.asked++) {
      await ask()
        .catch(again)
        .catch(() => sum.lost++)
      // What is to start meanwhile has this machine too.
      await sleep(2)
    }
    return sum
  })()
  return () => {
    isOver = true
    return done
  }
}

describe.skipIf(!isBatchingKnown())('a reload', () => {
  test.each([
    [1, 2],
    [2, 1],
    [2, 3],
    [3, 2]
  ])(
    'changes the number of threads from %i to %i, with all that they have, and every question is answered',
    async (before, after) => {
      const server = await startedWith(before)
      const [udp, tcp] = [load(server, 'udp'), load(server, 'tcp')]
      const total = async (): Promise<number> => counted(await server.scrape(), 'probe_asked_total')
      expect(threadsOf(await server.ask('a. TXT', 60))).toHaveLength(before)
      const counts = [await total()]
      await reload(server, after, 'two')
      counts.push(await total())
      const answers = await server.ask('a. TXT', 60)
      for (const { answer } of answers) expect(answer[0]).toContain('"two ')
      expect(threadsOf(answers)).toHaveLength(after)
      if (after === 1) expect(threadsOf(answers)).toEqual(['0'])
      else expect(threadsOf(answers)).not.toContain('0')
      counts.push(await total())
      for (const { asked, lost } of [await udp(), await tcp()]) {
        expect(asked).toBeGreaterThan(10)
        expect(lost).toBe(0)
      }
      expect(counted(await server.scrape(), 'skein_workers')).toBe(after === 1 ? 0 : after)
      expect(counts).toEqual(counts.toSorted((a, b) => a - b))
      expect(await server.stop()).toBe(0)
      expect(server.output()).not.toMatch(/ERROR|WARNING/)
    },
    20_000
  )

  test('changes it time and again, over UDP and TCP, with a connection that is open meanwhile, and leaves nothing open', async () => {
    const server = await startedWith(1)
    const open = (): number => server.openDescriptors()
    const before = open()
    for (const [threads, text] of [
      [2, 'a'],
      [1, 'b'],
      [3, 'c'],
      [1, 'd'],
      [2, 'e'],
      [1, 'f']
    ] as const) {
      const client = await openClient('tcp', server.at)
      expect(readAnswer(await client.ask(requestOctets('a. TXT'))).answer[0]).toContain('TXT')
      await reload(server, threads, text)
      client.close()
      for (const transport of ['udp', 'tcp'] as const)
        for (const { answer } of await server.ask('a. TXT', 10, transport)) expect(answer[0]).toContain(`"${text} `)
    }
    await expect.poll(open, { timeout: 5000 }).toBeLessThanOrEqual(before + 2)
    expect(await server.stop()).toBe(0)
  }, 30_000)

  test('that fails leaves the number as it was, and who answers', async () => {
    const server = await startedWith(1)
    const thread = threadsOf(await server.ask('a. TXT', 5))
    for (const [threads, wrong] of [
      [2, 'nonsense'],
      [2, 'bind 192.0.2.1'],
      [2, 'prometheus 192.0.2.1:9153']
    ] as const) {
      server.writeFor(threads, 'two', wrong)
      expect((await skein(['reload'], server.cwd)).code).toBe(1)
      const answers = await server.ask('a. TXT', 20)
      expect(threadsOf(answers)).toEqual(thread)
      for (const { answer } of answers) expect(answer[0]).toContain('"one ')
    }
    await reload(server, 2, 'two')
    expect(threadsOf(await server.ask('a. TXT', 60))).toHaveLength(2)
    expect(await server.stop()).toBe(0)
  }, 30_000)

  test('has new threads know of each write, and the old ones', async () => {
    const server = await startedWith(2, ...ETCD)
    const lines = ETCD.map((line) => line.replace('API', String(server.api)))
    for (const [threads, host] of [
      [2, '10.0.0.1'],
      [3, '10.0.0.2'],
      [1, '10.0.0.3'],
      [2, '10.0.0.4']
    ] as const) {
      await reload(server, threads, host, ...lines)
      await put(server.api, 'a', { host: '10.9.9.9' })
      await server.ask('a.skydns.test. A', 20)
      await put(server.api, 'a', { host })
      for (const { answer } of await server.ask('a.skydns.test. A', 20)) expect(answer[0]).toContain(host)
    }
    expect(await server.stop()).toBe(0)
  }, 30_000)

  test.each([
    [1, 3],
    [3, 1],
    [3, 2]
  ])(
    'that changes it from %i to %i opens new addresses in the same step, and closes those that have gone',
    async (before, after) => {
      const server = await startedWith(before, 'bind 127.0.0.2')
      const elsewhere = { port: server.port, address: '127.0.0.3' }
      const [udp, tcp] = [load(server, 'udp'), load(server, 'tcp')]
      await reload(server, after, 'two', 'bind 127.0.0.3')
      for (const transport of ['udp', 'tcp'] as const) {
        for (let i = 0; i < 20; i++) {
          const client = await openClient(transport, elsewhere)
          expect(readAnswer(await client.ask(requestOctets('a. TXT'))).answer[0]).toContain('"two ')
          client.close()
        }
      }
      await expect(openClient('tcp', { port: server.port, address: '127.0.0.2' })).rejects.toThrow('ECONNREFUSED')
      for (const { lost } of [await udp(), await tcp()]) expect(lost).toBe(0)
      expect(threadsOf(await server.ask('a. TXT', 60))).toHaveLength(after)
      expect(await server.stop()).toBe(0)
      expect(server.output()).not.toMatch(/ERROR|WARNING/)
    },
    30_000
  )

  test('to fewer does not wait for one that hangs', async () => {
    const server = await startedWith(2)
    void server.ask('sleeps. TXT').catch(() => {})
    await sleep(200)
    await reload(server, 1, 'two')
    const answers = await server.ask('a. TXT', 20)
    expect(threadsOf(answers)).toEqual(['0'])
    expect(await server.stop()).toBe(0)
  }, 30_000)
})

test('where UDP does not go in batches a reload to several says that one answers, which goes on', async () => {
  const server = await startedWith(1)
  await server.stop()
  const dgram = await start(server.cwd, [], { SKEIN_UDP: 'dgram' })
  await reload(server, 2, 'two')
  expect(dgram.output()).toContain('[WARNING] Corefile:4: multisocket: threads can share a port only where UDP goes in batches')
  for (const transport of ['udp', 'tcp'] as const) expect(threadsOf(await server.ask('a. TXT', 10, transport))).toEqual(['0'])
  expect(await dgram.stop()).toBe(0)
})
