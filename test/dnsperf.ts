/** dnsperf as load, and what it says of it. */
import { startProcess } from './processes.js'
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
  /** How long it asks; each question of the file is asked once where left out. */
  readonly seconds?: number
  /** Questions a second at most; as many as it gets answered where left out. */
  readonly rate?: number
  /** How many questions may wait for their reply; beyond it none is asked. */
  readonly outstanding: number
  /** From how many sockets, or over how many connections, it asks. */
  readonly clients?: number
  /** How long a reply is waited for before its question is lost. */
  readonly patienceSeconds?: number
  /** Whether it asks with EDNS, and with the bit DO; neither where left out. */
  readonly edns?: 'plain' | 'dnssecOk' | undefined
}

/** Runs it to its end. Throws where it prints no figures. */
export async function dnsperf(options: LoadOptions): Promise<Load> {
  const { mode, port, questions, seconds, rate, outstanding, clients = 4, patienceSeconds = 5, edns } = options
  const limit = rate === undefined ? [] : ['-Q', String(rate)]
  const end = seconds === undefined ? ['-n', '1'] : ['-l', String(seconds)]
  const bits = edns === undefined ? [] : edns === 'plain' ? ['-e'] : ['-D']
  const to = ['-m', mode, '-s', '127.0.0.1', '-p', String(port), '-d', questions]
  const args = [
    ...to,
    ...end,
    '-c',
    String(clients),
    '-q',
    String(outstanding),
    '-b',
    '1024',
    '-t',
    String(patienceSeconds),
    ...bits,
    ...limit
  ]
  const running = await startProcess(tool('dnsperf'), args)
  await running.ended
  return readLoad(running.output())
}

/** What dnsperf has printed, as figures. Throws where it has none. */
export function readLoad(printed: string): Load {
  const value = (name: string): string => {
    const found = new RegExp(`^ *${name}: +(.*)$`, 'm').exec(printed)?.[1]
    if (found === undefined) throw new Error(`dnsperf says nothing of ${name}:\n${printed}`)
    return found
  }
  return {
    sent: Number.parseInt(value('Queries sent'), 10),
    completed: Number.parseInt(value('Queries completed'), 10),
    lost: Number.parseInt(value('Queries lost'), 10),
    // It has no such line where there is none.
    interrupted: Number.parseInt(/^ *Queries interrupted: +(\d+)/m.exec(printed)?.[1] ?? '0', 10),
    rcodes: value('Response codes'),
    perSecond: Number(value('Queries per second')),
    longestMs: 1000 * Number(/max ([\d.]+)/.exec(value('Average Latency \\(s\\)'))?.[1])
  }
}
