/** What a server has used, as Linux counts it: all processes below the one that was started, and all their threads. */
import { readdirSync, readFileSync } from 'node:fs'

/** Memory in MiB. What several processes of a server share counts for each. */
export interface Memory {
  readonly rss: number
  /** The part that is not of files: heap, stacks, buffers. */
  readonly rssAnon: number
}

/** Time on a processor so far, user and kernel, in microseconds. */
export function cpuOf(pid: number): number {
  return processesOf(pid).reduce((sum, each) => sum + cpuOfProcess(each), 0)
}

/** What it holds now. */
export function memoryOf(pid: number): Memory {
  const all = processesOf(pid).map((each) => readMemory(readOrNothing(`/proc/${each}/status`)))
  return { rss: all.reduce((sum, { rss }) => sum + rss, 0), rssAnon: all.reduce((sum, { rssAnon }) => sum + rssAnon, 0) }
}

/** What `/proc/PID/status` says of memory. */
export function readMemory(status: string): Memory {
  const field = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0) / 1024
  return { rss: field('VmRSS'), rssAnon: field('RssAnon') }
}

/** The time of a `schedstat` file, which counts nanoseconds; undefined where the kernel counts none. */
export function readSchedstat(text: string): number | undefined {
  const nanoseconds = Number(/^(\d+) /.exec(text)?.[1] ?? 0)
  return nanoseconds === 0 ? undefined : nanoseconds / 1000
}

/** User and system time of a `stat` file, which counts hundredths of a second: of the process, and of its children that have ended. */
export function readStat(text: string): { own: number; ended: number } {
  // The program's name stands in parentheses, and may hold some.
  const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = text
    .slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 15)
    .map(Number)
  return { own: (user + system) * 10_000, ended: (endedUser + endedSystem) * 10_000 }
}

function cpuOfProcess(pid: number): number {
  const threads = listOrNothing(`/proc/${pid}/task`)
  const times = threads.map((thread) => readSchedstat(readOrNothing(`/proc/${pid}/task/${thread}/schedstat`)))
  const { own, ended } = readStat(readOrNothing(`/proc/${pid}/stat`))
  // A kernel that keeps no schedstat has zeros there.
  const exact = times.reduce<number>((sum, time) => sum + (time ?? 0), 0)
  return (exact === 0 ? own : exact) + ended
}

function processesOf(pid: number): number[] {
  const children = listOrNothing(`/proc/${pid}/task`).flatMap((thread) =>
    readOrNothing(`/proc/${pid}/task/${thread}/children`).split(' ').filter(Boolean).map(Number)
  )
  return [pid, ...children.flatMap(processesOf)]
}

// Threads and processes end between a list and a look.
function readOrNothing(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

function listOrNothing(path: string): string[] {
  try {
    return readdirSync(path)
  } catch {
    return []
  }
}
