import type { Shares } from '../chain/scope.js'
import type { MaybePromise, Shared, SharedValue } from '../plugin.js'

interface Pooled {
  users: number
  readonly made: Promise<SharedValue<unknown>>
}

/** What is made once a process: counted by its users, closed when the last has gone. */
export class Sharing implements Shares {
  readonly #pool = new Map<string, Pooled>()
  readonly #closing = new Map<string, Promise<void>>()

  async take<T>(key: string, create: () => MaybePromise<SharedValue<T>>): Promise<Shared<T>> {
    let pooled = this.#pool.get(key)
    if (pooled === undefined) {
      pooled = { users: 0, made: this.#make(key, create) }
      this.#pool.set(key, pooled)
    }
    pooled.users++
    try {
      const { value } = (await pooled.made) as SharedValue<T>
      let given = false
      const release = async (): Promise<void> => {
        if (given) return
        given = true
        await this.#give(key)
      }
      return { value, release }
    } catch (error) {
      // Another user may have put a new one there meanwhile.
      if (this.#pool.get(key) === pooled) this.#pool.delete(key)
      throw error
    }
  }

  /** Makes it when the one before is closed: both may want the same port. */
  async #make(key: string, create: () => MaybePromise<SharedValue<unknown>>): Promise<SharedValue<unknown>> {
    await this.#closing.get(key)?.catch(() => {})
    return create()
  }

  async #give(key: string): Promise<void> {
    const pooled = this.#pool.get(key)
    if (pooled === undefined || --pooled.users > 0) return
    this.#pool.delete(key)
    const closing = (async () => (await pooled.made).close?.())()
    this.#closing.set(key, closing)
    try {
      await closing
    } finally {
      if (this.#closing.get(key) === closing) this.#closing.delete(key)
    }
  }
}
