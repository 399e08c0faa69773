/** What a descriptor is that somebody else has opened. */
import { fstatSync, readFileSync } from 'node:fs'
import { endianness } from 'node:os'
import { ipv4Text, ipv6Text } from '../message/address.js'
import { isWildcard } from './addresses.js'
import * as C from './batch/layout.js'
import type { Libc } from './batch/libc.js'
import { addressAt, isLinkLocal, portAt } from './batch/sockaddr.js'

/** A socket that questions can come to. */
export interface BoundTo {
  readonly transport: 'udp' | 'tcp'
  readonly address: string
  readonly port: number
  readonly isDual: boolean
}

/** That, or why it is none, in words that go on from "is not used:"; `closed` where there is no such descriptor. */
export type Kind = BoundTo | string

const NO_SOCKET = 'it is no socket'
const UNIX = 'it is a Unix socket, expected one of UDP or TCP'
const FOREIGN = 'it is a socket of another kind, expected one of UDP or TCP'
const CONNECTED = 'it is connected, expected one that listens (with systemd, Accept=no)'
const SILENT = 'it is a TCP socket that does not listen'
const UNBOUND = 'it is bound to no port'
const NOT_LISTED =
  'it is in no table of /proc/self/net: it is not bound, does not listen, or is of another network (which the package koffi could tell)'
const MAPPED = 'it is bound to an IPv4 address by an IPv6 socket, expected an IPv4 socket'

/** Asks the kernel, and has no program that is started get the descriptor. */
export function kindByLibc(libc: Libc, fd: number): Kind {
  if (libc.fcntl(fd, C.F_GETFD, 0) < 0) return 'closed'
  libc.fcntl(fd, C.F_SETFD, C.FD_CLOEXEC)
  const [domain, type, protocol] = [C.SO_DOMAIN, C.SO_TYPE, C.SO_PROTOCOL].map((option) => optionOf(libc, fd, C.SOL_SOCKET, option))
  if (domain === undefined) return NO_SOCKET
  if (domain === C.AF_UNIX) return UNIX
  const isTcp = type === C.SOCK_STREAM
  const protocols = isTcp ? [C.IPPROTO_TCP, C.IPPROTO_MPTCP] : [C.IPPROTO_UDP]
  if (![C.AF_INET, C.AF_INET6].includes(domain) || !protocols.includes(protocol!)) return FOREIGN
  const name = new Uint8Array(C.SOCKADDR_IN6_OCTETS)
  const length = (): Uint8Array => new Uint8Array(Int32Array.of(name.length).buffer)
  if (libc.getpeername(fd, name, length()) === 0) return CONNECTED
  libc.getsockname(fd, name, length())
  const [address, port] = [addressAt(libc, name, 0), portAt(name, 0)]
  if (port === 0) return UNBOUND
  if (isTcp && optionOf(libc, fd, C.SOL_SOCKET, C.SO_ACCEPTCONN) !== 1) return SILENT
  if (address.startsWith('::ffff:')) return MAPPED
  const isDual = address === '::' && optionOf(libc, fd, C.IPPROTO_IPV6, C.IPV6_V6ONLY) === 0
  return { transport: isTcp ? 'tcp' : 'udp', address, port, isDual }
}

/** The number that an option of a socket has. */
function optionOf(libc: Libc, fd: number, level: number, option: number): number | undefined {
  const value = new Int32Array(1)
  const octets = new Uint8Array(value.buffer)
  return libc.getsockopt(fd, level, option, octets, new Uint8Array(Int32Array.of(4).buffer)) < 0 ? undefined : value[0]
}

const TABLES = [
  ['udp', 'udp'],
  ['udp6', 'udp'],
  ['tcp', 'tcp'],
  ['tcp6', 'tcp']
] as const
/** As the tables of the kernel have it. */
const LISTENS = '0A'
const UNCONNECTED = '07'

/**
 * Finds it in Linux's tables of sockets, for want of a way to ask. They have what is bound and, of TCP, listens or is connected, in this
 * process's network; and not the interface of a link-local address, nor whether a socket of `::` takes IPv4: that is how it is here
 * where nobody says otherwise.
 */
export function kindByProc(fd: number): Kind {
  try {
    const stat = fstatSync(fd)
    return stat.isSocket() ? kindOf(String(stat.ino)) : NO_SOCKET
  } catch {
    return 'closed'
  }
}

function kindOf(inode: string): Kind {
  for (const [table, transport] of TABLES) {
    const [, local = '', , state] = rowsOf(table).find((columns) => columns[9] === inode) ?? []
    if (state === undefined) continue
    return state === (transport === 'tcp' ? LISTENS : UNCONNECTED) ? boundTo(transport, local) : CONNECTED
  }
  return rowsOf('unix').some((columns) => columns[6] === inode) ? UNIX : NOT_LISTED
}

function rowsOf(table: string): string[][] {
  try {
    const rows = readFileSync(`/proc/self/net/${table}`, 'latin1').split('\n').slice(1)
    return rows.map((row) => row.trim().split(/\s+/))
  } catch {
    // A kernel without IPv6 has no table of it.
    return []
  }
}

/** What `0100007F:0035` says: the words of the address in the machine's order. */
function boundTo(transport: 'udp' | 'tcp', local: string): Kind {
  const [words = '', digits = ''] = local.split(':')
  const octets = Buffer.from(words, 'hex')
  if (endianness() === 'LE') octets.swap32()
  const isV6 = octets.length > 4
  const address = isV6 ? ipv6Text(octets) : ipv4Text(octets)
  if (isV6 && isLinkLocal(octets, 0)) return 'it is bound to a link-local address, whose interface only the package koffi could tell'
  if (address.startsWith('::ffff:')) return MAPPED
  return { transport, address, port: Number.parseInt(digits, 16), isDual: isV6 && isWildcard(address) && isDualHere() }
}

/** Whether sockets of `::` take IPv4 where nobody says otherwise. */
function isDualHere(): boolean {
  try {
    return readFileSync('/proc/sys/net/ipv6/bindv6only', 'latin1').trim() === '0'
  } catch {
    return false
  }
}
