import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { Feeder } from '../src/process/feeder.js'
import { ReplicaNumbers } from '../src/store/etcd/replica-numbers.js'
import { lockFolder } from '../src/store/lock.js'
import { TestLog } from '../src/testing.js'
import { type Etcd, startEtcd } from './etcd.js'
import { etcdV3 } from './etcd-calls.js'
import { temporaryFolder } from './processes.js'
import { needs } from './tools.js'

/** Ends the thread that asks it about the value `die`, as a fault in it would, while there is a file `deadly` beside it. */
const JUDGE = `import { existsSync } from 'node:fs'
const deadly = new URL('./deadly', import.meta.url)
export const problemOf = (value) => { if (value.toString() === 'die' && existsSync(deadly)) process.exit(3); if (value.toString() === 'throw') throw new RangeError('too deep') }`

describe('the thread that feeds a replica', needs('etcd'), () => {
  let etcd: Etcd
  let v3: ReturnType<typeof etcdV3>
  let folder: ReturnType<typeof temporaryFolder>
  let log: TestLog
  let numbers: ReplicaNumbers
  let told: (readonly (readonly string[])[] | undefined)[]
  let feeder: Feeder

  beforeAll(async () => {
    etcd = await startEtcd()
    v3 = etcdV3(etcd.target)
  }, 30_000)

  afterAll(() => etcd?.stop())

  beforeEach(async () => {
    await v3.delete('/skydns/', 'prefix')
    folder = temporaryFolder()
    writeFileSync(join(folder.path, 'judge.mjs'), JUDGE)
    const judge = pathToFileURL(join(folder.path, 'judge.mjs')).href
    log = new TestLog()
    numbers = new ReplicaNumbers()
    told = []
    const source = {
      version: 3,
      endpoints: etcd.endpoints,
      path: '/skydns',
      credentials: undefined,
      tls: undefined,
      expireMs: 60_000
    } as const
    const start = { folder: join(folder.path, 'replica'), source, file: undefined, judge, numbers: numbers.memory }
    feeder = new Feeder(start, { log, changed: (keys) => told.push(keys), why: () => {} })
  })

  afterEach(async () => {
    await feeder.close()
    folder.remove()
  })

  const lines = (pattern: RegExp): string[] => log.lines.filter((line) => pattern.test(line))

  test('is started again when it has died, and follows then as before', async () => {
    const deadly = join(folder.path, 'deadly')
    writeFileSync(deadly, '')
    await feeder.open()
    await feeder.tried
    await v3.put('/skydns/a', 'die')
    await expect
      .poll(() => lines(/the feeder of .* has ended, and is started again in [\d.]+ s: it has ended itself, with 3/).length)
      .toBeGreaterThan(1)
    await v3.put('/skydns/b', 'x')
    rmSync(deadly)
    await expect.poll(() => [numbers.get('keys'), numbers.get('stale')], { timeout: 10_000 }).toEqual([2, 0])
    const before = told.length
    await v3.put('/skydns/c', 'x')
    await expect.poll(() => told.slice(before)).toEqual([[['skydns', 'c']]])
  })

  test('tells of a value that its judge fails at, and goes on', async () => {
    await v3.put('/skydns/a', 'throw')
    await feeder.open()
    await feeder.tried
    await v3.put('/skydns/b', 'throw')
    await v3.put('/skydns/c', 'x')
    await expect.poll(() => numbers.get('keys')).toBe(3)
    expect(lines(/cannot be judged: too deep; it is left out/)).toHaveLength(2)
    expect(numbers.get('bad')).toBe(2)
    expect(lines(/has ended/)).toEqual([])
  })

  test('says why where its folder is no place for a replica', async () => {
    const { EmbeddedStore } = await import('../src/store/embedded.js')
    const store = await EmbeddedStore.open(join(folder.path, 'replica'))
    await store.apply([{ op: 'put', key: ['a'], value: Buffer.from('x') }])
    await store.close()
    await expect(feeder.open()).rejects.toThrow(/holds keys that were written to it: give the replica of etcd a folder of its own/)
    await (await lockFolder(join(folder.path, 'replica'))).release()
  })
})
