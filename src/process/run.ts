/** `skein run`: from a Corefile to a server that answers, and its orderly end. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { ProcessServices } from '../chain/scope.js'
import { type Listeners, openListeners } from '../listen/listeners.js'
import { ListenError } from '../listen/slot.js'
import type { Configuration } from './configuration.js'
import { buildInstance, type Instance, type MakeScope } from './instance.js'
import { zoneLines } from './plan.js'

/** How long queries in flight may take when the server stops: so long by themselves, then what is left for the layers to end them. */
const PATIENCE_MS = 250
const GRACE_MS = 400

/** What {@link startServer} needs. */
export interface RunOptions {
  readonly configuration: Configuration
  readonly services: ProcessServices
  readonly makeScope: MakeScope
  readonly defaultPort: number
}

/** A server that is listening. */
export class RunningServer {
  readonly instance: Instance
  readonly listeners: Listeners

  constructor(instance: Instance, listeners: Listeners) {
    this.instance = instance
    this.listeners = listeners
  }

  /** Waits for those who want it, stops listening, answers what is in flight, stops the layers, closes the stores. */
  async stop(): Promise<void> {
    await this.instance.drain()
    const closed = this.listeners.close(GRACE_MS)
    await Promise.race([closed, sleep(PATIENCE_MS, undefined, { ref: false })])
    // A layer that something still waits for ends it now, while there is a socket to answer on.
    try {
      await this.instance.stopLayers()
    } finally {
      await closed
      await this.instance.stop()
    }
  }

  /** The zones and where they are served, CoreDNS's way: `.:1053 on 127.0.0.1`; on every address where none is named. */
  zoneLines(): string[] {
    return zoneLines(this.instance.plan, ({ address, port }) => this.#portOf(address, port))
  }

  /** The first address that is listened on, for examples: an IPv4 one if there is any. */
  firstAddress(): { address: string; port: number } {
    const list = this.listeners.list
    const { address, port } =
      list.find((listener) => listener.address === '127.0.0.1') ?? list.find((listener) => !listener.address.includes(':')) ?? list[0]!
    return { address, port }
  }

  /** Port 0 became another one. */
  #portOf(address: string, port: number): number {
    if (port !== 0) return port
    const isV6 = address.includes(':')
    const { list } = this.listeners
    return (
      (list.find((listener) => listener.address === address) ?? list.find((listener) => listener.address.includes(':') === isV6))?.port ?? 0
    )
  }
}

/** Builds, starts and listens. Where anything fails, what was opened is closed again and its error thrown. */
export async function startServer({ configuration, services, makeScope, defaultPort }: RunOptions): Promise<RunningServer> {
  const { blocks, file, warnings } = configuration
  for (const { text } of warnings) services.log.warn(text)
  const instance = await buildInstance(blocks, { services, file, defaultPort, makeScope })
  await instance.start()
  try {
    const listeners = await openListeners(instance.endpoints, { warn: (text) => services.log.warn(text) })
    const server = new RunningServer(instance, listeners)
    if (listeners.list.length > 0) return server
    await listeners.close(0)
    throw new ListenError('every address', defaultPort, 'udp', { name: 'Error', code: 'EADDRNOTAVAIL', message: 'no address' })
  } catch (error) {
    await instance.stop()
    throw error
  }
}
