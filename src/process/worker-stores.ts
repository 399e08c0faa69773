import type { PlacedStore, StorePool, Stores } from '../chain/scope.js'
import type { Directive } from '../corefile/directive.js'
import type { Log, Store } from '../plugin.js'
import type { FollowingStore } from '../store/following.js'
import { traced } from '../store/reading.js'
import { type ChangedKeys, StoreError } from '../store/store.js'
import { folderOfStore } from './replica-folder.js'

/** The stores as a worker thread has them: the main thread has them open, writes them, and says what has changed. */
export class WorkerStores implements StorePool {
  readonly #log: Log
  readonly #stores = new Map<string, { users: number; readonly store: FollowingStore }>()

  constructor(log: Log) {
    this.#log = log
  }

  lease(): Stores {
    const used = new Map<string, { options: PlacedStore; at: Directive }>()
    const taken: string[] = []
    return {
      use: (options, at): Store => {
        const folder = folderOfStore(options)
        used.set(folder, { options: { ...options, folder }, at })
        return traced(() => this.#stores.get(folder)?.store ?? notOpen(folder))
      },
      open: async () => {
        for (const folder of used.keys()) {
          await this.#take(folder)
          taken.push(folder)
        }
      },
      serve: () => {},
      close: async () => {
        for (const folder of taken.splice(0)) await this.#give(folder)
      },
      get used() {
        return [...used.values()]
      },
      opened: []
    }
  }

  /** Keys of the store in a folder have changed. */
  changed(folder: string, keys: ChangedKeys): void {
    this.#stores.get(folder)?.store.follow(keys)
  }

  async #take(folder: string): Promise<void> {
    const there = this.#stores.get(folder)
    if (there !== undefined) {
      there.users++
      return
    }
    const { FollowingStore: Following } = await import('../store/following.js')
    const report = (error: unknown): void => this.#log.error(`the store ${folder}: ${String(error)}`)
    this.#stores.set(folder, { users: 1, store: await Following.open(folder, report) })
  }

  async #give(folder: string): Promise<void> {
    const open = this.#stores.get(folder)
    if (open === undefined || --open.users > 0) return
    this.#stores.delete(folder)
    await open.store.close()
  }
}

function notOpen(folder: string): never {
  throw new StoreError(`the store ${folder} is not open`)
}
