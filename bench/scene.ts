/** What a case is played with: what its servers have in common, and what is asked of each of them. */
import { findProgram } from '../test/tools.js'
import { ask } from './ask.js'
import type { Case } from './cases.js'

/** A million records take their time to be read. */
const READY_WITHIN_MS = 300_000
const ASK_WITHIN_MS = 200
const NXDOMAIN = 3

/** What the servers of a case have in common. */
export interface Scene {
  readonly of: Case
  /** The case's name, and the number of services where the command line says it. */
  readonly title: string
  readonly services: number
  /** A file of `name TYPE` lines, and its first line. */
  readonly questions: string
  readonly question: string
  /** How many lines it has; all are different. */
  readonly count: number
  readonly upstreamPort: number
  /** A store with the services; whoever serves it takes a copy. */
  readonly store: string
  /** One whole reply of Skein to the first question; the servers after Skein have it. */
  readonly reply: string
  /** Makes a folder. */
  folder(): string
}

/** A server that runs. */
export interface BenchServer {
  readonly name: string
  readonly port: number
  readonly pid: number
  /** How it is asked, where that is not as plainly as can be. */
  readonly edns?: 'plain' | 'dnssecOk'
  /** How many answers it has in its cache, where it tells. */
  cached?(): Promise<number>
  stop(): Promise<unknown>
}

/** A server that can be started. */
export interface Startable {
  readonly name: string
  /** Whether it is a Skein as it stands in this checkout. */
  readonly isSkein: boolean
  /** Why it cannot serve a case; undefined where it can. */
  unable(of: Case): string | undefined
  /** Starts it and waits until it answers. Rejects with what it printed where it does not. */
  start(scene: Scene): Promise<BenchServer>
}

/** Ready is who answers the first question with NOERROR or NXDOMAIN; some say SERVFAIL while they read their records. */
export function whenAnswering({ question }: Pick<Scene, 'question'>, port: number) {
  const ready = async (): Promise<boolean> => {
    const octets = await ask(port, question, ASK_WITHIN_MS)
    return octets !== undefined && [0, NXDOMAIN].includes(octets[3]! & 0xf)
  }
  return { ready, readyWithinMs: READY_WITHIN_MS }
}

/** The path of a server's program. Throws where it is not on this machine. */
export function programOf(program: string): string {
  const path = findProgram(program)
  if (path !== undefined) return path
  throw new Error(`${program} is not on this machine: install it, or give --peer NAME=COMMAND,PORT`)
}
