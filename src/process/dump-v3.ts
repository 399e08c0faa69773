/** What `etcdctl get --prefix KEY -w json` prints, and the JSON gateway of etcd answers to `/v3/kv/range`. */
import { readBase64 } from '../store/lines.js'
import { StoreError } from '../store/store.js'
import { type DumpEntry, isObject, shownKey, shownText } from './dump-entry.js'

/** The names that one of its objects may begin with: whatever sorts its fields. */
export const V3_FIELDS: readonly string[] = ['header', 'kvs', 'more', 'count']

/** The names that an error of the gateway may begin with. */
export const V3_ERROR_FIELDS: readonly string[] = ['error', 'code']

/** All keys in an object of a dump. Throws StoreError where it is none, and where it lacks keys or values that etcd has. */
export function* entriesOfV3(dump: Record<string, unknown>): Generator<DumpEntry> {
  if (typeof dump.error === 'string') throw new StoreError(`it has no keys: etcd answered with an error (${shownText(dump.error)})`)
  // An answer to something else has a header too, and no keys.
  const other = Object.keys(dump).find((name) => !V3_FIELDS.includes(name))
  if (other !== undefined)
    throw new StoreError(
      `expected the fields ${V3_FIELDS.join(', ')}, as \`etcdctl get --prefix KEY -w json\` prints them, not ${JSON.stringify(shownText(other))}`
    )
  const kvs = dump.kvs ?? []
  if (!Array.isArray(kvs)) throw new StoreError('kvs: expected a list of keys')
  const count = Number(dump.count ?? 0)
  if (dump.more || !(count <= kvs.length))
    throw new StoreError(`it has ${kvs.length} of ${count} keys: dump them all, without --limit and --count-only`)
  let valued = 0
  for (const [index, kv] of kvs.entries()) {
    const entry = entryOf(kv, `kvs[${index}]`)
    if (entry.value.length > 0) valued++
    yield entry
  }
  // Empty values are left out of JSON; that all keys have one is most unlikely.
  if (kvs.length > 0 && valued === 0)
    throw new StoreError(
      `none of its keys (${kvs.length}) has a value: dump them without --keys-only; a value that is empty is put by \`skein kv put KEY ''\``
    )
}

function entryOf(kv: unknown, place: string): DumpEntry {
  if (!isObject(kv)) throw new StoreError(`${place}: expected an object with key and value in base64`)
  const path = readBase64(kv.key)
  if (path === undefined || path.length === 0) throw new StoreError(`${place}: expected "key" in base64`)
  const value = readBase64(kv.value ?? '')
  if (value === undefined) throw new StoreError(`${place}: expected "value" of the key ${shownKey(path)} in base64`)
  return { path, value, ends: hasLease(kv.lease) ? 'unknown' : undefined }
}

/** The ID itself is of no use, and not exact: JavaScript's numbers end at 2^53. The gateway gives it as a text. */
function hasLease(lease: unknown): boolean {
  return lease !== undefined && lease !== null && Number(lease) !== 0
}
