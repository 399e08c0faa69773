/**
 * The public plugin interface, `skein/plugin`: all that a plugin may import from Skein.
 *
 * A plugin is a module whose default export satisfies {@link Plugin}. The built-in plugins import this file by the same
 * name as everyone else's, and are loaded the same way. Only types are needed: all power arrives by argument.
 */
import type { Config, Schema } from './corefile/schema.js'
import type { Message } from './message/message.js'
import type { Rcode } from './message/registry.js'
import type { MetricFamily, MetricsRegistry } from './metrics.js'
import type { Offer, Setting } from './offers.js'
import type { Fact, Query } from './query.js'
import type { Store, StoreOptions } from './store/interface.js'

export { ConfigError, type Directive, type Place, shown } from './corefile/directive.js'
export type { Config, Schema } from './corefile/schema.js'
export { type DigestType, Dnskey } from './dnssec/dnskey.js'
export { generateKeyPair, halfPairNames, type KeyTexts, keyPairNames, readKeyPair } from './dnssec/key-file.js'
export { makeKeyFile } from './dnssec/key-folder.js'
export { KeyProblem } from './dnssec/key-problem.js'
export { ZoneKey } from './dnssec/zone-key.js'
export { type HttpEnd, type HttpPage, type HttpReply, openHttp } from './http/page.js'
export { HTTP_ADDRESS, type HttpPlace, httpPlace } from './http/place.js'
export { ipv4Octets, ipv4Text, ipv6Octets, ipv6Text } from './message/address.js'
export { base32Hex } from './message/base32.js'
export { canonicalRdata } from './message/canonical.js'
export { endOfChain } from './message/cname-chain.js'
export type { ExtendedError, Message, Origin } from './message/message.js'
export {
  canonicalName,
  countLabels,
  FormatError,
  isWithin,
  labelsOf,
  nameOctets,
  nameOfLabels,
  parentName,
  RecordError,
  sameName,
  spelledName
} from './message/name.js'
export { stackLines, thrownText } from './message/one-line.js'
export { PackedReply, type PackedSource, pack } from './message/packed.js'
export type { Question } from './message/question.js'
export { reasonsOf } from './message/reasons.js'
export { type ResourceRecord, withTtl, writtenOnce } from './message/record.js'
export { asksForRecords, isMetaType, type Rcode, type RRClass, type RRType, typeNumber } from './message/registry.js'
export { coveredType, expirationOf, originalTtlOf } from './message/rrsig.js'
export { ByServer, type Counter, type HistogramValue, type MetricFamily, type MetricSample, type MetricsRegistry } from './metrics.js'
export {
  adminEnd,
  answeringThreads,
  type BlockServed,
  blockServed,
  debugLog,
  type KnownName,
  listenAddresses,
  type NamesKnown,
  type NotReady,
  namesKnown,
  type Offer,
  readiness,
  reloadEvery,
  rootFolder,
  type Setting,
  serviceStore,
  signaturesMade,
  signsReplies,
  storeChanges,
  storeReads,
  udpSize,
  type ZoneCut,
  zoneCuts,
  zonesServed
} from './offers.js'
export { type Client, type Fact, fact, type Query, type ReplyParts, shownAddress } from './query.js'
export { SizeError } from './reply/size.js'
export type { EtcdSource, EtcdTls } from './store/etcd/source.js'
export type { JudgeModule, Reading, Store, StoreChange, StoreOptions, StoreTrace } from './store/interface.js'
export { fold, type Key, keyOfPath, shownKey } from './store/key.js'
export { type Entry, type Feed, waitingText } from './store/store.js'
export { readUpstream, type Upstream, upstreamAt } from './upstream/address.js'
export { askUpstream } from './upstream/ask.js'
export type { Asking, Exchange, ExchangeFailure, ExchangeOutcome, Timers } from './upstream/exchange.js'
export { InFlight } from './upstream/in-flight.js'
export { questionKey, upstreamEdns } from './upstream/question.js'
export { type ResolvConf, readResolvConf } from './upstream/resolv-conf.js'

/** What came of a query, told to the layers that observe. */
export interface Sent {
  /** What the chain returned; the server's own SERVFAIL where it failed. */
  readonly reply: Reply
  /** What it threw, or what made its reply unfit to be sent. */
  readonly error?: unknown
  /** The rcode, flags and size of the message as it was sent, TC by our own cut included; of a dropped query and of a look-up of the server for itself the size is 0. */
  readonly rcode: Rcode
  readonly flags: number
  readonly octets: number
  /** From the request's arrival to now. */
  readonly milliseconds: number
  /** The directive of the layer that answered, where an observer `wantsLayer`; undefined where none did. */
  readonly layer?: string | undefined
}

/** The plugin interface version that this Skein speaks. Raised only when an old plugin would break. */
export const API_VERSION = 1

/** A value that is here, or arrives. */
export type MaybePromise<T> = T | PromiseLike<T>

