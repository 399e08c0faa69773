/** dnsperf as load, and what it says of it. */
import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { tool } from './tools.js'

/** What dnsperf counted. */
export interface Load {
  readonly sent: number
  readonly completed: number
  readonly lost: number
  /** Queries whose connection ended before their reply. */
  readonly interrupted: number
  /** As it prints them: `NOERROR 1000 (100.00%)`. */
  readonly rcodes: string
  readonly perSecond: number
  readonly longestMs: number
}

/** How dnsperf is to ask. */
export interface LoadOptions {
  readonly mode: 'udp' | 'tcp'
  readonly port: number
  /** A file with a question a line. */
  readonly questions: string
  readonly seconds: number
  /** Questions a second at most; as many as it gets answered where left out. */
  readonly rate?: number
  /** How many questions may wait for their reply; beyond it none is asked. */
  readonly outstanding: number
}

export async function dnsperf({ mode, port, questions, seconds, rate, outstanding }: LoadOptions): Promise<Load> {
  const limit = rate === undefined ? [] : ['-Q', String(rate)]
  const to = ['-m', mode, '-s', '127.0.0.1', '-p', String(port), '-d', questions]
  const args = [...to, '-l', String(seconds), '-c', '4', '-q', String(outstanding), '-b', '1024', ...limit]
  const child = spawn(tool('dnsperf'), args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)])
  const value = (name: string): string => {
    const found = new RegExp(`^ *${name}: +(.*)$`, 'm').exec(out)?.[1]
    if (found === undefined) throw new Error(`dnsperf says nothing of ${name}:\n${out}${err}`)
    return found
  }
  return {
    sent: Number.parseInt(value('Queries sent'), 10),
    completed: Number.parseInt(value('Queries completed'), 10),
    lost: Number.parseInt(value('Queries lost'), 10),
    // It has no such line where there is none.
    interrupted: Number.parseInt(/^ *Queries interrupted: +(\d+)/m.exec(out)?.[1] ?? '0', 10),
    rcodes: value('Response codes'),
    perSecond: Number(value('Queries per second')),
    longestMs: 1000 * Number(/max ([\d.]+)/.exec(value('Average Latency \\(s\\)'))?.[1])
  }
}
