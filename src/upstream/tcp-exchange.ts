import { connect, type Socket } from 'node:net'
import { shownAddress } from '../query.js'
import { SocketExchange } from './exchange.js'
import { StreamMessage } from './stream-message.js'

/** A question over TCP on a connection of its own (RFC 7766). */
export class TcpExchange extends SocketExchange {
  #socket: Socket | undefined
  readonly #message = new StreamMessage()
  #local: string | undefined

  protected open(): void {
    const { upstream, octets } = this.asking
    const socket = connect({ host: upstream.address, port: upstream.port, noDelay: true })
    this.#socket = socket
    socket.on('connect', () => {
      // A closed socket cannot be asked any more.
      const { localAddress = '', localPort = 0 } = socket
      this.#local = shownAddress(localAddress, localPort)
    })
    socket.on('error', (error) => this.fail(error))
    socket.on('data', (chunk: Buffer) => this.#arrived(chunk))
    socket.on('close', () => this.fail('EOF', true))
    // One write, so that the prefix does not travel alone (RFC 7766 §8).
    socket.write(Buffer.concat([Uint8Array.of(octets.length >> 8, octets.length & 0xff), octets]))
  }

  protected local(): string | undefined {
    return this.#local
  }

  protected close(): void {
    this.#socket?.destroy()
  }

  #arrived(chunk: Buffer): void {
    const octets = this.#message.add(chunk)
    // The connection is ours alone: nothing else may come on it.
    if (octets !== undefined && !this.take(octets)) this.fail('a reply to another question', true)
  }
}
