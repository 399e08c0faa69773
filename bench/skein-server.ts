/** Skein as a server of the bench. */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { MAIN } from '../test/command.js'
import { freePort, type Running, startProcess } from '../test/processes.js'
import { placed, readCorefile } from './corefiles.js'
import type { Options } from './options.js'
import type { BenchServer, Scene, Startable } from './scene.js'

const READY = /Skein-\d/

/** What differs from Skein as it stands. */
export interface SkeinWays {
  readonly node?: string
  readonly line?: string
  /** Arguments for Node, and variables of its environment. */
  readonly nodeArguments?: readonly string[]
  readonly env?: Record<string, string>
}

/** A Skein among the servers of a run. */
export interface SkeinKind extends Startable {
  readonly ways: SkeinWays
}

/** Skein, once as it stands and once for each `--node` and `--with`. */
export function skeins({ nodes, lines }: Pick<Options, 'nodes' | 'lines'>): SkeinKind[] {
  const kind = (name: string, ways: SkeinWays): SkeinKind => ({
    name,
    ways,
    isSkein: true,
    unable: () => undefined,
    start: (scene) => startSkein(name, scene, ways)
  })
  return [
    kind('skein', {}),
    ...nodes.map((node) => kind(`skein (Node ${nodeVersion(node)})`, { node })),
    ...lines.map((line) => kind(`skein (${line})`, { line }))
  ]
}

/** Starts Skein with the Corefile of a case, and waits until it says that it runs. */
export async function startSkein(name: string, scene: Scene, ways: SkeinWays = {}): Promise<BenchServer> {
  const folder = scene.folder()
  cpSync(scene.store, join(folder, 'data'), { recursive: true })
  const port = await freePort()
  const metricsPort = await configureSkein(folder, port, scene, ways.line)
  const running = await launchSkein(folder, ways)
  await running.prints(READY)
  return { name, port, pid: running.pid, cached: () => cacheEntries(metricsPort), stop: () => running.stop() }
}

/** Starts what is configured in a folder, and does not wait for it. Its control socket is there too. */
export async function launchSkein(folder: string, { node = process.execPath, nodeArguments = [], env }: SkeinWays): Promise<Running> {
  const runtime = join(folder, 'runtime')
  mkdirSync(runtime, { recursive: true, mode: 0o700 })
  return startProcess(node, [...nodeArguments, MAIN, 'run'], { cwd: folder, env: { XDG_RUNTIME_DIR: runtime, ...env } })
}

/** Writes the Corefile of a case into a folder, for this port; gives the port of its metrics. */
export async function configureSkein(
  folder: string,
  port: number,
  { of, upstreamPort }: Pick<Scene, 'of' | 'upstreamPort'>,
  line?: string
): Promise<number> {
  const metricsPort = await freePort()
  const places = { port, metricsPort, apiPort: await freePort(), upstreamPort, line }
  writeFileSync(join(folder, 'Corefile'), placed(readCorefile(of.corefile), places))
  return metricsPort
}

/** How many answers its cache has, as its metric says. */
export async function cacheEntries(metricsPort: number): Promise<number> {
  const page = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()
  const values = [...page.matchAll(/^coredns_cache_entries\{.*\} (\d+)$/gm)].map(([, value]) => Number(value))
  return values.reduce((sum, value) => sum + value, 0)
}

/** What it calls itself. Throws where it is no Node. */
function nodeVersion(path: string): string {
  try {
    return execFileSync(path, ['--version'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
      .trim()
      .replace(/^v/, '')
  } catch (error) {
    throw new Error(`--node ${path} does not tell its version (${(error as NodeJS.ErrnoException).code ?? 'it fails'})`, { cause: error })
  }
}
