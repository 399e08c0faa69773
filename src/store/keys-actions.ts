import type { Draft } from './draft.js'
import type { Key } from './key.js'
import { KeysError } from './keys-error.js'
import { type Found, isFile, type KeysNode, nodeOf } from './keys-node.js'
import type { KeysRequest } from './keys-request.js'
import type { Directory } from './record.js'
import type { Entry } from './store.js'

/** What changed, as etcd tells it. */
export interface KeysEvent {
  readonly action: string
  node?: KeysNode
  prevNode?: KeysNode
  /** The revision of the change. */
  readonly index: number
  readonly isCreated: boolean
}

interface Looker {
  entry(key: Key): Entry | undefined
  directory(key: Key): Directory | undefined
}

/** What is at a key; or etcd's complaint about the first part of its path that is not there, or is a file on the way. */
export function find(looker: Looker, key: Key): Found {
  const found = look(looker, key)
  if (found !== undefined) return found
  for (let length = 1; length < key.length; length++) {
    const above = look(looker, key.slice(0, length))
    if (above === undefined) throw KeysError.at(100, key.slice(0, length))
    if (isFile(above)) throw KeysError.at(104, above.key)
  }
  throw KeysError.at(100, key)
}

function look(looker: Looker, key: Key): Found | undefined {
  if (key.length === 0) return { key, created: 0, modified: 0, expires: undefined }
  return looker.entry(key) ?? looker.directory(key)
}

/** A PUT: etcd's set, create, update or compareAndSwap, by what it asks to be compared. */
export function put(draft: Draft, request: KeysRequest, now: number): KeysEvent {
  if (request.key.length === 0) throw new KeysError(107, '/')
  const expires = request.ttl === undefined ? undefined : now + request.ttl * 1000
  if (request.prevExist === false) return create(draft, request, expires, now)
  if (request.prevValue !== undefined) return compareAndSwap(draft, request, expires, now)
  return request.prevExist === true ? update(draft, request, expires, now) : set(draft, request, expires, now)
}

/** A DELETE: etcd's delete or compareAndDelete. */
export function remove(draft: Draft, request: KeysRequest, now: number): KeysEvent {
  const { key, prevValue, recursive } = request
  if (key.length === 0 && prevValue !== undefined) throw new KeysError(102, '')
  if (key.length === 0) throw new KeysError(107, '/')
  const found = find(draft, key)
  if (prevValue !== undefined) compare(found, prevValue)
  else if (!isFile(found)) {
    if (!request.dir && !recursive) throw KeysError.at(102, key)
    if (!recursive && draft.hasBelow(key)) throw KeysError.at(108, key)
  }
  const action = prevValue === undefined ? 'delete' : 'compareAndDelete'
  const { value: _, expiration: __, ttl: ___, ...node } = nodeOf({ ...found, modified: draft.revision }, now)
  if (isFile(found)) draft.delete(key)
  if (!isFile(found) || recursive) draft.rmdir(key)
  return { action, node, prevNode: nodeOf(found, now), index: draft.revision, isCreated: false }
}

function set(draft: Draft, request: KeysRequest, expires: number | undefined, now: number): KeysEvent {
  const { key, refresh } = request
  refuseFileAbove(draft, key)
  const found = refresh ? find(draft, key) : look(draft, key)
  if (found !== undefined && !isFile(found)) throw KeysError.at(102, key)
  const made = make(draft, request, refresh && found !== undefined ? found.value : request.value, expires)
  return eventOf('set', made, found, request, now)
}

function create(draft: Draft, request: KeysRequest, expires: number | undefined, now: number): KeysEvent {
  refuseFileAbove(draft, request.key)
  if (look(draft, request.key) !== undefined) throw KeysError.at(105, request.key)
  return eventOf('create', make(draft, request, request.value, expires), undefined, request, now)
}

function update(draft: Draft, request: KeysRequest, expires: number | undefined, now: number): KeysEvent {
  const { key, value, refresh } = request
  const found = find(draft, key)
  if (!isFile(found) && value.length > 0) throw KeysError.at(102, key)
  const made = isFile(found) ? draft.put(key, refresh ? found.value : value, { expires }) : draft.mkdir(key, { expires })
  return eventOf('update', made, found, request, now)
}

function compareAndSwap(draft: Draft, request: KeysRequest, expires: number | undefined, now: number): KeysEvent {
  const found = find(draft, request.key)
  const entry = compare(found, request.prevValue!)
  const made = draft.put(request.key, request.refresh ? entry.value : request.value, { expires })
  return eventOf('compareAndSwap', made, found, request, now)
}

function compare(found: Found, prevValue: Buffer): Entry {
  if (!isFile(found)) throw KeysError.at(102, found.key)
  if (!found.value.equals(prevValue)) throw new KeysError(101, `[${prevValue.toString()} != ${found.value.toString()}]`)
  return found
}

function make(draft: Draft, { key, dir }: KeysRequest, value: Buffer, expires: number | undefined): Found {
  if (!dir) return draft.put(key, value, { expires, fresh: true })
  draft.delete(key)
  return draft.mkdir(key, { expires, fresh: true })
}

function refuseFileAbove(draft: Draft, key: Key): void {
  for (let length = 1; length < key.length; length++) {
    const above = draft.entry(key.slice(0, length))
    if (above !== undefined) throw KeysError.at(104, above.key)
  }
}

function eventOf(action: string, made: Found, before: Found | undefined, request: KeysRequest, now: number): KeysEvent {
  const isCreated = before === undefined
  const event: KeysEvent = { action, index: made.modified, isCreated }
  if (!request.noValueOnSuccess) {
    event.node = nodeOf(made, now)
    if (before !== undefined) event.prevNode = nodeOf(before, now)
  }
  return event
}
