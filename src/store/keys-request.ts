import { parseForm, percentDecoded } from './form.js'
import type { Key } from './key.js'
import { KeysError } from './keys-error.js'
import { checkedOctets } from './limits.js'
import { StoreError } from './store.js'

/** The longest value that the API takes; the store itself takes longer ones. */
export const MAX_API_VALUE = 65536

/** A call of the keys API, checked as etcd checks it. */
export interface KeysRequest {
  readonly key: Key
  readonly value: Buffer
  readonly dir: boolean
  readonly recursive: boolean
  readonly refresh: boolean
  readonly noValueOnSuccess: boolean
  readonly prevValue: Buffer | undefined
  readonly prevExist: boolean | undefined
  /** Seconds. */
  readonly ttl: number | undefined
}

// A longer one is a mistake of units, and would leave the numbers that a date can hold.
const LONGEST_TTL = 100 * 366 * 86400

/**
 * The key of a path behind `/v2/keys`. Each segment is decoded by itself, and no segment is special: `%2F` stays inside
 * its segment and `..` is a segment like any other (etcd takes the first for a separator and redirects the second).
 */
export function keyOfUrlPath(path: string): Key {
  const key = path
    .split('/')
    .filter((segment) => segment !== '')
    .map((segment) => percentDecoded(segment, false).toString('latin1'))
  try {
    if (key.length > 0) checkedOctets(key)
  } catch (error) {
    if (error instanceof StoreError) throw new KeysError(209, error.message)
    throw error
  }
  return key
}

/** Reads the fields of a call; those of the body count before those of the query. */
export function readKeysRequest(method: string, key: Key, query: string, body: string): KeysRequest {
  const fields = parseForm(body)
  for (const [name, value] of parseForm(query)) if (!fields.has(name)) fields.set(name, value)
  refuseUnsupported(method, fields)
  const [recursive] = [readBoolean(fields, 'recursive')]
  readBoolean(fields, 'sorted')
  readWait(method, fields)
  const dir = readBoolean(fields, 'dir')
  readBoolean(fields, 'quorum')
  readBoolean(fields, 'stream')
  const prevValue = fields.get('prevValue')
  if (prevValue?.length === 0) throw new KeysError(201, '"prevValue" cannot be empty')
  const noValueOnSuccess = readBoolean(fields, 'noValueOnSuccess')
  const ttl = readTtl(fields)
  const prevExist = fields.has('prevExist') ? readBoolean(fields, 'prevExist', 'prevExist') : undefined
  const refresh = readRefresh(fields, ttl)
  const value = fields.get('value') ?? Buffer.alloc(0)
  if (value.length > MAX_API_VALUE) throw new KeysError(209, `a value has at most ${MAX_API_VALUE} octets`, 413)
  return { key, value, dir, recursive, refresh, noValueOnSuccess, prevValue, prevExist, ttl }
}

type Fields = Map<string, Buffer>

function refuseUnsupported(method: string, fields: Fields): void {
  for (const name of ['prevIndex', 'waitIndex']) {
    const text = fields.get(name)?.toString('latin1')
    if (text === undefined) continue
    if (!isWholeNumber(text)) throw new KeysError(203, `invalid value for "${name}"`)
    if (name === 'prevIndex' && BigInt(text) > 0n)
      throw new KeysError(209, '"prevIndex" is not supported by Skein: use "prevValue" or "prevExist"')
  }
  if (method === 'POST') throw new KeysError(209, 'POST (keys in order) is not supported by Skein: use PUT with a name of your own')
}

function readWait(method: string, fields: Fields): void {
  if (!readBoolean(fields, 'wait')) return
  if (method !== 'GET') throw new KeysError(209, '"wait" can only be used with GET requests')
  throw new KeysError(209, '"wait" is not supported by Skein: ask again instead')
}

function readTtl(fields: Fields): number | undefined {
  const text = fields.get('ttl')?.toString('latin1')
  if (text === undefined || text === '') return undefined
  if (!isWholeNumber(text)) throw new KeysError(202, 'invalid value for "ttl"')
  if (Number(text) > LONGEST_TTL) throw new KeysError(202, `"ttl" is at most ${LONGEST_TTL} seconds`)
  return Number(text)
}

function readRefresh(fields: Fields, ttl: number | undefined): boolean {
  if (!readBoolean(fields, 'refresh', 'refresh')) return false
  if ((fields.get('value')?.length ?? 0) > 0) throw new KeysError(211, 'A value was provided on a refresh')
  if (ttl === undefined) throw new KeysError(212, 'No TTL value set')
  return true
}

/** Go's ParseBool; etcd quotes the names of some fields in its complaint. */
function readBoolean(fields: Fields, name: string, shown = `"${name}"`): boolean {
  const text = fields.get(name)?.toString('latin1')
  if (text === undefined || /^(?:0|f|F|false|FALSE|False)$/.test(text)) return false
  if (/^(?:1|t|T|true|TRUE|True)$/.test(text)) return true
  throw new KeysError(209, `invalid value for ${shown}`)
}

/** Go's ParseUint in 64 bits. */
function isWholeNumber(text: string): boolean {
  return /^\d{1,40}$/.test(text) && BigInt(text) < 1n << 64n
}
