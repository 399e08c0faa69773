import { createSocket, type RemoteInfo, type Socket } from 'node:dgram'
import { once } from 'node:events'
import type { Client } from '../query.js'
import { shownEndpoint, unmapped } from './addresses.js'
import { InFlight } from './in-flight.js'
import { untilQuiet } from './quiet.js'
import { type BoundSocket, ListenError, type Listener, type ListenerCounters, type Receive, type Slot } from './slot.js'

/** Larger than any reply over UDP: `bufsize` allows 4096. */
const OUTGOING_OCTETS = 4096
/** How many idle outgoing buffers are kept. */
const KEPT_BUFFERS = 256
/** Room for bursts between two turns of the event loop; the kernel may give less. */
const RECEIVE_BUFFER = 4 * 1024 * 1024

/** Listens for datagrams on one address through `node:dgram`. Port 0 takes a free one. A socket `from` elsewhere becomes the listener's own. */
export async function openUdp(
  address: string,
  port: number,
  receive: Receive,
  counters: ListenerCounters,
  endpointAddress = address,
  from?: BoundSocket
): Promise<Listener> {
  const listener = new UdpListener(address, receive, counters, endpointAddress)
  await listener.open(port, from?.fd)
  return listener
}

class UdpListener implements Listener {
  readonly address: string
  readonly transport = 'udp' as const
  port = 0
  readonly #free: Buffer[] = []
  readonly #counters: ListenerCounters
  readonly #socket: Socket
  readonly #isV6: boolean
  readonly #inFlight = new InFlight()
  #isClosed = false
  #receive: Receive | undefined
  #endpointAddress: string
  #endpoint = ''

  constructor(address: string, receive: Receive, counters: ListenerCounters, endpointAddress: string) {
    this.address = address
    this.#isV6 = address.includes(':')
    this.#endpointAddress = endpointAddress
    this.#receive = receive
    this.#counters = counters
    // Replies go to the addresses of received datagrams: nothing to look up.
    const lookup = (host: string, _options: unknown, found: (error: null, address: string, family: number) => void): void =>
      found(null, host, host.includes(':') ? 6 : 4)
    this.#socket = createSocket({ type: this.#isV6 ? 'udp6' : 'udp4', ipv6Only: this.#isV6, lookup: lookup as never })
    this.#socket.on('message', (octets, from) => this.#arrived(octets, from))
  }

  async open(port: number, fd?: number): Promise<void> {
    try {
      // The look-up above answers at once, and so may the socket: listen for it first.
      const listening = once(this.#socket, 'listening')
      this.#socket.bind(fd === undefined ? { address: this.address, port, exclusive: true } : { fd, exclusive: true })
      await listening
    } catch (error) {
      this.#socket.close()
      throw new ListenError(this.address, port, 'udp', error as NodeJS.ErrnoException)
    }
    // An error of one datagram (an ICMP message for an earlier reply) is nothing to end for.
    this.#socket.on('error', () => this.#counters.unsent++)
    this.port = this.#socket.address().port
    this.#endpoint = shownEndpoint(this.#endpointAddress, this.port)
    // Whoever has bound it has said how large its buffer is to be.
    if (fd !== undefined) return
    try {
      this.#socket.setRecvBufferSize(RECEIVE_BUFFER)
    } catch {
      // The default size serves as well, with smaller bursts.
    }
  }

  serve(receive: Receive, endpoint: string): void {
    if (this.#receive === undefined) return
    this.#receive = receive
    this.#endpointAddress = endpoint
    this.#endpoint = shownEndpoint(endpoint, this.port)
  }

  #arrived(octets: Buffer, from: RemoteInfo): void {
    this.#counters.received++
    // Nobody can be answered at port 0, and Node throws.
    if (from.port === 0 || this.#receive === undefined) return
    this.#inFlight.begin()
    const { port } = from
    const address = this.#isV6 ? unmapped(from.address) : from.address
    this.#receive(new UdpSlot(octets, { address, port, transport: 'udp', local: this.address, endpoint: this.#endpoint }, this))
  }

  /** A buffer for a reply: nobody else has it until it is given back. */
  take(size: number): Buffer {
    return size > OUTGOING_OCTETS ? Buffer.allocUnsafe(size) : (this.#free.pop() ?? Buffer.allocUnsafeSlow(OUTGOING_OCTETS))
  }

  giveBack(buffer: Buffer): void {
    if (buffer.length === OUTGOING_OCTETS && this.#free.length < KEPT_BUFFERS) this.#free.push(buffer)
  }

  /** Sends the first `length` octets of a buffer that was taken. */
  send(buffer: Buffer, length: number, { port, address }: Client): void {
    // Too late: the listener was closed while this was being answered.
    if (this.#isClosed) this.#counters.unsent++
    else {
      const to = this.#isV6 && !address.includes(':') ? `::ffff:${address}` : address
      this.#socket.send(buffer, 0, length, port, to, (error) => {
        if (error) this.#counters.unsent++
        this.giveBack(buffer)
      })
    }
    this.done()
  }

  done(): void {
    this.#inFlight.end()
  }

  /** What the kernel holds is read and answered too; so is what comes until the last reply is out, for Node reads it. */
  async close(graceMs: number): Promise<void> {
    const deadline = performance.now() + graceMs
    if (graceMs > 0) await untilQuiet(this.#socket, 'message', deadline)
    await this.#inFlight.settled(() => this.#socket.getSendQueueCount() === 0, deadline)
    this.#receive = undefined
    this.#isClosed = true
    await new Promise<void>((resolve) => this.#socket.close(() => resolve()))
  }
}

class UdpSlot implements Slot {
  readonly octets: Buffer
  readonly client: Client
  isKept = false
  readonly #listener: UdpListener
  #outgoing: Buffer | undefined

  constructor(octets: Buffer, client: Client, listener: UdpListener) {
    this.octets = octets
    this.client = client
    this.#listener = listener
  }

  get length(): number {
    return this.octets.length
  }

  /** It has its octets to itself. */
  keep(): void {
    this.isKept = true
  }

  reserve(size: number): Buffer {
    if (this.#outgoing === undefined || this.#outgoing.length < size) this.#outgoing = this.#listener.take(size)
    return this.#outgoing
  }

  send(length: number): void {
    this.#listener.send(this.#outgoing!, length, this.client)
  }

  drop(): void {
    if (this.#outgoing !== undefined) this.#listener.giveBack(this.#outgoing)
    this.#listener.done()
  }
}
