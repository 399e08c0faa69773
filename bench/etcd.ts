/** Measures a server that follows etcd: `node dist/bench/etcd.js [changes] [million] [writes]`, all of them where none is named. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import type { EtcdClient } from '../src/store/etcd/client.js'
import { etcd3 } from '../src/store/etcd/v3.js'
import { readAnswer, requestOctets } from '../src/testing.js'
import { dnsperf } from '../test/dnsperf.js'
import { type Etcd, startEtcd } from '../test/etcd.js'
import { etcdV3 } from '../test/etcd-calls.js'
import { type Following, follow, inStep } from '../test/etcd-scene.js'
import { temporaryFolder } from '../test/processes.js'
import { cpuOf, memoryOf } from './usage.js'

const MILLION = 1_000_000
const WRITES_A_SECOND = 1000
const SECONDS = 60
const RATE = 5000

const PARTS = { changes, million, writes }

const named = process.argv.slice(2)
for (const [name, run] of Object.entries(PARTS)) if (named.length === 0 || named.includes(name)) await run()

/** From etcd's acknowledgement of a put to the new answer. */
async function changes(): Promise<void> {
  await withServer([], async ({ etcd, server }) => {
    const client = clientOf(etcd)
    const ask = await asker(server.port)
    const times: number[] = []
    for (let version = 1; version <= 500; version++) {
      await client.put(Buffer.from('/skydns/test/skydns/web'), Buffer.from(JSON.stringify({ host: addressOf(version) })))
      const acknowledged = performance.now()
      while ((await ask.ask('web.skydns.test A')) !== addressOf(version));
      times.push(performance.now() - acknowledged)
      await sleep(5)
    }
    ask.close()
    client.close()
    console.log(`put to answer, 500 puts: ${shown(times)}`)
  })
}

/** The first list of a million keys. */
async function million(): Promise<void> {
  const etcd = await startEtcd({ flags: ['--quota-backend-bytes=6000000000', '--snapshot-count=1000000'] })
  const folder = temporaryFolder()
  try {
    await fill(etcd, MILLION)
    const lines = [`endpoint ${etcd.endpoints[0]}`]
    const began = performance.now()
    const server = await follow({ lines, cwd: folder.path })
    const waits: number[] = []
    const ask = await asker(server.port)
    for (;;) {
      const since = performance.now()
      const answer = await ask.ask('n999999.skydns.test A')
      waits.push(performance.now() - since)
      if (answer !== 'REFUSED') break
      await sleep(5)
    }
    const ms = performance.now() - began
    console.log(`first list of ${MILLION} keys: ${(ms / 1000).toFixed(1)} s, ${Math.round(MILLION / (ms / 1000))} keys a second`)
    console.log(`questions meanwhile: ${shown(waits)}`)
    await sleep(10_000)
    console.log(`memory: ${shownMemory(server.server.pid)}`)
    await server.server.stop()
    const again = performance.now()
    const restarted = await follow({ lines, cwd: folder.path })
    while ((await ask2(restarted)) === 'REFUSED') await sleep(5)
    console.log(`restart with its replica, to the first answer: ${Math.round(performance.now() - again)} ms`)
    while ((await restarted.metric('skein_etcd_stale')) !== 0) await sleep(20)
    console.log(
      `in step again after ${Math.round(performance.now() - again)} ms, lists ${await restarted.metric('skein_etcd_lists_total')}`
    )
    await sleep(10_000)
    console.log(`memory: ${shownMemory(restarted.server.pid)}`)
    ask.close()
    await restarted.stop()
  } finally {
    await etcd.stop()
    folder.remove()
  }
}

