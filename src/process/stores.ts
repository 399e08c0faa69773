import { isIP } from 'node:net'
import type { Stores } from '../chain/scope.js'
import { ConfigError, type Directive } from '../corefile/directive.js'
import { localAddresses } from '../listen/addresses.js'
import type { Clock, Log, Store, StoreOptions } from '../plugin.js'
import { EmbeddedStore } from '../store/embedded.js'
import { keysApi } from '../store/keys-api.js'
import { type KeysServer, serveKeys } from '../store/keys-listen.js'
import { traced } from '../store/reading.js'
import { StoreError } from '../store/store.js'
import { type Control, serveControl } from './control.js'

/** A store as configured, and as it is open. */
interface Used {
  options: StoreOptions
  at: Directive
  store?: EmbeddedStore | undefined
  keys?: KeysServer | undefined
  control?: Control | undefined
}

/** The embedded stores of the process: each with its lock, its keys API, and the control socket that `skein kv` uses. */
export class EmbeddedStores implements Stores {
  readonly #clock: Clock
  readonly #log: Log
  readonly #used = new Map<string, Used>()

  constructor(clock: Clock, log: Log) {
    this.#clock = clock
    this.#log = log
  }

  use(options: StoreOptions, at: Directive): Store {
    const { folder } = options
    const before = this.#used.get(folder)
    // Who leaves out the API takes what another user of the folder says.
    if (before?.options.api !== undefined && options.api !== undefined) {
      const { file, line } = before.at.at
      if (before.options.api !== options.api || before.options.token !== options.token)
        throw new ConfigError(`${at.name}: the store ${folder} has another api or token in ${file}:${line}, expected the same`, at.at)
    }
    if (options.api !== undefined) this.#checkApi(options.api, folder, at)
    const used: Used = before ?? { options, at }
    if (options.api !== undefined) {
      used.options = options
      used.at = at
    }
    this.#used.set(folder, used)
    return traced(() => used.store ?? notOpen(folder))
  }

  /** Two stores cannot answer at one address: known before anything is opened. */
  #checkApi(api: string, folder: string, at: Directive): void {
    for (const { options, at: other } of this.#used.values()) {
      if (options.folder === folder || api === 'off' || options.api !== api || api.endsWith(':0')) continue
      const { file, line } = other.at
      throw new ConfigError(`${at.name}: ${file}:${line} has its keys API on ${api} already, expected another address, or off`, at.at)
    }
  }

  async open(): Promise<void> {
    try {
      for (const used of this.#used.values()) await this.#openOne(used)
    } catch (error) {
      await this.close()
      throw error
    }
  }

  async #openOne(used: Used): Promise<void> {
    const { folder, api, token } = used.options
    used.store = await EmbeddedStore.open(folder, {
      clock: this.#clock,
      report: (error) => this.#log.error(`the store ${folder}: ${String(error)}`)
    })
    used.control = serveControl(used.store)
    if (api === undefined || api === 'off') return
    const handler = keysApi(used.store, { token, writable: true, allowedHosts: allowedHosts(api, token) })
    used.keys = await serveKeys(api, handler)
    if (token === undefined && !isPrivate(api)) {
      this.#log.warn(`the keys API on ${api} can be written by whoever reaches it: set a token, or listen on 127.0.0.1`)
    }
  }

  async close(): Promise<void> {
    const errors: unknown[] = []
    for (const used of [...this.#used.values()].reverse()) {
      for (const part of [used.keys, used.control, used.store]) {
        await part?.close().catch((error: unknown) => errors.push(error))
      }
      used.keys = used.control = used.store = undefined
    }
    if (errors.length > 0) throw new AggregateError(errors, 'a store did not close cleanly')
  }

  /** What was asked for, whether it is open or not. */
  get used(): readonly { readonly options: StoreOptions; readonly at: Directive }[] {
    return [...this.#used.values()]
  }

  /** The folders that are open, and where the keys API of each listens. */
  get opened(): readonly { folder: string; api: string | undefined }[] {
    return [...this.#used.values()].map(({ options, keys }) => ({ folder: options.folder, api: keys?.address }))
  }
}

function notOpen(folder: string): never {
  throw new StoreError(`the store ${folder} is not open`)
}

/** Addresses that only this machine reaches. */
function isPrivate(api: string): boolean {
  return api.startsWith('unix:') || /^(127\.|\[::1\]|localhost:)/.test(api)
}

/** Names that a client may have in its Host header; with a token no page's author gains by another name. */
function allowedHosts(api: string, token: string | undefined): readonly string[] | 'any' {
  if (api.startsWith('unix:') || token !== undefined) return 'any'
  const host = api.replace(/:\d+$/, '').replace(/^\[|\]$/g, '')
  const everywhere = isIP(host) !== 0 && /^[0.:]+$/.test(host)
  return everywhere ? localAddresses() : [host]
}
