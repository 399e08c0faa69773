import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { countBelow } from './below.js'
import { type StoreClock, systemClock } from './clock.js'
import { Draft } from './draft.js'
import { storeFailure } from './failure.js'
import { checkFile, identityOfFile, prepareFolder, STORE_FILE } from './folder.js'
import type { Key } from './key.js'
import { type FolderLock, lockFolder } from './lock.js'
import type { LockedStore } from './locked.js'
import { TableReader } from './reader.js'
import { readExpiry } from './record.js'
import { type ChangedKeys, type Entry, StoreError } from './store.js'
import { makeStore, openTables, readRevision, type Tables, writeMark } from './tables.js'
import { Watchers } from './watchers.js'

/** One change of a list that is applied as a whole. */
export type Change =
  | { readonly op: 'put'; readonly key: Key; readonly value: Buffer; readonly expires?: number | undefined }
  | { readonly op: 'delete'; readonly key: Key }
  | { readonly op: 'mkdir'; readonly key: Key; readonly expires?: number | undefined }
  | { readonly op: 'rmdir'; readonly key: Key }

/** How a store is opened. */
export interface StoreOptions {
  readonly clock?: StoreClock
  /** The folder's lock, where the caller holds it already; else the store takes it, and gives it back at its end. */
  readonly lock?: FolderLock
  /** Told of what nobody waits for: a watcher that throws, a purge that the disk refuses. */
  readonly report?: (error: unknown) => void
  /** Told what was done to the store of an older Skein, in a few words. */
  readonly tell?: (what: string) => void
}

interface Planned {
  readonly plan: (draft: Draft) => unknown
  readonly resolve: (result: never) => void
  readonly reject: (error: unknown) => void
}

// A longer timer would fire at once (2^31 ms), and a shorter look notices when the machine slept or its clock was set.
const LONGEST_WAIT_MS = 60_000
const RETRY_MS = 1000
const PLANS_PER_COMMIT = 256
const CHECK_MS = 500

/** The service store in a folder of this machine: one writer, durable, with keys that vanish on time. */
export class EmbeddedStore implements LockedStore {
  readonly isWritable = true
  readonly folder: string
  /** Its server is the control socket. */
  readonly lock: FolderLock
  readonly clock: StoreClock
  readonly #tables: Tables
  readonly #reader: TableReader
  readonly #watchers: Watchers
  readonly #report: (error: unknown) => void
  readonly #ownsLock: boolean
  #revision: number
  /** Which file was opened, and when it was last seen to be that one. */
  readonly #file: string | undefined
  #checked = 0
  /** When the next key vanishes. */
  #nearest = Infinity
  #timer: { cancel(): void } | undefined
  #queue: Planned[] = []
  #draining: Promise<void> | undefined
  #closed: Promise<void> | undefined

  /** Opens the store of a folder, making it where it is not; a {@link StoreError} says in one line why it cannot be. */
  static async open(folder: string, options: StoreOptions = {}): Promise<EmbeddedStore> {
    prepareFolder(folder)
    const lock = options.lock ?? (await lockFolder(folder))
    try {
      checkFile(folder)
      if (!existsSync(join(folder, STORE_FILE))) await makeStore(folder)
      const tables = await openTables(folder)
      if (tables.kind === 'replica') await refuseReplica(folder, tables)
      if (tables.isOld) await renew(folder, tables, options)
      const store = new EmbeddedStore(folder, lock, tables, options)
      await store.#purgeAtOpen()
      return store
    } catch (error) {
      if (options.lock === undefined) await lock.release()
      throw error
    }
  }

  private constructor(folder: string, lock: FolderLock, tables: Tables, options: StoreOptions) {
    this.folder = folder
    this.lock = lock
    this.clock = options.clock ?? systemClock
    this.#ownsLock = options.lock === undefined
    this.#tables = tables
    this.#report = options.report ?? ((error) => process.emitWarning(error instanceof Error ? error : String(error)))
    this.#watchers = new Watchers(this.#report)
    this.#reader = new TableReader(tables, () => (this.#nearest <= this.clock.now() ? this.clock.now() : undefined))
    this.#revision = readRevision(tables)
    this.#file = identityOfFile(folder)
    this.#nearest = this.#readNearest()
  }

  get revision(): number {
    return this.#revision
  }

  subtree(key: Key, limit?: number): Entry[] {
    return this.#reader.subtree(key, limit)
  }

  at(key: Key): Entry[] {
    return this.#reader.at(key)
  }

  has(key: Key): boolean {
    return this.#reader.has(key)
  }

  watch(key: Key, changed: (keys: ChangedKeys) => void): () => void {
    return this.#watchers.add(key, changed)
  }

  /** For the keys API and the export. */
  get exact(): TableReader {
    return this.#reader
  }

