/** A case from its start to its figures: all its servers at once, measured by turns. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { untilAnswers } from './ask.js'
import { type Latency, type Taken, take, warmUp } from './load.js'
import type { Load } from './options.js'
import { differenceOf } from './same-answer.js'
import type { BenchServer, Scene, Startable } from './scene.js'
import { alternated, medianOfKnown } from './statistics.js'

const ANSWER_WITHIN_MS = 10_000
const WARM_SECONDS = 1
/** Of what a server prints that does not start. */
const MOST_WORDS = 400

/** The figures of a server at one load: medians of all rounds, losses of all rounds together, the most memory. */
export interface Figures {
  readonly load: Load
  /** Microseconds for each answered query. */
  readonly cpu: number | undefined
  readonly cpuOfRounds: readonly (number | undefined)[]
  /** The median of what each round has for this server over the floor. */
  readonly toFloor: number | undefined
  /** The same over what this server takes without DO; of who is asked with DO. */
  readonly toPlain?: number | undefined
  readonly perSecond: number
  readonly lost: number
  /** MiB. */
  readonly rss: number
  readonly rssAnon: number
  readonly latency: Latency | undefined
}

/** What a case gave for a server: the object that `--json` writes. */
export interface Result {
  readonly case: string
  readonly server: string
  /** What Skein was configured with. */
  readonly corefile: string
  readonly services: number
  /** What is to be known of this server in this case, above all why it has no figures. */
  readonly note?: string
  readonly loads: readonly Figures[]
}

/** How a case is measured. */
export interface MeasureOptions {
  readonly loads: readonly Load[]
  readonly seconds: number
  readonly runs: number
  readonly latency: string | undefined
  /** Told of each measurement. */
  readonly say: (text: string) => void
}

interface Contender {
  readonly server: BenchServer
  note: string | undefined
  /** Answered a second as fast as it goes, once that is measured. */
  highest: number
  /** The same server asked without DO. */
  readonly plain?: Contender
}

/** Starts the servers, measures them by turns, and stops them. A server that cannot take part has a result with a note and no figures. */
export async function measureCase(scene: Scene, startables: readonly Startable[], options: MeasureOptions): Promise<Result[]> {
  const contenders: Contender[] = []
  const absent: Result[] = []
  try {
    for (const startable of startables) {
      const started = await enter(startable, scene)
      if (typeof started === 'string') absent.push({ ...headOf(scene, startable.name), note: started, loads: [] })
      else contenders.push(...(scene.of.isSigned === true ? bothWays(started) : [started]))
    }
    for (const contender of contenders) await warm(contender, scene, Math.min(WARM_SECONDS, options.seconds))
    const loads: (readonly Figures[])[] = []
    for (const load of options.loads) loads.push(await measureLoad(scene, contenders, load, options))
    const measured = contenders.map(({ server, note }, index) => ({
      ...headOf(scene, server.name),
      ...(note !== undefined && { note }),
      loads: loads.map((each) => each[index]!)
    }))
    return [...measured, ...absent]
  } finally {
    await Promise.all(contenders.map(({ server }) => server.stop()))
  }
}

/** One server as two: asked with DO, and without. The floor has one reply to either. */
function bothWays({ server, note }: Contender): Contender[] {
  if (server.name === 'floor') return [{ server: { ...server, edns: 'dnssecOk' }, note, highest: 0 }]
  const plain: Contender = { server: { ...server, name: `${server.name} (no DO)`, edns: 'plain', stop: async () => {} }, note, highest: 0 }
  return [{ server: { ...server, edns: 'dnssecOk' }, note, highest: 0, plain }, plain]
}

/** Starts a server and compares what it says with Skein; the reason where it cannot take part. */
async function enter(startable: Startable, scene: Scene): Promise<Contender | string> {
  const unable = startable.unable(scene.of)
  if (unable !== undefined) return unable
  // Without Skein there is nothing to compare with.
  if (startable.isSkein) return enterSkein(startable, scene)
  let server: BenchServer | undefined
  try {
    server = await startable.start(scene)
    return { server, highest: 0, note: startable.name === 'floor' ? undefined : await difference(server, scene) }
  } catch (error) {
    await server?.stop()
    return `could not be started: ${(error as Error).message
      .trim()
      .replace(/\s*\n\s*/g, ' / ')
      .slice(0, MOST_WORDS)}`
  }
}

