/** The case `pauses`: how long Skein's event loop stands still while its cache is filled with all services, and while it answers from it. */
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { dnsperf } from '../test/dnsperf.js'
import { freePort, type Running } from '../test/processes.js'
import { untilAnswers } from './ask.js'
import type { Delays } from './event-loop-delay.js'
import { DRIVEN } from './load.js'
import type { Scene } from './scene.js'
import { serviceQuestions } from './services.js'
import { cacheEntries, configureSkein, launchSkein, type SkeinKind } from './skein-server.js'
import { shown, table } from './table.js'
import { memoryOf } from './usage.js'

const RATE = 10_000
const ANSWER_WITHIN_MS = 30_000
const WRITTEN_WITHIN_MS = 10_000
const PRELOAD = new URL('./event-loop-delay.js', import.meta.url).href

/** What one half of the case gave. */
export interface Pauses {
  readonly case: 'pauses'
  readonly server: string
  readonly phase: 'filling' | 'answering'
  readonly seconds: number
  readonly perSecond: number
  readonly lost: number
  /** Answers in the cache at the end, as its metric says. */
  readonly entries: number
  readonly delays: Delays
  /** MiB. */
  readonly rss: number
  readonly rssAnon: number
}

/** Fills the cache of a Skein with a question about each service, then goes on asking; half the time for each, or as much as filling takes. */
export async function measurePauses(scene: Scene, kind: SkeinKind, seconds: number): Promise<Pauses[]> {
  const folder = scene.folder()
  cpSync(scene.store, join(folder, 'data'), { recursive: true })
  const port = await freePort()
  const metricsPort = await configureSkein(folder, port, scene, kind.ways.line)
  const questions = join(folder, 'questions')
  writeFileSync(
    questions,
    serviceQuestions(scene.services, scene.services)
      .map((line) => `${line}\n`)
      .join('')
  )
  const file = join(folder, 'delay')
  const env = { ...kind.ways.env, SKEIN_BENCH_DELAY: file }
  const server = await launchSkein(folder, { ...kind.ways, nodeArguments: ['--import', PRELOAD], env })
  try {
    await untilAnswers(port, scene.question, ANSWER_WITHIN_MS)
    // What the start takes is no pause.
    await delaysOf(server, file)
    const watched = { server, file, metricsPort, name: kind.name }
    const how = { mode: 'udp', port, questions, ...DRIVEN } as const
    const rate = Math.max(RATE, Math.ceil(scene.services / (seconds / 2)))
    const filling = await phase('filling', watched, () => dnsperf({ ...how, rate }))
    const rest = Math.max(1, seconds - filling.seconds)
    return [filling, await phase('answering', watched, () => dnsperf({ ...how, rate: RATE, seconds: rest }))]
  } finally {
    await server.stop()
  }
}

async function phase(
  name: Pauses['phase'],
  { server, file, metricsPort, name: kind }: { server: Running; file: string; metricsPort: number; name: string },
  load: () => ReturnType<typeof dnsperf>
): Promise<Pauses> {
  const begun = performance.now()
  const { perSecond, lost } = await load()
  const seconds = (performance.now() - begun) / 1000
  const delays = await delaysOf(server, file)
  const entries = await cacheEntries(metricsPort)
  return { case: 'pauses', server: kind, phase: name, seconds, perSecond, lost, entries, delays, ...memoryOf(server.pid) }
}

/** What the server has measured since it was asked last. */
async function delaysOf(server: Running, file: string): Promise<Delays> {
  rmSync(file, { force: true })
  process.kill(server.pid, 'SIGUSR2')
  for (const end = performance.now() + WRITTEN_WITHIN_MS; !existsSync(file); await sleep(5))
    if (performance.now() > end) throw new Error(`the server writes no delays:\n${server.output()}`)
  return JSON.parse(readFileSync(file, 'utf8')) as Delays
}

/** The table of the case. */
export function pausesTable(rows: readonly Pauses[]): string {
  const head = [
    'server',
    'phase',
    's',
    'answered/s',
    'lost',
    'cached',
    'p50 ms',
    'p99 ms',
    'p99.9 ms',
    'longest ms',
    'RSS MiB',
    'RssAnon MiB'
  ]
  const cells = rows.map(({ server, phase: name, seconds, perSecond, lost, entries, delays, rss, rssAnon }) => [
    server,
    name,
    shown(seconds),
    shown(perSecond),
    `${lost}`,
    `${entries}`,
    ...[delays.p50, delays.p99, delays.p999, delays.max].map((delay) => shown(delay, 1)),
    shown(rss),
    shown(rssAnon)
  ])
  return table(head, cells)
}
