/** `npm run bench`: measures the cases that the command line names, and prints a table for each. */
import { execFile } from 'node:child_process'
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { cpus, release } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { freePort, startProcess, temporaryFolder } from '../test/processes.js'
import { tool } from '../test/tools.js'
import { CASES, type Case, PAUSES, START } from './cases.js'
import { compiled } from './compiler.js'
import { fillStore } from './fill-store.js'
import type { InProcess } from './in-process.js'
import { measureCase } from './measure.js'
import { HELP, type Options, readOptions, UsageError } from './options.js'
import { measurePauses, pausesTable } from './pauses.js'
import type { Scene, Startable } from './scene.js'
import { floor, peer } from './servers.js'
import type { Signing } from './signing.js'
import { type SkeinKind, skeins } from './skein-server.js'
import { measureStarts, startTable } from './start-up.js'
import { HEAD, notesOf, rowsOf, shown, signingTable, table } from './table.js'

const IN_PROCESS = fileURLToPath(new URL('./in-process.js', import.meta.url))
const SIGNING = fileURLToPath(new URL('./signing.js', import.meta.url))
const RESPONDER = fileURLToPath(new URL('./responder.js', import.meta.url))
const INTERRUPTED = 130
const WRONG_USAGE = 2

/** What all cases of a run share. */
class Bench {
  readonly options: Options
  readonly #folder = temporaryFolder()
  #folders = 0
  readonly #stores = new Map<number, Promise<string>>()
  #floor: string | undefined
  #latency: string | undefined
  #upstreamPort = 0
  #skeins: SkeinKind[] = []
  #others: Startable[] = []

  constructor(options: Options) {
    this.options = options
  }

  async run(): Promise<void> {
    const { cases, json } = this.options
    if (process.platform !== 'linux') throw new Error('the bench reads what Linux counts in /proc, and runs nowhere else')
    // Before anything takes its time: a program that is missing is told at once.
    tool('dnsperf')
    if (json !== undefined) writeFileSync(json, '')
    await this.#prepare()
    console.log(`${await machine()}\n`)
    for (const name of cases) {
      const of = CASES.find((each) => each.name === name)
      if (of !== undefined) await this.#compare(of)
      else if (name === 'pauses') await this.#pauses()
      else if (name === 'start') await this.#starts()
      else if (name === 'signing') await this.#signing()
      else await this.#inProcess()
    }
  }

