import { foldedOctets, type Key } from './key.js'
import type { ChangedKeys } from './store.js'

interface Watcher {
  readonly folded: string
  readonly changed: (keys: ChangedKeys) => void
}

/** Who wants to know of changes at or below which key; case does not count. */
export class Watchers {
  readonly #watchers = new Set<Watcher>()
  readonly #report: (error: unknown) => void

  constructor(report: (error: unknown) => void) {
    this.#report = report
  }

  /** Adds one; returns what ends it. */
  add(key: Key, changed: (keys: ChangedKeys) => void): () => void {
    const watcher = { folded: foldedOctets(key).toString('latin1'), changed }
    this.#watchers.add(watcher)
    return () => void this.#watchers.delete(watcher)
  }

  /** Tells each, once, the keys that are its own. */
  tell(keys: ChangedKeys): void {
    if (keys === undefined) {
      for (const watcher of Array.from(this.#watchers)) this.#tell(watcher, undefined)
      return
    }
    if (keys.length === 0 || this.#watchers.size === 0) return
    const folded = keys.map((key) => foldedOctets(key).toString('latin1'))
    for (const watcher of Array.from(this.#watchers)) {
      const below = `${watcher.folded}\0`
      const own = keys.filter((_, index) => watcher.folded === '' || folded[index] === watcher.folded || folded[index]!.startsWith(below))
      if (own.length > 0) this.#tell(watcher, own)
    }
  }

  // One watcher's fault must not keep the news from the others, nor fail the write that is already on disk.
  #tell(watcher: Watcher, keys: ChangedKeys): void {
    try {
      watcher.changed(keys)
    } catch (error) {
      this.#report(error)
    }
  }
}
