/** The whole server with `multisocket`: worker threads that answer, and a main thread that looks after them. */
import { createSocket } from 'node:dgram'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, describe, expect, test } from 'vitest'
import { isBatchingKnown } from '../src/listen/batch/libc.js'
import { type Answer, readAnswer, requestOctets } from '../src/testing.js'
import { MAIN, skein, start } from './command.js'
import { openClient } from './dns-client.js'
import { freePort, isReached, type Running, startProcess, temporaryFolder } from './processes.js'

const folder = temporaryFolder()
afterAll(() => folder.remove())

/** Answers TXT with the number of its thread, and does what names ask for; has one port a process. */
const PROBE = `
import { createServer } from 'node:http'
import { threadId } from 'node:worker_threads'
const eaten = []
const deeds = {
  throws: () => { setImmediate(() => { throw new Error('boom\\nand more') }) },
  rejects: () => { Promise.reject(new TypeError('unseen')) },
  exits: () => { setImmediate(() => process.exit(3)) },
  eats: () => { for (;;) eaten.push(new Array(10000).fill(Math.random())) },
  hangs: () => { const end = Date.now() + 1500; while (Date.now() < end); },
  sleeps: () => { const end = Date.now() + 20000; while (Date.now() < end); },
  logs: (host) => { for (let i = 0; i < 500; i++) host.log.line('x'.repeat(200) + threadId) }
}
export default {
  name: 'probe',
  api: 1,
  schema: { about: 'tells threads', args: [{ name: 'PORT', type: 'integer', min: 1, max: 65535 }, { name: 'TEXT', type: 'text', optional: true, default: 'one' }] },
  setup({ args: [port, text] }, host) {
    const asked = host.metrics.counter('probe_asked_total', 'Questions.')
    host.metrics.gauge('probe_thread', 'The thread.', () => threadId)
    let share
    host.log.info('set up')
    return {
      async start() {
        share = await host.shared('probe ' + port, async () => {
          const server = createServer((_, response) => response.end(String(threadId)))
          await new Promise((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve))
          return { value: server, close: () => new Promise((resolve) => server.close(resolve)) }
        })
      },
      stop: () => share?.release(),
      async handle(query, next) {
        if (query.qtype !== 'TXT') return next(query)
        asked.value++
        const [label] = query.qname.split('.')
        if (label === 'slow') await new Promise((resolve) => setTimeout(resolve, 150))
        deeds[label]?.(host)
        return query.reply({ answer: [{ owner: query.qname, type: 'TXT', ttl: 0, rdata: [text + ' ' + threadId] }] })
      }
    }
  }
}
`

interface Server extends Running {
  readonly cwd: string
  readonly port: number
  readonly metrics: number
  readonly api: number
  readonly probe: number
  /** Writes the Corefile anew. */
  write(text: string, ...lines: string[]): void
  /** Asks from so many sockets, one after another: the kernel chooses a thread by the client's port. */
  ask(question: string, times?: number, transport?: 'udp' | 'tcp'): Promise<Answer[]>
  scrape(): Promise<string>
}

let servers = 0

async function started(...lines: string[]): Promise<Server> {
  const cwd = join(folder.path, String(++servers))
  mkdirSync(cwd)
  writeFileSync(join(cwd, 'probe.mjs'), PROBE)
  const [port, metrics, api, probe] = await Promise.all([freePort(), freePort(), freePort(), freePort()])
  const write = (text: string, ...more: string[]): void => {
    const own = [
      'bind 127.0.0.1',
      'plugin ./probe.mjs',
      'multisocket 2',
      `prometheus 127.0.0.1:${metrics}`,
      `probe ${probe} ${text}`,
      ...more
    ]
    writeFileSync(join(cwd, 'Corefile'), `.:${port} {\n  ${own.join('\n  ')}\n}\n`)
  }
  write('one', ...lines.map((line) => line.replace('API', String(api))))
  const server = await start(cwd)
  const ask = async (question: string, times = 1, transport: 'udp' | 'tcp' = 'udp'): Promise<Answer[]> => {
    const answers: Answer[] = []
    for (let i = 0; i < times; i++) {
      const client = await openClient(transport, { address: '127.0.0.1', port })
      try {
        answers.push(readAnswer(await client.ask(requestOctets(question))))
      } finally {
        client.close()
      }
    }
    return answers
  }
  const scrape = async (): Promise<string> => (await fetch(`http://127.0.0.1:${metrics}/metrics`)).text()
  return { ...server, cwd, port, metrics, api, probe, write, ask, scrape }
}

/** The threads that have answered. */
function threadsOf(answers: readonly Answer[]): string[] {
  return [...new Set(answers.map(({ answer }) => /"\w+ (\d+)"/.exec(answer[0]!)![1]!))].sort()
}

function counted(text: string, name: string): number {
  return Number(new RegExp(`^${name}(?:\\{[^}]*\\})? (.+)$`, 'm').exec(text)?.[1])
}

function put(api: number, key: string, value: object): Promise<Response> {
  return fetch(`http://127.0.0.1:${api}/v2/keys/skydns/test/skydns/${key}`, {
    method: 'PUT',
    body: new URLSearchParams({ value: JSON.stringify(value) })
  })
}

const ETCD = ['cache', 'etcd skydns.test {', 'store data', 'api 127.0.0.1:API', '}']

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

  test.each(['throws', 'rejects', 'exits', 'sleeps'])('one whose plugin %s amid a flood does not take the process along', async (deed) => {
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
    const more = setInterval(() => sockets.forEach((each) => each.send(requestOctets('a. TXT'), server.port, '127.0.0.1')), 1)
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
  }, 20_000)

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

  test('another number of threads takes a restart, and a reload says so', async () => {
    const server = await started()
    const path = join(server.cwd, 'Corefile')
    server.write('two')
    writeFileSync(path, readFileSync(path, 'utf8').replace('multisocket 2', 'multisocket 3'))
    expect((await skein(['reload'], server.cwd)).err).toContain(
      'Corefile:4: multisocket: 3 where the server was started with 2: that takes a restart'
    )
    writeFileSync(path, readFileSync(path, 'utf8').replace('multisocket 3', ''))
    expect((await skein(['reload'], server.cwd)).err).toContain('multisocket: 1 where the server was started with 2: that takes a restart')
    await server.stop()
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
    const [tcp, cwd] = [createServer(), join(folder.path, 'taken')]
    mkdirSync(cwd)
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
  const cwd = join(folder.path, 'fallback')
  mkdirSync(cwd)
  const port = await freePort()
  writeFileSync(join(cwd, 'Corefile'), `.:${port} {\n  bind 127.0.0.1\n  multisocket 2\n  whoami\n}\n`)
  const server = await start(cwd, [], { SKEIN_UDP: 'dgram' })
  expect(server.output()).toContain('[WARNING] Corefile:3: multisocket: threads can share a port only where UDP goes in batches')
  const client = await openClient('udp', { address: '127.0.0.1', port })
  expect(readAnswer(await client.ask(requestOctets('a. A'))).rcode).toBe('NOERROR')
  client.close()
  expect(await server.stop()).toBe(0)
})
