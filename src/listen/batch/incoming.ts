import { readyControl, WildcardClient } from './asked-address.js'
import { BatchClient, BatchSlot } from './batch-slot.js'
import { halves, MessageHeaders, MSG_DONTWAIT, SOCKADDR_IN6_OCTETS } from './layout.js'
import type { Libc } from './libc.js'

/** How many datagrams are read at once. */
export const BATCH = 64
/** No datagram is larger, so none is ever cut: only the pages that one has reached are memory of the machine. */
const LARGEST_OCTETS = 65_536
/** Places begin at different parts of a page: at the same one, their first octets would drive each other out of the processor's cache. */
const PLACE_OCTETS = LARGEST_OCTETS + 320

/** The memory that datagrams are read into, one batch at a time: all sockets of a thread have the same, and all that are bound to every address another. */
export class Incoming {
  readonly #libc: Libc
  readonly #headers: MessageHeaders
  /** Whether each datagram comes with our address that it was sent to. */
  readonly #isWildcard: boolean
  readonly #places: readonly Buffer[]
  readonly #slots: BatchSlot[]

  constructor(libc: Libc, isWildcard = false) {
    this.#libc = libc
    this.#isWildcard = isWildcard
    this.#headers = new MessageHeaders(libc, BATCH, isWildcard)
    const memory = Buffer.allocUnsafeSlow(BATCH * PLACE_OCTETS)
    const address = libc.addressOf(memory)
    this.#places = Array.from({ length: BATCH }, (_, index) => memory.subarray(index * PLACE_OCTETS, index * PLACE_OCTETS + LARGEST_OCTETS))
    for (let index = 0; index < BATCH; index++) {
      const [low, high] = halves(address + BigInt(index * PLACE_OCTETS))
      this.#headers.setMemory(index, low, high, LARGEST_OCTETS)
      this.#headers.setNameLength(index, SOCKADDR_IN6_OCTETS)
      if (isWildcard) this.#headers.resetControl(index)
    }
    this.#slots = this.#places.map((_, index) => this.#slotFor(index))
  }

  /** Reads what the kernel holds for a socket, as much as has room; how many datagrams. */
  read(fd: number): number {
    // An error tells of an earlier reply (ICMP), and is gone with that; what has come is read next time.
    const count = this.#libc.recvmmsg(fd, this.#headers.at(0), BATCH, MSG_DONTWAIT, null)
    for (let index = 0; index < count; index++) this.#headers.setNameLength(index, SOCKADDR_IN6_OCTETS)
    if (this.#isWildcard) for (let index = 0; index < count; index++) readyControl(this.#headers, index)
    return Math.max(0, count)
  }

  slot(index: number): BatchSlot {
    return this.#slots[index]!
  }

  /** The octets of a datagram. */
  length(index: number): number {
    return this.#headers.length(index)
  }

  /** Gives a place a new slot. */
  renew(index: number): void {
    this.#slots[index] = this.#slotFor(index)
  }

  #slotFor(index: number): BatchSlot {
    const OneClient = this.#isWildcard ? WildcardClient : BatchClient
    return new BatchSlot(this.#places[index]!, new OneClient(this.#libc, this.#headers.names, this.#headers.nameAt(index)))
  }
}
