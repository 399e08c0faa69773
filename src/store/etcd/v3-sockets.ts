import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'

/** What grpc-js makes its connections with, as far as it is changed here. */
export interface Connector {
  /** Waited for right before a socket is made. */
  waitForReady(): Promise<void>
  /** Makes TLS of a socket that is connected, where that is wanted. */
  connect(socket: Socket): Promise<{ readonly socket: Socket }>
  connectionOptions?: { servername?: string; readonly host?: string }
}

/** Where Node tells of each socket to a server. */
const CREATED = 'net.client.socket'

/**
 * The sockets of a client. grpc-js never gives up on one: it stays open while its server does not answer, also where nobody waits for it
 * any more and the channel is closed. A server that is frozen would cost one with each try, and the process would not end.
 */
export class Sockets {
  readonly #open = new Set<Socket>()
  readonly #connectMs: number
  #isClosed = false

  /** @param connectMs how long a connection may take until the server has said something on it */
  constructor(connectMs: number) {
    this.#connectMs = connectMs
  }

  /** Takes over what the connector makes. */
  watch(connector: Connector): void {
    const connect = connector.connect.bind(connector)
    connector.waitForReady = () => this.#nextIsOurs()
    connector.connect = async (socket) => {
      const made = await connect(socket)
      this.#adopt(made.socket)
      return made
    }
  }

  close(): void {
    this.#isClosed = true
    for (const socket of this.#open) socket.destroy()
  }

  /**
   * grpc-js makes the socket before anything else happens in this thread, since nothing but promises that are fulfilled lies between. It
   * has no other way to know which one that is, or to make it.
   */
  #nextIsOurs(): Promise<void> {
    return new Promise((resolve) => {
      setImmediate(() => {
        const take = (message: unknown): void => {
          unsubscribe(CREATED, take)
          this.#adopt((message as { readonly socket: Socket }).socket)
        }
        subscribe(CREATED, take)
        setImmediate(() => unsubscribe(CREATED, take))
        resolve()
      })
    })
  }

  #adopt(socket: Socket): void {
    if (this.#isClosed) {
      // Not at once: it has yet to be told to connect, which would call it back to life.
      setImmediate(() => socket.destroy())
      return
    }
    const before = socket.bytesRead
    const timer = setTimeout(() => {
      if (socket.bytesRead === before) socket.destroy()
    }, this.#connectMs).unref()
    this.#open.add(socket)
    socket.once('close', () => {
      clearTimeout(timer)
      this.#open.delete(socket)
    })
  }
}
