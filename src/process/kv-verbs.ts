/** What `skein kv` does with a store: on the running server's, at its control socket, or on a stopped one's folder. */
import type { EmbeddedStore } from '../store/embedded.js'
import { type Key, keyOfPath, pathOfKey } from '../store/key.js'
import { exportLines, importLines } from '../store/lines.js'
import { StoreError } from '../store/store.js'

const VERBS = ['get', 'put', 'del', 'ls', 'import', 'export'] as const

export type Verb = (typeof VERBS)[number]

/** Whether this is a verb of `skein kv`. */
export function isVerb(word: string): word is Verb {
  return (VERBS as readonly string[]).includes(word)
}

/** The arguments of a verb. */
export interface KvArguments {
  readonly key?: string
  readonly value?: string
  /** Seconds. */
  readonly ttl?: number
  readonly recursive?: boolean
}

/** Does it; gives what is printed. Throws StoreError where it cannot. `input` is what `import` reads. */
export async function* kvVerb(
  store: EmbeddedStore,
  verb: Verb,
  { key: path = '/', value, ttl, recursive = false }: KvArguments,
  input: AsyncIterable<string>
): AsyncGenerator<string | Buffer> {
  const key = keyOfPath(path)
  switch (verb) {
    case 'get': {
      const entry = store.exact.entry(key) ?? missing(path)
      yield Buffer.concat([entry.value, Buffer.from('\n')])
      break
    }
    case 'put':
      await store.apply([
        { op: 'put', key, value: Buffer.from(value ?? ''), expires: ttl === undefined ? undefined : store.clock.now() + ttl * 1000 }
      ])
      break
    case 'del':
      await remove(store, key, path, recursive)
      break
    case 'ls':
      yield* list(store, key, recursive)
      break
    case 'import':
      yield `${await importLines(store, input)} keys imported\n`
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
      const path = recursive || below.length === key.length + 1 ? pathOfKey(below) : `${pathOfKey(below.slice(0, key.length + 1))}/`
      if (shown.has(path)) continue
      if (!recursive) shown.add(path)
      yield `${path}\n`
    }
  }
}

function missing(path: string): never {
  throw new StoreError(`there is no key ${path}`)
}
