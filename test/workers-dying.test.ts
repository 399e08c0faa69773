/** Worker threads that die, or hang. */
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, describe, expect, test } from 'vitest'
import { isBatchingKnown } from '../src/listen/batch/libc.js'
import { counted, removeFolders, started, threadsOf } from './worker-scene.js'

afterAll(removeFolders)

describe.skipIf(!isBatchingKnown())('of two worker threads', () => {
  test.each([
    ['throws', /died.*: Error: boom and more\n/],
    ['rejects', /died.*: TypeError: unseen\n/],
    ['exits', /died.*: it has ended itself, with 3\n/]
  ])('one whose plugin %s is replaced, its death is one line and counted, and the other answers on', async (deed, line) => {
    const server = await started()
    await server.ask('a. TXT', 20)
    expect(counted(await server.scrape(), 'probe_asked_total')).toBe(20)
    await server.ask(`${deed}. TXT`).catch(() => {})
    await server.prints(line)
    expect(threadsOf(await server.ask('a. TXT', 40))).toHaveLength(2)
    const text = await server.scrape()
    expect([counted(text, 'skein_worker_deaths_total'), counted(text, 'skein_workers')]).toEqual([1, 2])
    // What the dead one had counted when it was asked is not lost, so that sums do not fall.
    expect(counted(text, 'probe_asked_total')).toBeGreaterThanOrEqual(60)
    expect(await server.stop()).toBe(0)
  })

  test('one that dies of each start is started later and later, while the other has its share, and is back when that is over', async () => {
    const server = await started()
    const deadly = join(server.cwd, 'deadly')
    writeFileSync(deadly, '')
    await server.ask('throws. TXT').catch(() => {})
    await server.prints(/in 0.8 s: Error: no life here/)
    const answers = await server.ask('a. TXT', 40)
    expect(threadsOf(answers)).toHaveLength(1)
    await sleep(1000)
    expect(server.output().match(/ERROR/g)!.length).toBeLessThanOrEqual(6)
    expect(counted(await server.scrape(), 'skein_workers')).toBe(1)
    rmSync(deadly)
    await expect.poll(async () => counted(await server.scrape(), 'skein_workers'), { timeout: 6000 }).toBe(2)
    expect(threadsOf(await server.ask('a. TXT', 40))).toHaveLength(2)
    expect(await server.stop()).toBe(0)
  }, 20_000)

  test('one that does not give its numbers in time is left out, counted, and its numbers of before stand', async () => {
    const server = await started()
    await server.ask('a. TXT', 20)
    await server.scrape()
    const hanging = server.ask('hangs. TXT')
    await sleep(100)
    const text = await server.scrape()
    expect(counted(text, 'probe_asked_total')).toBe(20)
    await hanging
    expect(counted(await server.scrape(), 'skein_worker_silent_total')).toBe(1)
    expect(counted(await server.scrape(), 'probe_asked_total')).toBe(21)
    await server.stop()
  })
})
