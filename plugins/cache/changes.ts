import { type Host, type StoreChange, storeChanges } from 'skein/plugin'

/** What was changed is remembered this far, for answers that are still on their way. */
const MOST_REMEMBERED = 10_000

/**
 * The changes of the stores that plugins of this server block answer from. They are counted, since an answer may have read
 * what was changed before it came here; revisions would not do, for those of two stores cannot be compared.
 */
export class Changes {
  readonly #host: Host
  readonly #changed: (hashes: readonly number[]) => void
  #ends: (() => void)[] | undefined
  #count = 0
  /** The count at which each hash was changed last, and the count up to which nothing is remembered. */
  readonly #last = new Map<number, number>()
  #forgotten = 0

  /** `changed` is called after each change with the hashes that it touches. */
  constructor(host: Host, changed: (hashes: readonly number[]) => void) {
    this.#host = host
    this.#changed = changed
  }

  /** How many there were. */
  get count(): number {
    return this.#count
  }

  /** Starts to listen, once. Not in `start`: layers behind this one have not offered their changes then. */
  listen(): void {
    this.#ends ??= this.#host.find(storeChanges).map((listen) => listen((change) => this.#take(change)))
  }

  /** Listens to what is there now, after it was stopped. */
  listenAnew(): void {
    this.#ends = undefined
    this.listen()
  }

  stop(): void {
    for (const end of this.#ends ?? []) end()
    this.#ends = []
  }

  /** Whether any of these may have been changed since there were `count` changes. */
  touch(reads: ReadonlySet<number>, count: number): boolean {
    if (count === this.#count || reads.size === 0) return false
    if (count < this.#forgotten) return true
    for (const read of reads) if ((this.#last.get(read) ?? 0) > count) return true
    return false
  }

  #take({ hashes }: StoreChange): void {
    if (this.#last.size + hashes.length > MOST_REMEMBERED) {
      this.#last.clear()
      this.#forgotten = this.#count + 1
    }
    this.#count++
    for (const hash of hashes) this.#last.set(hash, this.#count)
    this.#changed(hashes)
  }
}
