/** The command line of the bench. */
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { CASE_NAMES } from './cases.js'
import { PEER_NAMES } from './peers.js'

/** How the servers are driven: as fast as they go, at so many queries a second, or at a part of the highest rate of each. */
export type Load = 'max' | number | `${number}%`

/** A server beside Skein. */
export interface PeerOption {
  readonly name: string
  /** What starts it, and where it listens; one of ours, found on PATH, where left out. */
  readonly given?: { readonly command: string; readonly port: number }
}

/** What is to be measured. */
export interface Options {
  readonly cases: readonly string[]
  /** undefined: the floor, where there is a compiler. */
  readonly peers: readonly PeerOption[] | undefined
  readonly loads: readonly Load[]
  readonly seconds: number
  readonly runs: number
  /** How many services the store has in the cases about many; these are measured with each number, those of Skein alone with the most. */
  readonly services: readonly number[]
  /** How long the case `pauses` takes. */
  readonly pauseSeconds: number
  /** Other binaries of Node that Skein runs under too, beside this one. */
  readonly nodes: readonly string[]
  /** Lines for the server block: for each of them there is a Skein that has it. */
  readonly lines: readonly string[]
  /** Where the figures go as lines of JSON. */
  readonly json: string | undefined
  readonly help: boolean
}

/** The command line is wrong; the message says what was expected. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** The text of `--help`. */
export const HELP = `npm run bench -- [OPTION…]: what a query costs Skein, beside other servers, on loopback

  --case NAME            ${CASE_NAMES.slice(0, 6).join(', ')},
                         ${CASE_NAMES.slice(6).join(', ')};
                         may stand several times, all cases where left out
  --peer NAME            a server beside Skein: ${PEER_NAMES.join(', ')}
                         (on PATH, with a configuration of bench/peers); may stand several times;
                         the floor, where there is a C compiler, where left out
  --peer NAME=COMMAND,PORT
                         the same started with COMMAND, in a folder that has its configuration for PORT; a NAME that is none of
                         these gets Skein's Corefile there, with a copy of the store: another build of Skein
  --rate max|N|N%        as fast as it goes, N queries a second, or N percent of the highest rate; may stand several times
                         (max, 10000, 30000)
  --seconds N            how long a measurement takes (4)
  --runs N               how often each is made; the table has medians (5)
  --services N           services in the store for service-a, nxdomain, pauses and start (1000000);
                         may stand several times, to compare
  --pause-seconds N      how long the case pauses takes (300)
  --node PATH            another node binary, under which Skein runs too; may stand several times
  --with LINE            a line of the server block, with which Skein runs too; may stand several times
  --json FILE            the figures, a line with an object for each case and server
`

/** Reads it. Throws UsageError. */
export function readOptions(words: readonly string[]): Options {
  const { values } = parsed(words)
  return {
    cases: values.case?.map(readCase) ?? CASE_NAMES,
    peers: values.peer?.map(readPeer),
    loads: readLoads(values.rate ?? ['max', '10000', '30000']),
    seconds: readNumber(values.seconds ?? '4', 'seconds', true),
    runs: readNumber(values.runs ?? '5', 'runs'),
    services: values.services?.map((text) => readNumber(text, 'services')) ?? [1_000_000],
    pauseSeconds: readNumber(values['pause-seconds'] ?? '300', 'pause-seconds', true),
    // Servers are started in folders of their own.
    nodes: values.node?.map((path) => resolve(path)) ?? [],
    lines: values.with ?? [],
    json: values.json,
    help: values.help ?? false
  }
}

function parsed(words: readonly string[]) {
  const many = { type: 'string', multiple: true } as const
  const one = { type: 'string' } as const
  try {
    return parseArgs({
      args: [...words],
      options: {
        case: many,
        peer: many,
        rate: many,
        node: many,
        with: many,
        seconds: one,
        runs: one,
        services: many,
        'pause-seconds': one,
        json: one,
        help: { type: 'boolean', short: 'h' }
      }
    })
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

function readCase(text: string): string {
  if (CASE_NAMES.includes(text)) return text
  throw new UsageError(`--case: expected one of ${CASE_NAMES.join(', ')}, not ${JSON.stringify(text)}`)
}

function readLoads(words: readonly string[]): Load[] {
  const isPart = (text: string): text is `${number}%` => /^[1-9]\d?%$/.test(text)
  const first = words.findIndex(isPart)
  if (first >= 0 && !words.slice(0, first).includes('max'))
    throw new UsageError(`--rate ${words[first]}: expected --rate max before it, which finds out what the highest rate is`)
  return words.map((text) => {
    if (text === 'max' || isPart(text)) return text
    if (/^[1-9]\d*$/.test(text)) return Number(text)
    throw new UsageError(`--rate: expected max, queries a second, or a percentage from 1% to 99%, not ${JSON.stringify(text)}`)
  })
}

function readPeer(text: string): PeerOption {
  const [, name = text, command, port] = /^([^=]+)=([\s\S]+),(\d{1,5})$/.exec(text) ?? []
  if (command !== undefined) return { name, given: { command, port: Number(port) } }
  if (text.includes('=')) throw new UsageError(`--peer: expected NAME=COMMAND,PORT, not ${JSON.stringify(text)}`)
  if (!PEER_NAMES.includes(name))
    throw new UsageError(`--peer: expected one of ${PEER_NAMES.join(', ')}, or NAME=COMMAND,PORT, not ${JSON.stringify(text)}`)
  return { name }
}

function readNumber(text: string, option: string, isFraction = false): number {
  const number = Number(text)
  if (!(isFraction ? /^\d+(\.\d+)?$/ : /^\d+$/).test(text) || number <= 0)
    throw new UsageError(`--${option}: expected a ${isFraction ? 'number' : 'whole number'} above 0, not ${JSON.stringify(text)}`)
  return number
}
