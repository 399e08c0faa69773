/** All sockets of the process: opened together, kept in step with the machine's addresses, closed together. */
import { isWildcard, localAddresses } from './addresses.js'
import type { StreamLimits } from './limits.js'
import { type Driver, OwnSockets, type Taking } from './own-sockets.js'
import { type Both, type Endpoint, ListenError, type Listener, type ListenerCounters } from './slot.js'
import type { OpenUdp } from './udp-driver.js'

/** What listeners need besides their endpoints. */
export interface ListenOptions {
  readonly limits?: StreamLimits
  /** How UDP sockets are opened; with `node:dgram` where left out. */
  readonly openUdp?: OpenUdp
  /** Who drives the sockets; this thread where left out. */
  readonly driver?: Driver | undefined
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

/** Both sockets of one address and port, and the endpoint that has them now. */
interface Open {
  endpoint: Endpoint
  readonly address: string
  readonly port: number
  listeners: Both
}

/** An address to have sockets on. */
interface Wanted {
  readonly endpoint: Endpoint
  readonly address: string
}

/** Other endpoints than those that are served, with all that they need open. One of the two is called, once. */
export interface Change {
  /** Serves them from now on, all at once; resolves when what is not needed any more is closed. */
  apply(graceMs: number): Promise<void>
  /** Closes again what was opened for them. */
  discard(): Promise<void>
}

/** The open sockets of a process. */
export class Listeners {
  readonly #options: ListenOptions
  readonly #own: OwnSockets
  #driver: Driver
  #endpoints: readonly Endpoint[]
  #open: Open[] = []
  /** The port that an endpoint's port 0 has become. */
  readonly #ports = new Map<string, number>()
  #watch: NodeJS.Timeout | undefined
  /** Looks at addresses and changes of endpoints come one after another. */
  #turn: Promise<unknown> = Promise.resolve()

  constructor(endpoints: readonly Endpoint[], options: ListenOptions) {
    this.#endpoints = endpoints
    this.#options = options
    this.#own = new OwnSockets(options)
    this.#driver = options.driver ?? this.#own
  }

  /** Of the sockets that this thread drives. */
  get counters(): ListenerCounters {
    return this.#own.counters
  }

  /** The sockets that are open now. */
  get list(): readonly Listener[] {
    return this.#open.flatMap(({ listeners }) => listeners)
  }

  async open(): Promise<void> {
    const { opened } = await this.#openMissing(this.#endpoints)
    this.#open.push(...opened)
    this.#followWildcards()
  }

  /**
   * Opens what these endpoints need beside what is open. All is to be driven by this `driver`; by this thread where left out. Throws
   * ListenError, and has changed nothing then.
   */
  prepare(endpoints: readonly Endpoint[], driver: Driver = this.#own): Promise<Change> {
    let settled = (): void => {}
    const change = new Promise<void>((resolve) => {
      settled = resolve
    })
    const prepared = this.#turn.then(() => this.#prepare(endpoints, driver, settled))
    this.#turn = prepared.then(() => change).catch(() => {})
    return prepared
  }

  async #prepare(endpoints: readonly Endpoint[], driver: Driver, settled: () => void): Promise<Change> {
    const { opened, kept } = await this.#openMissing(endpoints)
    const taken = new Map<Open, Taking>()
    const discard = async (): Promise<void> => {
      settled()
      for (const taking of taken.values()) taking.discard()
      await closeAll(opened, 0)
    }
    try {
      if (driver !== this.#driver)
        for (const open of [...kept.keys(), ...opened])
          taken.set(open, await driver.take(kept.get(open) ?? open.endpoint, open.address, open.listeners))
    } catch (error) {
      await discard()
      throw error
    }
    return {
      apply: async (graceMs) => {
        for (const [open, endpoint] of kept) {
          open.endpoint = endpoint
          for (const listener of open.listeners) listener.serve(endpoint.receive, endpoint.address)
        }
        const gone = this.#open.filter((open) => !kept.has(open)).map(({ listeners }) => listeners)
        this.#open = [...kept.keys(), ...opened]
        this.#endpoints = endpoints
        this.#driver = driver
        const given = [...taken].map(([open, taking]) => goOver(open, taking, graceMs))
        this.#followWildcards()
        settled()
        await Promise.all([...given, ...gone.map((both) => closeBoth(both, graceMs))])
      },
      discard
    }
  }

