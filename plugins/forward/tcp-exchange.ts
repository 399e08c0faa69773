import { connect, type Socket } from 'node:net'
import type { Clock } from 'skein/plugin'
import { type Asking, Exchange } from './exchange.js'
import { endText } from './failure-text.js'
import { StreamMessage } from './stream-message.js'

/** A question over TCP on a connection of its own (RFC 7766). */
export class TcpExchange extends Exchange {
  protected readonly transport = 'tcp'
  readonly #socket: Socket
  readonly #message = new StreamMessage()
  #local: string | undefined

  constructor(asking: Asking, clock: Clock) {
    super(asking, clock)
    const { address: host, port } = asking.upstream
    this.#socket = connect({ host, port, noDelay: true })
    this.#socket.on('connect', () => {
      // A closed socket cannot be asked any more.
      const { localAddress = '', localPort = 0 } = this.#socket
      this.#local = endText(localAddress, localPort)
    })
    this.#socket.on('error', (error) => this.fail(error))
    this.#socket.on('data', (chunk: Buffer) => this.#arrived(chunk))
    this.#socket.on('close', () => this.fail('EOF', true))
    // One write, so that the prefix does not travel alone (RFC 7766 §8).
    this.#socket.write(Buffer.concat([Uint8Array.of(asking.octets.length >> 8, asking.octets.length & 0xff), asking.octets]))
  }

  protected local(): string | undefined {
    return this.#local
  }

  protected close(): void {
    this.#socket.destroy()
  }

  #arrived(chunk: Buffer): void {
    const octets = this.#message.add(chunk)
    // The connection is ours alone: nothing else may come on it.
    if (octets !== undefined && !this.take(octets)) this.fail('a reply to another question', true)
  }
}
