/** What a worker thread does: the chains of the configuration, on the sockets that the main thread gives it. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { ProcessServices } from '../chain/scope.js'
import { fromClone } from '../corefile/cloned.js'
import type { Libc } from '../listen/batch/libc.js'
import type { OpenBatch } from '../listen/batch/open-batch.js'
import { duplicate } from '../listen/batch/socket.js'
import type { SharedSocket } from '../listen/shared-sockets.js'
import type { Endpoint, Listener, ListenerCounters, Receive } from '../listen/slot.js'
import { openTcp } from '../listen/tcp.js'
import { thrownText } from '../message/one-line.js'
import type { MetricFamily } from '../metrics.js'
import { buildInstance, type Instance } from './instance.js'
import { plain } from './metric-sums.js'
import type { PromRegistry } from './metrics.js'
import { GRACE_MS, PATIENCE_MS, RELOAD_PATIENCE_MS } from './patience.js'
import { QuietLog } from './quiet-log.js'
import type { Order, WorkerConfiguration } from './worker-messages.js'
import type { StoreFollower } from './worker-news.js'

/** What a {@link WorkerServer} is made of. */
export interface WorkerParts {
  readonly services: ProcessServices
  readonly metrics: PromRegistry
  readonly defaultPort: number
  readonly news: StoreFollower
  readonly openBatch: OpenBatch
  readonly libc: Libc
}

/** Chains that are built and started, and do not answer yet. */
interface Next {
  readonly instance: Instance
  readonly configuration: WorkerConfiguration
  readonly log: QuietLog
  /** What it was decided by which blocks stay. */
  readonly entered: number | undefined
}

/** The server of one worker thread. */
export class WorkerServer {
  readonly #parts: WorkerParts
  readonly #counters: ListenerCounters = { received: 0, unsent: 0, refusedConnections: 0 }
  readonly #open = new Map<number, readonly [udp: Listener, tcp: Listener]>()
  #running: Instance | undefined
  #next: Next | undefined
  /** The sockets that it is to have, as it was told last. */
  #wanted: readonly SharedSocket[] = []
  /** Changes of the sockets come one after another. */
  #turn: Promise<unknown> = Promise.resolve()
  /** So do those of the configuration: whoever was busy for long finds several waiting. */
  #changes: Promise<unknown> = Promise.resolve()
  #hurry = (): void => {}
  #isStopping = false

  constructor(parts: WorkerParts) {
    this.#parts = parts
  }

  /** Does what the main thread says; what it gives back is for `collect`. */
  async obey(order: Exclude<Order, { name: 'end' }>): Promise<readonly MetricFamily[] | undefined> {
    if (order.name === 'collect') return plain(this.#parts.metrics.all())
    if (order.name === 'commit' || order.name === 'sockets') this.#wanted = order.sockets
    await this.#do(order)
    return undefined
  }

  async #do(order: Exclude<Order, { name: 'collect' }>): Promise<void> {
    switch (order.name) {
      case 'prepare':
        return this.#inTurn(() => this.#prepare(order.configuration))
      case 'commit':
        return this.#inTurn(() => this.#commit(order.graceMs))
      case 'discard':
        return this.#inTurn(() => this.#discard())
      case 'sockets':
        return this.#use(order.graceMs)
      case 'drain':
        return this.#running?.drain()
      case 'stop':
        return this.#stop(order.graceMs)
    }
  }