/** Returned instead of a message to send nothing, e.g. when rate limiting. */
export const drop: unique symbol = Symbol.for('skein.drop') as never

/**
 * What a handler returns. There is always an answer: where no plugin has one, the end of the chain refuses.
 * A handler that forgets `return` therefore does not compile.
 */
export type Reply = Message | typeof drop

/** Asks the rest of the chain. May be given another query, and may be called more than once. */
export type Next = (query: Query) => MaybePromise<Reply>

/** What a layer does with a query: answer it, or give it to `next` and look at what comes back. */
export type Handler = (query: Query, next: Next) => MaybePromise<Reply>

/** A plugin: the default export of a built-in plugin's index.ts, or of the npm package `skein-plugin-NAME`. */
export interface Plugin<S extends Schema = Schema> {
  /** The plugin's name and its directive: a lower-case letter, then letters, digits, `-`, `_`. */
  readonly name: string
  readonly api: typeof API_VERSION
  /** Further spellings of its directive; where given, `name` itself is none. */
  readonly directives?: readonly string[]
  /** Where it stands next to a built-in plugin; just before `forward` where left out. */
  readonly order?: { readonly before: string } | { readonly after: string }
  /** The classes of the questions that it sees, `IN` where left out; `*` stands for every class. */
  readonly classes?: readonly string[]
  /** Whether its directive may stand several times in a server block: one layer each, in the order of the Corefile. */
  readonly repeatable?: boolean
  /** The per-query facts that it sets, for log formats and other plugins to read. */
  readonly facts?: readonly Fact<unknown>[]
  /** What its directive takes; no argument and no block where left out. */
  readonly schema?: S
  /** Takes its configuration, read by the schema, and opens nothing: no socket, timer or file but by `host.readFile`. */
  setup(config: Config<S>, host: Host): MaybePromise<Layer>
}

/** One configured use of a plugin in the chain of one server block. Every member may be missing. */
export interface Layer {
  readonly handle?: Handler
  /** Is told what was sent, after it was sent; look-ups of the server for itself included. In chain order. What it throws is reported. */
  observe?(query: Query, sent: Sent): void
  /**
   * It uses a query, and what `next` gave it, no longer than until its `handle` has returned a reply that is not a promise, and in
   * `observe` until that has returned. The octets of both are then used for others. For all other layers copies are made first, which costs.
   */
  readonly inPlace?: boolean
  /**
   * `start`, `refreshed`, `drain` and `stop` are for the whole process: where worker threads answer, they are called in the main thread
   * alone. For a layer whose `handle` and `observe` do without.
   */
  readonly once?: boolean
  /** Its `observe` tells the operator of errors. Where no layer does, the server does. */
  readonly tellsErrors?: boolean
  /** Its `observe` is to be told which layer answered, which is noted for each query of the chain then. */
  readonly wantsLayer?: boolean
  /**
   * All of its server block is set up, and nothing was started: what others have offered in `setup` can be found, and what is missing is
   * an error of the configuration, which `skein check` finds too. Not called where a part of the block was left out or is wrong itself.
   */
  verify?(): void
  /** Opens sockets, timers, watches. Awaited in chain order, before the server listens. */
  start?(): MaybePromise<void>
  /** True when it can answer, else why not yet, in words. */
  ready?(): true | string
  /** The server was told to stop. While this is waited for it goes on answering; the time is the operator's to choose. */
  drain?(): MaybePromise<void>
  /** A reload has taken place, be this layer one that it has kept or a new one: what was found of other server blocks may be another now. */
  refreshed?(): void
  /** Undoes `start`. Called once, in reverse order, also when a later layer's `start` failed. */
  stop?(): MaybePromise<void>
  /** What `skein check` looks for mistakes with. */
  readonly reach?: Reach
}

/** Which questions a layer is for, and whom it asks. Zones are canonical names. */
export interface Reach {
  /** Where it does something; in the zones of the server block where left out. */
  readonly zones?: readonly string[]
  /** Where every question of its classes ends with it, and none goes on. */
  readonly ends?: readonly string[]
  /** Whether it answers questions by itself; not said, it is taken for one that does. */
  readonly answers?: false
  /** The servers that it asks, each for names in these zones, or in `zones`. */
  readonly asks?: readonly { readonly address: string; readonly port: number; readonly zones?: readonly string[] }[]
  /** What `start` will make that stays, each in words that follow on "the start": `makes a key for example.org. in ./keys`. */
  readonly makes?: readonly string[]
  /** Where it listens by itself, over TCP; `needed` where it does not start without. */
  readonly listens?: readonly { readonly address: string; readonly port: number; readonly needed?: boolean }[]
}

