/** Worker threads that die, or hang, under load and time and again. */
import { createSocket } from 'node:dgram'
import { readdirSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, describe, expect, test } from 'vitest'
import { isBatchingKnown } from '../src/listen/batch/libc.js'
import { requestOctets } from '../src/testing.js'
import { MAIN, skein } from './command.js'
import { startProcess } from './processes.js'
import { counted, removeFolders, started, threadsOf } from './worker-scene.js'

afterAll(removeFolders)

describe.skipIf(!isBatchingKnown())('of two worker threads', () => {
  test.each(['throws', 'rejects', 'exits', 'sleeps'])(
    'one whose plugin %s amid a flood does not take the process along',
    async (deed) => {
      const server = await started()
      const socket = createSocket('udp4')
      let isOver = false
      const flood = (async () => {
        while (!isOver) {
          for (let i = 0; i < 20; i++) socket.send(requestOctets('a. TXT', { id: i }), server.port, '127.0.0.1')
          await sleep(1)
        }
      })()
      const sockets = Array.from({ length: 8 }, () => createSocket('udp4'))
      const more = setInterval(() => {
        for (const each of sockets) each.send(requestOctets('a. TXT'), server.port, '127.0.0.1')
      }, 1)
      if (deed === 'sleeps') sockets[0]!.send(requestOctets('sleeps. TXT'), server.port, '127.0.0.1')
      else
        for (let i = 0; i < 3; i++) {
          sockets[i]!.send(requestOctets(`${deed}. TXT`), server.port, '127.0.0.1')
          await sleep(400)
        }
      await sleep(300)
      expect(await server.stop(6000)).toBe(0)
      isOver = true
      clearInterval(more)
      await flood
      for (const each of [socket, ...sockets]) each.close()
    },
    20_000
  )

  test('deaths one after another leave no thread and no descriptor behind, and questions are answered meanwhile', async () => {
    const server = await started()
    const count = (): number[] => ['fd', 'task'].map((name) => readdirSync(`/proc/${server.pid}/${name}`).length)
    const die = async (times: number): Promise<void> => {
      for (let i = 0; i < times; i++) await server.ask('exits. TXT').catch(() => {})
      await expect.poll(async () => counted(await server.scrape(), 'skein_workers'), { timeout: 8000 }).toBe(2)
      await server.ask('a. TXT', 10)
    }
    await die(2)
    const before = count()
    await die(3)
    await expect.poll(() => count().every((now, index) => now <= before[index]! + 2), { timeout: 5000 }).toBe(true)
    await server.stop()
  }, 30_000)

  test('a reload amid the start of another one has it go over too', async () => {
    const server = await started()
    for (let i = 1; i <= 4; i++) {
      await server.ask('throws. TXT').catch(() => {})
      // The start of a thread takes about as long as the start of the command.
      server.write(`t${i}`)
      expect((await skein(['reload'], server.cwd)).code).toBe(0)
      await expect.poll(async () => counted(await server.scrape(), 'skein_workers'), { timeout: 8000 }).toBe(2)
      const answers = await server.ask('a. TXT', 40)
      for (const { answer } of answers) expect(answer[0]).toContain(`"t${i} `)
      expect(threadsOf(answers)).toHaveLength(2)
    }
    expect(await server.stop()).toBe(0)
  }, 30_000)

  test('one that reaches the limit of its heap is replaced', async () => {
    const server = await started()
    server.write('one')
    await server.stop()
    const limited = await startProcess(process.execPath, ['--max-old-space-size=60', MAIN], { cwd: server.cwd, ready: /Skein-\d/ })
    await server.ask('eats. TXT').catch(() => {})
    await limited.prints(/died.*memory limit/, 20_000)
    expect(threadsOf(await server.ask('a. TXT', 40))).toHaveLength(2)
    expect(await limited.stop()).toBe(0)
  }, 30_000)

  test('what is counted can be read again and again while one hangs', async () => {
    const server = await started()
    void server.ask('sleeps. TXT').catch(() => {})
    await sleep(100)
    for (let i = 1; i <= 3; i++) {
      const begun = performance.now()
      expect(counted(await server.scrape(), 'skein_workers')).toBe(2)
      expect(performance.now() - begun).toBeLessThan(1500)
    }
    // This reading too.
    expect(counted(await server.scrape(), 'skein_worker_silent_total')).toBe(4)
    expect(await server.stop(6000)).toBe(0)
  })

  test('where one hangs a reload fails with a line, a stop does not wait for it, and the other answers', async () => {
    const server = await started()
    void server.ask('sleeps. TXT').catch(() => {})
    await sleep(200)
    server.write('two')
    expect((await skein(['reload'], server.cwd)).err).toContain('a worker thread does not answer')
    const answers = await Promise.allSettled([1, 2, 3, 4, 5, 6, 7, 8].map(() => server.ask('a. TXT')))
    const answered = answers.flatMap((each) => (each.status === 'fulfilled' ? each.value : []))
    expect(answered.length).toBeGreaterThan(0)
    for (const { answer } of answered) expect(answer[0]).toContain('"one ')
    expect(await server.stop(6000)).toBe(0)
  }, 20_000)
})
