import type { Renewed } from './replica-store.js'

/** What several entries' life hangs on: a lease, or a time to live. */
interface Life {
  /** Until when it is sure to last, in milliseconds since 1970; 0 where nobody has asked yet, Infinity where it has no end. */
  expires: number
  readonly names: Set<string>
}

/** One whose end has come and that still lives was renewed, of which etcd tells nobody: it is asked about so long after its end. */
const AFTER_MS = 50

/**
 * The lives that entries hang on. Etcd alone says that one has ended; what is known of its time is for the TTL of answers. It is asked for
 * once for all the entries of a lease, and again when that time is over and the entries are still there.
 */
export class Lives {
  readonly #lives = new Map<string, Life>()
  readonly #leaseOf = new Map<string, string>()
  /** Before this none is due. */
  #soonest = 0

  /** How many entries hang on something. */
  get size(): number {
    return this.#leaseOf.size
  }

  /** Notes what an entry hangs on now; nothing where it stays or has gone. */
  note(name: string, lease: string | undefined, expires: number | undefined): void {
    const before = this.#leaseOf.get(name)
    if (before !== lease) this.#forget(name, before)
    if (lease === undefined) return
    this.#leaseOf.set(name, lease)
    let life = this.#lives.get(lease)
    if (life === undefined) {
      life = { expires: 0, names: new Set() }
      this.#lives.set(lease, life)
    }
    life.names.add(name)
    if (expires !== undefined) life.expires = expires
    this.#soonest = Math.min(this.#soonest, life.expires)
  }

  /** Until when a life is sure to last; undefined where that is not known, or is over. */
  expiresOf(lease: string, now: number): number | undefined {
    const expires = this.#lives.get(lease)?.expires ?? 0
    return expires > now ? expires : undefined
  }

  /** Those to be asked about, so many at most. */
  due(now: number, most: number): string[] {
    const due: string[] = []
    if (this.#soonest + AFTER_MS > now) return due
    let soonest = Infinity
    for (const [lease, { expires }] of this.#lives) {
      if (expires + AFTER_MS > now) soonest = Math.min(soonest, expires)
      else if (due.push(lease) >= most) return due
    }
    this.#soonest = soonest
    return due
  }

  /** Notes until when a life lasts, for all its entries, which it gives. */
  learn(lease: string, expires: number): readonly Renewed[] {
    const life = this.#lives.get(lease)
    if (life === undefined) return []
    life.expires = expires
    this.#soonest = Math.min(this.#soonest, expires)
    // Those that were not asked about yet have their turn before it is this one's again.
    this.#lives.delete(lease)
    this.#lives.set(lease, life)
    return [...life.names].map((name) => ({ name, lease, expires }))
  }

  /** Takes what others hang on in place of these; what is known of the time of a life stays known. */
  replaceBy(others: Lives): void {
    for (const [lease, life] of others.#lives) if (life.expires === 0) life.expires = this.#lives.get(lease)?.expires ?? 0
    this.clear()
    this.#soonest = 0
    for (const [lease, life] of others.#lives) this.#lives.set(lease, life)
    for (const [name, lease] of others.#leaseOf) this.#leaseOf.set(name, lease)
  }

  clear(): void {
    this.#lives.clear()
    this.#leaseOf.clear()
  }

  #forget(name: string, lease: string | undefined): void {
    if (lease === undefined) return
    this.#leaseOf.delete(name)
    const life = this.#lives.get(lease)
    life?.names.delete(name)
    if (life?.names.size === 0) this.#lives.delete(lease)
  }
}
