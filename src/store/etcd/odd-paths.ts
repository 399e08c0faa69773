import { createHash } from 'node:crypto'
import { MAX_KEY_OCTETS } from '../key.js'
import { type Table, unawaited } from '../tables.js'

/** A path of etcd that can be no key, and why, in words. */
export interface OddPath {
  readonly path: Buffer
  readonly problem: string
}

const FIRST = Buffer.from([0])
const HASH_OCTETS = 32
/** Between the problem and the path, where the row's key is not the path. */
const BETWEEN = 0

/** The paths of etcd that can be no key of the store. They may be longer than a key of the database can be. */
export class OddPaths {
  readonly #table: Table

  constructor(table: Table) {
    this.#table = table
  }

  /** Why this path can be no key; undefined where it is none of them. */
  problemOf(path: Buffer): string | undefined {
    const row = this.#table.get(rowOf(path))
    return row && problemIn(row)
  }

  /** Puts or removes one inside a batch; gives by how many there are more. */
  set(path: Buffer, problem: string | undefined): 1 | 0 | -1 {
    const row = rowOf(path)
    const isThere = this.#table.get(row) !== undefined
    if (problem !== undefined) unawaited(this.#table.put(row, row === path ? Buffer.from(problem) : withPath(problem, path)))
    else if (isThere) unawaited(this.#table.remove(row))
    return isThere === (problem !== undefined) ? 0 : isThere ? -1 : 1
  }

  *all(): Generator<OddPath> {
    for (const { key, value } of this.#table.getRange({ start: FIRST })) {
      const at = value.indexOf(BETWEEN)
      yield { path: Buffer.from(at < 0 ? key : value.subarray(at + 1)), problem: problemIn(value) }
    }
  }
}

/** The key of a path's row: its beginning and its hash where it is too long. */
function rowOf(path: Buffer): Buffer {
  if (path.length <= MAX_KEY_OCTETS) return path
  return Buffer.concat([path.subarray(0, MAX_KEY_OCTETS - HASH_OCTETS), createHash('sha256').update(path).digest()])
}

function withPath(problem: string, path: Buffer): Buffer {
  return Buffer.concat([Buffer.from(problem), Buffer.of(BETWEEN), path])
}

function problemIn(row: Buffer): string {
  const at = row.indexOf(BETWEEN)
  return row.toString('utf8', 0, at < 0 ? row.length : at)
}
