import { BelowCounts } from './below.js'
import { foldedOctets, isBelow, type Key, keyOfOctets, pathOfKey, spelledOctets, subtreeEnd } from './key.js'
import { checkedOctets, MAX_VALUE_OCTETS } from './limits.js'
import {
  asDirectory,
  asEntry,
  type Directory,
  expiresOf,
  expiryOctets,
  NOTHING,
  readExpiry,
  readStored,
  type Stored,
  writeStored
} from './record.js'
import { type Entry, StoreError } from './store.js'
import { type Table, type Tables, unawaited, writeRevision } from './tables.js'

interface Staged {
  readonly key: Key
  readonly spelled: Buffer
  /** undefined: removed. */
  readonly stored: Stored | undefined
}

type Stage = Map<string, Staged>

const EMPTY = Buffer.alloc(0)

/**
 * What the plans of one commit see and change: the tables, and over them what was planned and is not written yet.
 * There is one draft at a time, so what a plan reads cannot change before it is written. (lmdb 3.5.6 never runs the
 * callback of an asynchronous transaction on Node 20; a synchronous one would make every query wait for the disk.)
 */
export class Draft {
  /** The revision that the changes of the running plan get. */
  revision: number
  readonly #tables: Tables
  readonly #entries: Stage = new Map()
  readonly #dirs: Stage = new Map()
  readonly #changed = new Map<string, Key>()
  #undo: (() => void)[] = []
  #committed: number

  constructor(tables: Tables, revision: number) {
    this.#tables = tables
    this.#committed = revision
    this.revision = revision + 1
  }

  /** The entry of exactly this spelling. */
  entry(key: Key): Entry | undefined {
    const stored = this.#look(this.#entries, this.#tables.entries, key)
    return stored && asEntry(key, stored)
  }

  /** The directory of exactly this spelling. */
  directory(key: Key): Directory | undefined {
    const stored = this.#look(this.#dirs, this.#tables.dirs, key)
    return stored && asDirectory(key, stored)
  }

  /** Whether any entry or directory is below exactly this spelling. */
  hasBelow(key: Key): boolean {
    return (
      !this.#below(this.#entries, this.#tables.entries, key).next().done || !this.#below(this.#dirs, this.#tables.dirs, key).next().done
    )
  }

  /** Sets a value; `fresh` makes the entry a new one, as etcd's `set` does, with no memory of when it was created. */
  put(key: Key, value: Buffer, { expires, fresh = false }: { expires?: number | undefined; fresh?: boolean } = {}): Entry {
    if (value.length > MAX_VALUE_OCTETS)
      throw new StoreError(`the value of ${pathOfKey(key)} has ${value.length} octets: ${MAX_VALUE_OCTETS} is the limit`)
    const old = fresh ? undefined : this.entry(key)
    const stored = this.#stored(old, value, expires)
    this.#markAbove(key)
    this.#set(this.#entries, key, stored)
    this.#changed.set(spelledOctets(key).toString('latin1'), key)
    return asEntry(key, stored)
  }

