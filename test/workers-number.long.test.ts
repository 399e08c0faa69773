/** Reloads that change how many threads answer, time and again, failing, with other addresses, and where one hangs. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, describe, expect, test } from 'vitest'
import { isBatchingKnown } from '../src/listen/batch/libc.js'
import { readAnswer, requestOctets } from '../src/testing.js'
import { skein } from './command.js'
import { openClient } from './dns-client.js'
import { load, reload, removeFolders, startedWith, threadsOf } from './worker-scene.js'

afterAll(removeFolders)

describe.skipIf(!isBatchingKnown())('a reload', () => {
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
      expect({ udp: (await udp()).lost, tcp: (await tcp()).lost }).toEqual({ udp: 0, tcp: 0 })
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
