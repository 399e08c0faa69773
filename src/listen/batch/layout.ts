/**
 * Numbers and memory layout of Linux on 64-bit little-endian machines, the same for x86-64 and arm64, glibc and musl.
 *
 * ```
 * struct mmsghdr, 64 octets                    struct iovec, 16 octets      struct sockaddr_in, 16     struct sockaddr_in6, 28
 *   0 void *msg_name       → a sockaddr          0 void *iov_base             0 u16 family               0 u16 family
 *   8 u32   msg_namelen                          8 u64   iov_len              2 u16 port, big-endian     2 u16 port, big-endian
 *  16 void *msg_iov        → an iovec                                         4 u8  address[4]           4 u32 flow label
 *  24 u64   msg_iovlen                                                                                   8 u8  address[16]
 *  32 void *msg_control, 40 u64 msg_controllen                                                          24 u32 scope: an interface
 *  48 u32   msg_flags
 *  56 u32   msg_len: the datagram's octets
 *
 * struct cmsghdr, 16                           struct in_pktinfo, 12            struct in6_pktinfo, 20
 *   0 u64 cmsg_len: it and what follows          0 u32 an interface               0 u8  address[16]
 *   8 u32 cmsg_level                             4 u8  our address[4]            16 u32 an interface
 *  12 u32 cmsg_type                              8 u8  the destination[4]
 * ```
 *
 * Structures that the kernel reads are written as words of 32 bits, so that no BigInt is made for a datagram.
 */
import type { Libc } from './libc.js'

/** The kernel's numbers, by their names in C. */
export const AF_INET = 2
export const AF_INET6 = 10
/** SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC: no program that is started gets it. */
export const SOCK_DGRAM_ALONE = 2 | 0o4000 | 0o2000000
/** The same of SOCK_STREAM. */
export const SOCK_STREAM_ALONE = 1 | 0o4000 | 0o2000000
export const SOL_SOCKET = 1
export const SO_REUSEADDR = 2
export const SO_SNDBUF = 7
export const SO_RCVBUF = 8
export const SO_REUSEPORT = 15
/** What a socket is, for who has its number alone. */
export const SO_TYPE = 3
export const SO_ACCEPTCONN = 30
export const SO_PROTOCOL = 38
export const SO_DOMAIN = 39
export const SOCK_STREAM = 1
export const IPPROTO_TCP = 6
export const IPPROTO_UDP = 17
export const IPPROTO_MPTCP = 262
export const AF_UNIX = 1
export const IPPROTO_IP = 0
/** Has each datagram come with our address that it was sent to. */
export const IP_PKTINFO = 8
export const IPPROTO_IPV6 = 41
export const IPV6_V6ONLY = 26
export const IPV6_RECVPKTINFO = 49
export const IPV6_PKTINFO = 50
export const MSG_DONTWAIT = 0x40
export const F_GETFD = 1
export const F_SETFD = 2
export const FD_CLOEXEC = 1
export const F_DUPFD_CLOEXEC = 1030
/** What `errno` may be. */
export const EINTR = 4
export const EAGAIN = 11
export const ENOMEM = 12
export const ENOBUFS = 105

/** How long addresses are. */
export const SOCKADDR_IN_OCTETS = 16
export const SOCKADDR_IN6_OCTETS = 28
/** One sockaddr after another, each at a multiple of eight. */
const NAME_OCTETS = 32
/** Behind it, where a message is told of the address that was asked: a cmsghdr with an in_pktinfo, of 28 octets, or an in6_pktinfo, of 36. */
const CONTROL_OCTETS = 40
/** Where that begins, counted from the address. */
export const CONTROL_AT = NAME_OCTETS
/** An address and what is behind it. */
export const NAME_AND_CONTROL_OCTETS = NAME_OCTETS + CONTROL_OCTETS
const HEADER_OCTETS = 64
const HEADER_WORDS = HEADER_OCTETS / 4
const VECTOR_WORDS = 4

/** A number of messages as recvmmsg and sendmmsg take them: a header each, with one address and one piece of memory; and where that is wanted, our own address. */
export class MessageHeaders {
  /** The addresses; the one of message `index` begins at `nameAt(index)`. */
  readonly names: Uint8Array
  readonly #headers: Uint32Array
  readonly #vectors: Uint32Array
  readonly #at: readonly bigint[]
  readonly #nameOctets: number

  constructor(libc: Libc, count: number, hasControl = false) {
    this.#nameOctets = hasControl ? NAME_AND_CONTROL_OCTETS : NAME_OCTETS
    this.names = new Uint8Array(count * this.#nameOctets)
    this.#headers = new Uint32Array(count * HEADER_WORDS)
    this.#vectors = new Uint32Array(count * VECTOR_WORDS)
    const [names, headers, vectors] = [this.names, this.#headers, this.#vectors].map((memory) => libc.addressOf(memory)) as [
      bigint,
      bigint,
      bigint
    ]
    this.#at = Array.from({ length: count }, (_, index) => headers + BigInt(index * HEADER_OCTETS))
    for (let index = 0; index < count; index++) {
      const words = index * HEADER_WORDS
      const name = names + BigInt(this.nameAt(index))
      writePointer(this.#headers, words, name)
      if (hasControl) writePointer(this.#headers, words + 8, name + BigInt(CONTROL_AT))
      writePointer(this.#headers, words + 4, vectors + BigInt(index * VECTOR_WORDS * 4))
      this.#headers[words + 6] = 1
    }
  }

  /** Where the header of message `index` begins, and those after it. */
  at(index: number): bigint {
    return this.#at[index]!
  }

  /** The memory that message `index` is read into or sent from; the address is in two halves. */
  setMemory(index: number, low: number, high: number, octets: number): void {
    const words = index * VECTOR_WORDS
    this.#vectors[words] = low
    this.#vectors[words + 1] = high
    this.#vectors[words + 2] = octets
  }

  /** How long the address of message `index` is, or may be: the kernel changes it to what it has written. */
  setNameLength(index: number, octets: number): void {
    this.#headers[index * HEADER_WORDS + 2] = octets
  }

  /** Where the address of message `index` begins. */
  nameAt(index: number): number {
    return index * this.#nameOctets
  }

  /** Has as much room as there is for our address that message `index` comes to. */
  resetControl(index: number): void {
    this.setControlLength(index, CONTROL_OCTETS)
  }

  /** How long our address of message `index` is, its cmsghdr included; 0 where there is none. */
  setControlLength(index: number, octets: number): void {
    this.#headers[index * HEADER_WORDS + 10] = octets
  }

  controlLength(index: number): number {
    return this.#headers[index * HEADER_WORDS + 10]!
  }

  /** The octets of the datagram that was received as message `index`. */
  length(index: number): number {
    return this.#headers[index * HEADER_WORDS + 14]!
  }
}

/** A pointer's halves. */
export function halves(pointer: bigint): [low: number, high: number] {
  return [Number(pointer & 0xffffffffn), Number(pointer >> 32n)]
}

function writePointer(words: Uint32Array, at: number, pointer: bigint): void {
  const [low, high] = halves(pointer)
  words[at] = low
  words[at + 1] = high
}
