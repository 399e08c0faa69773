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

const SECONDS = 5
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

function measure(name: string, pid: number, port: number, queries: string): void {
  const before = cpuOf(pid)
  const { stdout } = spawnSync(
    'dnsperf',
    ['-s', '127.0.0.1', '-p', String(port), '-d', queries, '-l', String(SECONDS), '-c', '4', '-q', '100', '-e'],
    {
      encoding: 'utf8'
    }
  )
  const answered = Number(/Queries completed:\s+(\d+)/.exec(stdout)?.[1] ?? 0)
  const lost = Number(/Queries lost:\s+(\d+)/.exec(stdout)?.[1] ?? 0)
  const cpu = (cpuOf(pid) - before) / Math.max(1, answered)
  console.log(`| ${name} | ${cpu.toFixed(1)} | ${Math.round(answered / SECONDS)} | ${lost} |`)
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
  console.log('| case | CPU µs per query | queries/s | lost |\n| --- | --- | --- | --- |')
  for (const [name, question] of CASES) {
    const queries = join(folder, 'queries')
    writeFileSync(queries, `${question}\n`)
    measure(`node:dgram echo`, echoing.pid!, PORT + 1, queries)
    measure(name, server.pid!, PORT, queries)
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