  async #prepare(): Promise<void> {
    this.#floor = await compiled('floor', this.#folder.path)
    this.#latency = await compiled('latency', this.#folder.path)
    if (this.#floor === undefined) say('no C compiler (cc, gcc, clang or $CC): no floor, and replies are not timed')
    this.#skeins = skeins(this.options)
    this.#others = (this.options.peers ?? (this.#floor === undefined ? [] : [{ name: 'floor' }])).flatMap((option) => {
      if (option.name !== 'floor' || option.given !== undefined) return [peer(option)]
      return this.#floor === undefined ? [] : [floor(this.#floor)]
    })
    this.#upstreamPort = await this.#startUpstream()
  }

  /** Answers what is forwarded; it costs the machine least where it is the floor. */
  async #startUpstream(): Promise<number> {
    const port = await freePort()
    const [program, ...args] = this.#floor === undefined ? [process.execPath, RESPONDER, `${port}`] : [this.#floor, 'udp', `${port}`]
    await startProcess(program, args, { ready: /^ready/m })
    return port
  }

  async #compare(of: Case): Promise<void> {
    const { loads, seconds, runs } = this.options
    const servers = [...this.#skeins, ...this.#others]
    // In a case about few services these numbers come to the same.
    for (const services of new Set(this.options.services.map((many) => of.services(many)))) {
      const scene = await this.#scene(of, services)
      const results = await measureCase(scene, servers, { loads, seconds, runs, latency: this.#latency, say })
      this.#print(table(HEAD, rowsOf(scene.title, results)), results, notesOf(results))
    }
  }

  async #pauses(): Promise<void> {
    const scene = await this.#scene(PAUSES, this.#most)
    const rows = []
    for (const kind of this.#skeins) {
      say(`pauses ${kind.name}: ${this.options.pauseSeconds} s`)
      rows.push(...(await measurePauses(scene, kind, this.options.pauseSeconds)))
    }
    this.#print(pausesTable(rows), rows, ['pauses: Skein has bench/Corefile.pauses'])
  }

  async #starts(): Promise<void> {
    const { runs, seconds } = this.options
    say('start')
    const rows = await measureStarts(await this.#scene(START, this.#most), this.#skeins, { runs, seconds })
    this.#print(startTable(rows), rows)
  }

  async #inProcess(): Promise<void> {
    const rows = await this.#ownProcesses<InProcess>(IN_PROCESS)
    const head = ['server', 'in process', 'Corefile', 'ns', 'octets', '% from the cache', 'promises', 'decodes']
    const cells = rows.map(({ server, what, corefile, nanoseconds, octets, fromCache, promises, decodes }) => [
      server,
      what,
      corefile,
      shown(nanoseconds),
      ...[octets, Math.round(fromCache), promises, decodes].map(String)
    ])
    this.#print(table(head, cells), rows)
  }

  async #signing(): Promise<void> {
    const rows = await this.#ownProcesses<Signing>(SIGNING)
    this.#print(signingTable(rows), rows)
  }

  /** What a program prints in a process of its own, which has done nothing before; a line of the server block changes nothing there. */
  async #ownProcesses<T>(program: string): Promise<(T & { server: string })[]> {
    const rows: (T & { server: string })[] = []
    for (const { name: server, ways } of this.#skeins.filter((kind) => kind.ways.line === undefined)) {
      say(`${basename(program, '.js')} ${server}`)
      const { stdout } = await promisify(execFile)(ways.node ?? process.execPath, [program])
      for (const line of stdout.trimEnd().split('\n')) rows.push({ server, ...(JSON.parse(line) as T) })
    }
    return rows
  }

  get #most(): number {
    return Math.max(...this.options.services)
  }

  async #scene(of: Case, services: number): Promise<Scene> {
    const questions = of.questions(services)
    const folder = this.#newFolder()
    const file = join(folder, 'questions')
    writeFileSync(file, questions.map((line) => `${line}\n`).join(''))
    return {
      of,
      title: of.services(1) === of.services(2) ? of.name : `${of.name} ${services}`,
      services,
      questions: file,
      question: questions[0]!,
      count: questions.length,
      upstreamPort: this.#upstreamPort,
      store: await this.#store(services),
      reply: join(folder, 'reply'),
      folder: () => this.#newFolder()
    }
  }

  #store(services: number): Promise<string> {
    const there = this.#stores.get(services)
    if (there !== undefined) return there
    if (services > 100_000) say(`writing ${services} services…`)
    const folder = join(this.#newFolder(), 'store')
    const store = fillStore(folder, services).then(() => folder)
    this.#stores.set(services, store)
    return store
  }

  #newFolder(): string {
    const folder = join(this.#folder.path, `${++this.#folders}`)
    mkdirSync(folder)
    return folder
  }

  #print(text: string, rows: readonly object[], notes: readonly string[] = []): void {
    console.log([text, ...notes.map((note) => `- ${note}`)].join('\n').concat('\n'))
    const { json } = this.options
    if (json !== undefined) for (const row of rows) appendFileSync(json, `${JSON.stringify(row)}\n`)
  }
}

async function machine(): Promise<string> {
  const all = cpus()
  const { stdout, stderr } = await promisify(execFile)(tool('dnsperf'), ['-h']).catch((error: { stdout: string; stderr: string }) => error)
  const version = /Version ([\d.]+)/.exec(stdout + stderr)?.[1] ?? ''
  return `${all.length} × ${all[0]?.model.trim()}, Linux ${release()}, Node ${process.versions.node}, dnsperf ${version}`
}

function say(text: string): void {
  console.error(text)
}

async function main(words: readonly string[]): Promise<void> {
  // What runs is stopped when this process exits.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(INTERRUPTED))
  try {
    const options = readOptions(words)
    if (options.help) process.stdout.write(HELP)
    else await new Bench(options).run()
    process.exit(0)
  } catch (error) {
    console.error(error instanceof UsageError ? `${error.message}; npm run bench -- --help lists the options` : (error as Error).message)
    process.exit(error instanceof UsageError ? WRONG_USAGE : 1)
  }
}

await main(process.argv.slice(2))
