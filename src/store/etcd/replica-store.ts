import { BelowCounts } from '../below.js'
import { storeFailure } from '../failure.js'
import { foldedOctets, isBelow, type Key, keyOfOctets, spelledOctets, subtreeEnd } from '../key.js'
import { expiresOf, readStored, writeStored } from '../record.js'
import { putRow, readRevision, unawaited, writeRevision } from '../tables.js'
import type { EtcdEntry, EtcdEvent, Position } from './client.js'
import { etcdPathOfKey, keyOfEtcdPath } from './etcd-path.js'
import { type Mark, type Recent, readReplicaMark, writeReplicaMark } from './mark.js'
import { isOdd, oddPaths, putOdd } from './odd-paths.js'
import { recentAfter } from './recent.js'
import { openReplicaTables, type ReplicaTables } from './replica-tables.js'

/** What has changed: `all` where the keys are too many to be told one by one, or where what all of them are worth has changed. */
export type Changed = readonly Key[] | 'all'

/** What a replica has the keys of. */
export type Scope = Pick<Mark, 'version' | 'path'>

/** Told of each path that was written, after that: with its value, or undefined where it was removed; and why it is no key, if so. */
export type Written = (path: Buffer, value: Buffer | undefined, problem: string | undefined) => void

/** Until when an entry is sure to be there that hangs on a life. */
export interface Renewed {
  readonly name: string
  readonly lease: string
  readonly expires: number
}

/** What a list has found. */
export interface Listed {
  /** What is not here, or differs. */
  readonly different: readonly EtcdEntry[]
  /** Whether there is such a path at all. */
  readonly isListed: (name: string) => boolean
  /** The keys that were set last. */
  readonly recent: readonly Recent[]
}

/** Paths as they are to be, by their name: without an entry those that are to go. */
type Stage = Map<string, { readonly path: Buffer; readonly entry: EtcdEntry | undefined }>

/** Of more keys it is no use to tell who has read which. */
const MOST_TOLD = 1000
/** The time of what is sure to be there for no time at all. */
const LONG_PAST = 1
/** Two times of one life differ by what it takes to ask for them. */
const SAME_TIME_MS = 2000
const FIRST = Buffer.from([0])
const EMPTY = Buffer.alloc(0)

/**
 * The replica of a cluster's keys, in a store that nobody else writes: each change is one transaction, with how far it brings the
 * replica. Its records have `expires` where the life of a key hangs on something, as the time until which it is sure to be there; they
 * do not vanish then, as etcd may have renewed it.
 */
export class ReplicaStore {
  readonly #folder: string
  readonly #tables: ReplicaTables
  readonly #scope: Scope
  readonly #written: Written
  #mark: Mark | undefined
  #revision: number
  #keys: number

  static async open(folder: string, scope: Scope, written: Written): Promise<ReplicaStore> {
    return new ReplicaStore(folder, await openReplicaTables(folder), scope, written)
  }

  private constructor(folder: string, tables: ReplicaTables, scope: Scope, written: Written) {
    this.#folder = folder
    this.#tables = tables
    this.#scope = { version: scope.version, path: scope.path }
    this.#written = written
    this.#mark = readReplicaMark(tables)
    this.#revision = readRevision(tables)
    // What was broken off before it was ever in step has left keys and no mark.
    this.#keys = this.#mark?.keys ?? [...this.#paths()].length
  }

  /** How far it has come; undefined before it was ever in step. */
  get mark(): Mark | undefined {
    return this.#mark
  }

  /** How many keys of etcd there are. */
  get keys(): number {
    return this.#keys
  }

  /** Whether what it has is of another path or API than it is to have; it has that until it has listed. */
  get isOfAnother(): boolean {
    const { version, path } = this.#scope
    return this.#mark !== undefined && (this.#mark.version !== version || this.#mark.path !== path)
  }

  /** The entries whose life hangs on something: on what, and until when they are sure to be there. */
  *lives(): Generator<Renewed> {
    for (const { key, value } of this.#tables.lives.getRange({ start: FIRST })) {
      const octets = this.#tables.entries.get(key)
      if (octets !== undefined) yield { name: nameOf(key), lease: value.toString('utf8'), expires: expiresOf(octets) }
    }
  }