  /** Applies the changes together, under one revision, which it resolves with when the disk has them. */
  apply(changes: readonly Change[]): Promise<number> {
    return this.transact((draft) => {
      for (const change of changes) applyTo(draft, change)
      return draft.revision
    }).then((revision) => Math.min(revision, this.#revision))
  }

  /**
   * Lets a plan read and change as one step: no other change comes between what it reads and what it writes.
   * Resolves with the plan's result when the disk has the changes; rejects with what it throws, and nothing is changed.
   */
  transact<T>(plan: (draft: Draft) => T): Promise<T> {
    if (this.#closed !== undefined) return Promise.reject(new StoreError(`the store ${this.folder} is closed`))
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({ plan, resolve, reject })
      this.#draining ??= this.#drain()
    })
  }

  /** Ends it: what was asked before is written, nothing is accepted after. */
  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    this.#timer?.cancel()
    await this.#draining
    await this.#tables.root.close()
    if (this.#ownsLock) await this.lock.release()
  }

  async #drain(): Promise<void> {
    // Whoever asks in the same turn shares one write to the disk.
    await Promise.resolve()
    while (this.#queue.length > 0) await this.#commit(this.#queue.splice(0, PLANS_PER_COMMIT))
    this.#draining = undefined
  }

  async #commit(planned: readonly Planned[]): Promise<void> {
    const settle: (() => void)[] = []
    try {
      const draft = new Draft(this.#tables, this.#revision)
      draft.purge(this.clock.now())
      for (const { plan, resolve, reject } of planned) {
        try {
          const result = draft.run(plan)
          settle.push(() => resolve(result as never))
        } catch (error) {
          settle.push(() => reject(error))
        }
      }
      if (!draft.isEmpty) await this.#write(draft)
    } catch (error) {
      const failure = await storeFailure(this.folder, error)
      this.#arm(RETRY_MS)
      for (const { reject } of planned) reject(failure)
      return
    }
    for (const each of settle) each()
  }

  /** A folder that was moved or emptied under the server would take changes that are gone after a restart. */
  #checkFile(): void {
    const now = performance.now()
    if (now - this.#checked < CHECK_MS) return
    if (identityOfFile(this.folder) !== this.#file) {
      throw new StoreError(`the store ${this.folder} is no longer where it was opened, or is another one: restart the server`)
    }
    this.#checked = now
  }

  async #write(draft: Draft): Promise<void> {
    this.#checkFile()
    this.#revision = await draft.write()
    // Each thread keeps a snapshot; without this, reads after the write would see the state before it.
    this.#tables.root.resetReadTxn()
    this.#nearest = this.#readNearest()
    this.#arm()
    this.#watchers.tell(draft.changed)
  }

  async #purgeAtOpen(): Promise<void> {
    if (this.#nearest <= this.clock.now()) await this.transact(() => undefined)
    this.#arm()
  }

  #readNearest(): number {
    for (const octets of this.#tables.expiries.getKeys({ start: Buffer.from([0]), limit: 1 })) return readExpiry(octets).expires
    return Infinity
  }

  #arm(atLeastMs = 1): void {
    this.#timer?.cancel()
    this.#timer = undefined
    if (this.#nearest === Infinity || this.#closed !== undefined) return
    const ms = Math.min(LONGEST_WAIT_MS, Math.max(atLeastMs, this.#nearest - this.clock.now()))
    this.#timer = this.clock.after(ms, () => this.#wake())
  }

  #wake(): void {
    if (this.#nearest > this.clock.now()) this.#arm()
    else this.transact(() => undefined).catch((error: unknown) => this.#report(error))
  }
}

/** Makes what the store of an older Skein lacks. Begins anew where it was broken off. */
async function renew(folder: string, tables: Tables, { tell }: StoreOptions): Promise<void> {
  try {
    await countBelow(tables)
    await writeMark(tables, 'embedded')
  } catch (error) {
    const failure = await storeFailure(folder, error)
    await tables.root.close()
    throw failure
  }
  tables.root.resetReadTxn()
  tell?.('counted what is below each key: an older Skein cannot open it any more')
}

/** What an etcd cluster says is not to be mixed with what is written here. */
async function refuseReplica(folder: string, { root }: Tables): Promise<never> {
  await root.close()
  throw new StoreError(`the store ${folder} is a replica of an etcd cluster: give the embedded store a folder of its own`)
}

function applyTo(draft: Draft, change: Change): void {
  switch (change.op) {
    case 'put':
      draft.put(change.key, change.value, { expires: change.expires })
      break
    case 'delete':
      draft.delete(change.key)
      break
    case 'mkdir':
      draft.mkdir(change.key, { expires: change.expires })
      break
    case 'rmdir':
      draft.rmdir(change.key)
  }
}
