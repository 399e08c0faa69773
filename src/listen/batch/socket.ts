import { getSystemErrorName } from 'node:util'
import * as C from './layout.js'
import type { Libc } from './libc.js'
import { portAt, sockaddrOf } from './sockaddr.js'

/** Room for bursts between two turns of the event loop, both ways; the kernel may give less. */
const BUFFER_OCTETS = 4 * 1024 * 1024

/**
 * Whether others of this process listen on the same address and port, each with its own share of the queries (SO_REUSEPORT): the
 * `first` of them takes the port, and fails where anybody else has it, as another server; whoever `joins` takes a share.
 */
export type PortSharing = 'first' | 'joins'

/** Connections that wait to be taken; the kernel may have fewer wait. */
const BACKLOG = 511

/** A socket that was bound just now, non-blocking; whoever opens it closes the descriptor. */
export interface NewSocket {
  readonly fd: number
  readonly port: number
}

/**
 * Binds a UDP socket, or a TCP one that listens, to one address; port 0 takes a free one. Throws an error as Node's own sockets do, with
 * the system's code.
 */
export function openSocket(libc: Libc, address: string, port: number, sharing?: PortSharing, transport: 'udp' | 'tcp' = 'udp'): NewSocket {
  const isTcp = transport === 'tcp'
  const name = sockaddrOf(libc, address, port)
  if (name === undefined) throw failure('EINVAL', 'bind', address, port)
  const check = (result: number, call: string): number => {
    if (result < 0) throw failure(getSystemErrorName(-libc.errno()), call, address, port)
    return result
  }
  const fd = check(libc.socket(name[0]!, isTcp ? C.SOCK_STREAM_ALONE : C.SOCK_DGRAM_ALONE, 0), 'socket')
  try {
    const set = (level: number, option: number, value: number): number => setOption(libc, fd, level, option, value)
    if (name[0] === C.AF_INET6) check(set(C.IPPROTO_IPV6, C.IPV6_V6ONLY, 1), 'setsockopt')
    // Connections of a server that has ended keep the port for a minute, but for who says this.
    if (isTcp) check(set(C.SOL_SOCKET, C.SO_REUSEADDR, 1), 'setsockopt')
    else for (const option of [C.SO_RCVBUF, C.SO_SNDBUF]) set(C.SOL_SOCKET, option, BUFFER_OCTETS)
    if (sharing === 'joins') check(set(C.SOL_SOCKET, C.SO_REUSEPORT, 1), 'setsockopt')
    check(libc.bind(fd, name, name.length), 'bind')
    if (isTcp) check(libc.listen(fd, BACKLOG), 'listen')
    // Only now: with it, the port would be shared with whoever has it too, without a word.
    if (sharing === 'first') check(set(C.SOL_SOCKET, C.SO_REUSEPORT, 1), 'setsockopt')
    check(libc.getsockname(fd, name, new Uint8Array(Int32Array.of(name.length).buffer)), 'getsockname')
    return { fd, port: portAt(name, 0) }
  } catch (error) {
    libc.close(fd)
    throw error
  }
}

/** A number of its own for the same socket, which is closed on its own. Throws an error as Node's own calls do. */
export function duplicate(libc: Libc, fd: number): number {
  const copy = libc.fcntl(fd, C.F_DUPFD_CLOEXEC, 0)
  if (copy < 0) throw Object.assign(new Error(`fcntl ${getSystemErrorName(-libc.errno())}`), { syscall: 'fcntl' })
  return copy
}

/** Lets others of this process join a bound socket on its port, see {@link PortSharing}; or lets nobody any more. */
export function share(libc: Libc, fd: number, on: boolean): void {
  setOption(libc, fd, C.SOL_SOCKET, C.SO_REUSEPORT, on ? 1 : 0)
}

/**
 * Has the kernel give a UDP socket nothing more, and all to those that share its port; what it has already is there to be read. It is
 * connected to itself: among several, the kernel passes by those that are connected (Linux 5.4).
 */
export function passBy(libc: Libc, fd: number, address: string, port: number): void {
  const name = sockaddrOf(libc, address, port)
  if (name !== undefined) libc.connect(fd, name, name.length)
}

/** Has each datagram of a socket that is bound to every address come with the one that was asked. Throws as {@link openSocket} does. */
export function tellAsked(libc: Libc, fd: number, address: string, port: number): void {
  const [level, option] = address.includes(':') ? [C.IPPROTO_IPV6, C.IPV6_RECVPKTINFO] : [C.IPPROTO_IP, C.IP_PKTINFO]
  if (setOption(libc, fd, level, option, 1) < 0) throw failure(getSystemErrorName(-libc.errno()), 'setsockopt', address, port)
}

function setOption(libc: Libc, fd: number, level: number, option: number, value: number): number {
  return libc.setsockopt(fd, level, option, new Uint8Array(Int32Array.of(value).buffer), 4)
}

function failure(code: string, call: string, address: string, port: number): NodeJS.ErrnoException {
  return Object.assign(new Error(`${call} ${code} ${address}:${port}`), { code, syscall: call })
}
