/** What is counted of a replica, in the order of the memory that it is in. */
const NAMES = ['revision', 'cluster', 'events', 'lists', 'keys', 'bad', 'contact', 'stale', 'connections', 'lives'] as const

/** One of the numbers. */
export type NumberName = (typeof NAMES)[number]

/** The numbers of a replica, which the thread of its feeder writes and another reads. */
export class ReplicaNumbers {
  readonly memory: SharedArrayBuffer
  readonly #values: Float64Array

  constructor(memory: SharedArrayBuffer = new SharedArrayBuffer(NAMES.length * Float64Array.BYTES_PER_ELEMENT)) {
    this.memory = memory
    this.#values = new Float64Array(memory)
  }

  get(name: NumberName): number {
    return this.#values[NAMES.indexOf(name)]!
  }

  set(name: NumberName, value: number): void {
    this.#values[NAMES.indexOf(name)] = value
  }

  add(name: NumberName, value: number): void {
    this.set(name, this.get(name) + value)
  }
}
