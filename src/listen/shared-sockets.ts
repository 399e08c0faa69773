/** The sockets that worker threads take questions from. The main thread opens and closes them, so that a worker which dies takes none along. */

import type { Libc } from './batch/libc.js'
import { openSocket, passBy, share } from './batch/socket.js'
import { copiesOf, type Driver, type Taking } from './own-sockets.js'
import { type Both, type Endpoint, ListenError, type Listener } from './slot.js'

/** The sockets of one worker on one address and port, as it is told of them. */
export interface SharedSocket {
  /** The same as long as they are open. */
  readonly id: number
  readonly address: string
  readonly port: number
  /** The address in the configuration that they are for. */
  readonly endpointAddress: string
  /** Descriptors. The main thread closes them. */
  readonly udp: number
  readonly tcp: number
}

/** Who drives the sockets. */
export interface SocketUsers {
  /** Told that there are others now; resolves when nobody uses one that has gone any more, or after `graceMs`. */
  changed(graceMs: number): Promise<void>
}

type Descriptors = (number | undefined)[]

/** An address and port that all workers listen on. */
interface Port {
  readonly id: number
  readonly address: string
  readonly port: number
  endpointAddress: string
  /** A descriptor for each worker, none for one that has none now. */
  readonly udp: Descriptors
  readonly tcp: Descriptors
}

/** All of them: for each address and port a UDP and a TCP socket for each worker, among which the kernel spreads what comes (SO_REUSEPORT). */
export class SharedSockets implements Driver {
  /** How many workers have sockets. */
  count = 0
  readonly #libc: Libc
  readonly #users: SocketUsers
  readonly #ports = new Map<number, Port>()
  #lastId = 0

  constructor(libc: Libc, users: SocketUsers) {
    this.#libc = libc
    this.#users = users
  }

  /** Those of one worker, by its number from 0 on. */
  of(worker: number): SharedSocket[] {
    return [...this.#ports.values()].flatMap(({ id, address, port, endpointAddress, udp: datagrams, tcp: connections }) => {
      const [udp, tcp] = [datagrams[worker], connections[worker]]
      return udp === undefined || tcp === undefined ? [] : [{ id, address, port, endpointAddress, udp, tcp }]
    })
  }

  /** Closes those of a worker that is gone for a while, so that the others get its share; but for the last ones, which hold the port. */
  withdraw(worker: number): void {
    this.#closeOf(worker, (fds) => !isLast(fds))
  }

  /**
   * Closes all of a worker that is about to be ended amid what it does. Its event loop, which waits for them, would be told once more that
   * one is readable, and there is nothing left that could be told: that ends the process.
   */
  drop(worker: number): void {
    this.#closeOf(worker, () => true)
  }

  #closeOf(worker: number, isGiven: (fds: Descriptors) => boolean): void {
    for (const { udp, tcp } of this.#ports.values()) {
      for (const fds of [udp, tcp]) {
        const fd = fds[worker]
        if (fd === undefined || !isGiven(fds)) continue
        this.#libc.close(fd)
        fds[worker] = undefined
      }
    }
  }

  /**
   * Has the kernel give nothing more to a worker that goes for good: it answers what waits for it, and {@link drop} closes its sockets
   * then. The last of a port are another worker's; where there are to be none, the first go on as this thread's own.
   */
  retire(worker: number): void {
    for (const { address, port, udp, tcp } of this.#ports.values()) {
      if (this.count > 0) for (const fds of [udp, tcp]) if (fds[worker] !== undefined && isLast(fds)) handOver(fds, worker)
      const fd = udp[worker]
      if (fd !== undefined && (this.count > 0 || fd !== firstOf(udp))) passBy(this.#libc, fd, address, port)
    }
  }

  /** Opens what a worker has not. Throws an error as Node's own sockets do. */
  restore(worker: number): void {
    for (const { address, port, udp, tcp } of this.#ports.values()) {
      udp[worker] ??= openSocket(this.#libc, address, port, 'joins', 'udp').fd
      tcp[worker] ??= openSocket(this.#libc, address, port, 'joins', 'tcp').fd
    }
  }

  async open(endpoint: Endpoint, address: string, port: number): Promise<Both> {
    const opened: number[] = []
    try {
      const udp = this.#openAll('udp', address, port, opened)
      const tcp = this.#openAll('tcp', address, udp.port, opened)
      return this.#add({ address, port: udp.port, endpointAddress: endpoint.address, udp: udp.fds, tcp: tcp.fds })
    } catch (error) {
      for (const fd of opened) this.#libc.close(fd)
      throw error
    }
  }

  /** They are the first worker's then; the others open theirs. */
  async take(endpoint: Endpoint, address: string, both: Both): Promise<Taking> {
    const copies = copiesOf(this.#libc, both)
    const [udp, tcp] = copies
    return {
      apply: async () => {
        for (const fd of copies) share(this.#libc, fd, true)
        return this.#add({ address, port: both[0].port, endpointAddress: endpoint.address, udp: [udp], tcp: [tcp] })
      },
      discard: () => {
        for (const fd of copies) this.#libc.close(fd)
      }
    }
  }

  #add(port: Omit<Port, 'id'>): Both {
    const shared: Port = { id: ++this.#lastId, ...port }
    this.#ports.set(shared.id, shared)
    // Whoever opens several, or says more of the change, does so first.
    queueMicrotask(() => void this.#users.changed(0))
    return this.#listenersOf(shared)
  }

  /** The first one takes the port alone, so that it is an error where another server has it. */
  #openAll(transport: 'udp' | 'tcp', address: string, wanted: number, opened: number[]): { port: number; fds: number[] } {
    let port = wanted
    const fds: number[] = []
    try {
      while (fds.length < this.count) {
        const socket = openSocket(this.#libc, address, port, fds.length === 0 ? 'first' : 'joins', transport)
        port = socket.port
        fds.push(socket.fd)
        opened.push(socket.fd)
      }
      return { port, fds }
    } catch (error) {
      throw new ListenError(address, port, transport, error as NodeJS.ErrnoException)
    }
  }

  #listenersOf(shared: Port): Both {
    let closed: Promise<void> | undefined
    const listener = (transport: 'udp' | 'tcp'): Listener => ({
      address: shared.address,
      port: shared.port,
      transport,
      get descriptor() {
        return firstOf(shared[transport])
      },
      serve: (_receive, address) => {
        shared.endpointAddress = address
      },
      close: (graceMs) => {
        closed ??= this.#close(shared, graceMs)
        return closed
      }
    })
    return [listener('udp'), listener('tcp')]
  }

  async #close(shared: Port, graceMs: number): Promise<void> {
    this.#ports.delete(shared.id)
    // Whoever closes several, or says more of the change, does so first.
    await Promise.resolve()
    await this.#users.changed(graceMs)
    for (const fd of [...shared.udp, ...shared.tcp]) if (fd !== undefined) this.#libc.close(fd)
  }
}

function firstOf(fds: Descriptors): number | undefined {
  return fds.find((fd) => fd !== undefined)
}

/** Whether there is only one. */
function isLast(fds: Descriptors): boolean {
  return fds.filter((fd) => fd !== undefined).length === 1
}

/** Those of a worker are another one's. */
function handOver(fds: Descriptors, worker: number): void {
  fds[worker === 0 ? 1 : 0] = fds[worker]
  fds[worker] = undefined
}
