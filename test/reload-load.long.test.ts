/** Reloads and restarts under load. One file, so that they do not take the processor from each other. */
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { block, MAIN, skein, start } from './command.js'
import { dnsperf } from './dnsperf.js'
import { freePort, type Running, startProcess, temporaryFolder } from './processes.js'
import { type SteadyClient, steadyDatagrams, steadyStream } from './steady-load.js'
import { needs, tool } from './tools.js'

const RELOADS = 50
const RELOAD_EVERY_MS = 300
const LOAD_SECONDS = 30
/** As many datagrams as the kernel holds by its own default (212 992 octets) while the server builds something. */
const OUTSTANDING = 250
/** More than this may not stay from the first reloads to the last, in MiB. */
const RSS_MIB = 16
/** Reloads over which the memory is looked at: V8's young generation alone makes it go up and down by 16 MiB and more. */
const LOOKS = 10

const RESTARTS = 20
const LAMEDUCK_MS = 500
const HANDED_OVER_MS = 5
/** Where others take the processor for longer than the grace, a round may fail: what is wrong here fails each time. */
const STARVED = { retry: 2 }
/** How many questions come before the server is told to stop; another number each round. */
const askedBefore = (round: number): number => 500 + 37 * round

const folder = temporaryFolder()
afterAll(() => folder.remove())

/** A folder with a store that has a service. */
async function stored(name: string): Promise<string> {
  // A test that is tried again has another.
  const cwd = mkdtempSync(join(folder.path, `${name}-`))
  const service = JSON.stringify({ host: '10.0.0.1' })
  expect((await skein(['kv', 'put', '/skydns/test/load/web', service, '-store', join(cwd, 'store')], cwd)).code).toBe(0)
  return cwd
}

function configure(cwd: string, port: number, ...lines: string[]): void {
  const corefile = block('cache', 'errors', 'etcd load.test {', '  store ./store', '  api off', '}', ...lines)
  writeFileSync(join(cwd, 'Corefile'), corefile.replace(':0', `:${port}`))
}

interface Clients {
  readonly udp: readonly SteadyClient[]
  readonly tcp: readonly SteadyClient[]
}

async function loaded(port: number): Promise<Clients> {
  const question = 'web.load.test. A'
  const udp = [await steadyDatagrams(port, question), await steadyDatagrams(port, question)]
  const tcp = [await steadyStream(port, question), await steadyStream(port, question)]
  for (const client of [...udp, ...tcp]) client.start()
  onTestFinished(() => {
    for (const client of [...udp, ...tcp]) client.pause()
  })
  return { udp, tcp }
}

async function reaches({ udp, tcp }: Clients, asked: number): Promise<void> {
  while ([...udp, ...tcp].reduce((sum, { rcodes }) => sum + rcodes.length, 0) < asked) await sleep(1)
}

/** Tells a server under load to stop. What was on its way by then, and what of it was not answered with NOERROR; how it ended. */
async function stopUnderLoad(server: Running, { udp, tcp }: Clients) {
  const clients = [...udp, ...tcp]
  const before = clients.map(({ rcodes }) => rcodes.length)
  // A busy kernel hands over what was sent on loopback a little after the call has returned.
  await sleep(HANDED_OVER_MS)
  const begun = performance.now()
  process.kill(server.pid, 'SIGTERM')
  const code = await server.ended
  const tookMs = performance.now() - begun
  await sleep(20)
  const asked = clients.flatMap(({ rcodes }, i) => rcodes.slice(0, before[i]))
  const late = clients.flatMap(({ rcodes }, i) => rcodes.slice(before[i]))
  for (const client of clients) client.close()
  return {
    code,
    tookMs,
    unanswered: clients.map(({ rcodes }, i) => rcodes.slice(0, before[i]).filter((rcode) => rcode === undefined).length),
    wrong: [...asked, ...late].filter((rcode) => rcode !== undefined && rcode !== 'NOERROR'),
    faults: tcp.flatMap(({ faults }) => faults),
    ended: tcp.every(({ hasEnded }) => hasEnded)
  }
}

/** Open descriptors, and memory in MiB. */
function held({ pid }: Running): { descriptors: number; rss: number } {
  const rss = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]
  return { descriptors: readdirSync(`/proc/${pid}/fd`).length, rss: Number(rss) / 1024 }
}

/** Reloads a good and a broken file by turns. What the process held: descriptors at the sixth reload and at the end, the most memory in the first looks, the least in the last. */
async function reloads(server: Running, write: (round: number) => void) {
  const counted = (text: string): number => server.output().split(text).length - 1
  const done = (): number[] => ['Reloading complete', 'Reload failed'].map(counted)
  const before = done()
  const now = (): number[] => done().map((count, i) => count - before[i]!)
  const seen: ReturnType<typeof held>[] = []
  for (let round = 1; round <= RELOADS; round++) {
    const next = sleep(RELOAD_EVERY_MS)
    write(round)
    process.kill(server.pid, 'SIGHUP')
    for (let wait = 0; now()[0]! + now()[1]! < round; wait++) {
      if (wait > 2000) throw new Error(`reload ${round} came to nothing:\n${server.output()}`)
      await sleep(2)
    }
    await next
    seen.push(held(server))
  }
  const [early, late] = [seen.slice(LOOKS / 2, LOOKS * 1.5), seen.slice(-LOOKS)]
  const rss = { early: Math.max(...early.map(({ rss }) => rss)), late: Math.min(...late.map(({ rss }) => rss)) }
  return { now: now(), rss, descriptors: { early: early[0]!.descriptors, late: held(server).descriptors } }
}

