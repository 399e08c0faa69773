/** Reloads that change how many threads answer. */
import { afterAll, describe, expect, test } from 'vitest'
import { isBatchingKnown } from '../src/listen/batch/libc.js'
import { start } from './command.js'
import { counted, ETCD, load, put, reload, removeFolders, startedWith, threadsOf } from './worker-scene.js'

afterAll(removeFolders)

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
