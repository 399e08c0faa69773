import { type Clock, type Random, shuffle, type Upstream } from 'skein/plugin'
import type { Policy } from './options.js'

/** How long an upstream that failed stands behind the others. */
const SHUNNED_MS = 2000

interface Standing {
  readonly upstream: Upstream
  /** When it may be asked first again; undefined where its last attempt was answered. */
  shunnedUntil: number | undefined
}

/** The upstreams of one `forward` and what is known of them: those that failed last are asked last. */
export class Upstreams {
  readonly #standings: readonly Standing[]
  readonly #policy: Policy
  readonly #clock: Clock
  readonly #random: Random
  #turn = 0

  constructor(upstreams: readonly Upstream[], policy: Policy, clock: Clock, random: Random) {
    this.#standings = upstreams.map((upstream) => ({ upstream, shunnedUntil: undefined }))
    this.#policy = policy
    this.#clock = clock
    this.#random = random
  }

  /** All of them, in the order in which one query asks. */
  order(): readonly Upstream[] {
    const now = this.#clock.monotonic()
    const isShunned = ({ shunnedUntil = now }: Standing): boolean => now < shunnedUntil
    const arranged = this.#arranged()
    const order = [...arranged.filter((standing) => !isShunned(standing)), ...arranged.filter(isShunned)]
    const first = order[0]!
    // This query finds out whether it is back; the others need not wait for that.
    if (first.shunnedUntil !== undefined && !isShunned(first)) first.shunnedUntil = now + SHUNNED_MS
    return order.map(({ upstream }) => upstream)
  }

  /** Tells how an attempt went. */
  asked(upstream: Upstream, answered: boolean): void {
    const standing = this.#standings.find((other) => other.upstream === upstream)!
    standing.shunnedUntil = answered ? undefined : this.#clock.monotonic() + SHUNNED_MS
  }

  #arranged(): readonly Standing[] {
    if (this.#policy === 'sequential' || this.#standings.length === 1) return this.#standings
    // Each order as likely as any other, so that the load of one that is down spreads over all others.
    if (this.#policy === 'random') return shuffle([...this.#standings], this.#random)
    const start = this.#turn
    this.#turn = (this.#turn + 1) % this.#standings.length
    return [...this.#standings.slice(start), ...this.#standings.slice(0, start)]
  }
}
