import { type Host, storeChanges } from 'skein/plugin'
import type { Marks } from './marks.js'

/** Listens to the changes of the stores that plugins of this server block answer from. */
export class Changes {
  readonly #host: Host
  #marks: Marks
  #ends: (() => void)[] | undefined

  constructor(host: Host, marks: Marks) {
    this.#host = host
    this.#marks = marks
  }

  /** Notes them there from now on. */
  noteIn(marks: Marks): void {
    this.#marks = marks
  }

  /** Starts to listen, once. Not in `start`: layers behind this one have not offered their changes then. */
  listen(): void {
    this.#ends ??= this.#host.find(storeChanges).map((listen) => listen(({ hashes }) => this.#marks.add(hashes)))
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
}