  #inTurn(change: () => Promise<void>): Promise<void> {
    const done = this.#changes.then(change)
    this.#changes = done.catch(() => {})
    return done
  }

  async #prepare(configuration: WorkerConfiguration): Promise<void> {
    const { services, defaultPort } = this.#parts
    const running = this.#running
    for (;;) {
      const entered = running?.entered
      // The main thread has built the same, and has told what there was to tell.
      const log = new QuietLog(services.log)
      const blocks = fromClone(configuration.blocks)
      const { file } = configuration
      const instance = await buildInstance(blocks, { services: { ...services, log }, file, defaultPort, ...(running && { running }) })
      await instance.start()
      this.#next = { instance, configuration, log, entered }
      // What is kept was decided by where look-ups had gone: where one has gone elsewhere meanwhile, that is decided anew.
      if (running?.entered === entered) return
      await this.#discard()
    }
  }

  async #commit(graceMs: number): Promise<void> {
    let next = this.#next!
    const running = this.#running
    if (running?.entered !== next.entered) {
      await this.#discard()
      await this.#prepare(next.configuration)
      next = this.#next!
    }
    this.#next = undefined
    next.log.isQuiet = false
    if (running !== undefined) next.instance.takeOver(running)
    this.#running = next.instance
    const letGo = this.#use(graceMs)
    await Promise.race([running?.idle(RELOAD_PATIENCE_MS), this.#stopAsked()])
    await running?.stop().catch((error: unknown) => this.#parts.services.log.error(`not everything stopped cleanly: ${thrownText(error)}`))
    await letGo
  }

  async #discard(): Promise<void> {
    const next = this.#next
    this.#next = undefined
    await next?.instance.abandon()
    this.#running?.showDebug()
  }

  #stopAsked(): Promise<void> {
    return new Promise((resolve) => {
      this.#hurry = resolve
      if (this.#isStopping) resolve()
    })
  }

  /** Takes what comes on the sockets that it is to have; resolves when it has let go of all others. One change comes after another. */
  async #use(graceMs: number): Promise<void> {
    const opened = this.#turn.then(() => this.#change(this.#wanted, graceMs))
    this.#turn = opened.catch(() => {})
    await Promise.all(await opened)
  }

  /** Opens what is new, has all answered by the chains that there are now, and begins to close what has gone. */
  async #change(sockets: readonly SharedSocket[], graceMs: number): Promise<readonly Promise<void>[]> {
    const wanted = new Set(sockets.map(({ id }) => id))
    const gone = [...this.#open].filter(([id]) => !wanted.has(id))
    for (const [id] of gone) this.#open.delete(id)
    const endpoints = this.#running?.endpoints ?? []
    const opening: Promise<void>[] = []
    for (const socket of sockets) {
      const endpoint = endpointOf(endpoints, socket)
      if (endpoint === undefined) continue
      const receive = this.#hearing(endpoint.receive)
      const open = this.#open.get(socket.id)
      if (open === undefined) opening.push(this.#openBoth(socket, receive))
      else for (const listener of open) listener.serve(receive, socket.endpointAddress)
    }
    const closed = gone.flatMap(([, listeners]) => listeners.map((listener) => listener.close(graceMs)))
    await Promise.all(opening)
    return closed
  }

  async #openBoth({ id, address, port, endpointAddress, udp, tcp }: SharedSocket, receive: Receive): Promise<void> {
    const { openBatch, libc } = this.#parts
    const datagrams = await openBatch(address, port, receive, this.#counters, endpointAddress, { fd: udp, isOwn: false })
    const connections = await openTcp(address, port, receive, this.#counters, undefined, endpointAddress, duplicate(libc, tcp))
    this.#open.set(id, [datagrams, connections])
  }

  /** Whoever wrote to the store before he asked gets an answer that knows of it. */
  #hearing(receive: Receive): Receive {
    const { news } = this.#parts
    return (slot) => {
      if (news.hasCome) news.take()
      receive(slot)
    }
  }

  /** As the main thread does where it answers itself: see `RunningServer.stop`. */
  async #stop(graceMs: number): Promise<void> {
    this.#isStopping = true
    this.#hurry()
    this.#wanted = []
    const closed = this.#use(graceMs)
    await Promise.race([closed, sleep(PATIENCE_MS, undefined, { ref: false })])
    try {
      await this.#running?.stopLayers(GRACE_MS)
    } finally {
      await closed
      await this.#running?.stop()
    }
  }
}

/** The endpoint of the configuration that a socket is for: one of its port, or one of port 0, which has become that. */
function endpointOf(endpoints: readonly Endpoint[], { endpointAddress, port }: SharedSocket): Endpoint | undefined {
  const there = endpoints.filter(({ address }) => address === endpointAddress)
  return there.find((endpoint) => endpoint.port === port) ?? there.find((endpoint) => endpoint.port === 0)
}
