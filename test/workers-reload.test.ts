import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, describe, expect, test } from 'vitest'
import { isBatchingKnown } from '../src/listen/batch/libc.js'
import { requestOctets } from '../src/testing.js'
import { skein } from './command.js'
import { openClient } from './dns-client.js'
import { counted, ETCD, put, removeFolders, started, threadsOf } from './worker-scene.js'

afterAll(removeFolders)

describe.skipIf(!isBatchingKnown())('with two worker threads', () => {
  test('a reload has both go over with what stays kept, and a wrong configuration changes nothing', async () => {
    const server = await started()
    server.write('two')
    expect((await skein(['reload'], server.cwd)).out).toContain('1 server block')
    expect(new Set((await server.ask('a. TXT', 30)).map(({ answer }) => answer[0]!.split('"')[1]!.split(' ')[0]))).toEqual(new Set(['two']))
    expect(threadsOf(await server.ask('a. TXT', 30))).toHaveLength(2)
    for (const wrong of ['nonsense', 'etcd {', 'multisocket 3']) {
      server.write('three', wrong)
      expect((await skein(['reload'], server.cwd)).code).toBe(1)
      expect(new Set((await server.ask('a. TXT', 10)).map(({ answer }) => answer[0]!.split('"')[1]!.split(' ')[0]))).toEqual(
        new Set(['two'])
      )
    }
    expect(await server.stop()).toBe(0)
  })

  test('a reload keeps the cache of each where what stands behind it says the same', async () => {
    const server = await started(...ETCD)
    await put(server.api, 'a', { host: '10.0.0.1' })
    await server.ask('a.skydns.test. A', 20)
    expect(await server.scrape()).toMatch(/coredns_cache_entries\{[^}]*type="success"[^}]*\} 2\n/)
    // What stands before the cache may change.
    server.write('one', ...ETCD.map((line) => line.replace('API', String(server.api))), 'loadbalance')
    expect((await skein(['reload'], server.cwd)).code).toBe(0)
    await server.ask('a.skydns.test. A', 20)
    const text = await server.scrape()
    expect(text).toMatch(/coredns_cache_entries\{[^}]*type="success"[^}]*\} 2\n/)
    expect(counted(text, 'coredns_cache_misses_total')).toBe(0)
    await put(server.api, 'a', { host: '10.0.0.2' })
    for (const { answer } of await server.ask('a.skydns.test. A', 10)) expect(answer[0]).toContain('10.0.0.2')
    await server.stop()
  })

  test('what only workers cannot start is an error, and the configuration of before answers on', async () => {
    const server = await started()
    server.write('alone')
    const { err, code } = await skein(['reload'], server.cwd)
    expect([err, code]).toEqual([expect.stringMatching(/^skein: .*Corefile:\d+: probe: .*not in a worker \(at probe\.mjs:\d+\)\n$/), 1])
    for (const { answer } of await server.ask('a. TXT', 20)) expect(answer[0]).toContain('"one ')
    await server.stop()
    const { err: atStart, code: ended } = await skein([], server.cwd)
    expect([atStart, ended]).toEqual([
      expect.stringMatching(/^skein: .*Corefile:\d+: probe: .*not in a worker \(at probe\.mjs:\d+\)\n$/),
      1
    ])
  })

  test('reloads under load lose no question', async () => {
    const server = await started()
    const client = await openClient('udp', { address: '127.0.0.1', port: server.port })
    let isOver = false
    const load = (async () => {
      let asked = 0
      for (let id = 1; !isOver; id = (id % 60_000) + 1, asked++) await client.ask(requestOctets('a. TXT', { id }))
      return asked
    })()
    for (let i = 0; i < 5; i++) {
      server.write(`t${i}`)
      expect((await skein(['reload'], server.cwd)).code).toBe(0)
    }
    isOver = true
    expect(await load).toBeGreaterThan(10)
    client.close()
    await server.stop()
  })

  test('SIGTERM has them answer what is in flight, over UDP and TCP, then ends with 0 within a second', async () => {
    const server = await started()
    const asked = [server.ask('slow. TXT'), server.ask('slow. TXT'), server.ask('slow. TXT', 1, 'tcp'), server.ask('slow. TXT', 1, 'tcp')]
    await sleep(60)
    const begun = performance.now()
    process.kill(server.pid, 'SIGTERM')
    for (const [answer] of await Promise.all(asked)) expect(answer!.rcode).toBe('NOERROR')
    expect(await server.ended).toBe(0)
    expect(performance.now() - begun).toBeLessThan(1000)
  })

  test('SIGTERM closes TCP connections that are open, those of each', async () => {
    const server = await started()
    const connections = Array.from({ length: 12 }, () => connect({ ...server.at, host: server.at.address }))
    await Promise.all(connections.map((each) => once(each, 'connect')))
    const closed = Promise.all(connections.map((each) => once(each.resume(), 'close')))
    const begun = performance.now()
    process.kill(server.pid, 'SIGTERM')
    await closed
    expect(await server.ended).toBe(0)
    expect(performance.now() - begun).toBeLessThan(1000)
  })
})