  /** Removes a value; false where there is none. */
  delete(key: Key): boolean {
    if (this.#look(this.#entries, this.#tables.entries, key) === undefined) return false
    this.#set(this.#entries, key, undefined)
    this.#changed.set(spelledOctets(key).toString('latin1'), key)
    return true
  }

  /** Marks a directory, or changes when it vanishes; with it goes everything below it. */
  mkdir(key: Key, { expires, fresh = false }: { expires?: number | undefined; fresh?: boolean } = {}): Directory {
    const old = fresh ? undefined : this.directory(key)
    const stored = this.#stored(old, EMPTY, expires)
    this.#markAbove(key)
    // etcd tells the new revision to whoever changes a directory, and the old one to everybody after.
    this.#set(this.#dirs, key, { ...stored, modified: old?.modified ?? stored.modified })
    return asDirectory(key, stored)
  }

  /** Removes the mark of a directory and everything below exactly this spelling; false where there was nothing. */
  rmdir(key: Key): boolean {
    const entries = [...this.#below(this.#entries, this.#tables.entries, key)]
    const dirs = [...this.#below(this.#dirs, this.#tables.dirs, key)]
    const isMarked = key.length > 0 && this.directory(key) !== undefined
    for (const { key: each } of entries) this.delete(each)
    for (const { key: each } of dirs) this.#set(this.#dirs, each, undefined)
    if (isMarked) this.#set(this.#dirs, key, undefined)
    return isMarked || entries.length > 0 || dirs.length > 0
  }

  /** Runs a plan as one step: its changes get one revision, and none of them stays where it throws. */
  run<T>(plan: (draft: Draft) => T): T {
    this.#undo = []
    try {
      const result = plan(this)
      if (this.#undo.length > 0) this.#committed = this.revision++
      return result
    } catch (error) {
      for (const undo of this.#undo.reverse()) undo()
      throw error
    }
  }

  /** Removes what has expired, in the order of time, each with a revision of its own. */
  purge(now: number): void {
    const end = expiryOctets(now + 1, 'entry', EMPTY)
    for (const octets of Array.from(this.#tables.expiries.getKeys({ start: Buffer.from([0]), end }))) {
      const { expires, kind, spelled } = readExpiry(octets)
      const key = keyOfOctets(spelled)
      const found = kind === 'entry' ? this.entry(key) : this.directory(key)
      if (found?.expires === expires) this.run(() => (kind === 'entry' ? this.delete(key) : this.rmdir(key)))
    }
  }

  /** Whether there is nothing to write. */
  get isEmpty(): boolean {
    return this.#entries.size === 0 && this.#dirs.size === 0
  }

  /** The keys whose entries changed. */
  get changed(): readonly Key[] {
    return [...this.#changed.values()]
  }

  /** Writes it all in one transaction, and resolves with the revision when the disk has it. */
  async write(): Promise<number> {
    const counts = new BelowCounts(this.#tables)
    await this.#tables.root.batch(() => {
      this.#writeStage(this.#entries, this.#tables.entries, 'entry', counts)
      this.#writeStage(this.#dirs, this.#tables.dirs, 'directory')
      counts.write()
      writeRevision(this.#tables, this.#committed)
    })
    return this.#committed
  }

  #writeStage(stage: Stage, table: Table, kind: 'entry' | 'directory', counts?: BelowCounts): void {
    const { expiries } = this.#tables
    for (const { spelled, stored } of stage.values()) {
      const old = table.get(spelled)
      const expired = old === undefined ? Infinity : expiresOf(old)
      if (expired !== Infinity && expired !== stored?.expires) unawaited(expiries.remove(expiryOctets(expired, kind, spelled)))
      if ((old === undefined) !== (stored === undefined)) counts?.change(spelled, stored === undefined ? -1 : 1)
      if (stored === undefined) {
        if (old !== undefined) unawaited(table.remove(spelled))
        continue
      }
      unawaited(table.put(spelled, writeStored(stored)))
      if (stored.expires !== undefined) unawaited(expiries.put(expiryOctets(stored.expires, kind, spelled), NOTHING))
    }
  }

  #stored(old: { created: number } | undefined, value: Buffer, expires: number | undefined): Stored {
    return { created: old?.created ?? this.revision, modified: this.revision, expires: expires && Math.ceil(expires), value }
  }

  #look(stage: Stage, table: Table, key: Key): Stored | undefined {
    const spelled = checkedOctets(key)
    const staged = stage.get(spelled.toString('latin1'))
    if (staged !== undefined) return staged.stored
    const octets = table.get(spelled)
    return octets && readStored(octets)
  }

  // As etcd does: what is above a key is a directory, and stays one when the key has gone.
  #markAbove(key: Key): void {
    for (let length = key.length - 1; length > 0; length--) {
      const above = key.slice(0, length)
      // Whatever has a mark has marks above it.
      if (this.#look(this.#dirs, this.#tables.dirs, above) !== undefined) return
      this.#set(this.#dirs, above, this.#stored(undefined, EMPTY, undefined))
    }
  }

  *#below(stage: Stage, table: Table, key: Key): Generator<{ key: Key }> {
    const folded = foldedOctets(key)
    for (const { stored, key: each } of stage.values()) if (stored !== undefined && isBelow(each, key)) yield { key: each }
    const start = folded.length === 0 ? Buffer.from([0]) : folded
    for (const octets of table.getKeys({ start, end: subtreeEnd(folded) })) {
      const each = keyOfOctets(octets)
      if (isBelow(each, key) && !stage.has(octets.toString('latin1'))) yield { key: each }
    }
  }

  #set(stage: Stage, key: Key, stored: Stored | undefined): void {
    const spelled = checkedOctets(key)
    const name = spelled.toString('latin1')
    const before = stage.get(name)
    const wasChanged = this.#changed.has(name)
    this.#undo.push(() => {
      if (before === undefined) stage.delete(name)
      else stage.set(name, before)
      if (!wasChanged) this.#changed.delete(name)
    })
    stage.set(name, { key, spelled, stored })
  }
}