describe(`${RELOADS} reloads, good and broken by turns, under dnsperf at 80 % of the highest rate`, needs('dnsperf'), () => {
  test.each(['udp', 'tcp'] as const)('over %s: nothing lost, nothing wrong, and nothing left open', async (mode) => {
    const [port, other, metrics] = [await freePort(), await freePort(), await freePort()]
    const cwd = await stored(`reloads-${mode}`)
    const questions = join(cwd, 'questions')
    writeFileSync(questions, 'web.load.test A\nweb.load.test SRV\nload.test NS\n')
    const write = (round: number): void => {
      const options = [`prometheus 127.0.0.1:${metrics}`, round % 2 === 1 ? `bufsize ${1232 + round}` : 'nonsense']
      configure(cwd, port, ...options)
      writeFileSync(join(cwd, 'Corefile'), block('whoami').replace('.:0', `whoami.test:${other}`), { flag: 'a' })
    }
    write(1)
    const server = await start(cwd)
    onTestFinished(() => void server.stop())
    const common = { mode, port, questions, outstanding: OUTSTANDING }
    const most = await dnsperf({ ...common, seconds: 3 })
    const rate = Math.floor(most.perSecond * 0.8)
    let isOver = false
    const loading = dnsperf({ ...common, seconds: LOAD_SECONDS, rate }).finally(() => (isOver = true))
    const { now, rss, descriptors } = await reloads(server, write)
    expect(isOver, 'the load went on to the last reload').toBe(false)
    const load = await loading
    const { sent, completed, lost, interrupted, rcodes } = load
    expect({ completed, lost, interrupted, rcodes }).toEqual({
      completed: sent,
      lost: 0,
      interrupted: 0,
      rcodes: `NOERROR ${sent} (100.00%)`
    })
    expect(now).toEqual([RELOADS / 2, RELOADS / 2])
    const page = await (await fetch(`http://127.0.0.1:${metrics}/metrics`, { headers: { connection: 'close' } })).text()
    expect(page).toContain(`\ncoredns_reload_failed_total ${RELOADS / 2}\n`)
    expect(descriptors.late).toBe(descriptors.early)
    expect(rss.late - rss.early).toBeLessThan(RSS_MIB)
    expect(await server.stop()).toBe(0)
  })
})

test(
  `${RESTARTS} restarts at SIGTERM: all that had come before it is answered, connections end with FIN, the process with 0 in time`,
  STARVED,
  async () => {
    const port = await freePort()
    const health = await freePort()
    const cwd = await stored('restarts')
    for (let round = 1; round <= RESTARTS; round++) {
      const lameduckMs = round % 4 === 0 ? LAMEDUCK_MS : 0
      configure(cwd, port, `health 127.0.0.1:${health} {`, `  lameduck ${lameduckMs}ms`, '}')
      const server = await start(cwd)
      const load = await loaded(port)
      await reaches(load, askedBefore(round))
      const { tookMs, ...rest } = await stopUnderLoad(server, load)
      expect({ round, ...rest }).toEqual({ round, code: 0, unanswered: [0, 0, 0, 0], wrong: [], faults: [], ended: true })
      expect(tookMs).toBeGreaterThanOrEqual(lameduckMs)
      expect(tookMs).toBeLessThan(lameduckMs + 1000)
    }
  }
)

describe.each(['batch', 'dgram'])('the system calls of a server that ends under load, UDP by %s', (driver) => {
  test('a datagram sent for each one received', needs('strace'), async () => {
    const port = await freePort()
    const cwd = await stored('traced')
    configure(cwd, port)
    const calls = join(cwd, 'calls')
    // -D: the server itself is the child, so signals reach it.
    const args = ['-D', '-o', calls, '-e', 'trace=recvmsg,recvmmsg,sendmsg,sendmmsg', '-e', 'signal=none', process.execPath, MAIN, 'run']
    const server = await startProcess(tool('strace'), args, { cwd, ready: /Skein-\d/, env: { SKEIN_UDP: driver } })
    const load = await loaded(port)
    await reaches(load, 1000)
    expect((await stopUnderLoad(server, load)).code).toBe(0)
    await sleep(200)
    const text = readFileSync(calls, 'utf8')
    const results = (call: string): number[] =>
      [...text.matchAll(new RegExp(`^${call}\\((?!.*AF_NETLINK).* = ([1-9]\\d*)$`, 'gm'))].map(([, result]) => Number(result))
    const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0)
    // A call for many gives how many datagrams it moved, one for one its octets. The machine's addresses come by netlink.
    const received = driver === 'batch' ? sum(results('recvmmsg')) : results('recvmsg').length
    const sent = driver === 'batch' ? sum(results('sendmmsg')) : results('sendmsg').length
    expect(received).toBeGreaterThan(200)
    expect(sent).toBe(received)
  })
})
