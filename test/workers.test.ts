/** The whole server with `multisocket`: worker threads that answer, and a main thread that looks after them. */
import { createSocket } from 'node:dgram'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, describe, expect, test } from 'vitest'
import { isBatchingKnown } from '../src/listen/batch/libc.js'
import { readAnswer, requestOctets } from '../src/testing.js'
import { skein, start } from './command.js'
import { openClient } from './dns-client.js'
import { freePort, isReached } from './processes.js'
import { counted, ETCD, ownFolder, put, removeFolders, started, threadsOf } from './worker-scene.js'

afterAll(removeFolders)

describe.skipIf(!isBatchingKnown())('with two worker threads', () => {
  test.each(['udp', 'tcp'] as const)('both answer over %s, and what is once a process is in the main thread', async (transport) => {
    const server = await started()
    expect(threadsOf(await server.ask('a. TXT', 40, transport))).toHaveLength(2)
    expect(threadsOf(await server.ask('a. TXT', 40, transport))).not.toContain('0')
    expect(await (await fetch(`http://127.0.0.1:${server.probe}`)).text()).toBe('0')
    expect(server.output().match(/plugin\/probe: set up/g)).toHaveLength(1)
    expect(await server.stop()).toBe(0)
  })

  test('their counters are one sum, gauges are those of the main thread, but for the entries of their caches', async () => {
    const server = await started(...ETCD)
    await put(server.api, 'a', { host: '10.0.0.1' })
    await server.ask('a. TXT', 30)
    await server.ask('a.skydns.test. A', 30)
    const text = await server.scrape()
    expect(counted(text, 'probe_asked_total')).toBe(30)
    expect(counted(text, 'coredns_cache_requests_total')).toBe(60)
    expect(text).toMatch(/coredns_dns_request_duration_seconds_count\{[^}]*\} 60\n/)
    expect(text).toMatch(/coredns_dns_requests_total\{[^}]*type="A"\} 30\n/)
    expect(text).toMatch(/skydns_skydns_dns_request_duration_seconds_count\{system="auth"\} \d+\n/)
    expect(['auth', 'cache'].map((system) => counted(text, `skydns_skydns_dns_request_count_total{system="${system}"}`))).toEqual([32, 28])
    expect(counted(text, 'probe_thread')).toBe(0)
    expect(counted(text, 'skein_workers')).toBe(2)
    expect(text).toMatch(/coredns_cache_entries\{[^}]*type="success"[^}]*\} 2\n/)
    expect(text.match(/^coredns_build_info/gm)).toHaveLength(1)
    expect(text.match(/^# TYPE coredns_cache_entries/gm)).toHaveLength(1)
    await server.stop()
  })

  test('a write is in the answers of both when it is acknowledged, although they have it cached', async () => {
    const server = await started(...ETCD)
    for (let round = 1; round <= 20; round++) {
      await put(server.api, 'a', { host: `10.0.0.${round}` })
      const answers = await server.ask('a.skydns.test. A', 6)
      expect(new Set(answers.map(({ answer }) => answer[0]!.split(' ').at(-1)))).toEqual(new Set([`10.0.0.${round}`]))
    }
    await server.stop()
  })

  test('a key is gone from the answers of both when its time is over', async () => {
    const server = await started(...ETCD)
    const body = new URLSearchParams({ value: '{"host":"10.0.0.1"}', ttl: '1' })
    await fetch(`http://127.0.0.1:${server.api}/v2/keys/skydns/test/skydns/a`, { method: 'PUT', body })
    expect(new Set((await server.ask('a.skydns.test. A', 12)).map(({ rcode }) => rcode))).toEqual(new Set(['NOERROR']))
    await sleep(1300)
    expect(new Set((await server.ask('a.skydns.test. A', 12)).map(({ rcode }) => rcode))).toEqual(new Set(['NXDOMAIN']))
    await server.stop()
  })

  test('lines that they log at once are whole', async () => {
    const server = await started()
    await server.ask('logs. TXT', 10)
    await sleep(200)
    await server.stop()
    const lines = server
      .output()
      .split('\n')
      .filter((line) => line.includes('xx'))
    expect(lines).toHaveLength(5000)
    for (const line of lines) expect(line).toMatch(/^x{200}\d+$/)
  })

  test('a port that another server has is an error, be it one of workers too, or have it for TCP alone', async () => {
    const other = await started()
    const [tcp, cwd] = [createServer(), ownFolder()]
    const alone = await freePort()
    await new Promise<void>((resolve) => tcp.listen(alone, '127.0.0.1', resolve))
    for (const [port, transport] of [
      [other.port, 'udp'],
      [alone, 'tcp']
    ] as const) {
      writeFileSync(join(cwd, 'Corefile'), `.:${port} {\n  bind 127.0.0.1\n  multisocket 2\n  whoami\n}\n`)
      const { err, code } = await skein([], cwd)
      expect([err, code]).toEqual([expect.stringContaining(`cannot listen on 127.0.0.1:${port} (${transport}): the port is in use`), 1])
    }
    tcp.close()
    const socket = createSocket('udp4')
    const taken = new Promise((resolve) => socket.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code)))
    socket.bind(other.port, '127.0.0.1')
    expect(await taken).toBe('EADDRINUSE')
    socket.close()
    await other.stop()
    expect(await isReached(other.port)).toBe(false)
  })

  test('the main thread answers for them by HTTP and over its socket: the server, its explanation, health, ready', async () => {
    const [health, ready] = await Promise.all([freePort(), freePort()])
    const server = await started(`health 127.0.0.1:${health} {`, 'lameduck 300ms', '}', `ready 127.0.0.1:${ready}`)
    expect(await (await fetch(`http://127.0.0.1:${health}/health`)).text()).toBe('OK')
    expect(await (await fetch(`http://127.0.0.1:${ready}/ready`)).text()).toBe('OK')
    expect((await skein(['explain', 'a.', 'TXT'], server.cwd)).out).toContain('probe')
    process.kill(server.pid, 'SIGTERM')
    await sleep(100)
    expect(await server.ask('a. TXT', 6)).toHaveLength(6)
    expect(await server.ended).toBe(0)
    expect(server.output().match(/lameduck/g)).toHaveLength(1)
  })
})

test('where UDP does not go in batches one thread answers, and a line says so', async () => {
  const cwd = ownFolder()
  const port = await freePort()
  writeFileSync(join(cwd, 'Corefile'), `.:${port} {\n  bind 127.0.0.1\n  multisocket 2\n  whoami\n}\n`)
  const server = await start(cwd, [], { SKEIN_UDP: 'dgram' })
  expect(server.output()).toContain('[WARNING] Corefile:3: multisocket: threads can share a port only where UDP goes in batches')
  const client = await openClient('udp', { address: '127.0.0.1', port })
  expect(readAnswer(await client.ask(requestOctets('a. A'))).rcode).toBe('NOERROR')
  client.close()
  expect(await server.stop()).toBe(0)
})
