/** What `skein kv` does with a store: on the running server's, at its control socket, or on a stopped one's folder. */
import type { EmbeddedStore } from '../store/embedded.js'
import { type Key, keyOfShownPath, shownKey } from '../store/key.js'
import { exportLines, importLines } from '../store/lines.js'
import { StoreError } from '../store/store.js'
import { eachLine } from './lines.js'

const VERBS = ['get', 'put', 'del', 'ls', 'import', 'export'] as const

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
}

/** Does it; gives what is printed. Throws StoreError where it cannot. `input` is the value of `put`, the lines of `import`. */
export async function* kvVerb(
  store: EmbeddedStore,
  verb: Verb,
  { key: path = '/', ttl, recursive = false, raw = false }: KvArguments,
  input: AsyncIterable<Buffer>
): AsyncGenerator<string | Buffer> {
  const key = keyOfShownPath(path)
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
    case 'import':
      yield `${await importLines(store, eachLine(input))} keys imported\n`
      break
    case 'export':
      for await (const line of exportLines(store, key)) yield `${line}\n`
  }
}

async function remove(store: EmbeddedStore, key: Key, path: string, recursive: boolean): Promise<void> {
  const found = await store.transact((draft) => {
    const entry = key.length > 0 && draft.delete(key)
    if (recursive) return draft.rmdir(key) || entry
    if (!entry && draft.hasBelow(key)) throw new StoreError(`${path} has keys below it and no value: delete them with -r`)
    return entry
  })
  if (!found) missing(path)
}

/** The names directly below a key, those with keys below them with a slash; or all keys below it. */
async function* list(store: EmbeddedStore, key: Key, recursive: boolean): AsyncGenerator<string> {
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

function missing(path: string): never {
  throw new StoreError(`there is no key ${path}`)
}
