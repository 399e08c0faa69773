import type { Libc } from './batch/libc.js'
import { loadBatch, theLibc } from './batch/open-batch.js'
import { duplicate, share } from './batch/socket.js'
import type { StreamLimits } from './limits.js'
import type { PassedSocket, PassedSockets } from './passed-sockets.js'
import { type Both, type Endpoint, ListenError, type Listener, type ListenerCounters } from './slot.js'
import { openTcp } from './tcp.js'
import { openUdp } from './udp.js'
import type { OpenUdp } from './udp-driver.js'

/** Who drives sockets: this thread, or others. */
export interface Driver {
  /** Opens a UDP and a TCP socket on an address and the same port; port 0 takes a free one. Throws ListenError. */
  open(endpoint: Endpoint, address: string, port: number): Promise<Both>
  /** Makes ready to go on with sockets that another driver has open. Throws ListenError, and has changed nothing then. */
  take(endpoint: Endpoint, address: string, both: Both): Promise<Taking>
}

/** Sockets that two drivers have. One of the two is called, once. */
export interface Taking {
  /** Goes on with them: the other driver may close them now, and what waits in them is not lost. */
  apply(): Promise<Both>
  discard(): void
}

/** The sockets that this thread drives. */
export class OwnSockets implements Driver {
  readonly counters: ListenerCounters = { received: 0, unsent: 0, refusedConnections: 0 }
  readonly #limits: StreamLimits | undefined
  readonly #openUdp: OpenUdp

  readonly #passed: PassedSockets | undefined

  constructor(options: { readonly limits?: StreamLimits; readonly openUdp?: OpenUdp; readonly passed?: PassedSockets | undefined }) {
    this.#limits = options.limits
    this.#openUdp = options.openUdp ?? openUdp
    this.#passed = options.passed
  }

  async open(endpoint: Endpoint, address: string, port: number): Promise<Both> {
    const udp = await this.openOne('udp', endpoint, address, port)
    try {
      return [udp, await this.openOne('tcp', endpoint, address, udp.port)]
    } catch (error) {
      await udp.close(0)
      throw error
    }
  }

  /** Opens a socket of one transport alone, or goes on with the one that `fd` is, which becomes its own. Throws ListenError. */
  openOne(
    transport: 'udp' | 'tcp',
    { receive, address: endpointAddress }: Endpoint,
    address: string,
    port: number,
    fd?: number
  ): Promise<Listener> {
    return transport === 'udp'
      ? this.#openUdp(address, port, receive, this.counters, endpointAddress, fd === undefined ? undefined : { fd, isOwn: true })
      : openTcp(address, port, receive, this.counters, this.#limits, endpointAddress, fd)
  }

  /** Goes on with a socket that was passed to the process; a copy of it where such can be had. Throws ListenError. */
  async openPassed(endpoint: Endpoint, passed: PassedSocket): Promise<Listener> {
    const { transport, address, port } = passed
    return this.openOne(transport, endpoint, address, port, this.#copyOf(passed))
  }

  #copyOf({ fd, transport, address, port }: PassedSocket): number {
    try {
      return this.#passed?.copy?.(fd) ?? fd
    } catch (error) {
      throw new ListenError(address, port, transport, error as NodeJS.ErrnoException)
    }
  }

  async take({ receive, address: endpointAddress }: Endpoint, address: string, both: Both): Promise<Taking> {
    const [libc, openBatch] = [await theLibc(), await loadBatch()]
    const [udp, tcp] = copiesOf(libc, both)
    return {
      apply: async () => {
        for (const fd of [udp, tcp]) share(libc, fd, false)
        const { port } = both[0]
        const datagrams = await openBatch(address, port, receive, this.counters, endpointAddress, { fd: udp, isOwn: true })
        return [datagrams, await openTcp(address, port, receive, this.counters, this.#limits, endpointAddress, tcp)]
      },
      discard: () => {
        for (const fd of [udp, tcp]) libc.close(fd)
      }
    }
  }
}

/** Descriptors of one's own for the sockets of an address. Throws ListenError, and leaves none open then. */
export function copiesOf(libc: Libc, both: Both): [udp: number, tcp: number] {
  const copies: number[] = []
  for (const { address, port, transport, descriptor = -1 } of both)
    try {
      copies.push(duplicate(libc, descriptor))
    } catch (error) {
      for (const fd of copies) libc.close(fd)
      throw new ListenError(address, port, transport, error as NodeJS.ErrnoException)
    }
  return copies as [number, number]
}
