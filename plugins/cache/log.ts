/** Memory for entries of any size, written one behind the other, in segments that are used again when all in them is gone. */

/** What is taken from the system at once. The largest entry has less: no message has more than 64 KiB. */
export const SEGMENT_OCTETS = 256 * 1024
/** Everything stands at multiples of so many octets. */
const UNIT = 8
const UNITS = SEGMENT_OCTETS / UNIT
/** Places are numbers of 31 bits. */
const MOST_SEGMENTS = Math.floor(0x7fffffff / UNITS)

/** The octets of one segment, seen as numbers too. */
export interface Segment {
  readonly octets: Uint8Array
  readonly integers: Int32Array
  readonly floats: Float64Array
}

/** A queue of segments: room is given at its head; what is oldest is at its tail. A place is a number above 0. */
export class SegmentLog {
  readonly #most: number
  readonly #segments: Segment[] = []
  /** Numbers of segments: in use, oldest first; and free. */
  readonly #queue: number[] = []
  readonly #free: number[] = []
  /** Octets in use of each segment. */
  readonly #filled: number[] = []
  #tailAt = 0

  /** `most` octets at most, but two segments. */
  constructor(most: number) {
    this.#most = Math.min(MOST_SEGMENTS, Math.max(2, Math.floor(most / SEGMENT_OCTETS)))
  }

  /** What is taken from the system. */
  get octets(): number {
    return this.#segments.length * SEGMENT_OCTETS
  }

  /** What of it is in use, or was until the tail comes by. */
  get usedOctets(): number {
    return this.#queue.length * SEGMENT_OCTETS
  }

  segmentOf(place: number): Segment {
    return this.#segments[((place - 1) / UNITS) | 0]!
  }

  /** Where in its segment a place is, in octets. */
  offsetOf(place: number): number {
    return ((place - 1) & (UNITS - 1)) * UNIT
  }

  /** Whether the next `take` needs another segment. */
  isFull(size: number): boolean {
    const head = this.#queue.at(-1)
    return head === undefined || this.#filled[head]! + rounded(size) > SEGMENT_OCTETS
  }

  /** Room for so many octets, or 0 where there is none. The last segment is for what moves, see `reserve`. */
  take(size: number, reserve: boolean): number {
    const octets = rounded(size)
    if (octets > SEGMENT_OCTETS) return 0
    if (this.isFull(size) && !this.#extend(reserve)) return 0
    const head = this.#queue.at(-1)!
    const offset = this.#filled[head]!
    this.#filled[head] = offset + octets
    return head * UNITS + offset / UNIT + 1
  }

  /** The number of the oldest segment, -1 where that is the head; another once it is freed. */
  get oldest(): number {
    return this.#queue.length > 1 ? this.#queue[0]! : -1
  }

  /** The place at the tail, or 0 where nothing is between it and the head's segment. */
  get tail(): number {
    const [oldest] = this.#queue
    return oldest === undefined || this.#tailAt >= this.#filled[oldest]! ? 0 : oldest * UNITS + this.#tailAt / UNIT + 1
  }

  /** Gives up the room of so many octets at the tail. What leaves a segment empty, but the head's, frees it. */
  passTail(size: number): void {
    this.#tailAt += rounded(size)
    this.#freeTail()
  }

  #freeTail(): void {
    const oldest = this.#queue[0]!
    if (this.#tailAt < this.#filled[oldest]! || this.#queue.length === 1) return
    this.#queue.shift()
    this.#free.push(oldest)
    this.#tailAt = 0
  }

  clear(): void {
    this.#segments.length = 0
    this.#queue.length = 0
    this.#free.length = 0
    this.#tailAt = 0
  }

  #extend(reserve: boolean): boolean {
    let next = this.#free.pop()
    if (next === undefined) {
      if (this.#segments.length >= this.#most - (reserve ? 0 : 1)) return false
      // What is shared does not count as the heap's own: each eight megabytes of it would have all garbage collected otherwise.
      const buffer = new SharedArrayBuffer(SEGMENT_OCTETS)
      next =
        this.#segments.push({
          octets: new Uint8Array(buffer),
          integers: new Int32Array(buffer),
          floats: new Float64Array(buffer)
        }) - 1
    } else if (!reserve && this.#free.length === 0 && this.#segments.length >= this.#most) {
      this.#free.push(next)
      return false
    }
    this.#filled[next] = 0
    this.#queue.push(next)
    this.#freeTail()
    return true
  }
}

function rounded(size: number): number {
  return Math.ceil(size / UNIT) * UNIT
}