  /** Tells of all paths that there are, some at a time; what is written meanwhile may be among them or not. */
  async tellFound(found: Written, stop: AbortSignal): Promise<void> {
    let told = 0
    for (const { key, value } of this.#tables.entries.getRange({ start: FIRST })) {
      found(etcdPathOfKey(keyOfOctets(key)), readStored(value).value, undefined)
      if (++told % 1000 !== 0) continue
      await new Promise(setImmediate)
      if (stop.aborted) return
    }
    for (const { path, problem } of oddPaths(this.#tables.odd)) found(path, EMPTY, problem)
  }

  /** Applies changes that bring it to a revision; where it has caught up with the cluster by that it is not stale any more. */
  async apply(events: readonly EtcdEvent[], revision: number, isCaughtUp = false): Promise<Changed> {
    const stage: Stage = new Map()
    for (const event of events) this.#stageEvent(stage, event)
    const mark = this.#mark!
    const isStale = mark.isStale && !isCaughtUp
    const recent = recentAfter(events, mark.recent)
    const changed = await this.#commit(stage, { ...mark, revision: Math.max(mark.revision, revision), recent, isStale })
    return isStale === mark.isStale ? changed : 'all'
  }

  #stageEvent(stage: Stage, event: EtcdEvent): void {
    if (event.op !== 'clear') stage.set(nameOf(event.path), { path: event.path, entry: event.op === 'put' ? event : undefined })
    else for (const path of this.#below(stage, event.path)) stage.set(nameOf(path), { path, entry: undefined })
  }

  /** Notes up to which revision there was nothing more to change, and when the cluster was reached. */
  async advance(revision: number, contact: number): Promise<void> {
    const mark = this.#mark!
    await this.#commit(new Map(), { ...mark, revision: Math.max(mark.revision, revision), contact })
  }

  /** Notes whether the cluster can be reached, and when it was last. */
  async setStale(isStale: boolean, contact: number): Promise<Changed> {
    await this.#commit(new Map(), { ...this.#mark!, isStale, contact })
    return 'all'
  }

  /** Sets until when entries that hang on a life are sure to be there, by the names that {@link lives} has; Infinity where they stay. */
  async renew(renewed: Iterable<Renewed>): Promise<Changed> {
    const { entries, lives } = this.#tables
    const keys: Key[] = []
    await this.#batch(() => {
      for (const { name, lease, expires } of renewed) {
        const spelled = Buffer.from(name, 'latin1')
        const octets = entries.get(spelled)
        // It may have been set anew while etcd was asked, and hang on nothing, or on something else.
        if (octets === undefined || lives.get(spelled)?.toString('utf8') !== lease) continue
        keys.push(keyOfOctets(spelled))
        unawaited(entries.put(spelled, writeStored({ ...readStored(octets), expires: expires === Infinity ? undefined : expires })))
      }
    })
    return changedOf(keys)
  }

