import { createSocket, type RemoteInfo, type Socket } from 'node:dgram'
import { shownAddress } from '../query.js'
import { SocketExchange } from './exchange.js'

/** Upstreams are addresses: asking the resolver of the C library would cost a thread. */
function lookup(address: string, _options: unknown, found: (error: null, address: string, family: number) => void): void {
  found(null, address, address.includes(':') ? 6 : 4)
}

/**
 * A question over UDP on a socket of its own: the kernel picks a port that nobody can foresee, lets in only what comes from the
 * upstream, and tells when nobody is there. What does not match is passed over until the time is up (RFC 5452 §9.1).
 */
export class UdpExchange extends SocketExchange {
  #socket: Socket | undefined
  #peer: { address: string; port: number } | undefined

  protected open(): void {
    const { address, port } = this.asking.upstream
    const socket = createSocket({ type: address.includes(':') ? 'udp6' : 'udp4', lookup: lookup as never })
    this.#socket = socket
    socket.on('error', (error) => this.fail(error))
    socket.on('message', (octets, from) => this.#arrived(octets, from))
    socket.connect(port, address, ((error?: Error) => this.#connected(socket, error)) as () => void)
  }

  protected local(): string | undefined {
    if (this.#socket === undefined || this.#peer === undefined) return undefined
    const { address, port } = this.#socket.address()
    return shownAddress(address, port)
  }

  protected close(): void {
    this.#socket?.close()
  }

  #connected(socket: Socket, error: Error | undefined): void {
    if (this.isOver) return
    if (error !== undefined) return this.fail(error)
    this.#peer = socket.remoteAddress()
    socket.send(this.asking.octets, (unsent) => {
      if (unsent !== null) this.fail(unsent)
    })
  }

  #arrived(octets: Buffer, { address, port }: RemoteInfo): void {
    // Between binding and connecting, the socket is open to everybody for a moment.
    const isFromUpstream = address === this.#peer?.address && port === this.#peer.port
    if (!isFromUpstream || !this.take(octets)) this.asking.ignored?.()
  }
}