  /** Opens each wanted address that has no sockets yet, and finds those that have. */
  async #openMissing(endpoints: readonly Endpoint[]): Promise<{ opened: Open[]; kept: Map<Open, Endpoint> }> {
    const opened: Open[] = []
    const kept = new Map<Open, Endpoint>()
    try {
      for (const { endpoint, address } of endpoints.flatMap((each) => this.#wantedFor(each, endpoints))) {
        const port = this.#portOf(endpoint)
        const here = this.#open.find((open) => open.address === address && open.port === port)
        if (here !== undefined) kept.set(here, endpoint)
        else await this.#openInto(opened, endpoint, address)
      }
    } catch (error) {
      await closeAll(opened, 0)
      throw error
    }
    return { opened, kept }
  }

  /** Those of a wildcard but for what is not ready, as IPv6 addresses are that look for duplicates: they come later. */
  async #openInto(opened: Open[], endpoint: Endpoint, address: string): Promise<void> {
    try {
      opened.push(await this.#openBoth(endpoint, address))
    } catch (error) {
      const isEarly = isWildcard(endpoint.address) && error instanceof ListenError && error.reason === 'EADDRNOTAVAIL'
      if (!isEarly) throw error
      this.#options.warn?.(error.message)
    }
  }

  /** The addresses that an endpoint has sockets on. A wildcard leaves an address to the endpoint that names it. */
  #wantedFor(endpoint: Endpoint, all: readonly Endpoint[]): Wanted[] {
    if (!isWildcard(endpoint.address)) return [{ endpoint, address: endpoint.address }]
    const isV6 = endpoint.address.includes(':')
    const named = all.filter(({ port, address }) => port === endpoint.port && !isWildcard(address)).map(({ address }) => address)
    const local = (this.#options.localAddresses ?? localAddresses)()
    return local.filter((address) => address.includes(':') === isV6 && !named.includes(address)).map((address) => ({ endpoint, address }))
  }

  #portOf({ address, port }: Endpoint): number {
    return port === 0 ? (this.#ports.get(address) ?? 0) : port
  }

  async #openBoth(endpoint: Endpoint, address: string): Promise<Open> {
    const port = this.#portOf(endpoint)
    for (let tries = 1; ; tries++) {
      try {
        const listeners = await this.#driver.open(endpoint, address, port)
        if (endpoint.port === 0) this.#ports.set(endpoint.address, listeners[0].port)
        return { endpoint, address, port: listeners[0].port, listeners }
      } catch (error) {
        if (port !== 0 || tries === PORT_TRIES || !(error instanceof ListenError)) throw error
      }
    }
  }

  /** Looks at the machine's addresses from time to time, while an endpoint is a wildcard. */
  #followWildcards(): void {
    clearInterval(this.#watch)
    if (!this.#endpoints.some(({ address }) => isWildcard(address))) return
    this.#watch = setInterval(() => {
      this.#turn = this.#turn.then(() => this.#followAddresses()).catch((error: Error) => this.#options.warn?.(error.message))
    }, this.#options.watchMs ?? WATCH_MS)
    this.#watch.unref()
  }

  /** Opens what has come and closes what has gone, so that a reply always leaves from the address that was asked. */
  async #followAddresses(): Promise<void> {
    for (const endpoint of this.#endpoints.filter(({ address }) => isWildcard(address))) {
      const wanted = this.#wantedFor(endpoint, this.#endpoints).map(({ address }) => address)
      const gone = this.#open.filter((open) => open.endpoint === endpoint && !wanted.includes(open.address))
      this.#open = this.#open.filter((open) => !gone.includes(open))
      await closeAll(gone, 0)
      const here = new Set(this.#open.map((open) => (open.endpoint === endpoint ? open.address : '')))
      for (const address of wanted.filter((each) => !here.has(each))) {
        // What cannot be opened yet is tried again at the next look.
        await this.#openBoth(endpoint, address).then(
          (open) => this.#open.push(open),
          (error: Error) => this.#options.warn?.(error.message)
        )
      }
    }
  }

  /** Stops taking requests on all sockets, waits for what is in flight, at most `graceMs`. */
  async close(graceMs: number): Promise<void> {
    clearInterval(this.#watch)
    await this.#turn
    await closeAll(this.#open.splice(0), graceMs)
  }
}

/** Has another driver go on with the sockets before the one that has had them lets go. */
async function goOver(open: Open, taking: Taking, graceMs: number): Promise<void> {
  const before = open.listeners
  open.listeners = await taking.apply()
  await closeBoth(before, graceMs)
}

async function closeAll(open: readonly Open[], graceMs: number): Promise<void> {
  await Promise.all(open.map(({ listeners }) => closeBoth(listeners, graceMs)))
}

async function closeBoth(both: Both, graceMs: number): Promise<void> {
  await Promise.all(both.map((listener) => listener.close(graceMs)))
}
