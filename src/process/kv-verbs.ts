/** What `skein kv` does with a store: on the running server's, at its control socket, or on a stopped one's folder. */
import type { JudgeModule } from '../plugin.js'
import { type Key, keyOfShownPath, shownKey, shownPath } from '../store/key.js'
import { exportLines, importLines } from '../store/lines.js'
import type { LockedStore } from '../store/locked.js'
import { StoreError, waitingText } from '../store/store.js'
import { eachLine } from './lines.js'

const VERBS = ['get', 'put', 'del', 'ls', 'bad', 'import', 'export'] as const

const READING: readonly string[] = ['get', 'ls', 'bad', 'export'] satisfies (typeof VERBS)[number][]

/** One of the verbs. */
export type Verb = (typeof VERBS)[number]

/** Whether this is a verb of `skein kv`. */
export function isVerb(word: string): word is Verb {
  return (VERBS as readonly string[]).includes(word)
}

/** The arguments of a verb. */
export interface KvArguments {
  readonly key?: string
  /** Seconds. */
  readonly ttl?: number
  readonly recursive?: boolean
  /** The octets of a value alone, without a line end behind them. */
  readonly raw?: boolean
  /** The URL of a module that knows what values are to be; undefined where nobody has said. */
  readonly judge?: string | undefined
}

/** Does it; gives what is printed. Throws StoreError where it cannot. `input` is the value of `put`, the lines of `import`. */
export async function* kvVerb(
  store: LockedStore,
  verb: Verb,
  { key: path = '/', ttl, recursive = false, raw = false, judge }: KvArguments,
  input: AsyncIterable<Buffer>
): AsyncGenerator<string | Buffer> {
  const key = keyOfShownPath(path)
  // What a replica lacks before it was ever in step is no sign that etcd lacks it.
  if (READING.includes(verb) && store.feed?.state === 'waiting') throw new StoreError(waitingText(store.feed))
  switch (verb) {
    case 'get': {
      const entry = store.exact.entry(key) ?? missing(path)
      yield entry.value
      if (!raw) yield '\n'
      break
    }
    case 'put': {
      const chunks: Buffer[] = []
      for await (const chunk of input) chunks.push(chunk)
      const expires = ttl === undefined ? undefined : store.clock.now() + ttl * 1000
      await store.apply([{ op: 'put', key, value: Buffer.concat(chunks), expires }])
      break
    }
    case 'del':
      await remove(store, key, path, recursive)
      break
    case 'ls':
      yield* list(store, key, recursive)
      break
    case 'bad':
      yield* bad(store, key, judge)
      break
    case 'import':
      yield importedText(await importLines(store, eachLine(input)))
      break
    case 'export':
      for await (const line of exportLines(store, key)) yield `${line}\n`
  }
}

async function remove(store: LockedStore, key: Key, path: string, recursive: boolean): Promise<void> {
  const found = await store.transact((draft) => {
    const entry = key.length > 0 && draft.delete(key)
    if (recursive) return draft.rmdir(key) || entry
    if (!entry && draft.hasBelow(key)) throw new StoreError(`${path} has keys below it and no value: delete them with -r`)
    return entry
  })
  if (!found) missing(path)
}

/** The names directly below a key, those with keys below them with a slash; or all keys below it. */
async function* list(store: LockedStore, key: Key, recursive: boolean): AsyncGenerator<string> {
  const shown = new Set<string>()
  for await (const { entries } of store.exact.below(key)) {
    for (const { key: below } of entries) {
      const path = recursive || below.length === key.length + 1 ? shownKey(below) : `${shownKey(below.slice(0, key.length + 1))}/`
      if (shown.has(path)) continue
      if (!recursive) shown.add(path)
      yield `${path}\n`
    }
  }
}

/** The keys that are no use, each with what is wrong with it. */
async function* bad(store: LockedStore, key: Key, judge: string | undefined): AsyncGenerator<string> {
  if (judge === undefined) throw new StoreError('nobody says what values are to be: name a Corefile whose `etcd` uses this store')
  const { problemOf } = (await import(judge)) as JudgeModule
  const line = (path: Key, problem: string | undefined): string => (problem === undefined ? '' : `${shownKey(path)}: ${problem}\n`)
  const own = store.exact.entry(key)
  if (own !== undefined) yield line(key, problemOf(own.value))
  for await (const { entries } of store.exact.below(key)) {
    for (const { key: below, value } of entries) yield line(below, problemOf(value))
  }
  for (const { path, problem } of store.odd?.() ?? []) {
    if (isAtOrBelow(path, key)) yield `${shownPath(path)}: ${problem}\n`
  }
}

function importedText(keys: number): string {
  return `${keys} ${keys === 1 ? 'key' : 'keys'} imported\n`
}

/** Whether a path of etcd, which may be no key, is there or further down. */
function isAtOrBelow(path: Buffer, key: Key): boolean {
  const [text, top] = [path.toString('latin1'), key.map((segment) => `/${segment}`).join('')]
  return text === top || top === '' || text.startsWith(`${top}/`)
}

/** What is told of a key that is not there. */
export function noKey(path: string): string {
  return `there is no key ${path}`
}

function missing(path: string): never {
  throw new StoreError(noKey(path))
}