/** A thousand writes a second for a minute, beside questions at a steady rate. */
async function writes(): Promise<void> {
  await withServer([], async ({ etcd, server }) => {
    const names = 10_000
    await fill(etcd, names)
    await inStep(server, etcd.target, { withinMs: 60_000 })
    const folder = temporaryFolder()
    const questions = join(folder.path, 'questions')
    writeFileSync(questions, Array.from({ length: names }, (_, i) => `n${i}.skydns.test A`).join('\n'))
    const load = async (seconds: number): Promise<string> => {
      const before = cpuOf(server.server.pid)
      const { completed, lost, longestMs, rcodes } = await dnsperf({
        mode: 'udp',
        port: server.port,
        questions,
        seconds,
        rate: RATE,
        outstanding: 1000
      })
      const cpu = (cpuOf(server.server.pid) - before) / completed
      return `${completed} answered, ${lost} lost, longest ${longestMs} ms, ${cpu.toFixed(1)} µs CPU of the process a query; ${rcodes}`
    }
    await load(5)
    console.log(`idle:    ${await load(20)}`)
    const client = clientOf(etcd)
    const loading = load(SECONDS - 5)
    const began = performance.now()
    let written = 0
    const pending = new Set<Promise<void>>()
    while (performance.now() - began < SECONDS * 1000) {
      const due = Math.floor(((performance.now() - began) / 1000) * WRITES_A_SECOND)
      for (; written < due; written++) {
        const path = Buffer.from(`/skydns/test/skydns/n${written % names}`)
        const put = client.put(path, Buffer.from(JSON.stringify({ host: addressOf(written) })))
        pending.add(put)
        void put.finally(() => pending.delete(put))
      }
      await sleep(2)
    }
    await Promise.all(pending)
    console.log(`written ${written} in ${((performance.now() - began) / 1000).toFixed(1)} s`)
    console.log(`writing: ${await loading}`)
    const done = performance.now()
    await inStep(server, etcd.target, { withinMs: 60_000 })
    console.log(`no difference ${Math.round(performance.now() - done)} ms after the last write`)
    client.close()
    folder.remove()
  })
}

async function withServer(flags: readonly string[], run: (parts: { etcd: Etcd; server: Following }) => Promise<void>): Promise<void> {
  const etcd = await startEtcd({ flags })
  try {
    const server = await follow({ lines: [`endpoint ${etcd.endpoints[0]}`] })
    try {
      await run({ etcd, server })
    } finally {
      await server.stop()
    }
  } finally {
    await etcd.stop()
  }
}

async function fill(etcd: Etcd, count: number): Promise<void> {
  const v3 = etcdV3(etcd.target)
  const began = performance.now()
  for (let from = 0; from < count; from += 800) {
    const parts = Array.from({ length: 8 }, (_, part) => from + part * 100).filter((first) => first < count)
    await Promise.all(parts.map((first) => v3.putAll(entriesFrom(first, Math.min(100, count - first)))))
  }
  console.log(`filled etcd with ${count} keys in ${((performance.now() - began) / 1000).toFixed(1)} s`)
}

function entriesFrom(first: number, count: number): (readonly [key: string, value: string])[] {
  return Array.from({ length: count }, (_, i) => [
    `/skydns/test/skydns/n${first + i}`,
    JSON.stringify({ host: addressOf(first + i), port: 80 })
  ])
}

function clientOf(etcd: Etcd): EtcdClient {
  const source = { version: 3, endpoints: etcd.endpoints, path: '/skydns', credentials: undefined, tls: undefined, expireMs: 1e9 } as const
  return etcd3(source, etcd.endpoints[0]!, { callMs: 10_000, quietMs: 10_000 })
}

async function ask2(server: Following): Promise<string> {
  const one = await asker(server.port)
  const answer = await one.ask('n999999.skydns.test A')
  one.close()
  return answer
}

async function asker(port: number): Promise<{ ask(question: string): Promise<string>; close(): void }> {
  const socket = createSocket('udp4')
  socket.connect(port, '127.0.0.1')
  await once(socket, 'connect')
  let id = 0
  return {
    async ask(question) {
      id = (id + 1) & 0xffff
      const wanted = id
      socket.send(requestOctets(question, { id: wanted }))
      for (;;) {
        const [octets] = (await once(socket, 'message')) as [Buffer]
        if (octets.readUInt16BE(0) !== wanted) continue
        const { rcode, answer } = readAnswer(octets)
        return answer[0]?.split(' ').at(-1) ?? rcode
      }
    },
    close: () => socket.close()
  }
}

function addressOf(version: number): string {
  return `10.${(version >> 16) & 0xff}.${(version >> 8) & 0xff}.${version & 0xff}`
}

function shown(times: readonly number[]): string {
  const sorted = [...times].sort((one, other) => one - other)
  const at = (share: number): string => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!.toFixed(2)
  return `median ${at(0.5)} ms, p90 ${at(0.9)} ms, p99 ${at(0.99)} ms, longest ${at(1)} ms`
}

function shownMemory(pid: number): string {
  const { rss, rssAnon } = memoryOf(pid)
  return `RssAnon ${Math.round(rssAnon)} MB, of files ${Math.round(rss - rssAnon)} MB`
}
