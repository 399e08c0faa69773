import { isUtf8 } from 'node:buffer'
import type { Draft } from './draft.js'
import { type Key, keyOfPath } from './key.js'
import { checkedOctets, MAX_VALUE_OCTETS } from './limits.js'
import type { LockedStore } from './locked.js'
import { type Entry, StoreError } from './store.js'

interface Line {
  readonly key: Key
  readonly value: Buffer
  /** Seconds. */
  readonly ttl: number | undefined
}

/** Seconds: the longest time to live of a line. */
export const MAX_TTL = 9_999_999_999
const LINES_PER_COMMIT = 2000
/** Seconds: of a key of a replica whose life is renewed somewhere, nobody knows until when. */
const UNSURE_TTL = 30

/** The entries below a key, each as a line of JSON: `{"key":"/skydns/local/a","value":"…","ttl":60}`. */
export async function* exportLines(store: LockedStore, key: Key = []): AsyncGenerator<string> {
  const own = store.exact.entry(key)
  if (own !== undefined) yield lineOfEntry(own, store.clock.now())
  for await (const { entries } of store.exact.below(key)) {
    const now = store.clock.now()
    for (const entry of entries) if (!store.isWritable || entry.expires === undefined || entry.expires > now) yield lineOfEntry(entry, now)
  }
}

/**
 * Puts all lines, or none where one is wrong: the {@link StoreError} then names the line. All are read before the first
 * is put; a great many go in several commits, so that no query waits for them. Resolves with how many there were.
 */
export async function importLines(store: LockedStore, lines: Iterable<string> | AsyncIterable<string>): Promise<number> {
  const read: Line[] = []
  let number = 0
  for await (const text of lines) {
    number++
    if (text.trim() !== '') read.push(readLine(text, number))
    if (number % LINES_PER_COMMIT === 0) await new Promise(setImmediate)
  }
  const now = store.clock.now()
  for (let from = 0; from < read.length; from += LINES_PER_COMMIT) {
    const some = read.slice(from, from + LINES_PER_COMMIT)
    await store.transact((draft) => putAll(draft, some, now))
  }
  return read.length
}

function putAll(draft: Draft, lines: readonly Line[], now: number): void {
  for (const { key, value, ttl } of lines) draft.put(key, value, { expires: ttl === undefined ? undefined : now + ttl * 1000 })
}

function lineOfEntry({ key, value, expires }: Entry, now: number): string {
  return lineOf(key, value, expires === undefined ? undefined : expires > now ? Math.ceil((expires - now) / 1000) : UNSURE_TTL)
}

/** One such line; `ttl` in seconds, from 1 to {@link MAX_TTL}. */
export function lineOf(key: Key, value: Buffer, ttl: number | undefined): string {
  return JSON.stringify({
    ...(isPlain(key)
      ? { key: `/${key.map(utf8).join('/')}` }
      : { segments64: key.map((segment) => base64(Buffer.from(segment, 'latin1'))) }),
    ...(isUtf8(value) ? { value: value.toString('utf8') } : { value64: base64(value) }),
    ...(ttl !== undefined && { ttl })
  })
}

/** Whether a path says the whole key: no slash inside a segment, and UTF-8 throughout. */
function isPlain(key: Key): boolean {
  return key.every((segment) => !segment.includes('/') && (isAscii(segment) || isUtf8(Buffer.from(segment, 'latin1'))))
}

function isAscii(segment: string): boolean {
  return !/[^\x00-\x7f]/.test(segment)
}

function utf8(segment: string): string {
  return isAscii(segment) ? segment : Buffer.from(segment, 'latin1').toString('utf8')
}

function base64(octets: Buffer): string {
  return octets.toString('base64')
}

const fields = new Set(['key', 'segments64', 'value', 'value64', 'ttl'])

function readLine(text: string, number: number): Line {
  const wrong = (what: string): never => {
    throw new StoreError(`line ${number}: ${what}; nothing was imported`)
  }
  let line: Record<string, unknown>
  try {
    line = JSON.parse(text) as Record<string, unknown>
  } catch (error) {
    return wrong(`expected an object of JSON such as {"key":"/a/b","value":"text"} (${(error as Error).message})`)
  }
  if (typeof line !== 'object' || line === null || Array.isArray(line))
    return wrong('expected an object such as {"key":"/a/b","value":"text"}')
  const unknown = Object.keys(line).find((name) => !fields.has(name))
  if (unknown !== undefined) return wrong(`expected the fields ${[...fields].join(', ')}, not ${JSON.stringify(unknown)}`)
  const key = readKey(line) ?? wrong('expected "key", a path such as "/a/b", or "segments64", a list of segments in base64')
  const value = readValue(line) ?? wrong('expected "value", a text, or "value64", octets in base64')
  const { ttl } = line
  if (ttl !== undefined && !(Number.isSafeInteger(ttl) && (ttl as number) > 0 && (ttl as number) <= MAX_TTL))
    wrong('expected "ttl" in whole seconds, at least 1')
  if (value.length > MAX_VALUE_OCTETS) wrong(`expected a value of at most ${MAX_VALUE_OCTETS} octets, not ${value.length}`)
  try {
    checkedOctets(key)
  } catch (error) {
    wrong((error as Error).message)
  }
  return { key, value, ttl: ttl as number | undefined }
}

function readKey({ key, segments64 }: Record<string, unknown>): Key | undefined {
  if (typeof key === 'string' && segments64 === undefined) return key.startsWith('/') ? keyOfPath(key) : undefined
  if (key !== undefined || !Array.isArray(segments64) || segments64.length === 0) return undefined
  const segments = segments64.map((segment) => readBase64(segment))
  return segments.every((segment) => segment !== undefined && segment.length > 0)
    ? segments.map((segment) => segment!.toString('latin1'))
    : undefined
}

function readValue({ value, value64 }: Record<string, unknown>): Buffer | undefined {
  if (typeof value === 'string' && value64 === undefined) return Buffer.from(value, 'utf8')
  return value === undefined ? readBase64(value64) : undefined
}

/** The octets; undefined of what is no base64. */
export function readBase64(text: unknown): Buffer | undefined {
  if (typeof text !== 'string') return undefined
  const octets = Buffer.from(text, 'base64')
  return octets.toString('base64') === text ? octets : undefined
}