  /** Removes all entries whose life hangs on something. The cluster has to be listed anew after that. */
  expireLives(): Promise<Changed> {
    const paths = [...this.#tables.lives.getKeys({ start: FIRST })].map((key) => etcdPathOfKey(keyOfOctets(key)))
    return this.#commit(removing(paths), { ...this.#mark!, revision: 0, recent: [] })
  }

  /** Whether there is a key just like this one. */
  has({ path, created, modified, value, lease, expires }: EtcdEntry): boolean {
    const key = keyOfEtcdPath(path, this.#scope.path)
    if (typeof key === 'string') return isOdd(this.#tables.odd, path)
    const spelled = spelledOctets(key)
    const octets = this.#tables.entries.get(spelled)
    if (octets === undefined) return false
    const stored = readStored(octets)
    if (stored.created !== created || stored.modified !== modified || !stored.value.equals(value)) return false
    if (expires !== undefined && Math.abs((stored.expires ?? 0) - expires) > SAME_TIME_MS) return false
    return this.#tables.lives.get(spelled)?.toString('utf8') === lease
  }

  /** Writes a part of the first list, of which nobody reads anything before the rest is there. */
  async fill(entries: readonly EtcdEntry[]): Promise<void> {
    await this.#commit(putting(entries), undefined)
  }

  /** Puts what a list has of its own, removes what it has not, and is in step with it then. */
  async replace({ different, isListed, recent }: Listed, at: Position, contact: number): Promise<Changed> {
    const stage = putting(different)
    for (const path of this.#paths()) {
      const name = nameOf(path)
      if (!isListed(name)) stage.set(name, { path, entry: undefined })
    }
    const before = this.#mark
    const changed = await this.#commit(stage, { ...this.#scope, ...at, keys: 0, recent, isStale: false, contact })
    return before === undefined || before.isStale ? 'all' : changed
  }

  async close(): Promise<void> {
    await this.#tables.root.close()
  }

  /** All paths of etcd. */
  *#paths(): Generator<Buffer> {
    for (const key of this.#tables.entries.getKeys({ start: FIRST })) yield etcdPathOfKey(keyOfOctets(key))
    for (const { path } of oddPaths(this.#tables.odd)) yield path
  }

  /** The paths below a directory, those that are staged too. */
  #below(stage: Stage, directory: Buffer): Buffer[] {
    const above = segmentsOf(directory)
    const folded = foldedOctets(above)
    const keys = [...this.#tables.entries.getKeys({ start: folded.length === 0 ? FIRST : folded, end: subtreeEnd(folded) })].map(
      keyOfOctets
    )
    const stored = keys.filter((key) => isBelow(key, above)).map(etcdPathOfKey)
    const others = [...oddPaths(this.#tables.odd)].map(({ path }) => path)
    const staged = [...stage.values()].map(({ path }) => path)
    return [...stored, ...[...others, ...staged].filter((path) => isBelow(segmentsOf(path), above))]
  }

  /** Writes what is staged with a mark of it; without one of a replica that is not in step yet. */
  async #commit(stage: Stage, mark: Mark | undefined): Promise<Changed> {
    const counts = new BelowCounts(this.#tables)
    const keys: Key[] = []
    const problems = new Map<string, string>()
    let grown = 0
    let next: Mark | undefined
    await this.#batch(() => {
      for (const [name, { path, entry }] of stage) {
        const key = this.#keyOf(path, entry)
        if (typeof key === 'string') {
          grown += putOdd(this.#tables.odd, path, entry && key)
          problems.set(name, key)
        } else {
          grown += this.#put(key, entry, counts)
          keys.push(key)
        }
      }
      counts.write()
      next = mark && { ...mark, keys: this.#keys + grown }
      writeReplicaMark(this.#tables, next)
    })
    this.#keys += grown
    this.#mark = next
    for (const [name, { path, entry }] of stage) this.#written(path, entry?.value, problems.get(name))
    return changedOf(keys)
  }

  /** The key of a path, or why there is none. What goes may have come by another rule. */
  #keyOf(path: Buffer, entry: EtcdEntry | undefined): Key | string {
    if (entry !== undefined) return keyOfEtcdPath(path, this.#scope.path)
    return isOdd(this.#tables.odd, path) ? 'has gone' : keyOfEtcdPath(path, '')
  }

  /** Puts or removes an entry, and what its life hangs on; gives by how much there are more. */
  #put(key: Key, entry: EtcdEntry | undefined, counts: BelowCounts): 1 | 0 | -1 {
    const { entries, lives } = this.#tables
    const spelled = spelledOctets(key)
    putRow(lives, spelled, entry?.lease === undefined ? undefined : Buffer.from(entry.lease))
    const grown = putRow(entries, spelled, entry && recordOf(entry))
    if (grown !== 0) counts.change(spelled, grown)
    return grown
  }

  /** Writes together, under the store's next revision. */
  async #batch(write: () => void): Promise<void> {
    const { root } = this.#tables
    const revision = this.#revision + 1
    try {
      await root.batch(() => {
        write()
        writeRevision(this.#tables, revision)
      })
    } catch (error) {
      throw await storeFailure(this.#folder, error)
    }
    this.#revision = revision
    root.resetReadTxn()
  }
}

/** The name of a path, or of a key in the database: a character an octet. */
export function nameOf(octets: Buffer): string {
  return octets.toString('latin1')
}

function segmentsOf(path: Buffer): Key {
  return path
    .toString('latin1')
    .split('/')
    .filter((segment) => segment !== '')
}

function putting(entries: readonly EtcdEntry[]): Stage {
  return new Map(entries.map((entry) => [nameOf(entry.path), { path: entry.path, entry }]))
}

function removing(paths: readonly Buffer[]): Stage {
  return new Map(paths.map((path) => [nameOf(path), { path, entry: undefined }]))
}

function recordOf({ created, modified, value, lease, expires }: EtcdEntry): Buffer {
  const until = lease === undefined || expires === Infinity ? undefined : (expires ?? LONG_PAST)
  return writeStored({ created, modified, value, expires: until })
}

function changedOf(keys: readonly Key[]): Changed {
  return keys.length > MOST_TOLD ? 'all' : keys
}
