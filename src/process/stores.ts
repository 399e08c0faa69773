import { isIP } from 'node:net'
import type { PlacedStore, StoreNews, StorePool, Stores } from '../chain/scope.js'
import { ConfigError, type Directive, placeText } from '../corefile/directive.js'
import { localAddresses } from '../listen/addresses.js'
import { thrownText } from '../message/one-line.js'
import type { Clock, EtcdSource, Log, MetricsRegistry, Store, StoreOptions } from '../plugin.js'
import { type KeysHandler, keysApi } from '../store/keys-api.js'
import { type KeysServer, serveKeys } from '../store/keys-listen.js'
import type { LockedStore } from '../store/locked.js'
import { traced } from '../store/reading.js'
import { StoreError } from '../store/store.js'
import { type Control, serveControl } from './control.js'
import { Feeding, sameSource } from './feeding.js'
import { feedingNumbers } from './feeding-metrics.js'
import { folderOfStore, isReplicaFolder, removeReplicaFolder } from './replica-folder.js'

/** A store that is open, with the control socket that `skein kv` uses, and with what feeds it, if anything does. */
interface OpenStore {
  users: number
  readonly store: LockedStore
  readonly control: Control
  /** Undefined where this machine's users write it. */
  feeding: Feeding | undefined
}

/** A keys API that listens; what it says may become another while it does. */
interface OpenApi {
  users: number
  handler: KeysHandler
  readonly server: KeysServer
}

/** A store with a keys API. */
type ApiOptions = PlacedStore & { readonly api: string }

/** A store as configured. */
interface Used {
  options: PlacedStore
  at: Directive
}

/** What the stores of a process are made of. */
export interface StoreParts {
  readonly clock: Clock
  readonly log: Log
  readonly metrics: MetricsRegistry
  /** False where keys APIs stay closed, as for a command that asks a chain. */
  readonly hasApis?: boolean
}

/** The service stores of the process: each with its lock, its keys API, its control socket, and what feeds it. */
export class ProcessStores implements StorePool {
  readonly #clock: Clock
  readonly #log: Log
  readonly hasApis: boolean
  readonly #stores = new Map<string, OpenStore>()
  readonly #apis = new Map<string, OpenApi>()
  #told: StoreNews | undefined

