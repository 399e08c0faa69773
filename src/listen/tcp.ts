import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import { hold } from '../http/held.js'
import { isWildcard, shownEndpoint, unmapped } from './addresses.js'
import { Connection } from './connection.js'
import { STREAM_LIMITS, type StreamLimits } from './limits.js'
import { turn, untilQuiet } from './quiet.js'
import { ListenError, type Listener, type ListenerCounters, type Receive } from './slot.js'

/** For connections that wait in the kernel when the listener closes. */
const ACCEPT_MS = 250

/** Listens for connections on one address. Port 0 takes a free one. `fd` is a socket that listens there already, and becomes the listener's own. */
export async function openTcp(
  address: string,
  port: number,
  receive: Receive,
  counters: ListenerCounters,
  limits: StreamLimits = STREAM_LIMITS,
  endpointAddress = address,
  fd?: number
): Promise<Listener> {
  const listener = new TcpListener(address, receive, counters, limits, endpointAddress)
  await listener.open(port, fd)
  return listener
}

class TcpListener implements Listener {
  readonly address: string
  readonly transport = 'tcp' as const
  port = 0
  #receive: Receive
  readonly #counters: ListenerCounters
  readonly #limits: StreamLimits
  #endpointAddress: string
  #endpoint = ''
  readonly #server: Server
  readonly #connections = new Set<Connection>()

  constructor(address: string, receive: Receive, counters: ListenerCounters, limits: StreamLimits, endpointAddress: string) {
    this.address = address
    this.#endpointAddress = endpointAddress
    this.#receive = receive
    this.#counters = counters
    this.#limits = limits
    this.#server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => this.#accept(socket))
  }

  async open(port: number, fd?: number): Promise<void> {
    this.#server.listen(fd === undefined ? { host: this.address, port, ipv6Only: this.address.includes(':'), exclusive: true } : { fd })
    try {
      await once(this.#server, 'listening')
    } catch (error) {
      throw new ListenError(this.address, port, 'tcp', error as NodeJS.ErrnoException)
    }
    hold(this.#server)
    // Running out of descriptors must not end the server: connections wait in the kernel's queue.
    this.#server.on('error', () => this.#counters.refusedConnections++)
    this.port = (this.#server.address() as { port: number }).port
    this.#endpoint = shownEndpoint(this.#endpointAddress, this.port)
  }

  get descriptor(): number | undefined {
    // Node has no other way to it; its own cluster module goes this one.
    return (this.#server as unknown as { readonly _handle?: { readonly fd: number } | null })._handle?.fd
  }

  /** Connections that are open already go over to it as well; what they call the endpoint stays. */
  serve(receive: Receive, endpoint: string): void {
    this.#receive = receive
    this.#endpointAddress = endpoint
    this.#endpoint = shownEndpoint(endpoint, this.port)
  }

  #accept(socket: Socket): void {
    const { remoteAddress = '', remotePort: port } = socket
    const address = unmapped(remoteAddress)
    if (address === '' || port === undefined || !this.#makeRoom(address)) {
      this.#counters.refusedConnections++
      socket.on('error', () => {})
      socket.destroy()
      return
    }
    const local = isWildcard(this.address) ? unmapped(socket.localAddress ?? this.address) : this.address
    const client = { address, port, transport: 'tcp', local, endpoint: this.#endpoint } as const
    const counted: Receive = (slot) => {
      this.#counters.received++
      // A Set keeps the order of its members: the one that has asked last stands last.
      if (this.#connections.delete(connection)) this.#connections.add(connection)
      this.#receive(slot)
    }
    const connection = new Connection(socket, client, counted, this.#limits, () => this.#connections.delete(connection))
    this.#connections.add(connection)
  }

  /** Whether one more connection of this client may be had; the one idle for longest makes room where the listener is full. */
  #makeRoom(address: string): boolean {
    let ofClient = 0
    for (const { client } of this.#connections) if (client.address === address) ofClient++
    if (ofClient >= this.#limits.connectionsPerClient) return false
    if (this.#connections.size < this.#limits.connections) return true
    for (const connection of this.#connections) {
      if (!connection.isIdle) continue
      // Its own `close` comes only after all that are being accepted now.
      this.#connections.delete(connection)
      connection.destroy()
      return true
    }
    return false
  }

  /** Connections that the kernel has made already, and what has come on them, are taken too. */
  async close(graceMs: number): Promise<void> {
    const timer = setTimeout(() => {
      for (const connection of this.#connections) connection.destroy()
    }, graceMs)
    if (graceMs > 0) await untilQuiet(this.#server, 'connection', performance.now() + Math.min(graceMs, ACCEPT_MS))
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()))
    if (graceMs > 0) await turn()
    for (const connection of this.#connections) connection.drain()
    await closed
    clearTimeout(timer)
  }
}
