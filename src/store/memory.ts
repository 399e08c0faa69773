import { fold, foldedOctets, type Key, keyOfPath, subtreeEnd } from './key.js'
import type { ChangedKeys, Entry, Feed, StoreReader } from './store.js'

/** A store in memory, filled once from paths and values: for tests, and for programs that embed a chain over fixed services. */
export class MemoryStore implements StoreReader {
  revision = 1
  #feed: Feed | undefined
  #entries: { readonly octets: Buffer; readonly entry: Entry }[] = []
  readonly #watchers = new Set<{ key: Key; changed: (keys: ChangedKeys) => void }>()

  /** Values that are no text are written as JSON. */
  static of(services: Readonly<Record<string, unknown>>): MemoryStore {
    const store = new MemoryStore()
    for (const [path, value] of Object.entries(services))
      store.put(keyOfPath(path), typeof value === 'string' ? value : JSON.stringify(value))
    return store
  }

  /** Sets a key; `expires` in milliseconds since 1970. */
  put(key: Key, value: string | Buffer, expires?: number): void {
    this.delete(key)
    const revision = ++this.revision
    const entry: Entry = { key, value: Buffer.from(value as string), created: revision, modified: revision, expires }
    this.#entries.push({ octets: foldedOctets(key), entry })
    this.#entries.sort((a, b) => a.octets.compare(b.octets))
    this.#changed(key)
  }

  delete(key: Key): void {
    const same = ({ entry }: { entry: Entry }): boolean =>
      entry.key.length === key.length && entry.key.every((segment, i) => segment === key[i])
    if (!this.#entries.some(same)) return
    this.#entries = this.#entries.filter((stored) => !same(stored))
    this.revision++
    this.#changed(key)
  }

  subtree(key: Key, limit?: number): Entry[] {
    const start = foldedOctets(key)
    const end = subtreeEnd(start)
    return this.#entries
      .filter(({ octets }) => octets.compare(start) >= 0 && octets.compare(end) < 0)
      .map(({ entry }) => entry)
      .slice(0, limit)
  }

  at(key: Key): Entry[] {
    return this.subtree(key).filter((entry) => entry.key.length === key.length)
  }

  has(key: Key): boolean {
    return this.subtree(key).length > 0
  }

  get feed(): Feed | undefined {
    return this.#feed
  }

  /** Has it be a replica, in this state. */
  set feed(feed: Feed | undefined) {
    this.#feed = feed
    this.revision++
    for (const { changed } of this.#watchers) changed(undefined)
  }

  watch(key: Key, changed: (keys: ChangedKeys) => void): () => void {
    const watcher = { key, changed }
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }

  #changed(key: Key): void {
    for (const { key: watched, changed } of this.#watchers) {
      if (watched.length <= key.length && watched.every((segment, i) => fold(segment) === fold(key[i]!))) changed([key])
    }
  }
}
