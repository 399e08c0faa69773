import { setTimeout as sleep } from 'node:timers/promises'

/** Counts the requests that are still to be answered. */
export class InFlight {
  #count = 0
  #none: (() => void) | undefined

  begin(): void {
    this.#count++
  }

  end(): void {
    this.#count--
    if (this.#count === 0) this.#none?.()
  }

  /** Resolves when nothing is in flight and `isSent` says that every reply is with the kernel, or at `deadline` (of `performance.now()`). */
  async settled(isSent: () => boolean, deadline: number): Promise<void> {
    while (!(this.#count === 0 && isSent()) && performance.now() < deadline)
      await (this.#count === 0 ? sleep(1) : this.#untilNone(deadline))
  }

  async #untilNone(deadline: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, deadline - performance.now())
      this.#none = () => {
        clearTimeout(timer)
        resolve()
      }
    })
    this.#none = undefined
  }
}