  constructor({ clock, log, metrics, hasApis = true }: StoreParts) {
    this.#clock = clock
    this.#log = log
    this.hasApis = hasApis
    metrics.collect(() =>
      feedingNumbers([...this.#stores].flatMap(([folder, { feeding }]) => (feeding ? [[folder, feeding.numbers]] : [])))
    )
  }

  lease(): StoreLease {
    return new StoreLease(this)
  }

  onChange(told: StoreNews): void {
    this.#told = told
    for (const [folder, { store }] of this.#stores) store.watch([], (keys) => told(folder, keys))
  }

  /** The store in a folder, where it is open. */
  store(folder: string): LockedStore | undefined {
    return this.#stores.get(folder)?.store
  }

  /** Where a keys API listens. */
  apiAddress(key: string): string | undefined {
    return this.#apis.get(key)?.server.address
  }

  /** Opens a store, or counts one more user of it. */
  async takeStore(options: PlacedStore): Promise<void> {
    const { folder, etcd } = options
    const there = this.#stores.get(folder)
    if (there !== undefined) {
      if ((there.feeding === undefined) !== (etcd === undefined)) {
        const [was, is] = etcd === undefined ? ['a replica of etcd', 'written here'] : ['written here', 'a replica of etcd']
        throw new StoreError(`the store ${folder} is ${was}, and cannot become one that is ${is} while it is in use: restart the server`)
      }
      there.users++
      return
    }
    const open = etcd === undefined ? await this.#openEmbedded(options) : await this.#openReplica(options, etcd)
    this.#stores.set(folder, open)
    const told = this.#told
    if (told !== undefined) open.store.watch([], (keys) => told(folder, keys))
  }

  async #openEmbedded({ folder, judge }: PlacedStore): Promise<OpenStore> {
    // The database is loaded where a store is opened alone.
    const { EmbeddedStore: Embedded } = await import('../store/embedded.js')
    const store = await Embedded.open(folder, {
      clock: this.#clock,
      report: this.#reportOf(folder),
      tell: (what) => this.#log.info(`the store ${folder}: ${what}`)
    })
    return { users: 1, store, control: serveControl(store, judge), feeding: undefined }
  }

  async #openReplica({ folder, judge }: PlacedStore, etcd: EtcdSource): Promise<OpenStore> {
    const feeding = await Feeding.open({ folder, etcd, judge, clock: this.#clock, log: this.#log, report: this.#reportOf(folder) })
    return { users: 1, store: feeding.view, control: serveControl(feeding.view, judge), feeding }
  }

  #reportOf(folder: string): (error: unknown) => void {
    return (error) => this.#log.error(`the store ${folder}: ${String(error)}`)
  }

  /** Has a store that is open fed by this cluster from now on, and its values judged so. */
  feedStore({ folder, etcd, judge }: PlacedStore): void {
    const open = this.#stores.get(folder)
    if (open === undefined) return
    open.control.judge = judge
    if (etcd !== undefined) open.feeding?.changeTo(etcd, judge)
  }

  async giveStore(folder: string): Promise<void> {
    const open = this.#stores.get(folder)
    if (open === undefined || --open.users > 0) return
    this.#stores.delete(folder)
    try {
      await open.control.close()
    } finally {
      await (open.feeding ?? open.store).close()
      if (isReplicaFolder(folder)) removeReplicaFolder(folder)
    }
  }

  /** Listens for a keys API, or counts one more user of it, which says what it said before until it is told otherwise. */
  async takeApi(key: string, options: ApiOptions): Promise<void> {
    const { api } = options
    const there = this.#apis.get(key)
    if (there !== undefined) {
      there.users++
      return
    }
    const open: { handler: KeysHandler } = { handler: this.#handlerOf(options) }
    const server = await serveKeys(api, (request, response) => open.handler(request, response))
    this.#apis.set(key, Object.assign(open, { users: 1, server }))
    if (options.token === undefined && !isPrivate(api))
      this.#log.warn(`the keys API on ${api} can be written by whoever reaches it: set a token, or listen on 127.0.0.1`)
  }

  /** Has an API that listens say this from now on. */
  serveApi(key: string, options: ApiOptions): void {
    const open = this.#apis.get(key)
    if (open !== undefined) open.handler = this.#handlerOf(options)
  }

  async giveApi(key: string): Promise<void> {
    const open = this.#apis.get(key)
    if (open === undefined || --open.users > 0) return
    this.#apis.delete(key)
    await open.server.close()
  }

  #handlerOf({ api, folder, token }: ApiOptions): KeysHandler {
    const { store } = this.#stores.get(folder)!
    return keysApi(store, { token, writable: store.isWritable, allowedHosts: allowedHosts(api, token) })
  }
}

/** The stores of one reading of the configuration. */
export class StoreLease implements Stores {
  readonly #pool: ProcessStores
  readonly #used = new Map<string, Used>()
  /** What was taken of the pool, to be given back in reverse. */
  readonly #taken: (() => Promise<void>)[] = []

  constructor(pool: ProcessStores) {
    this.#pool = pool
  }

  /** What was asked for, whether it is open or not. */
  get used(): readonly { readonly options: PlacedStore; readonly at: Directive }[] {
    return [...this.#used.values()]
  }

  use(options: StoreOptions, at: Directive): Store {
    const folder = folderOfStore(options)
    const before = this.#used.get(folder)
    // Who leaves out the API takes what another user of the folder says.
    if (before?.options.api !== undefined && options.api !== undefined) {
      const place = placeText(before.at.at)
      if (before.options.api !== options.api || before.options.token !== options.token)
        throw new ConfigError(`${at.name}: the store ${folder} has another api or token in ${place}, expected the same`, at.at)
    }
    if (before?.options.etcd !== undefined && options.etcd !== undefined && !sameSource(before.options.etcd, options.etcd))
      throw new ConfigError(`${at.name}: the store ${folder} is fed otherwise in ${placeText(before.at.at)}, expected the same`, at.at)
    if (options.api !== undefined) this.#checkApi(options.api, folder, at)
    const isFirst = before === undefined || (before.options.api === undefined && options.api !== undefined)
    const { api = before?.options.api, token = before?.options.token, etcd = before?.options.etcd, judge = before?.options.judge } = options
    this.#used.set(folder, { options: { folder, api, token, etcd, judge }, at: isFirst ? at : before.at })
    return traced(() => this.#pool.store(folder) ?? notOpen(folder))
  }

  /** Two stores cannot answer at one address: known before anything is opened. */
  #checkApi(api: string, folder: string, at: Directive): void {
    for (const { options, at: other } of this.#used.values()) {
      if (options.folder === folder || api === 'off' || options.api !== api || api.endsWith(':0')) continue
      const place = placeText(other.at)
      throw new ConfigError(`${at.name}: ${place} has its keys API on ${api} already, expected another address, or off`, at.at)
    }
  }

  async open(): Promise<void> {
    try {
      for (const { options } of this.#used.values()) await this.#openOne(options)
    } catch (error) {
      await this.close()
      throw error
    }
  }

  async #openOne(options: PlacedStore): Promise<void> {
    const { folder } = options
    await this.#pool.takeStore(options)
    this.#taken.push(() => this.#pool.giveStore(folder))
    if (!this.#pool.hasApis || !hasApi(options)) return
    const key = apiKey(options)
    await this.#pool.takeApi(key, options)
    this.#taken.push(() => this.#pool.giveApi(key))
  }

  serve(): void {
    for (const { options } of this.#used.values()) {
      this.#pool.feedStore(options)
      if (hasApi(options)) this.#pool.serveApi(apiKey(options), options)
    }
  }

  async close(): Promise<void> {
    const errors: unknown[] = []
    for (const giveBack of this.#taken.splice(0).reverse()) await giveBack().catch((error: unknown) => errors.push(error))
    if (errors.length > 0) throw new AggregateError(errors, `a store did not close cleanly: ${errors.map(thrownText).join('; ')}`)
  }

  get opened(): readonly { folder: string; api: string | undefined }[] {
    return this.used.map(({ options }) => ({
      folder: options.folder,
      api: hasApi(options) ? this.#pool.apiAddress(apiKey(options)) : undefined
    }))
  }
}

function hasApi(options: PlacedStore): options is ApiOptions {
  return options.api !== undefined && options.api !== 'off'
}

/** What an API is known by in the pool: its address; one on a free port belongs to its folder. */
function apiKey({ api, folder }: ApiOptions): string {
  return api.endsWith(':0') ? `${api} ${folder}` : api
}

function notOpen(folder: string): never {
  throw new StoreError(`the store ${folder} is not open`)
}

/** Addresses that only this machine reaches. */
export function isPrivate(api: string): boolean {
  return api.startsWith('unix:') || /^(127\.|\[::1\]|localhost:)/.test(api)
}

/** Names that a client may have in its Host header; with a token no page's author gains by another name. */
function allowedHosts(api: string, token: string | undefined): readonly string[] | 'any' {
  if (api.startsWith('unix:') || token !== undefined) return 'any'
  const host = api.replace(/:\d+$/, '').replace(/^\[|\]$/g, '')
  const everywhere = isIP(host) !== 0 && /^[0.:]+$/.test(host)
  return everywhere ? localAddresses() : [host]
}
