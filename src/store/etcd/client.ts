import type { EtcdSource } from './source.js'

/** How far the content of a cluster has come. */
export interface Position {
  /** The ID of the cluster, in hexadecimal. */
  readonly cluster: string
  /** v3: the revision; v2: the index. It grows with each change in the cluster, and falls only where its data were put back. */
  readonly revision: number
}

/** A key as etcd has it. */
export interface EtcdEntry {
  /** The octets of the whole key: `/skydns/local/skydns/web`. */
  readonly path: Buffer
  readonly value: Buffer
  readonly created: number
  readonly modified: number
  /**
   * What its life hangs on, to be asked for with {@link EtcdClient.remaining}; undefined where it stays. v3: the ID of its lease, as a
   * decimal number; v2: the path of the key or directory that has the time to live.
   */
  readonly lease: string | undefined
  /** When it vanishes unless its life is renewed, in milliseconds since 1970, where that came along (v2). */
  readonly expires: number | undefined
}

/** A change. */
export type EtcdEvent =
  | ({ readonly op: 'put' } & EtcdEntry)
  | { readonly op: 'delete'; readonly path: Buffer }
  /** A directory has gone with everything below it (v2). */
  | { readonly op: 'clear'; readonly path: Buffer }

/** Why etcd did not do what it was asked. The message is one line for the operator, without the endpoint. */
export class EtcdError extends Error {
  override readonly name = 'EtcdError'
  readonly code = 'SKEIN_ETCD'
  /**
   * `unreachable`: another endpoint may do, or the same one later. `denied`: user, password or rights are wrong. `compacted`: the changes
   * since that revision are not to be had any more. `failed`: everything else.
   */
  readonly kind: 'unreachable' | 'denied' | 'compacted' | 'failed'

  constructor(kind: EtcdError['kind'], message: string, options?: ErrorOptions) {
    super(message, options)
    this.kind = kind
  }
}

/** Is told what a watch sees, in order. */
export interface WatchListener {
  /** Changes, all of them up to this revision and none twice. */
  events(events: readonly EtcdEvent[], revision: number): void
  /** There was nothing more up to this revision. */
  progress(revision: number): void
  /** The watch has ended, and says nothing after this. Not called where it was cancelled. */
  lost(error: EtcdError): void
}

/** A watch, which does not begin again by itself. */
export interface EtcdWatch {
  cancel(): void
}

/**
 * A client of one endpoint: it asks that one alone, tries nothing twice, and all that it rejects with are {@link EtcdError}s. Each of
 * its questions ends within its time, also where the connection hangs; those that read or count all keys may take ten times as long.
 */
export interface EtcdClient {
  /** How far the cluster has come, as its leader has confirmed. */
  position(): Promise<Position>
  /**
   * Gives all keys below the source's path, in pages, as they were at the position that it resolves with. The next page is asked for
   * when `page` has resolved.
   */
  list(page: (entries: readonly EtcdEntry[]) => Promise<void> | void): Promise<Position>
  /** Watches what is below the path, from the change after `revision` on. */
  watch(revision: number, listener: WatchListener): EtcdWatch
  /**
   * Whether what this client reads goes on from what another had read before: that this many keys were below the path at `revision`,
   * and that some of them were set last when they were. A cluster whose data were put back may have come to the same revision again.
   */
  continues(kept: Kept): Promise<boolean>
  /** What is left of lives, in milliseconds; undefined of those that are none any more. */
  remaining(lease: string): Promise<number | undefined>
  /** The value of a key, wherever it stands; undefined where there is none. */
  get(path: Buffer): Promise<Buffer | undefined>
  /** Sets a key of the cluster; `ttl` in seconds. */
  put(path: Buffer, value: Buffer, ttl?: number): Promise<void>
  /** Deletes a key, with `recursive` all keys below it too; whether there was one. */
  delete(path: Buffer, recursive: boolean): Promise<boolean>
  /** Ends all that is under way, and its connections. */
  close(): void
}

/** What a replica has of a cluster. */
export interface Kept extends Position {
  /** How many keys are below the path. */
  readonly keys: number
  /** Some keys that were set last, and were not deleted since, with when that was. */
  readonly recent: readonly { readonly path: Buffer; readonly modified: number }[]
}

/** How long a question may take, in milliseconds. */
export interface EtcdPatience {
  readonly callMs: number
  /** A connection on which nothing comes for so long is asked whether it lives, and has a quarter of it to say so. */
  readonly quietMs: number
}

/** Makes a client of one of the source's endpoints. Opens nothing yet. Throws an EtcdError where it cannot be made. */
export type MakeEtcdClient = (source: EtcdSource, endpoint: string, patience: EtcdPatience) => EtcdClient
