/**
 * Asks whether a connection lives on which nothing has come for a while. With a question of etcd's own: HTTP/2 has pings for this, but
 * etcd takes more than one in five seconds for an attack, and a proxy answers them itself.
 */
export class Pulse {
  readonly #quietMs: number
  readonly #ask: () => Promise<unknown>
  #heard = 0
  #timer: NodeJS.Timeout | undefined

  /** @param ask whoever it fails for is told otherwise */
  constructor(quietMs: number, ask: () => Promise<unknown>) {
    this.#quietMs = quietMs
    this.#ask = ask
  }

  /** Something has come. */
  heard(): void {
    this.#heard = performance.now()
  }

  start(): void {
    if (this.#timer !== undefined) return
    this.heard()
    this.#wait(this.#quietMs)
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #wait(ms: number): void {
    this.#timer = setTimeout(() => void this.#check(), Math.ceil(ms)).unref()
  }

  async #check(): Promise<void> {
    const timer = this.#timer
    const left = this.#heard + this.#quietMs - performance.now()
    if (left > 0) return this.#wait(left)
    await this.#ask().catch(() => undefined)
    // It may have been stopped meanwhile, and started again.
    if (timer === this.#timer) this.#wait(this.#quietMs)
  }
}
