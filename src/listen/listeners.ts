/** All sockets of the process: opened together, kept in step with the machine's addresses, closed together. */
import { isWildcard, localAddresses } from './addresses.js'
import type { StreamLimits } from './limits.js'
import { ListenError, type Listener, type ListenerCounters, type Receive } from './slot.js'
import { openTcp } from './tcp.js'
import { openUdp } from './udp.js'

/** An address to listen on with UDP and TCP. `0.0.0.0` and `::` stand for every local address of their family. */
export interface Endpoint {
  readonly address: string
  /** 0 takes a free port, the same for UDP and TCP. */
  readonly port: number
  readonly receive: Receive
}

/** What listeners need besides their endpoints. */
export interface ListenOptions {
  readonly limits?: StreamLimits
  /** How often the machine's addresses are looked at where an endpoint is a wildcard, in milliseconds. */
  readonly watchMs?: number
  /** The machine's addresses. */
  readonly localAddresses?: () => readonly string[]
  /** Told what happens to sockets later on. */
  readonly warn?: (text: string) => void
}

const WATCH_MS = 5_000
/** A free UDP port may be taken on TCP; so many tries find one that is free on both. */
const PORT_TRIES = 20

/** Opens every endpoint, or none: where one fails, the others are closed again and its ListenError is thrown. */
export async function openListeners(endpoints: readonly Endpoint[], options: ListenOptions = {}): Promise<Listeners> {
  const listeners = new Listeners(endpoints, options)
  try {
    await listeners.open()
  } catch (error) {
    await listeners.close(0)
    throw error
  }
  return listeners
}

/** A socket, and the endpoint that it was opened for. */
interface Open {
  readonly endpoint: Endpoint
  readonly listener: Listener
}

/** The open sockets of a process. */
export class Listeners {
  readonly counters: ListenerCounters = { received: 0, unsent: 0, refusedConnections: 0 }
  readonly #endpoints: readonly Endpoint[]
  readonly #options: ListenOptions
  #open: Open[] = []
  /** The port that an endpoint's port 0 has become. */
  readonly #ports = new Map<Endpoint, number>()
  #watch: NodeJS.Timeout | undefined
  #looking = Promise.resolve()

  constructor(endpoints: readonly Endpoint[], options: ListenOptions) {
    this.#endpoints = endpoints
    this.#options = options
  }

  /** The sockets that are open now. */
  get list(): readonly Listener[] {
    return this.#open.map(({ listener }) => listener)
  }

  async open(): Promise<void> {
    for (const endpoint of this.#endpoints) {
      if (isWildcard(endpoint.address)) await this.#openAll(endpoint)
      else await this.#openBoth(endpoint, endpoint.address)
    }
    if (!this.#endpoints.some(({ address }) => isWildcard(address))) return
    this.#watch = setInterval(() => {
      this.#looking = this.#looking.then(() => this.#followAddresses()).catch((error: Error) => this.#options.warn?.(error.message))
    }, this.#options.watchMs ?? WATCH_MS)
    this.#watch.unref()
  }

  /** The local addresses that a wildcard stands for. It leaves an address to the endpoint that names it. */
  #addressesOf(endpoint: Endpoint): string[] {
    const isV6 = endpoint.address.includes(':')
    const named = this.#endpoints
      .filter(({ port, address }) => port === endpoint.port && !isWildcard(address))
      .map(({ address }) => address)
    const local = (this.#options.localAddresses ?? localAddresses)()
    return local.filter((address) => address.includes(':') === isV6 && !named.includes(address))
  }

  /** Opens all addresses of a wildcard but those that are not ready, as IPv6 ones are that look for duplicates: they come later. */
  async #openAll(endpoint: Endpoint): Promise<void> {
    for (const address of this.#addressesOf(endpoint)) {
      try {
        await this.#openBoth(endpoint, address)
      } catch (error) {
        if (!(error instanceof ListenError) || error.reason !== 'EADDRNOTAVAIL') throw error
        this.#options.warn?.(error.message)
      }
    }
  }

  async #openBoth(endpoint: Endpoint, address: string): Promise<void> {
    const port = this.#ports.get(endpoint) ?? endpoint.port
    for (let tries = 1; ; tries++) {
      const udp = await openUdp(address, port, endpoint.receive, this.counters, endpoint.address)
      try {
        const tcp = await openTcp(address, udp.port, endpoint.receive, this.counters, this.#options.limits, endpoint.address)
        this.#open.push({ endpoint, listener: udp }, { endpoint, listener: tcp })
        this.#ports.set(endpoint, udp.port)
        return
      } catch (error) {
        await udp.close(0)
        if (port !== 0 || tries === PORT_TRIES || !(error instanceof ListenError)) throw error
      }
    }
  }

  /** Opens what has come and closes what has gone, so that a reply always leaves from the address that was asked. */
  async #followAddresses(): Promise<void> {
    for (const endpoint of this.#endpoints.filter(({ address }) => isWildcard(address))) {
      const wanted = this.#addressesOf(endpoint)
      const gone = this.#open.filter((open) => open.endpoint === endpoint && !wanted.includes(open.listener.address))
      this.#open = this.#open.filter((open) => !gone.includes(open))
      await Promise.all(gone.map(({ listener }) => listener.close(0)))
      const here = new Set(this.#open.map((open) => (open.endpoint === endpoint ? open.listener.address : '')))
      for (const address of wanted.filter((each) => !here.has(each))) {
        // What cannot be opened yet is tried again at the next look.
        await this.#openBoth(endpoint, address).catch((error: Error) => this.#options.warn?.(error.message))
      }
    }
  }

  /** Stops taking requests on all sockets, waits for what is in flight, at most `graceMs`. */
  async close(graceMs: number): Promise<void> {
    clearInterval(this.#watch)
    await this.#looking
    await Promise.all(this.#open.splice(0).map(({ listener }) => listener.close(graceMs)))
  }
}
