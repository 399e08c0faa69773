import { type EtcdEntry, EtcdError, type EtcdEvent } from './client.js'

/** A node of the v2 API, as it is in answers. */
export interface V2Node {
  readonly key?: string
  readonly value?: string
  readonly dir?: boolean
  /** Seconds; left out of a node whose end is less than one away. */
  readonly ttl?: number
  /** The end by the server's clock. */
  readonly expiration?: string
  readonly createdIndex?: number
  readonly modifiedIndex?: number
  readonly nodes?: readonly V2Node[]
}

/** A change as the v2 API tells it. */
export interface V2Event {
  readonly action: string
  readonly node: V2Node
  readonly prevNode?: V2Node
}

/** Whether it is a node; what is in it is looked at when its turn comes. */
export function isNode(node: unknown): node is V2Node {
  if (typeof node !== 'object' || node === null) return false
  const {
    key = '',
    value = '',
    expiration = '',
    ttl = 0,
    createdIndex = 0,
    modifiedIndex = 0,
    nodes = []
  } = node as Record<string, unknown>
  const areTexts = [key, value, expiration].every((each) => typeof each === 'string')
  return areTexts && [ttl, createdIndex, modifiedIndex].every((each) => typeof each === 'number') && Array.isArray(nodes)
}

/** The error of a node that is none. */
export function strangeNode(): EtcdError {
  return new EtcdError('unreachable', 'what answers is not the v2 API of etcd: its nodes are none')
}

/** What ends a key, and when: a time to live of its own, or of a directory above it. */
interface Life {
  readonly lease: string
  readonly expires: number
}

/**
 * The directories that have a time to live: each bounds all that is below it. Directories above the path that is watched are not
 * known; where one of those ends, an event tells.
 */
export class Directories {
  readonly #expires = new Map<string, number>()

  clear(): void {
    this.#expires.clear()
  }

  set(path: string, expires: number | undefined): void {
    if (expires === undefined) this.#expires.delete(path)
    else this.#expires.set(path, expires)
  }

  get(path: string): number | undefined {
    return this.#expires.get(path)
  }

  /** Forgets the directory and those below it. */
  delete(path: string): void {
    for (const each of this.#expires.keys()) if (each === path || isBelow(each, path)) this.#expires.delete(each)
  }

  /** The directory above the path that ends first. */
  above(path: string): Life | undefined {
    if (this.#expires.size === 0) return undefined
    let first: Life | undefined
    for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
      const lease = path.slice(0, end)
      first = sooner(first, lifeOf(lease, this.#expires.get(lease)))
    }
    return first
  }
}

/** The keys at and below a node, with the directories that have a time to live; `now` is when the answer came. */
export function* entriesBelow(top: V2Node, directories: Directories, now: number): Generator<EtcdEntry> {
  // No recursion: how deep a tree is, is for those to say who write to it.
  const left: { node: V2Node; bound: Life | undefined }[] = [{ node: top, bound: undefined }]
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const { node, bound } = next
    if (!isNode(node)) throw strangeNode()
    const path = node.key ?? '/'
    const expires = expiresOf(node, now)
    const life = sooner(bound, lifeOf(path, expires))
    if (!node.dir) {
      yield entryOf(node, life)
      continue
    }
    if (expires !== undefined) directories.set(path, expires)
    for (const child of node.nodes ?? []) left.push({ node: child, bound: life })
  }
}

/**
 * What an event means for the keys below `top`, the path that is watched; `expires` is the end of its node. Throws an
 * EtcdError where it changes the lives of keys that it does not name.
 */
export function changesOf(
  { action, node, prevNode }: V2Event,
  top: string,
  directories: Directories,
  expires: number | undefined
): EtcdEvent[] {
  const path = node.key ?? '/'
  if (['delete', 'compareAndDelete', 'expire'].includes(action)) return node.dir ? cleared(path, top, directories) : gone(path, top)
  if (!isShown(path, top)) return []
  if (!node.dir) return [{ op: 'put', ...entryOf(node, sooner(directories.above(path), lifeOf(path, expires))) }]
  noteDirectory(action, path, directories, expires)
  // A directory can be made where a key was, which has gone then.
  return prevNode && !prevNode.dir ? gone(path, top) : []
}

function noteDirectory(action: string, path: string, directories: Directories, expires: number | undefined): void {
  const before = directories.get(path)
  directories.set(path, expires)
  // A new one is empty. One that lives on longer ends what it ended before, at a time that can be asked for.
  if (action !== 'update' || expires === before) return
  if (expires === undefined || before === undefined || expires < before)
    throw new EtcdError('compacted', `the directory ${path} has another time to live, and so has all that is in it`)
}

function cleared(path: string, top: string, directories: Directories): EtcdEvent[] {
  directories.delete(path)
  if (isBelow(top, path)) return [{ op: 'clear', path: Buffer.from(top) }]
  return isShown(path, top) ? [{ op: 'clear', path: Buffer.from(path) }] : []
}

function gone(path: string, top: string): EtcdEvent[] {
  return isShown(path, top) ? [{ op: 'delete', path: Buffer.from(path) }] : []
}

function entryOf({ key = '/', value = '', createdIndex = 0, modifiedIndex = 0 }: V2Node, life: Life | undefined): EtcdEntry {
  return {
    path: Buffer.from(key),
    value: Buffer.from(value),
    created: createdIndex,
    modified: modifiedIndex,
    lease: life?.lease,
    expires: life?.expires
  }
}

/** When a node ends by the clock here, of which the server's may differ. */
export function expiresOf({ ttl, expiration }: V2Node, now: number): number | undefined {
  return expiration === undefined ? undefined : now + (ttl ?? 0) * 1000
}

/**
 * Whether a path is at or below `top`, and not hidden there: lists and most watches leave out what has a segment with a leading `_`,
 * but a watch that begins with old events does not. Nor does it leave out a directory whose name is the beginning of another's.
 */
function isShown(path: string, top: string): boolean {
  return path === top || (isBelow(path, top) && !path.includes('/_', top === '/' ? 0 : top.length))
}

function isBelow(path: string, top: string): boolean {
  return path !== top && path.startsWith(top === '/' ? top : `${top}/`)
}

function lifeOf(lease: string, expires: number | undefined): Life | undefined {
  return expires === undefined ? undefined : { lease, expires }
}

function sooner(one: Life | undefined, other: Life | undefined): Life | undefined {
  if (one === undefined || other === undefined) return one ?? other
  return other.expires < one.expires ? other : one
}
