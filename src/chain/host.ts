import { createHash } from 'node:crypto'
import { readdir, readFile, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { ConfigError, type Directive } from '../corefile/directive.js'
import { reasonOf } from '../corefile/outside.js'
import {
  type Clock,
  type Host,
  type Log,
  type MaybePromise,
  type MetricsRegistry,
  type Offer,
  type Random,
  type Reply,
  rootFolder,
  type Setting,
  type Shared,
  type SharedValue,
  type Store,
  type StoreOptions
} from '../plugin.js'
import type { Query } from '../query.js'
import type { BlockScope } from './scope.js'

/** What one directive's plugin is lent. */
export class PluginHost implements Host {
  readonly log: Log
  readonly #scope: BlockScope
  readonly #directive: Directive

  constructor(scope: BlockScope, directive: Directive) {
    this.#scope = scope
    this.#directive = directive
    this.log = named(scope.services.log, directive.name)
  }

  get clock(): Clock {
    return this.#scope.services.clock
  }

  get random(): Random {
    return this.#scope.services.random
  }

  get metrics(): MetricsRegistry {
    return this.#scope.services.metrics
  }

  get version(): string {
    return this.#scope.services.version
  }

  resolvePath(path: string): string {
    return resolve(this.#scope.settings.get(rootFolder) ?? this.#scope.generation.folder, path)
  }

  async readFile(path: string): Promise<Buffer> {
    try {
      const octets = await readRegular(this.resolvePath(path))
      this.#scope.noteFile({ path: this.resolvePath(path), hash: hashOf(octets), directive: this.#directive })
      return octets
    } catch (error) {
      throw new ConfigError(`${this.#directive.name}: cannot read ${path}: ${reasonOf(error)}`, this.#directive.at, { cause: error })
    }
  }

  async readFolder(path: string): Promise<readonly string[]> {
    const absolute = this.resolvePath(path)
    try {
      const names = await namesIn(absolute)
      this.#scope.noteFile({ path: absolute, hash: names && hashOfNames(names), directive: this.#directive })
      return names ?? []
    } catch (error) {
      const why = (error as NodeJS.ErrnoException).code === 'ENOTDIR' ? 'it is no folder' : reasonOf(error)
      throw new ConfigError(`${this.#directive.name}: cannot read ${path}: ${why}`, this.#directive.at, { cause: error })
    }
  }

  store(options: StoreOptions): Store {
    const api = options.api?.startsWith('unix:') ? `unix:${this.resolvePath(options.api.slice('unix:'.length))}` : options.api
    const folder = options.folder === undefined ? undefined : this.resolvePath(options.folder)
    const own = { ...options, api, folder }
    this.#scope.stores.push({ options: own, directive: this.#directive })
    return this.#scope.generation.stores.use(own, this.#directive)
  }

  shared<T>(key: string, create: () => MaybePromise<SharedValue<T>>, per: 'process' | 'thread' = 'process'): MaybePromise<Shared<T>> {
    const { shares, isWorker = false } = this.#scope.services
    return isWorker && per === 'process' ? elsewhere(key) : shares.take(key, create)
  }

  get behind(): string {
    return this.#scope.behind(this.#directive)
  }

  resolve(query: Query): MaybePromise<Reply> {
    return this.#scope.resolve(query)
  }

  set<T>(setting: Setting<T>, value: T): void {
    const settings = setting.scope === 'block' ? this.#scope.settings : this.#scope.processSettings
    settings.set(setting.name, value, this.#directive)
  }

  offer<T>(offer: Offer<T>, value: T): void {
    this.#scope.offer(offer, value)
  }

  find<T>(offer: Offer<T>): readonly T[] {
    return this.#scope.find(offer)
  }
}

/** Of the contents of a file. */
export function hashOf(octets: Uint8Array): string {
  return createHash('sha256').update(octets).digest('hex')
}

/** Reads a file. What is none is not opened: a pipe on which nobody writes would keep the process from starting, and from ending too. */
async function readRegular(path: string): Promise<Buffer> {
  const found = await stat(path)
  if (!found.isFile() && !found.isDirectory()) throw Object.assign(new Error('it is no regular file'), { code: 'EINVAL' })
  return readFile(path)
}

/** The hash of what is at a path now: of a file's contents, or a folder's names; undefined where nothing can be read there. */
export async function hashAt(path: string): Promise<string | undefined> {
  try {
    return hashOf(await readRegular(path))
  } catch {
    // It is a folder, or cannot be read; both is told by what comes of this.
    return namesIn(path).then(
      (names) => names && hashOfNames(names),
      () => undefined
    )
  }
}

/** The names in a folder, sorted; undefined where it is missing. */
async function namesIn(path: string): Promise<readonly string[] | undefined> {
  try {
    return (await readdir(path)).sort()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

function hashOfNames(names: readonly string[]): string {
  return hashOf(Buffer.from(names.join('\0')))
}

/** What is made in the main thread, as a worker gets it. */
function elsewhere<T>(key: string): Shared<T> {
  return {
    get value(): never {
      throw new Error(
        `${JSON.stringify(key)} is shared once a process, so a worker thread has none: share it once a thread, or start with \`once\``
      )
    },
    release: () => {}
  }
}

function named(log: Log, name: string): Log {
  if (log.named !== undefined) return log.named(name)
  const prefix = `plugin/${name}: `
  return {
    debug: (text) => log.debug(prefix + text),
    info: (text) => log.info(prefix + text),
    warn: (text) => log.warn(prefix + text),
    error: (text) => log.error(prefix + text),
    line: (text) => log.line(text),
    format: log.format ?? 'text'
  }
}
