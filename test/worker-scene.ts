/** A server with worker threads, for the tests of them. */
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { type Answer, readAnswer, requestOctets } from '../src/testing.js'
import { skein, start } from './command.js'
import { openClient } from './dns-client.js'
import { freePort, type Running, temporaryFolder } from './processes.js'

const folders: ReturnType<typeof temporaryFolder>[] = []

/** A folder of a test's own. */
export function ownFolder(): string {
  const folder = temporaryFolder()
  folders.push(folder)
  return folder.path
}

/** Removes those that there are: for the end of each test file. */
export function removeFolders(): void {
  for (const folder of folders.splice(0)) folder.remove()
}

/**
 * Answers TXT with the number of its thread, and does what names ask for; has one port a process. Workers do not start it with the text
 * `alone`, and die of it soon where there is a file `deadly`.
 */
const PROBE = `
import { existsSync } from 'node:fs'
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
        if (threadId !== 0 && text === 'alone') throw new Error('not in a worker')
        if (threadId !== 0 && existsSync('deadly')) setImmediate(() => { throw new Error('no life here') })
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

/** A server with two worker threads and a plugin that says which of them answered. */
export interface Server extends Running {
  readonly cwd: string
  readonly port: number
  readonly metrics: number
  readonly api: number
  readonly probe: number
  /** Writes the Corefile anew, for so many threads, 2 where left out. */
  write(text: string, ...lines: string[]): void
  writeFor(threads: number, text: string, ...lines: string[]): void
  /** Asks from so many sockets, one after another: the kernel chooses a thread by the client's port. */
  ask(question: string, times?: number, transport?: 'udp' | 'tcp'): Promise<Answer[]>
  scrape(): Promise<string>
  /** Where it listens. */
  readonly at: { readonly address: string; readonly port: number }
  /** How many descriptors it has open. */
  openDescriptors(): number
}

/** Starts it; these lines stand in its server block too, where API is the port of the keys API. */
export function started(...lines: string[]): Promise<Server> {
  return startedWith(2, ...lines)
}

/** The same with so many threads. */
export async function startedWith(count: number, ...lines: string[]): Promise<Server> {
  const cwd = ownFolder()
  writeFileSync(join(cwd, 'probe.mjs'), PROBE)
  const [port, metrics, api, probe] = await Promise.all([freePort(), freePort(), freePort(), freePort()])
  const writeFor = (threads: number, text: string, ...more: string[]): void => {
    const own = [
      'bind 127.0.0.1',
      'plugin ./probe.mjs',
      `multisocket ${threads}`,
      `prometheus 127.0.0.1:${metrics} {`,
      'skydns',
      '}',
      `probe ${probe} ${text}`,
      ...more
    ]
    writeFileSync(join(cwd, 'Corefile'), `.:${port} {\n  ${own.join('\n  ')}\n}\n`)
  }
  writeFor(count, 'one', ...lines.map((line) => line.replace('API', String(api))))
  const server = await start(cwd)
  const at = { address: '127.0.0.1', port }
  const ask = async (question: string, times = 1, transport: 'udp' | 'tcp' = 'udp'): Promise<Answer[]> => {
    const answers: Answer[] = []
    for (let i = 0; i < times; i++) {
      const client = await openClient(transport, at)
      try {
        answers.push(readAnswer(await client.ask(requestOctets(question))))
      } finally {
        client.close()
      }
    }
    return answers
  }
  const scrape = async (): Promise<string> => (await fetch(`http://127.0.0.1:${metrics}/metrics`)).text()
  return {
    ...server,
    cwd,
    port,
    metrics,
    api,
    probe,
    write: (text, ...more) => writeFor(2, text, ...more),
    writeFor,
    ask,
    scrape,
    at,
    openDescriptors: () => readdirSync(`/proc/${server.pid}/fd`).length
  }
}

/** The threads that have answered. */
export function threadsOf(answers: readonly Answer[]): string[] {
  return [...new Set(answers.map(({ answer }) => /"\w+ (\d+)"/.exec(answer[0]!)![1]!))].sort()
}

/** The first number of a name in what was scraped. */
export function counted(text: string, name: string): number {
  return Number(new RegExp(`^${name}(?:\\{[^}]*\\})? (.+)$`, 'm').exec(text)?.[1])
}

/** Writes a service. */
export function put(api: number, key: string, value: object): Promise<Response> {
  return fetch(`http://127.0.0.1:${api}/v2/keys/skydns/test/skydns/${key}`, {
    method: 'PUT',
    body: new URLSearchParams({ value: JSON.stringify(value) })
  })
}

/** The lines for a store that is written by HTTP, and a cache before it. */
export const ETCD = ['cache', 'etcd skydns.test {', 'store data', 'api 127.0.0.1:API', '}']

/** Has it go over to so many threads; `text` is in all answers from then on. */
export async function reload(server: Server, threads: number, text: string, ...lines: string[]): Promise<void> {
  server.writeFor(threads, text, ...lines)
  expect(await skein(['reload'], server.cwd)).toMatchObject({ code: 0, err: '' })
}

/** One question after another from ports of their own, until it is told to stop: how many there were, and how many got no answer. */
export function load(server: Server, transport: 'udp' | 'tcp'): () => Promise<{ asked: number; lost: number }> {
  let isOver = false
  const done = (async () => {
    const sum = { asked: 0, lost: 0 }
    const ask = () => server.ask('a. TXT', 1, transport)
    // A connection may be closed at any time, and whoever has no answer then asks once more (RFC 7766 §6.2.4): for each thread that goes.
    const again = transport === 'tcp' ? () => ask().catch(ask) : () => Promise.reject(new Error('lost'))
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
