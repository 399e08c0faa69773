/** What plugins tell the core, and each other, under a name and a type: settings and offers. */
import type { HttpPlace } from './http/place.js'
import type { Message } from './message/message.js'
import type { ResourceRecord } from './message/record.js'
import type { RRType } from './message/registry.js'
import type { MaybePromise, Reply } from './plugin.js'
import type { Fact, Query } from './query.js'
import type { Store, StoreChange, StoreTrace } from './store/interface.js'
import type { Key } from './store/key.js'

/** A named, typed place for a setting that the core reads. */
export interface Setting<T> {
  readonly name: string
  readonly scope: 'block' | 'process'
  /** Never set: carries the type. */
  readonly type?: T
}

/** The addresses that a server block listens on; all local ones where nobody sets it. */
export const listenAddresses: Setting<readonly string[]> = { name: 'bind', scope: 'block' }

/** The folder that relative paths of a server block hang on, absolute; the Corefile's where nobody sets it. */
export const rootFolder: Setting<string> = { name: 'root', scope: 'block' }

/** The cap on the size of UDP replies, in octets. */
export const udpSize: Setting<number> = { name: 'bufsize', scope: 'process' }

/** How often the configuration is looked at for changes, in milliseconds; never where nobody sets it. */
export const reloadEvery: Setting<{ readonly intervalMs: number; readonly jitterMs: number }> = { name: 'reload', scope: 'process' }

/** Where the admin calls are answered by HTTP, and the token that each asks for; nowhere where nobody sets it. */
export const adminEnd: Setting<{ readonly place: HttpPlace; readonly token: string | undefined }> = { name: 'admin', scope: 'process' }

/** How many threads answer queries, each with chains of its own; the main thread alone where nobody sets it, or sets 1. */
export const answeringThreads: Setting<number> = { name: 'multisocket', scope: 'process' }

/** Whether the log has lines for debugging. */
export const debugLog: Setting<boolean> = { name: 'debug', scope: 'process' }

/** A named, typed place for what plugins offer to others of their server block. */
export interface Offer<T> {
  readonly name: string
  /** `process`: found by the plugins of every server block; else by those of the same one. */
  readonly scope?: 'process'
  /** Never set: carries the type. */
  readonly type?: T
}

/** What layers that passed a query on have read of the store. A cached answer rests on it as on its own origin. */
export const storeReads: Fact<StoreTrace> = { name: 'store/reads' }

/** Calls `changed` after each change of a store that a plugin answers from; returns what ends it. */
export const storeChanges: Offer<(changed: (change: StoreChange) => void) => () => void> = { name: 'store-changes', scope: 'process' }

/** A server block, as the core tells its plugins of it. */
export interface BlockServed {
  /** Where it listens, in the spelling of a client's `endpoint`: `127.0.0.1:53`, `:53`. */
  readonly places: readonly { readonly endpoint: string; readonly zone: string }[]
  /** The directives of its chain, in its order, without those that only configure. */
  readonly chain: readonly string[]
}

/** The plugin's own server block: one, from `start` on. */
export const blockServed: Offer<BlockServed> = { name: 'block-served' }

/** A layer that cannot answer yet, by its directive, and why not, in words. */
export interface NotReady {
  readonly directive: string
  readonly why: string
}

/** Asks the layers of each server block whether they can answer. */
export const readiness: Offer<() => readonly NotReady[]> = { name: 'readiness', scope: 'process' }

/** What is known of a name, for whoever proves what is not there. */
export interface KnownName {
  /**
   * The types of the records at the name: it may tell of some that turn out not to be there, and leaves none out. CNAME where the name
   * has one, and then not what that leads to. Empty where there are names below it alone; undefined where it does not exist.
   */
  readonly types: readonly RRType[] | undefined
  /** What of the store that rests on. */
  readonly reads: readonly number[]
}

/** Names of zones for which nobody else is asked. */
export interface NamesKnown {
  /** Canonical. */
  readonly zones: readonly string[]
  /** Of a canonical name in one of the zones. Throws where the store cannot be read. */
  at(name: string): KnownName
}

/** Which types exist at names of a zone, by whoever answers for it with data of its own. */
export const namesKnown: Offer<NamesKnown> = { name: 'names-known' }

/** A zone below which somebody else answers than for what is above. */
export interface ZoneCut {
  /** Its apex, canonical. */
  readonly apex: string
  /** The DS records that stand above the cut; none where the zone is not signed, or nobody knows. */
  readonly ds: readonly ResourceRecord[]
}

/** Where zones are cut from those above, at this moment. */
export const zoneCuts: Offer<() => readonly ZoneCut[]> = { name: 'zone-cuts' }

/** Signs a reply that a layer before gives by itself, as one that came through: for questions of class IN with DO. */
export const signsReplies: Offer<(query: Query, reply: Message) => MaybePromise<Reply>> = { name: 'signs-replies' }

/** How many signatures had to be made, as they were not kept, for queries of this server block: a number that only grows. */
export const signaturesMade: Offer<() => number> = { name: 'signatures-made' }

/** The zones that a plugin answers for with data of its own. */
export const zonesServed: Offer<readonly string[]> = { name: 'zones-served' }

/** The store that a plugin answers services from, and the key below which they stand. Offered at set-up, by one plugin of a server block; read from `start` on. */
export const serviceStore: Offer<{ readonly store: Store; readonly path: Key }> = { name: 'service-store' }
