/**
 * CPU per answered query over UDP, as the kernel counts it, beside an echo server on node:dgram in the same run.
 * `node dist/bench/udp.js`; needs dnsperf and Linux.
 */
import { spawn, spawnSync } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const SECONDS = 4
/** The same for both: what a packet costs the kernel depends on how many there are. */
const RATE = 5000
const TICKS_PER_SECOND = 100
const MAIN = fileURLToPath(new URL('../src/main.js', import.meta.url))
const PORT = 15353
const COREFILE = `.:${PORT} {
  bind 127.0.0.1
  errors
  any refuse
  chaos
  etcd bench.test {
    store ./store
    api off
  }
}
`
const CASES = [
  ['stored A', 'web.bench.test A'],
  ['stored SRV, 8 targets', 'pool.bench.test SRV'],
  ['NXDOMAIN', 'nothere.bench.test A']
] as const

/** User and system time of a process, in microseconds. */
function cpuOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
  return ((Number(fields[11]) + Number(fields[12])) * 1e6) / TICKS_PER_SECOND
}

/** One run of dnsperf, at this rate or as fast as it goes: CPU per answered query, answered a second, lost. */
function load(pid: number, port: number, queries: string, rate?: number): { cpu: number; perSecond: number; lost: number } {
  const before = cpuOf(pid)
  const limit = rate === undefined ? [] : ['-Q', String(rate)]
  const args = ['-s', '127.0.0.1', '-p', String(port), '-d', queries, '-l', String(SECONDS), '-c', '4', '-q', '100', '-e', ...limit]
  const { stdout } = spawnSync('dnsperf', args, { encoding: 'utf8' })
  const count = (what: string): number => Number(new RegExp(`Queries ${what}:\\s+(\\d+)`).exec(stdout)?.[1] ?? 0)
  const answered = count('completed')
  return { cpu: (cpuOf(pid) - before) / Math.max(1, answered), perSecond: Math.round(answered / SECONDS), lost: count('lost') }
}

function measure(name: string, server: number, echoing: number, queries: string): void {
  const echo = load(echoing, PORT + 1, queries, RATE)
  const steady = load(server, PORT, queries, RATE)
  const most = load(server, PORT, queries)
  const ratio = (steady.cpu / echo.cpu).toFixed(1)
  console.log(`| ${name} | ${steady.cpu.toFixed(0)} | ${echo.cpu.toFixed(0)} | ${ratio} | ${most.perSecond} | ${steady.lost + most.lost} |`)
}

/** Run as a process of its own with the word `echo`: sends back what it gets, with QR set. */
function echo(port: number): void {
  const lookup = (host: string, _options: unknown, found: (error: null, address: string, family: number) => void): void =>
    found(null, host, 4)
  const socket = createSocket({ type: 'udp4', lookup: lookup as never })
  socket.on('message', (octets, from) => {
    octets[2] = octets[2]! | 0x80
    socket.send(octets, from.port, from.address)
  })
  socket.bind(port, '127.0.0.1', () => console.log('ready'))
}

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'skein-bench-'))
  writeFileSync(join(folder, 'Corefile'), COREFILE)
  const put = (path: string, value: object) =>
    spawnSync(process.execPath, [MAIN, 'kv', 'put', path, JSON.stringify(value), '-store', join(folder, 'store')])
  put('/skydns/test/bench/web', { host: '10.0.0.1' })
  for (let i = 0; i < 8; i++) put(`/skydns/test/bench/pool/${i}`, { host: `10.0.0.${i}`, port: 80 })
  const server = spawn(process.execPath, [MAIN, 'run', '-conf', join(folder, 'Corefile')], { stdio: ['ignore', 'pipe', 'inherit'] })
  const echoing = spawn(process.execPath, [fileURLToPath(import.meta.url), 'echo', String(PORT + 1)], {
    stdio: ['ignore', 'pipe', 'inherit']
  })
  await Promise.all([once(server.stdout!, 'data'), once(echoing.stdout!, 'data')])
  console.log(`| case | CPU µs per query at ${RATE}/s | echo | ratio | most queries/s | lost |\n| --- | --- | --- | --- | --- | --- |`)
  for (const [name, question] of CASES) {
    const queries = join(folder, 'queries')
    writeFileSync(queries, `${question}\n`)
    measure(name, server.pid!, echoing.pid!, queries)
  }
  for (const child of [server, echoing]) {
    const ended = once(child, 'exit')
    child.kill('SIGTERM')
    await ended
  }
  rmSync(folder, { recursive: true })
}

if (process.argv[2] === 'echo') echo(Number(process.argv[3]))
else await main()
