import type { ListenerCounters } from '../slot.js'
import { putControl } from './asked-address.js'
import { EAGAIN, EINTR, ENOBUFS, ENOMEM, halves, MessageHeaders, MSG_DONTWAIT } from './layout.js'
import type { Libc } from './libc.js'
import { sockaddrLength } from './sockaddr.js'

/** Larger than any reply over UDP: `bufsize` allows 4096. */
const OUTGOING_OCTETS = 4096
/** How many idle buffers are kept. */
const KEPT_BUFFERS = 512
/** How many replies may wait for a kernel that has no room for them. */
const MOST_WAITING = 512

/** Memory for one reply. */
export interface OutgoingBuffer {
  readonly octets: Buffer
  /** Its address, in two halves. */
  readonly low: number
  readonly high: number
}

/** Buffers for replies: one belongs to whoever took it, until it is given back. */
export class OutgoingBuffers {
  readonly #libc: Libc
  readonly #free: OutgoingBuffer[] = []

  constructor(libc: Libc) {
    this.#libc = libc
  }

  take(size: number): OutgoingBuffer {
    if (size > OUTGOING_OCTETS) return this.#make(size)
    return this.#free.pop() ?? this.#make(OUTGOING_OCTETS)
  }

  giveBack(buffer: OutgoingBuffer): void {
    if (buffer.octets.length === OUTGOING_OCTETS && this.#free.length < KEPT_BUFFERS) this.#free.push(buffer)
  }

  #make(size: number): OutgoingBuffer {
    const octets = Buffer.allocUnsafeSlow(size)
    const [low, high] = halves(this.#libc.addressOf(octets))
    return { octets, low, high }
  }
}

/** The replies of one socket, in order, until the kernel has them. Each is sent once or counted as unsent. */
export class SendQueue {
  readonly #libc: Libc
  readonly #fd: number
  readonly #pool: OutgoingBuffers
  readonly #counters: ListenerCounters
  readonly #headers: MessageHeaders
  readonly #isWildcard: boolean
  /** A ring, as the headers are: `#count` of them, from `#first` on. */
  readonly #buffers: (OutgoingBuffer | undefined)[] = Array.from({ length: MOST_WAITING }, () => undefined)
  #first = 0
  #count = 0

  /** Of a socket that is bound to every address each reply leaves from the one that was asked. */
  constructor(libc: Libc, fd: number, pool: OutgoingBuffers, counters: ListenerCounters, isWildcard = false) {
    this.#libc = libc
    this.#fd = fd
    this.#pool = pool
    this.#counters = counters
    this.#isWildcard = isWildcard
    this.#headers = new MessageHeaders(libc, MOST_WAITING, isWildcard)
  }

  /** How many replies wait. */
  get length(): number {
    return this.#count
  }

  /** Takes over a buffer whose first `length` octets go to the sockaddr at `at`. Where too many wait, it is lost. */
  add(buffer: OutgoingBuffer, length: number, name: Uint8Array, at: number): void {
    if (this.#count === MOST_WAITING) return this.#lose(buffer)
    const index = (this.#first + this.#count++) % MOST_WAITING
    this.#buffers[index] = buffer
    this.#headers.setMemory(index, buffer.low, buffer.high, length)
    const octets = sockaddrLength(name, at)
    this.#headers.setNameLength(index, octets)
    const { names } = this.#headers
    // As quick as a copy of so few octets gets: `set` needs a view, which is an object.
    for (let i = 0, to = this.#headers.nameAt(index); i < octets; i++) names[to + i] = name[at + i]!
    if (this.#isWildcard) putControl(this.#headers, index, name, at)
  }

  /** Gives the kernel what waits; false where it has no room for all of it. */
  flush(): boolean {
    let isRepeated = false
    while (this.#count > 0) {
      const sent = this.#libc.sendmmsg(
        this.#fd,
        this.#headers.at(this.#first),
        Math.min(this.#count, MOST_WAITING - this.#first),
        MSG_DONTWAIT
      )
      if (sent > 0) {
        this.#sent(sent)
        isRepeated = false
        continue
      }
      const errno = this.#libc.errno()
      if (errno === EAGAIN || errno === ENOBUFS || errno === ENOMEM) return false
      if (errno === EINTR) continue
      // It may be about an earlier one, told by ICMP: so this one is tried again. What fails twice is at fault, and those behind it go on.
      if (isRepeated) this.#loseFirst()
      isRepeated = !isRepeated
    }
    this.#first = 0
    return true
  }

  /** Gives up what waits. */
  clear(): void {
    while (this.#count > 0) this.#loseFirst()
  }

  #sent(count: number): void {
    for (let i = 0; i < count; i++) this.#pool.giveBack(this.#shift())
  }

  #loseFirst(): void {
    this.#lose(this.#shift())
  }

  #lose(buffer: OutgoingBuffer): void {
    this.#counters.unsent++
    this.#pool.giveBack(buffer)
  }

  #shift(): OutgoingBuffer {
    const buffer = this.#buffers[this.#first]!
    this.#buffers[this.#first] = undefined
    this.#first = (this.#first + 1) % MOST_WAITING
    this.#count--
    return buffer
  }
}
