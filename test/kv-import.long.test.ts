/** `skein kv import` of large dumps: how long it takes, what a server does meanwhile, and what fits in the memory. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { readAnswer, requestOctets } from 'skein/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { etcd, kv, skein, start } from './command.js'
import { openClient } from './dns-client.js'
import { freePort, type Running, temporaryFolder } from './processes.js'

const KEYS = 100_000
/** A question every so often, and how long the slowest answer may take. */
const ASKED_EVERY_MS = 5
const SLOWEST_MS = 1000

const folder = temporaryFolder()
const cwd = folder.path
afterAll(() => folder.remove())

const service = (n: number): string => JSON.stringify({ host: `10.0.${n % 256}.1`, port: 8080, text: 'x'.repeat(100) })

function dumpV3(): string {
  const base64 = (text: string): string => Buffer.from(text).toString('base64')
  const kv = (n: number): object => ({ key: base64(`/skydns/test/skydns/s${n % 1000}/h${n}`), version: 1, value: base64(service(n)) })
  return JSON.stringify({ header: { revision: 7 }, kvs: Array.from({ length: KEYS }, (_, n) => kv(n)), count: KEYS })
}

function dumpV2(): string {
  const key = (...segments: string[]): string => ['/skydns/test/skydns', ...segments].join('/')
  const nodes = Array.from({ length: 1000 }, (_, s) => ({
    key: key(`s${s}`),
    dir: true,
    nodes: Array.from({ length: KEYS / 1000 }, (_, h) => ({ key: key(`s${s}`, `h${h}`), value: service(h), modifiedIndex: 9 }))
  }))
  return JSON.stringify({ action: 'get', node: { key: key(), dir: true, nodes } })
}

describe.each([
  ['v3', dumpV3],
  ['v2', dumpV2]
])('a dump of %s with 100 000 keys', (version, dump) => {
  let server: Running
  let port: number
  beforeAll(async () => {
    port = await freePort()
    mkdirSync(join(cwd, version))
    writeFileSync(join(cwd, version, 'Corefile'), etcd('store', 'api off').replace(':0', `:${port}`))
    writeFileSync(join(cwd, version, 'dump'), dump())
    server = await start(join(cwd, version))
    expect(await kv(join(cwd, version), ['put', '/skydns/test/skydns/web', '{"host":"192.0.2.1"}'])).toBe('')
  })
  afterAll(() => server?.stop())

  // Where others take the processor an answer may be late: what is wrong here fails each time.
  test('is imported in seconds, and the server answers meanwhile', { retry: 2 }, async () => {
    const client = await openClient('udp', { address: '127.0.0.1', port })
    let isDone = false
    const begun = performance.now()
    const imported = skein(['kv', 'import', 'dump'], join(cwd, version), { timeout: 120_000 }).finally(() => (isDone = true))
    let [slowest, asked] = [0, 0]
    while (!isDone) {
      const before = performance.now()
      expect(readAnswer(await client.ask(requestOctets('web.skydns.test. A', { id: 1 + (asked++ % 60_000) }))).answer).toHaveLength(1)
      slowest = Math.max(slowest, performance.now() - before)
      await sleep(ASKED_EVERY_MS)
    }
    client.close()
    expect(await imported).toEqual({ code: 0, out: `${KEYS} keys imported\n`, err: '' })
    expect(asked).toBeGreaterThan(20)
    expect(slowest).toBeLessThan(SLOWEST_MS)
    expect(performance.now() - begun).toBeLessThan(60_000)
    expect(await kv(join(cwd, version), ['get', '/skydns/test/skydns/s7/h7'])).toBe(`${service(7)}\n`)
  })

  test('is refused in a line where the memory is too small for it', async () => {
    const args = ['kv', 'import', join(version, 'dump'), '-store', 'small']
    const ended = await skein(args, cwd, { env: { NODE_OPTIONS: '--max-old-space-size=32' } })
    expect(ended.err).toMatch(/^skein: the dump has \d+ MiB, for which the memory here is too small: .+; nothing was imported\n$/)
    expect(ended).toMatchObject({ code: 1, out: '' })
  })
})
