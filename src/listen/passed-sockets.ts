/** The sockets that a service manager passes to the process: sd_listen_fds(3). */
import { isMainThread } from 'node:worker_threads'
import { ConfigError } from '../corefile/directive.js'
import { shownAddress } from '../query.js'
import { isWildcard } from './addresses.js'
import type { Libc } from './batch/libc.js'
import { theLibcOrNone } from './batch/open-batch.js'
import { duplicate } from './batch/socket.js'
import { type Kind, kindByLibc, kindByProc } from './passed-kind.js'
import { UDP_VARIABLE } from './udp-driver.js'

/** A socket that was passed, bound to an address and a port. */
export interface PassedSocket {
  readonly fd: number
  /** As the service manager calls it (FileDescriptorName); empty where it says nothing. */
  readonly name: string
  readonly transport: 'udp' | 'tcp'
  readonly address: string
  readonly port: number
  /** Whether it takes IPv4 beside IPv6: one of `::` that is not for IPv6 alone. */
  readonly isDual: boolean
}

/** All of them. */
export interface PassedSockets {
  readonly list: readonly PassedSocket[]
  /** What was passed and cannot be used, a line each. */
  readonly warnings: readonly string[]
  /** Another descriptor of the same socket, closed on its own; none where Node alone drives sockets, and one that it has closed is gone. */
  readonly copy?: (fd: number) => number
}

/** What the environment says. */
export interface PassedDescriptors {
  readonly list: readonly { readonly fd: number; readonly name: string }[]
  readonly warnings: readonly string[]
}

/** SD_LISTEN_FDS_START. */
const FIRST = 3
/** Far more than a service manager passes: a wrong number is told at once. */
const MOST = 65_535
const VARIABLES = ['LISTEN_PID', 'LISTEN_PIDFDID', 'LISTEN_FDS', 'LISTEN_FDNAMES']

let passed: Promise<PassedSockets> | undefined

/**
 * The sockets that were passed to this process, read once. The variables that tell of them are gone after the call, so that no program that
 * is started takes them for its own. Throws ConfigError where these make no sense.
 */
export function passedSockets(): Promise<PassedSockets> {
  passed ??= isMainThread ? read() : Promise.resolve({ list: [], warnings: [] })
  return passed
}

async function read(): Promise<PassedSockets> {
  const { list, warnings } = takeDescriptors(process.env, process.pid)
  if (list.length === 0) return { list: [], warnings }
  const libc = process.env[UDP_VARIABLE] === 'dgram' ? undefined : await theLibcOrNone()
  return toldApart(list, warnings, libc)
}

/** Reads and removes the variables. Throws ConfigError. */
export function takeDescriptors(env: NodeJS.ProcessEnv, pid: number): PassedDescriptors {
  const { LISTEN_PID: owner = '', LISTEN_FDS: count = '', LISTEN_FDNAMES: names = '' } = env
  for (const variable of VARIABLES) delete env[variable]
  if (owner === '' || count === '') return { list: [], warnings: [] }
  if (numberOf('LISTEN_PID', owner) !== pid) {
    const warning = `LISTEN_PID is ${owner}, and this process is ${pid}: the sockets that were passed are not for it`
    return { list: [], warnings: [warning] }
  }
  const named = names.split(':')
  const length = numberOf('LISTEN_FDS', count)
  if (length > MOST) throw new ConfigError(`LISTEN_FDS is ${length}, expected at most ${MOST}`)
  const list = Array.from({ length }, (_, index) => ({ fd: FIRST + index, name: named[index] ?? '' }))
  return { list, warnings: [] }
}

function numberOf(variable: string, text: string): number {
  if (!/^\d{1,7}$/.test(text)) throw new ConfigError(`${variable} is ${JSON.stringify(text)}, expected a number`)
  return Number(text)
}

/** What each of the descriptors is; what is no socket to serve DNS on makes a warning. Throws ConfigError for one that is not open. */
export function toldApart(descriptors: PassedDescriptors['list'], before: readonly string[], libc: Libc | undefined): PassedSockets {
  const list: PassedSocket[] = []
  const warnings = [...before]
  for (const { fd, name } of descriptors) {
    const kind: Kind = libc === undefined ? kindByProc(fd) : kindByLibc(libc, fd)
    if (kind === 'closed')
      throw new ConfigError(`LISTEN_FDS is ${descriptors.length}, but descriptor ${fd} is not open: expected descriptors from ${FIRST} on`)
    if (typeof kind === 'string')
      warnings.push(`descriptor ${fd}${name === '' ? '' : ` (${name})`}, which was passed, is not used: ${kind}`)
    else list.push({ fd, name, ...kind })
  }
  if (libc === undefined) for (const socket of list) if (answersFromAnywhere(socket)) warnings.push(`${shownPassed(socket)} ${ANYWHERE}`)
  return { list, warnings, ...(libc && { copy: (fd: number) => duplicate(libc, fd) }) }
}

const ANYWHERE =
  'is for every address: without UDP in batches its replies leave from whichever address the machine chooses, so bind it to one address'

/** Whether `node:dgram`, which knows nothing of the address that was asked, may answer from another one. */
function answersFromAnywhere({ transport, address }: PassedSocket): boolean {
  return transport === 'udp' && isWildcard(address)
}

/** `the passed socket 127.0.0.1:53 (udp, descriptor 3)`. */
export function shownPassed({ fd, transport, address, port }: PassedSocket): string {
  return `the passed socket ${shownAddress(address, port)} (${transport}, descriptor ${fd})`
}
