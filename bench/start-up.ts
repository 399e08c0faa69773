/** The case `start`: from the start of the process to the first answer, with all services on disk, and the memory after it. */
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { dnsperf } from '../test/dnsperf.js'
import { freePort } from '../test/processes.js'
import { ask } from './ask.js'
import { DRIVEN } from './load.js'
import type { Scene } from './scene.js'
import { configureSkein, launchSkein, type SkeinKind } from './skein-server.js'
import { alternated, median } from './statistics.js'
import { shown, table } from './table.js'
import { type Memory, memoryOf } from './usage.js'

const ASK_EVERY_MS = 2
const ANSWER_WITHIN_MS = 60_000
const RATE = 10_000

/** What the case gave: medians of all rounds. */
export interface StartUp {
  readonly case: 'start'
  readonly server: string
  readonly services: number
  /** Milliseconds. */
  readonly firstAnswer: number
  readonly firstAnswerOfRounds: readonly number[]
  /** MiB, after the first answer. */
  readonly atFirst: Memory
  /** MiB, after a while of questions. */
  readonly underLoad: Memory
}

interface Round {
  readonly firstAnswer: number
  readonly atFirst: Memory
  readonly underLoad: Memory
}

/** Starts each Skein as often as `runs` says, by turns. */
export async function measureStarts(scene: Scene, kinds: readonly SkeinKind[], { runs, seconds }: { runs: number; seconds: number }) {
  const folders = new Map(kinds.map((kind) => [kind, scene.folder()]))
  for (const folder of folders.values()) cpSync(scene.store, join(folder, 'data'), { recursive: true })
  const rounds = new Map<SkeinKind, Round[]>(kinds.map((kind) => [kind, []]))
  for (let round = 0; round < runs; round++)
    for (const kind of alternated(kinds, round)) rounds.get(kind)!.push(await startOnce(scene, kind, folders.get(kind)!, seconds))
  return kinds.map((kind) => startUpOf(kind.name, scene.services, rounds.get(kind)!))
}

async function startOnce(scene: Scene, { ways }: SkeinKind, folder: string, seconds: number): Promise<Round> {
  const port = await freePort()
  await configureSkein(folder, port, scene, ways.line)
  const begun = performance.now()
  const server = await launchSkein(folder, ways)
  try {
    if ((await ask(port, scene.question, ANSWER_WITHIN_MS, { everyMs: ASK_EVERY_MS })) === undefined)
      throw new Error(`the server does not answer:\n${server.output()}`)
    const firstAnswer = performance.now() - begun
    const atFirst = memoryOf(server.pid)
    await dnsperf({ mode: 'udp', port, questions: scene.questions, seconds, rate: RATE, ...DRIVEN })
    return { firstAnswer, atFirst, underLoad: memoryOf(server.pid) }
  } finally {
    await server.stop()
  }
}

function startUpOf(server: string, services: number, rounds: readonly Round[]): StartUp {
  const firstAnswerOfRounds = rounds.map(({ firstAnswer }) => firstAnswer)
  const middle = (of: (round: Round) => Memory): Memory => ({
    rss: median(rounds.map((round) => of(round).rss)),
    rssAnon: median(rounds.map((round) => of(round).rssAnon))
  })
  return {
    case: 'start',
    server,
    services,
    firstAnswer: median(firstAnswerOfRounds),
    firstAnswerOfRounds,
    atFirst: middle(({ atFirst }) => atFirst),
    underLoad: middle(({ underLoad }) => underLoad)
  }
}

/** The table of the case. */
export function startTable(rows: readonly StartUp[]): string {
  const head = ['server', 'services', 'first answer ms', 'RSS MiB', 'RssAnon MiB', 'RSS under load', 'RssAnon under load']
  const cells = rows.map(({ server, services, firstAnswer, atFirst, underLoad }) => [
    server,
    `${services}`,
    shown(firstAnswer),
    ...[atFirst.rss, atFirst.rssAnon, underLoad.rss, underLoad.rssAnon].map((memory) => shown(memory))
  ])
  return table(head, cells)
}
