/** What the plugins of one server block, and those of the whole process, share with each other and with the core. */
import { ConfigError, type Directive, placeText } from '../corefile/directive.js'
import type {
  Clock,
  Log,
  MaybePromise,
  MetricsRegistry,
  Offer,
  Random,
  Reply,
  Setting,
  Shared,
  SharedValue,
  Store,
  StoreOptions
} from '../plugin.js'
import type { Query } from '../query.js'
import type { ChangedKeys } from '../store/store.js'

/** What the process gives to every server block. Made by the composition root; tests give their own. */
export interface ProcessServices {
  readonly log: Log
  readonly clock: Clock
  readonly random: Random
  readonly metrics: MetricsRegistry
  readonly stores: StorePool
  readonly shares: Shares
  readonly version: string
  /** Whether this is a worker thread, which answers, and leaves what is to be once a process to the main thread. */
  readonly isWorker?: boolean
}

/** The service stores of the process: each folder is open once, whoever uses it. */
export interface StorePool {
  /** For one reading of the configuration. */
  lease(): Stores
  /** Has changes of open stores told: in which folder, and of which keys. */
  onChange?(told: StoreNews): void
}

/** Is told that keys of the store in a folder have changed. */
export type StoreNews = (folder: string, keys: ChangedKeys) => void

/** How a store is opened, in a folder of which the absolute path is known. */
export type PlacedStore = StoreOptions & { readonly folder: string }

/** The service stores that one reading of the configuration uses, by folder. */
export interface Stores {
  /** A reader of the store in an absolute folder; nothing is opened yet. Throws ConfigError where another user's options differ. */
  use(options: StoreOptions, at: Directive): Store
  /** Opens what is used and not open yet. Throws StoreError or ListenError, and has opened nothing then. */
  open(): Promise<void>
  /** Serves the keys APIs as this reading has them, where another one had them otherwise. */
  serve(): void
  /** Closes what nobody else uses. */
  close(): Promise<void>
  /** What was asked for, whether it is open or not. */
  readonly used: readonly { readonly options: PlacedStore; readonly at: Directive }[]
  /** The folders that are open, and where the keys API of each listens. */
  readonly opened: readonly { readonly folder: string; readonly api: string | undefined }[]
}

/** Things made once a process and counted by their users. */
export interface Shares {
  take<T>(key: string, create: () => MaybePromise<SharedValue<T>>): MaybePromise<Shared<T>>
}

/** Settings with the directives that set them. */
export class Settings {
  readonly #values = new Map<string, { readonly value: unknown; readonly directive: Directive }>()

  /** Takes a value; throws ConfigError, naming both lines, where another is there already. */
  set(name: string, value: unknown, directive: Directive): void {
    const before = this.#values.get(name)
    if (before !== undefined && JSON.stringify(before.value) !== JSON.stringify(value))
      throw new ConfigError(`${directive.name}: differs from what ${placeText(before.directive.at)} says, expected the same`, directive.at)
    this.#values.set(name, { value, directive })
  }

  get<T>({ name }: Setting<T>): T | undefined {
    return this.#values.get(name)?.value as T | undefined
  }

  /** Takes all that others have; throws ConfigError where it differs. */
  setAll(others: Settings): void {
    for (const [name, { value, directive }] of others.#values) this.set(name, value, directive)
  }

  /** The directive that has set it. */
  directiveOf({ name }: Setting<unknown>): Directive | undefined {
    return this.#values.get(name)?.directive
  }
}

/** What a server block is part of: one reading of the configuration. */
export interface Generation {
  /** The Corefile's folder: plugins are looked for from it, and relative paths hang on it where a block has no `root`. */
  readonly folder: string
  readonly stores: Stores
  /** All server blocks that run with this one. */
  readonly scopes: readonly BlockScope[]
}

/** A file or folder that a directive has read. */
export interface ReadFile {
  readonly path: string
  /** Undefined for a folder that was missing. */
  readonly hash: string | undefined
  readonly directive: Directive
}

/** One server block while it is configured and while it runs. It outlives the reading that it comes from where a reload keeps it. */
export class BlockScope {
  readonly services: ProcessServices
  /** Another one after a reload. */
  generation: Generation
  readonly settings = new Settings()
  /** What the block's directives have set for the whole process. */
  readonly processSettings = new Settings()
  /** The files that its directives have read, as each did last. */
  files: readonly ReadFile[] = []
  /** The stores that its directives use. */
  readonly stores: { readonly options: StoreOptions; readonly directive: Directive }[] = []
  /** Asks the server that the block belongs to. */
  readonly resolve: (query: Query) => MaybePromise<Reply>
  /** Equal in two readings where nothing that stands behind a directive has changed. */
  behind: (directive: Directive) => string = () => ''
  readonly #offers = new Map<string, unknown[]>()

  constructor(services: ProcessServices, generation: Generation, resolve: (query: Query) => MaybePromise<Reply>) {
    this.services = services
    this.generation = generation
    this.resolve = resolve
  }

  noteFile(read: ReadFile): void {
    this.files = [...this.files.filter(({ path, directive }) => path !== read.path || directive !== read.directive), read]
  }

  offer<T>({ name }: Offer<T>, value: T): void {
    const values = this.#offers.get(name)
    if (values === undefined) this.#offers.set(name, [value])
    else values.push(value)
  }

  find<T>({ name, scope }: Offer<T>): readonly T[] {
    const scopes = scope === 'process' ? this.generation.scopes : [this]
    return scopes.flatMap((each) => (each.#offers.get(name) ?? []) as T[])
  }
}
