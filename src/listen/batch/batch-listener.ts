import { isWildcard, shownEndpoint } from '../addresses.js'
import { InFlight } from '../in-flight.js'
import { turn } from '../quiet.js'
import { type BoundSocket, ListenError, type Listener, type ListenerCounters, type Receive } from '../slot.js'
import type { AskedSocket } from './batch-slot.js'
import { BATCH, type Incoming } from './incoming.js'
import type { Libc, PollEvents, PollHandle } from './libc.js'
import { type OutgoingBuffer, type OutgoingBuffers, SendQueue } from './outgoing.js'
import { openSocket, type PortSharing, tellAsked } from './socket.js'

/** How long a turn goes on reading where there is always more, in milliseconds. */
const TURN_MS = 1

/**
 * How a listener gets its socket: bound anew, see {@link PortSharing}; or a bound one. Of one that is bound to every address, each reply
 * leaves from the address that was asked.
 */
export type SocketFrom = PortSharing | BoundSocket

/** What the sockets of a thread have in common. */
export interface Shared {
  readonly libc: Libc
  readonly incoming: Incoming
  /** That of sockets that are bound to every address. */
  readonly incomingOfWildcards: Incoming
  readonly buffers: OutgoingBuffers
  /** The descriptors that are open. */
  readonly descriptors: Set<number>
  /** What has the event loop wait for sockets. */
  readonly watches: Set<PollHandle>
}

/**
 * Listens for datagrams on one address, and moves as many as there are with one system call each way.
 *
 * The event loop waits for the socket as for any other. Each of its turns that finds it readable reads a batch, or a few where there is
 * that much, and sends the replies to each with those that came late meanwhile; so a flood leaves the other sockets and the timers their
 * turn, and a quiet socket costs nothing.
 */
export class BatchListener implements Listener, AskedSocket {
  readonly address: string
  readonly transport = 'udp' as const
  readonly port: number
  endpoint: string
  readonly #shared: Shared
  readonly #fd: number
  readonly #isOwn: boolean
  readonly #incoming: Incoming
  readonly #queue: SendQueue
  readonly #watch: PollHandle
  readonly #counters: ListenerCounters
  readonly #inFlight = new InFlight()
  #receive: Receive | undefined
  #arrived = 0
  #isClosed = false
  #isReadable = false
  #isReading = false
  #isTurnComing = false
  /** Whether the kernel has no room for replies: the event loop tells when it has. */
  #isFull = false
  #awaitsRoom = false

