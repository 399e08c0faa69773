/** All sockets of the process: opened together, kept in step with the machine's addresses, closed together. */
import { isWildcard, localAddresses } from './addresses.js'
import type { StreamLimits } from './limits.js'
import { type Driver, OwnSockets, type Taking } from './own-sockets.js'
import { type PassedSocket, type PassedSockets, shownPassed } from './passed-sockets.js'
import { type Both, type Endpoint, ListenError, type Listener, type ListenerCounters } from './slot.js'
import type { OpenUdp } from './udp-driver.js'
import { type Wanted, wantedBy, wantedKey } from './wanted.js'

/** What listeners need besides their endpoints. */
export interface ListenOptions {
  readonly limits?: StreamLimits
  /** How UDP sockets are opened; with `node:dgram` where left out. */
  readonly openUdp?: OpenUdp
  /** Who drives the sockets; this thread where left out. */
  readonly driver?: Driver | undefined
  /** Sockets that were passed to the process. With any of them this thread is the one driver. */
  readonly passed?: PassedSockets | undefined
  /** How often the machine's addresses are looked at where an endpoint is a wildcard, in milliseconds. */
  readonly watchMs?: number
  /** The machine's addresses. */
  readonly localAddresses?: () => readonly string[]
  /** Told what is not served, and what happens to sockets later on. */
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

/** The sockets of one address and port, mostly both, and the endpoint that has them now. */
interface Open extends Wanted {
  endpoint: Endpoint
  listeners: readonly Listener[]
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
  /** Passed sockets that are there to be served. */
  #passed: readonly PassedSocket[]
  /** What passed sockets are served without, until the endpoints are others. */
  readonly #givenUp = new Set<string>()
  /** The port that an endpoint's port 0 has become. */
  readonly #ports = new Map<string, number>()
  #watch: NodeJS.Timeout | undefined
  /** Looks at addresses and changes of endpoints come one after another. */
  #turn: Promise<unknown> = Promise.resolve()

