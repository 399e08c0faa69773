/** The table of paths of etcd that can be no key: each with why, in words. */
import { createHash } from 'node:crypto'
import { MAX_KEY_OCTETS } from '../key.js'
import { openTable, putRow, type Table, type Tables } from '../tables.js'

/** One of them. */
export interface OddPath {
  readonly path: Buffer
  /** In words that follow on "the key PATH". */
  readonly problem: string
}

const SEPARATOR = 0

/** Opens the table, of a replica. */
export function openOdd(tables: Tables): Table {
  return openTable(tables, 'odd')
}

/** All there are. */
export function* oddPaths(odd: Table): Generator<OddPath> {
  for (const { value } of odd.getRange({ start: Buffer.from([0]) })) {
    const end = value.indexOf(SEPARATOR)
    yield { path: Buffer.from(value.subarray(end + 1)), problem: value.toString('utf8', 0, end) }
  }
}

/** Whether a path is among them. */
export function isOdd(odd: Table, path: Buffer): boolean {
  return odd.get(rowOf(path)) !== undefined
}

/** Puts a path, or removes it where there is no problem; gives by how much there are more. */
export function putOdd(odd: Table, path: Buffer, problem: string | undefined): 1 | 0 | -1 {
  const value = problem === undefined ? undefined : Buffer.concat([Buffer.from(problem), Buffer.of(SEPARATOR), path])
  return putRow(odd, rowOf(path), value)
}

/** LMDB takes no longer key. */
function rowOf(path: Buffer): Buffer {
  if (path.length <= MAX_KEY_OCTETS) return path
  return Buffer.concat([path.subarray(0, MAX_KEY_OCTETS - 32), createHash('sha256').update(path).digest()])
}
