/** One measurement of a server: driven by dnsperf, and its replies timed by a client of our own. */

import { dnsperf } from '../test/dnsperf.js'
import { startProcess } from '../test/processes.js'
import type { BenchServer, Scene } from './scene.js'
import { cpuOf, type Memory, memoryOf } from './usage.js'

/** How every case drives a server: from how many sockets, how many queries may wait for their reply, and how long. */
export const DRIVEN = { clients: 8, outstanding: 200, patienceSeconds: 2 } as const

/** How long replies took, in microseconds, at a rate in queries a second. */
export interface Latency {
  readonly rate: number
  readonly sent: number
  readonly answered: number
  /** What did not leave: the client's fault, or its kernel's. */
  readonly unsent: number
  readonly p50: number
  readonly p90: number
  readonly p99: number
  readonly p999: number
  readonly max: number
  /** How much later than due one query of a hundred left: the client's own part. */
  readonly late: number
}

/** What one measurement gave. */
export interface Taken extends Memory {
  /** Microseconds of the server's processor time for each answered query; undefined where none was answered. */
  readonly cpu: number | undefined
  readonly perSecond: number
  /** Queries of dnsperf and of the client for latency that had no reply in time. */
  readonly lost: number
  /** undefined where none was answered, or none was timed. */
  readonly latency: Latency | undefined
}

/** How a measurement is made. */
export interface TakeOptions {
  /** Queries a second; as many as it answers where left out. */
  readonly rate: number | undefined
  readonly seconds: number
  /** The client's program; undefined: replies are not timed. */
  readonly latency: string | undefined
}

/** Drives a server, then times its replies at the same rate; at half of what it reached where it went as fast as it could. */
export async function take(server: BenchServer, { of, questions }: Scene, { rate, seconds, latency }: TakeOptions): Promise<Taken> {
  const before = cpuOf(server.pid)
  const limit = rate === undefined ? {} : { rate }
  const how = { mode: of.transport, port: server.port, questions, seconds, edns: server.edns, ...DRIVEN, ...limit }
  const { completed, lost, interrupted, perSecond } = await dnsperf(how)
  const used = cpuOf(server.pid) - before
  const memory = memoryOf(server.pid)
  const asked = rate ?? Math.floor(perSecond / 2)
  // The client for latency asks without EDNS.
  const isTimed = of.transport === 'udp' && server.edns === undefined && asked > 0
  const replies =
    latency !== undefined && isTimed ? await timed(latency, { port: server.port, rate: asked, seconds, questions }) : undefined
  return {
    cpu: completed === 0 ? undefined : used / completed,
    perSecond,
    lost: lost + interrupted + (replies === undefined ? 0 : replies.sent - replies.unsent - replies.answered),
    ...memory,
    latency: replies?.answered === 0 ? undefined : replies
  }
}

/** Has a server compile what it runs often, and remember what it may: each question once where the case wants that, and a while of all. */
export async function warmUp(server: BenchServer, { of, questions }: Scene, seconds: number): Promise<void> {
  const how = { mode: of.transport, port: server.port, questions, edns: server.edns, ...DRIVEN }
  if (of.isPrimed) await dnsperf(how)
  await dnsperf({ ...how, seconds })
}

async function timed(
  program: string,
  { port, rate, seconds, questions }: { port: number; rate: number; seconds: number; questions: string }
): Promise<Latency> {
  const running = await startProcess(program, [port, rate, seconds, questions].map(String))
  await running.ended
  return { rate, ...readLatency(running.output()) }
}

/** The object that the client prints. Throws where it is something else. */
export function readLatency(printed: string): Omit<Latency, 'rate'> {
  try {
    return JSON.parse(printed) as Omit<Latency, 'rate'>
  } catch (error) {
    throw new Error(`the client for latency prints no figures: ${printed.trim()}`, { cause: error })
  }
}
