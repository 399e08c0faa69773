import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, describe, expect, test } from 'vitest'
import { startProcess, temporaryFolder } from '../test/processes.js'
import { needs } from '../test/tools.js'
import type { Result } from './measure.js'

const BENCH = fileURLToPath(new URL('./bench.js', import.meta.url))
const hasCompiler = ['cc', 'gcc', 'clang'].some((name) =>
  (process.env.PATH ?? '').split(delimiter).some((folder) => existsSync(join(folder, name)))
)
/** Where others take the processor, queries are lost or late: what is wrong here fails each time. */
const STARVED = { retry: 2 }

const folder = temporaryFolder()
afterAll(() => folder.remove())

describe('the bench', needs('dnsperf'), () => {
  test.runIf(hasCompiler)('measures Skein and the floor, prints a table and writes the figures', STARVED, async () => {
    const json = join(folder.path, 'figures')
    const args = [BENCH, '--case', 'cached-a', '--rate', 'max', '--rate', '2000', '--seconds', '1', '--runs', '1', '--json', json]
    const { stdout } = await promisify(execFile)(process.execPath, args)
    const rows = stdout.split('\n').filter((line) => line.startsWith('| cached-a'))
    expect(
      rows.map((row) =>
        row
          .split('|')
          .slice(1, 4)
          .map((cell) => cell.trim())
      )
    ).toEqual([
      ['cached-a', 'max', 'skein'],
      ['cached-a', 'max', 'floor'],
      ['cached-a', '2000', 'skein'],
      ['cached-a', '2000', 'floor']
    ])
    const results = readFileSync(json, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Result)
    expect(results.map(({ case: name, server, corefile, note }) => [name, server, corefile, note])).toEqual([
      ['cached-a', 'skein', 'Corefile.example', undefined],
      ['cached-a', 'floor', 'Corefile.example', undefined]
    ])
    for (const [figures, floor] of results[0]!.loads.map((each, load) => [each, results[1]!.loads[load]!] as const)) {
      expect(figures.cpu).toBeGreaterThan(0.5)
      expect(figures.cpu).toBeLessThan(2000)
      expect(figures.toFloor).toBeCloseTo(figures.cpu! / floor.cpu!, 5)
      expect(floor.toFloor).toBe(1)
      expect(figures.lost).toBe(0)
      expect(figures.rss).toBeGreaterThan(figures.rssAnon)
      expect(figures.rssAnon).toBeGreaterThan(10)
      expect(floor.rss).toBeLessThan(20)
      const { rate, sent, answered, p50, p90, p99, p999, max } = figures.latency!
      expect(rate).toBe(figures.load === 'max' ? Math.floor(figures.perSecond / 2) : 2000)
      expect([sent, answered]).toEqual([rate, rate])
      expect([p50, p90, p99, p999, max].toSorted((one, other) => one - other)).toEqual([p50, p90, p99, p999, max])
      expect(p50).toBeGreaterThan(1)
    }
    expect(results[0]!.loads[1]!.perSecond).toBeGreaterThan(1500)
    expect(results[0]!.loads[1]!.perSecond).toBeLessThan(2100)
  })

  test('measures signed answers from the cache beside the same server asked without DO', STARVED, async () => {
    const json = join(folder.path, 'signed')
    const args = [BENCH, '--case', 'cached-signed', '--rate', 'max', '--seconds', '1', '--runs', '1', '--json', json]
    const { stdout } = await promisify(execFile)(process.execPath, args)
    const [signed, plain] = readFileSync(json, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Result)
    expect([signed, plain].map((result) => result?.server)).toEqual(['skein', 'skein (no DO)'])
    const { cpu, toPlain } = signed!.loads[0]!
    expect(toPlain).toBeCloseTo(cpu! / plain!.loads[0]!.cpu!, 5)
    expect(stdout).toContain(`cached-signed max: skein takes ${toPlain!.toFixed(2)} times what it takes without DO`)
  })

  test('an interrupted run leaves no process and no folder', async () => {
    const temporary = join(folder.path, 'temporary')
    mkdirSync(temporary)
    const bench = await startProcess(process.execPath, [BENCH, '--case', 'cached-a', '--seconds', '60'], { env: { TMPDIR: temporary } })
    await bench.prints(/Linux/)
    for (const end = Date.now() + 20_000; childrenOf(bench.pid).length < 2 && Date.now() < end; ) await sleep(50)
    const children = childrenOf(bench.pid)
    expect(children.length).toBeGreaterThan(1)
    process.kill(bench.pid, 'SIGINT')
    expect(await bench.ended).toBe(130)
    await sleep(200)
    expect(children.filter((pid) => existsSync(`/proc/${pid}/exe`))).toEqual([])
    expect(readdirSync(temporary)).toEqual([])
  })
})

function childrenOf(pid: number): number[] {
  const threads = readdirSync(`/proc/${pid}/task`)
  return threads.flatMap((thread) => readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' ').filter(Boolean).map(Number))
}
