/** What etcd's v2 API answers to `GET /v2/keys/PATH?recursive=true`, and `etcdctl -o json ls --recursive PATH` prints. */
import { MAX_TTL } from '../store/lines.js'
import { StoreError } from '../store/store.js'
import { type DumpEntry, isObject, shownText } from './dump-entry.js'

/** The names that one of its objects may begin with: whatever sorts its fields. */
export const V2_FIELDS: readonly string[] = ['action', 'node', 'prevNode', 'errorCode', 'message', 'cause', 'index']

/** How Go writes times. JavaScript reads many other texts as one. */
const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/

interface Place {
  readonly node: unknown
  /** The key of the directory that it is in; undefined of the node that was asked for. */
  readonly above: string | undefined
  /** When that ends, and so all that is in it. */
  readonly ends: number | undefined
}

interface Directory {
  readonly key: string
  readonly nodes: readonly unknown[]
}

/**
 * All keys in an object of a dump, a time to live counted from `now` where nothing says when it began. Throws StoreError where it is none,
 * and where it lacks what its directories hold.
 */
export function* entriesOfV2(dump: Record<string, unknown>, now: number): Generator<DumpEntry> {
  if ('errorCode' in dump) throw new StoreError(refusalOf(dump))
  if (dump.action !== 'get' || !isObject(dump.node))
    throw new StoreError('expected "action":"get" and a "node", as GET /v2/keys/PATH?recursive=true answers')
  // No recursion: how deep a tree is, is for those to say who write to it.
  const left: Place[] = [{ node: dump.node, above: undefined, ends: undefined }]
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const { node, above } = next
    if (!isObject(node)) throw new StoreError(`a node in ${shownText(above ?? '/')}: expected an object`)
    const key = keyOf(node, above)
    const ends = sooner(next.ends, endOf(node, key, now))
    if (node.dir !== true) {
      yield { path: Buffer.from(key), value: octetsOf(node, key), ends }
      continue
    }
    const directory = { key, nodes: nodesOf(node, key) }
    if (above === undefined) refuseFlat(directory)
    // Backwards: the last one pushed is the next one taken.
    for (const each of directory.nodes.toReversed()) left.push({ node: each, above: key, ends })
  }
}

function refusalOf({ errorCode, message, cause }: Record<string, unknown>): string {
  const words = [message, cause].filter((word) => typeof word === 'string' && word !== '').join(': ')
  return `it has no keys: etcd answered with error ${shownText(`${String(errorCode)} (${words})`)}`
}

function keyOf({ key, dir }: Record<string, unknown>, above: string | undefined): string {
  // The root has none.
  if (above === undefined && dir === true && (key === undefined || key === '')) return '/'
  if (typeof key === 'string' && key !== '') return key
  throw new StoreError(`${above === undefined ? 'the node' : `a node in ${shownText(above)}`}: expected "key", a path such as "/a/b"`)
}

function octetsOf({ value, nodes }: Record<string, unknown>, key: string): Buffer {
  if (typeof value === 'string' && (nodes ?? undefined) === undefined) return Buffer.from(value)
  throw new StoreError(`the node ${shownText(key)}: expected "value", a text, or "dir":true`)
}

function nodesOf({ nodes, value }: Record<string, unknown>, key: string): readonly unknown[] {
  const list = nodes ?? []
  if (!Array.isArray(list)) throw new StoreError(`the directory ${shownText(key)}: expected "nodes" as a list`)
  // etcdctl writes an empty one to directories.
  if ((value ?? '') !== '') throw new StoreError(`the directory ${shownText(key)}: expected no "value"`)
  return list
}

/** An answer that is not recursive has the directories in the one that was asked for, and never what is in them. */
function refuseFlat({ nodes }: Directory): void {
  const directories = nodes.filter((node) => isObject(node) && node.dir === true) as Record<string, unknown>[]
  const isEmpty = ({ nodes }: Record<string, unknown>): boolean => !Array.isArray(nodes) || nodes.length === 0
  if (directories.length === 0 || !directories.every(isEmpty)) return
  const first = `the directory ${shownText(String(directories[0]!.key))}`
  const all =
    directories.length === 1
      ? `${first} has nothing in it`
      : `none of its ${directories.length} directories, as ${first}, has anything in it`
  throw new StoreError(`${all}: dump with ?recursive=true; where etcd has no more there, dump from the directory above`)
}

/** When a node ends by the clock of etcd: a dump may be old. */
function endOf({ expiration, ttl }: Record<string, unknown>, key: string, now: number): number | undefined {
  if ((expiration ?? undefined) !== undefined) {
    const end = typeof expiration === 'string' && RFC_3339.test(expiration) ? Date.parse(expiration) : Number.NaN
    if (Number.isNaN(end)) throw new StoreError(`the node ${shownText(key)}: expected "expiration" as a time such as 2026-01-31T12:00:00Z`)
    return end
  }
  if ((ttl ?? undefined) === undefined) return undefined
  if (Number.isSafeInteger(ttl) && (ttl as number) > 0 && (ttl as number) <= MAX_TTL) return now + (ttl as number) * 1000
  throw new StoreError(`the node ${shownText(key)}: expected "ttl" in whole seconds, at least 1`)
}

function sooner(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.min(one, other)
}
