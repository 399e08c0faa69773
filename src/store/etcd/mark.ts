import { type Tables, unawaited } from '../tables.js'

/** How far a replica has come, as its store says: written with each change, in the same transaction. */
export interface Mark {
  /** Of etcd's API. */
  readonly version: 2 | 3
  /** The path that it has the keys below of. */
  readonly path: string
  /** The ID of the cluster. */
  readonly cluster: string
  /** Up to which revision it has all changes; 0 where it has to be listed anew. */
  readonly revision: number
  /** How many keys of etcd it has, those included that cannot be keys of the store. */
  readonly keys: number
  /** Keys that were set last, newest first, by their paths in base64: whether they are still those tells whether the data were put back. */
  readonly recent: readonly Recent[]
  /** Whether the cluster cannot be reached. */
  readonly isStale: boolean
  /** When it was reached last, in milliseconds since 1970, to a minute. */
  readonly contact: number
}

/** A key that was set at a revision. */
export interface Recent {
  /** In base64. */
  readonly path: string
  readonly modified: number
}

const MARK = Buffer.from('replica')

/** The mark of a replica; undefined of one that was never in step, and of a store that is none. */
export function readReplicaMark({ meta }: Tables): Mark | undefined {
  const octets = meta.get(MARK)
  return octets && (JSON.parse(octets.toString('utf8')) as Mark)
}

/** Puts the mark among the writes of a batch; undefined removes it. */
export function writeReplicaMark({ meta }: Tables, mark: Mark | undefined): void {
  if (mark === undefined) return unawaited(meta.remove(MARK))
  // Each field by its name: an object that is a mark and more, such as one made of a source, may hold passwords.
  const { version, path, cluster, revision, keys, recent, isStale, contact } = mark
  const kept: Mark = { version, path, cluster, revision, keys, recent, isStale, contact }
  unawaited(meta.put(MARK, Buffer.from(JSON.stringify(kept))))
}
