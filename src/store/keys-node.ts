import { type Key, pathOfKey, writtenOctets } from './key.js'
import { type TableReader, unmarked } from './reader.js'
import type { Directory } from './record.js'
import type { Entry } from './store.js'

/** A node as etcd's JSON has it, with the fields in etcd's order. */
export interface KeysNode {
  key?: string
  value?: string
  dir?: true
  expiration?: string
  ttl?: number
  nodes?: KeysNode[]
  modifiedIndex?: number
  createdIndex?: number
}

/** A file where it has a value, else a directory. */
export type Found = Entry | Directory

/** Whether what was found is a file. */
export function isFile(found: Found): found is Entry {
  return 'value' in found
}

/** One node, with the nodes in it where they are given. */
export function nodeOf(found: Found, now: number, nodes?: KeysNode[]): KeysNode {
  const node: KeysNode = {}
  if (found.key.length > 0) node.key = pathOfKey(found.key)
  if (isFile(found)) node.value = found.value.toString('utf8')
  else node.dir = true
  // In a replica a time may be over, and the key renewed since: nobody knows until when then.
  if (found.expires !== undefined && found.expires >= now) {
    node.expiration = new Date(found.expires).toISOString()
    const ttl = Math.ceil((found.expires - now) / 1000)
    if (ttl !== 0) node.ttl = ttl
  }
  if (nodes !== undefined && !isFile(found)) node.nodes = nodes
  if (found.modified > 0) node.modifiedIndex = found.modified
  if (found.created > 0) node.createdIndex = found.created
  return node
}

/** A directory with what is below it, sorted always; names that begin with `_` are left out, as etcd does. */
export async function listing(reader: TableReader, directory: Directory, recursive: boolean, now: number): Promise<KeysNode> {
  const depth = directory.key.length
  const shown = new Map<string, Found>()
  for await (const { entries, directories } of reader.below(directory.key)) {
    for (const found of [...directories, ...entries]) {
      if (!recursive && found.key.length > depth + 1) {
        if (!reader.hasDirectories) addAbove(shown, found.key.slice(0, depth + 2), depth)
        continue
      }
      if (found.key.slice(depth).some((segment) => segment.startsWith('_'))) continue
      if (!reader.hasDirectories) addAbove(shown, found.key, depth)
      // Directories come first, so that a key with both a value and keys below it shows its value.
      shown.set(nameOf(found.key), found)
    }
  }
  return nodeOf(directory, now, nodesIn(directory.key, shown, now))
}

/** Adds the directories that a key is in, below a depth, where nobody has marked them. */
function addAbove(shown: Map<string, Found>, key: Key, depth: number): void {
  for (let length = key.length - 1; length > depth; length--) {
    const name = nameOf(key.slice(0, length))
    if (shown.has(name)) return
    shown.set(name, unmarked(key.slice(0, length)))
  }
}

/** The nodes of a directory, with those below in each, by the octets of their names. */
function nodesIn(top: Key, shown: ReadonlyMap<string, Found>, now: number): KeysNode[] | undefined {
  const nodes = new Map<string, KeysNode[]>()
  // Backwards, so that what is in a directory is there before the directory.
  for (const name of [...shown.keys()].sort(byOctets).reverse()) {
    const found = shown.get(name)!
    const above = nameOf(found.key.slice(0, -1))
    const beside = nodes.get(above) ?? []
    nodes.set(above, beside)
    beside.push(nodeOf(found, now, nodes.get(name)))
  }
  for (const list of nodes.values()) list.reverse()
  return nodes.get(nameOf(top))
}

function nameOf(key: Key): string {
  return writtenOctets(key).toString('latin1')
}

function byOctets(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0
}