async function enterSkein(startable: Startable, scene: Scene): Promise<Contender> {
  const server = await startable.start(scene)
  const options = { dnssecOk: scene.of.isSigned === true }
  writeFileSync(scene.reply, await untilAnswers(server.port, scene.question, ANSWER_WITHIN_MS, options))
  return { server, highest: 0, note: undefined }
}

/** Where a cache has no room for all answers, the figures are of something else than its hits. */
async function warm(contender: Contender, scene: Scene, seconds: number): Promise<void> {
  const { server } = contender
  await warmUp(server, scene, seconds)
  const cached = scene.of.isPrimed ? await server.cached?.() : undefined
  if (cached !== undefined && cached < scene.count) contender.note = `has ${cached} of ${scene.count} answers in its cache`
}

async function difference({ port }: BenchServer, { of, question, reply }: Scene): Promise<string | undefined> {
  // Each signs with a key of its own.
  if (of.isSigned === true) return undefined
  return differenceOf(readFileSync(reply), await untilAnswers(port, question, ANSWER_WITHIN_MS))
}

function headOf({ of, services }: Scene, server: string): Pick<Result, 'case' | 'server' | 'corefile' | 'services'> {
  return { case: of.name, server, corefile: of.corefile === undefined ? 'Corefile.example' : join('bench', of.corefile), services }
}

async function measureLoad(
  scene: Scene,
  contenders: readonly Contender[],
  load: Load,
  { seconds, runs, latency, say }: MeasureOptions
): Promise<Figures[]> {
  const rounds: Map<Contender, Taken>[] = []
  for (let round = 0; round < runs; round++) {
    const taken = new Map<Contender, Taken>()
    for (const contender of alternated(contenders, round)) {
      const one = await take(contender.server, scene, { rate: rateOf(load, contender), seconds, latency })
      taken.set(contender, one)
      say(`${scene.title} ${load} ${round + 1}/${runs} ${contender.server.name}: ${one.cpu?.toFixed(1)} µs, ${Math.round(one.perSecond)}/s`)
    }
    rounds.push(taken)
  }
  const roundsOf = (contender: Contender | undefined): Taken[] =>
    contender === undefined ? [] : rounds.map((taken) => taken.get(contender)!)
  const floor = contenders.find(({ server }) => server.name === 'floor')
  return contenders.map((contender) => {
    const figures = figuresOf(load, roundsOf(contender), roundsOf(floor), roundsOf(contender.plain))
    if (load === 'max') contender.highest = figures.perSecond
    return figures
  })
}

/** Queries a second; undefined for as many as the server answers. */
function rateOf(load: Load, { highest }: Contender): number | undefined {
  if (typeof load === 'number') return load
  return load === 'max' ? undefined : Math.max(1, Math.floor((highest * Number.parseInt(load, 10)) / 100))
}

/**
 * The figures of several rounds; `floors` are those of the floor in the same rounds, `plains` those of the same server without DO, none
 * where there are none.
 */
export function figuresOf(load: Load, rounds: readonly Taken[], floors: readonly Taken[], plains: readonly Taken[] = []): Figures {
  const middle = (of: (taken: Taken) => number | undefined): number | undefined => medianOfKnown(rounds.map(of))
  const most = (of: (taken: Taken) => number): number => Math.max(...rounds.map(of))
  return {
    load,
    cpu: middle(({ cpu }) => cpu),
    cpuOfRounds: rounds.map(({ cpu }) => cpu),
    toFloor: ratioTo(floors, rounds),
    ...(plains.length > 0 && { toPlain: ratioTo(plains, rounds) }),
    perSecond: middle(({ perSecond }) => perSecond)!,
    lost: rounds.reduce((sum, { lost }) => sum + lost, 0),
    rss: most(({ rss }) => rss),
    rssAnon: most(({ rssAnon }) => rssAnon),
    latency: latencyOf(rounds.flatMap(({ latency }) => latency ?? []))
  }
}

/** The median of the ratios of each round. */
function ratioTo(others: readonly Taken[], rounds: readonly Taken[]): number | undefined {
  return medianOfKnown(
    others.map((other, round) => {
      const cpu = rounds[round]?.cpu
      return cpu === undefined || other.cpu === undefined ? undefined : cpu / other.cpu
    })
  )
}

function latencyOf(rounds: readonly Latency[]): Latency | undefined {
  if (rounds.length === 0) return undefined
  const names = ['rate', 'sent', 'answered', 'unsent', 'p50', 'p90', 'p99', 'p999', 'max', 'late'] as const
  return Object.fromEntries(names.map((name) => [name, medianOfKnown(rounds.map((each) => each[name]))])) as unknown as Latency
}