  constructor(endpoints: readonly Endpoint[], options: ListenOptions) {
    this.#endpoints = endpoints
    this.#options = options
    this.#own = new OwnSockets(options)
    this.#passed = options.passed?.list ?? []
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

  /** The passed sockets that are served. */
  get passed(): readonly PassedSocket[] {
    return this.#open.flatMap(({ passed = [] }) => passed)
  }

  async open(): Promise<void> {
    const { opened } = await this.#openMissing(this.#endpoints)
    this.#open.push(...opened)
    this.#tellUnserved()
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
      await this.#close(opened, 0)
    }
    try {
      if (driver !== this.#driver)
        for (const open of [...kept.keys(), ...opened])
          taken.set(open, await driver.take(kept.get(open) ?? open.endpoint, open.address, open.listeners as Both))
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
        const gone = this.#open.filter((open) => !kept.has(open))
        this.#open = [...kept.keys(), ...opened]
        this.#endpoints = endpoints
        this.#driver = driver
        const given = [...taken].map(([open, taking]) => goOver(open, taking, graceMs))
        this.#tellUnserved()
        this.#followWildcards()
        settled()
        await Promise.all([...given, this.#close(gone, graceMs)])
      },
      discard
    }
  }

  /** Opens each wanted address that has no sockets yet, and finds those that have. */
  async #openMissing(endpoints: readonly Endpoint[]): Promise<{ opened: Open[]; kept: Map<Open, Endpoint> }> {
    const opened: Open[] = []
    const kept = new Map<Open, Endpoint>()
    this.#givenUp.clear()
    try {
      for (const wanted of this.#wantedBy(endpoints)) {
        const here = this.#open.find((open) => wantedKey(open) === wantedKey(wanted))
        if (here !== undefined) kept.set(here, wanted.endpoint)
        else await this.#openInto(opened, wanted)
      }
    } catch (error) {
      await this.#close(opened, 0)
      throw error
    }
    return { opened, kept }
  }

  #wantedBy(endpoints: readonly Endpoint[]): Wanted[] {
    let found: readonly string[] | undefined
    // The same for both families.
    const local = (): readonly string[] => {
      found ??= (this.#options.localAddresses ?? localAddresses)()
      return found
    }
    return wantedBy(endpoints, { local, passed: this.#passed, portOf: (endpoint) => this.#portOf(endpoint) })
  }

  /** Those of a wildcard but for what is not ready, as IPv6 addresses are that look for duplicates: they come later. */
  async #openInto(opened: Open[], wanted: Wanted): Promise<void> {
    if (this.#givenUp.has(withoutKey(wanted)) || this.#givenUp.has(wantedKey(wanted))) return
    try {
      opened.push(await this.#openWanted(wanted))
    } catch (error) {
      if (!(error instanceof ListenError)) throw error
      const isEarly = isWildcard(wanted.endpoint.address) && error.reason === 'EADDRNOTAVAIL'
      if (!isEarly && !this.#giveUp(wanted, error)) throw error
      this.#options.warn?.(error.message)
    }
  }

  /** Whether passed sockets are to be served without this one, for which there is no permission, or no room beside its fellow of the other transport. */
  #giveUp(wanted: Wanted, { reason }: ListenError): boolean {
    const { transport, passed, endpoint, port } = wanted
    const isBeside = passed === undefined && transport !== 'both'
    const isMoreOfAll = isWildcard(endpoint.address) && this.#passed.some((socket) => socket.port === port)
    if (reason === 'EACCES' && (isBeside || isMoreOfAll)) this.#givenUp.add(withoutKey(wanted))
    else if (reason === 'EADDRINUSE' && isBeside) this.#givenUp.add(wantedKey(wanted))
    else return false
    return true
  }

  #portOf({ address, port }: Endpoint): number {
    return port === 0 ? (this.#ports.get(address) ?? 0) : port
  }

  async #openWanted(wanted: Wanted): Promise<Open> {
    const { endpoint, address, port, transport, passed } = wanted
    if (passed !== undefined) return { ...wanted, listeners: [await this.#own.openPassed(endpoint, passed)] }
    if (transport !== 'both') return { ...wanted, listeners: [await this.#own.openOne(transport, endpoint, address, port)] }
    return this.#openBoth(wanted)
  }

  async #openBoth(wanted: Wanted): Promise<Open> {
    const { endpoint, address } = wanted
    const port = this.#portOf(endpoint)
    for (let tries = 1; ; tries++) {
      try {
        const listeners = await this.#driver.open(endpoint, address, port)
        if (endpoint.port === 0) this.#ports.set(endpoint.address, listeners[0].port)
        return { ...wanted, port: listeners[0].port, listeners }
      } catch (error) {
        if (port !== 0 || tries === PORT_TRIES || !(error instanceof ListenError)) throw error
      }
    }
  }

  /** What comes to a passed socket that no endpoint has is answered by nobody. */
  #tellUnserved(): void {
    const served = new Set(this.#open.map(({ passed }) => passed))
    for (const passed of this.#passed)
      if (!served.has(passed)) this.#options.warn?.(`${shownPassed(passed)} is where no server block listens: nobody answers there`)
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
    const wanted = this.#wantedBy(this.#endpoints).filter(({ endpoint }) => isWildcard(endpoint.address))
    const keys = new Set(wanted.map(wantedKey))
    const gone = this.#open.filter((open) => isWildcard(open.endpoint.address) && !keys.has(wantedKey(open)))
    this.#open = this.#open.filter((open) => !gone.includes(open))
    await this.#close(gone, 0)
    const here = new Set(this.#open.map(wantedKey))
    for (const each of wanted.filter((one) => !here.has(wantedKey(one)))) {
      // What cannot be opened yet is tried again at the next look.
      await this.#openInto(this.#open, each).catch((error: Error) => this.#options.warn?.(error.message))
    }
  }

  async #close(open: readonly Open[], graceMs: number): Promise<void> {
    const lost = this.#options.passed?.copy === undefined ? open.flatMap(({ passed = [] }) => passed) : []
    this.#passed = this.#passed.filter((passed) => !lost.includes(passed))
    for (const passed of lost) this.#options.warn?.(`${shownPassed(passed)} is closed: only a restart brings it back`)
    await closeAll(open, graceMs)
  }

  /** Stops taking requests on all sockets, waits for what is in flight, at most `graceMs`. */
  async close(graceMs: number): Promise<void> {
    clearInterval(this.#watch)
    await this.#turn
    await closeAll(this.#open.splice(0), graceMs)
  }
}

/** All addresses that an endpoint lacks a transport on. */
function withoutKey({ endpoint, port, transport }: Wanted): string {
  return `${transport} without ${endpoint.address} ${port}`
}

/** Has another driver go on with the sockets before the one that has had them lets go. */
async function goOver(open: Open, taking: Taking, graceMs: number): Promise<void> {
  const before = open.listeners
  open.listeners = await taking.apply()
  await closeEach(before, graceMs)
}

async function closeAll(open: readonly Open[], graceMs: number): Promise<void> {
  await Promise.all(open.map(({ listeners }) => closeEach(listeners, graceMs)))
}

async function closeEach(listeners: readonly Listener[], graceMs: number): Promise<void> {
  await Promise.all(listeners.map((listener) => listener.close(graceMs)))
}