  /** Throws ListenError. */
  constructor(
    shared: Shared,
    address: string,
    port: number,
    receive: Receive,
    counters: ListenerCounters,
    endpoint: string,
    from: SocketFrom | undefined
  ) {
    let fd = -1
    this.#isOwn = typeof from !== 'object' || from.isOwn
    const isForAll = typeof from === 'object' && isWildcard(address)
    try {
      ;({ fd, port: this.port } = typeof from === 'object' ? { ...from, port } : openSocket(shared.libc, address, port, from))
      if (isForAll) tellAsked(shared.libc, fd, address, port)
      this.#watch = shared.libc.watch(fd, { readable: true, writable: false }, this.#woken)
    } catch (error) {
      if (fd >= 0 && this.#isOwn) shared.libc.close(fd)
      throw new ListenError(address, port, 'udp', error as NodeJS.ErrnoException)
    }
    this.#fd = fd
    shared.watches.add(this.#watch)
    if (this.#isOwn) shared.descriptors.add(fd)
    this.address = address
    this.endpoint = shownEndpoint(endpoint, this.port)
    this.#shared = shared
    this.#receive = receive
    this.#counters = counters
    this.#incoming = isForAll ? shared.incomingOfWildcards : shared.incoming
    this.#queue = new SendQueue(shared.libc, this.#fd, shared.buffers, counters, isForAll)
  }

  get descriptor(): number {
    return this.#fd
  }

  serve(receive: Receive, endpoint: string): void {
    if (this.#receive === undefined) return
    this.#receive = receive
    this.endpoint = shownEndpoint(endpoint, this.port)
  }

  take(size: number): OutgoingBuffer {
    return this.#shared.buffers.take(size)
  }

  giveBack(buffer: OutgoingBuffer): void {
    this.#shared.buffers.giveBack(buffer)
  }

  reply(buffer: OutgoingBuffer, length: number, name: Uint8Array, at: number): void {
    if (this.#isClosed) {
      // Too late: the listener was closed while this was being answered.
      this.#counters.unsent++
      this.giveBack(buffer)
    } else {
      this.#queue.add(buffer, length, name, at)
      if (this.#queue.length >= BATCH) this.#flush()
      if (!this.#isReading && !this.#isFull) this.#turnSoon()
    }
    this.#inFlight.end()
  }

  dropped(): void {
    this.#inFlight.end()
  }

  readonly #woken = (status: number, { readable, writable }: PollEvents): void => {
    // The event loop does not wait any more for a socket with an error, which the next read takes from it.
    if (status < 0 && !this.#isClosed) this.#waitFor(this.#isFull)
    if (readable || status < 0) this.#isReadable = true
    if (writable) this.#isFull = false
    this.#turnSoon()
  }

  #turnSoon(): void {
    if (this.#isTurnComing) return
    this.#isTurnComing = true
    setImmediate(this.#takeTurn)
  }

  readonly #takeTurn = (): void => {
    this.#isTurnComing = false
    if (this.#isClosed) return
    if (this.#isReadable) this.#readOn()
    else this.#flush()
  }

  /** Reads as long as there is more than a batch holds, for what others can wait: the way through the event loop costs as much as some queries. */
  #readOn(): void {
    if (this.#read() < BATCH) return
    const end = performance.now() + TURN_MS
    while (performance.now() < end && this.#read() === BATCH);
  }

  /** Reads a batch, has it answered and sends what is answered at once; how many there were. */
  #read(): number {
    this.#isReadable = false
    const incoming = this.#incoming
    const count = incoming.read(this.#fd)
    this.#counters.received += count
    this.#arrived += count
    this.#isReading = true
    try {
      for (let index = 0; index < count; index++) this.#deliver(incoming, index)
    } finally {
      this.#isReading = false
      if (!this.#isClosed) this.#flush()
    }
    return count
  }

  #deliver(incoming: Incoming, index: number): void {
    const slot = incoming.slot(index)
    slot.begin(this, incoming.length(index))
    // Nobody can be answered at port 0.
    if (slot.client.port === 0 || this.#receive === undefined) return
    this.#inFlight.begin()
    this.#receive(slot)
    if (!slot.release()) incoming.renew(index)
  }

  #flush(): void {
    if (this.#isFull) return
    this.#isFull = !this.#queue.flush()
    if (this.#isFull !== this.#awaitsRoom) this.#waitFor(this.#isFull)
  }

  #waitFor(writable: boolean): void {
    this.#awaitsRoom = writable
    this.#watch.start({ readable: true, writable }, this.#woken)
  }

  /** Reads until one whole turn of the event loop has brought nothing. */
  async #untilQuiet(deadline: number): Promise<void> {
    // The first turn is one that has begun already; and this may be the call of a handler, within a batch, and there is memory for one.
    await turn()
    for (let before = -1; before !== this.#arrived && performance.now() < deadline; ) {
      before = this.#arrived
      await turn()
      this.#read()
    }
  }

  /** What the kernel holds is read and answered too; so is what comes until the last reply is out. */
  async close(graceMs: number): Promise<void> {
    const deadline = performance.now() + graceMs
    if (graceMs > 0) await this.#untilQuiet(deadline)
    await this.#inFlight.settled(() => this.#queue.length === 0, deadline)
    this.#receive = undefined
    this.#isClosed = true
    this.#queue.clear()
    this.#watch.close()
    this.#shared.watches.delete(this.#watch)
    if (!this.#isOwn) return
    this.#shared.libc.close(this.#fd)
    this.#shared.descriptors.delete(this.#fd)
  }
}
