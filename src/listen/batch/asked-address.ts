/** Which of our addresses was asked, for sockets that are bound to every address: the kernel says so of each datagram, and is told for each reply. */
import { ipv4Text } from '../../message/address.js'
import { unmapped } from '../addresses.js'
import { BatchClient } from './batch-slot.js'
import { CONTROL_AT, IP_PKTINFO, IPPROTO_IP, IPPROTO_IPV6, IPV6_PKTINFO, type MessageHeaders, NAME_AND_CONTROL_OCTETS } from './layout.js'
import type { Libc } from './libc.js'
import { ipv6At, isLinkLocal } from './sockaddr.js'

/** Where the parts of a cmsghdr with a pktinfo are, counted from the sockaddr before it. */
const LEVEL_AT = CONTROL_AT + 8
const TYPE_AT = CONTROL_AT + 12
const INFO_AT = CONTROL_AT + 16
const IPV4_INTERFACE_AT = INFO_AT
const IPV4_LOCAL_AT = INFO_AT + 4
const IPV6_LOCAL_AT = INFO_AT
const IPV6_INTERFACE_AT = INFO_AT + 16

/** Has what the kernel has told of message `index` be what it is to be told for the reply, and makes room for the next. */
export function readyControl(headers: MessageHeaders, index: number): void {
  const { names } = headers
  const at = headers.nameAt(index)
  // The reply may go by another interface than the one that the question has come by, but for addresses of one interface alone.
  if (headers.controlLength(index) === 0) names[at + CONTROL_AT] = 0
  else if (isOf(names, at, IPPROTO_IP, IP_PKTINFO)) names.fill(0, at + IPV4_INTERFACE_AT, at + IPV4_INTERFACE_AT + 4)
  // Whoever has bound the socket may have asked for something else, which the kernel does not take back.
  else if (!isOf(names, at, IPPROTO_IPV6, IPV6_PKTINFO)) names[at + CONTROL_AT] = 0
  else if (!isLinkLocal(names, at + IPV6_LOCAL_AT)) names.fill(0, at + IPV6_INTERFACE_AT, at + IPV6_INTERFACE_AT + 4)
  headers.resetControl(index)
}

/** Whether the cmsghdr behind the sockaddr at `at` is of this kind. */
function isOf(names: Uint8Array, at: number, level: number, type: number): boolean {
  return names[at + LEVEL_AT] === level && names[at + TYPE_AT] === type
}

/** Puts our address that stands behind the sockaddr at `at` behind that of message `index`, which is to be sent. */
export function putControl(headers: MessageHeaders, index: number, name: Uint8Array, at: number): void {
  const length = name[at + CONTROL_AT]!
  const to = headers.nameAt(index) + CONTROL_AT
  for (let i = 0; i < length; i++) headers.names[to + i] = name[at + CONTROL_AT + i]!
  headers.setControlLength(index, length)
}

/** Who asked a socket that is bound to every address, and perhaps takes IPv4 beside IPv6: such a client has its IPv4 address. */
export class WildcardClient extends BatchClient {
  readonly #libc: Libc

  constructor(libc: Libc, names: Uint8Array, at: number) {
    super(libc, names, at)
    this.#libc = libc
  }

  override get address(): string {
    return unmapped(super.address)
  }

  override get local(): string {
    const { names, at } = this
    if (names[at + CONTROL_AT] === 0) return super.local
    return names[at + LEVEL_AT] === IPPROTO_IPV6
      ? unmapped(ipv6At(this.#libc, names, at + IPV6_LOCAL_AT))
      : ipv4Text(names, at + IPV4_LOCAL_AT)
  }

  override get end(): number {
    return this.at + NAME_AND_CONTROL_OCTETS
  }
}
