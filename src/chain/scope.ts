/** What the plugins of one server block, and those of the whole process, share with each other and with the core. */
import { ConfigError, type Directive } from '../corefile/directive.js'
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

/** What the process gives to every server block. Made by the composition root; tests give their own. */
export interface ProcessServices {
  readonly log: Log
  readonly clock: Clock
  readonly random: Random
  readonly metrics: MetricsRegistry
  readonly stores: Stores
  readonly shares: Shares
  readonly version: string
}

/** The service stores of the process, by folder. */
export interface Stores {
  /** A reader of the store in an absolute folder; nothing is opened yet. Throws ConfigError where another user's options differ. */
  use(options: StoreOptions, at: Directive): Store
  /** Opens what is used. Throws StoreError or ListenError, and has opened nothing then. */
  open(): Promise<void>
  close(): Promise<void>
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
  /** What plugins have offered to all server blocks. */
  readonly offers = new Map<string, unknown[]>()

  /** Takes a value; throws ConfigError, naming both lines, where another is there already. */
  set(name: string, value: unknown, directive: Directive): void {
    const before = this.#values.get(name)
    if (before !== undefined && JSON.stringify(before.value) !== JSON.stringify(value)) {
      const { file, line } = before.directive.at
      throw new ConfigError(`${directive.name}: differs from what ${file}:${line} says, expected the same`, directive.at)
    }
    this.#values.set(name, { value, directive })
  }

  get<T>({ name }: Setting<T>): T | undefined {
    return this.#values.get(name)?.value as T | undefined
  }

  /** The directive that has set it. */
  directiveOf({ name }: Setting<unknown>): Directive | undefined {
    return this.#values.get(name)?.directive
  }
}

/** One server block while it is configured and while it runs. */
export class BlockScope {
  readonly services: ProcessServices
  /** The Corefile's folder: relative paths hang on it. */
  readonly folder: string
  readonly settings = new Settings()
  readonly processSettings: Settings
  /** Asks the server that the block belongs to; set when that is known. */
  resolve: (query: Query) => MaybePromise<Reply>
  readonly #offers = new Map<string, unknown[]>()

  constructor(services: ProcessServices, folder: string, processSettings: Settings, resolve: (query: Query) => MaybePromise<Reply>) {
    this.services = services
    this.folder = folder
    this.processSettings = processSettings
    this.resolve = resolve
  }

  offer<T>(offer: Offer<T>, value: T): void {
    const offers = this.#offersOf(offer)
    const values = offers.get(offer.name)
    if (values === undefined) offers.set(offer.name, [value])
    else values.push(value)
  }

  find<T>(offer: Offer<T>): readonly T[] {
    return (this.#offersOf(offer).get(offer.name) ?? []) as T[]
  }

  #offersOf({ scope }: Offer<unknown>): Map<string, unknown[]> {
    return scope === 'process' ? this.processSettings.offers : this.#offers
  }
}