/** What the server lends a plugin. A plugin reaches nothing of the core in any other way. */
export interface Host {
  /** Reads a file named in the configuration; relative paths hang on the Corefile's folder, or on what `root` says. */
  readFile(path: string): MaybePromise<Buffer>
  /** The names of what a folder of the configuration holds, sorted; none where it is missing. A reload notices where they change. */
  readFolder(path: string): MaybePromise<readonly string[]>
  /** The absolute path of one named in the configuration. */
  resolvePath(path: string): string
  /** Lines carry the plugin's name. */
  readonly log: Log
  readonly clock: Clock
  readonly random: Random
  readonly metrics: MetricsRegistry
  /** A version text such as `Skein-0.1.0`. */
  readonly version: string
  /** The service store in a folder: opened by the server before any layer starts, closed after the last has stopped. */
  store(options: StoreOptions): Store
  /**
   * Made once a process by the first user, closed when the last has stopped, surviving a reload that keeps the key. Call it in `start`.
   *
   * Where worker threads answer, it is made in the main thread, and `create` is not called in theirs, nor has what they get a value: right
   * for a port. What the queries of a chain need is made once for each `thread` that has chains.
   */
  shared<T>(key: string, create: () => MaybePromise<SharedValue<T>>, per?: 'process' | 'thread'): MaybePromise<Shared<T>>
  /**
   * Equal before and after a reload where the directives behind this one in its chain, the files that they read and the server
   * blocks that their look-ups have entered are unchanged: what rests on these alone can be `shared` under it. Known from `start` on.
   */
  readonly behind: string
  /** Asks the server itself, routed anew over all server blocks, at most 8 deep. */
  resolve(query: Query): MaybePromise<Reply>
  /** Sets something that belongs to the server block or the process, not to a chain. Two different values are an error. */
  set<T>(setting: Setting<T>, value: T): void
  /** Makes a value findable by other plugins, of the server block or of the process as the offer says, from `start` on; in `verify` too where it was offered in `setup`. */
  offer<T>(offer: Offer<T>, value: T): void
  /** All that has been offered under this key. */
  find<T>(offer: Offer<T>): readonly T[]
}

/** Where lines for the operator go. */
export interface Log {
  debug(text: string): void
  info(text: string): void
  warn(text: string): void
  error(text: string): void
  /** A line as it is, without time, level or name. Where lines are JSON, what is no object of JSON is made the `msg` of one. */
  line(text: string): void
  /** What lines are, by the flag -log-format; `text` where left out. */
  readonly format?: 'text' | 'json'
  /** The same log, whose lines carry the name of a plugin. */
  named?(plugin: string): Log
  /** Writes what is waiting, before the process ends. */
  flush?(): void
  /** Whether lines for debugging are written; the log of the process alone has it. */
  showDebug?(on: boolean): void
}

/** Time, so that tests can turn it. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number
  /** Milliseconds from an arbitrary start, never going back. */
  monotonic(): number
  /** Calls `fire` once after so many milliseconds. */
  after(milliseconds: number, fire: () => void): { cancel(): void }
}

/** Random numbers that nobody can foresee. */
export interface Random {
  /** A whole number in [0, limit). `limit` is at most 2^31. */
  below(limit: number): number
}

/** Puts a list into random order, each as likely as any other, and returns it: the same list, not a copy. */
export function shuffle<T>(list: T[], random: Random): T[] {
  for (let last = list.length - 1; last > 0; last--) {
    const other = random.below(last + 1)
    const item = list[last]!
    list[last] = list[other]!
    list[other] = item
  }
  return list
}

/** What a shared thing is made of. */
export interface SharedValue<T> {
  readonly value: T
  close?(): MaybePromise<void>
}

/** One user's share. */
export interface Shared<T> {
  /** Throws in a worker thread where it is one of the process. */
  readonly value: T
  /** Gives the share back; the last one closes. */
  release(): MaybePromise<void>
}

/** Uses a value now if it is here, or when it arrives. Keeps a synchronous chain synchronous. */
export function andThen<T, U>(value: MaybePromise<T>, use: (value: T) => MaybePromise<U>): MaybePromise<U> {
  return isPromiseLike(value) ? value.then(use) : use(value)
}

/** Whether a value has yet to arrive. */
export function isPromiseLike<T>(value: MaybePromise<T>): value is PromiseLike<T> {
  return typeof (value as PromiseLike<T> | undefined)?.then === 'function'
}

/** Has the numbers of a layer told together with those of all others that give this key, in this thread, until what is returned is called. */
export async function tellTogether<T>(
  host: Pick<Host, 'shared' | 'metrics'>,
  key: string,
  numbers: T,
  families: (all: readonly T[]) => readonly MetricFamily[]
): Promise<() => Promise<void>> {
  const create = (): SharedValue<Set<T>> => {
    const value = new Set<T>()
    return { value, close: host.metrics.collect(() => families([...value])) }
  }
  const all = await host.shared(key, create, 'thread')
  all.value.add(numbers)
  return async () => {
    all.value.delete(numbers)
    await all.release()
  }
}
