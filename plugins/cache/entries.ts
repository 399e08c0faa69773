import { type Message, type Origin, PackedReply, type PackedSource, type Question } from 'skein/plugin'
import { SEGMENT_OCTETS, type Segment, SegmentLog } from './log.js'
import type { Marks } from './marks.js'

/** What an entry is made of, see {@link Entries}. */
export interface NewEntry {
  readonly question: Question
  /** What tells questions apart that ask for the same. */
  readonly variant: number
  /** See `pack`. */
  readonly block: Uint8Array
  /** Hashes of what it has read of the store, and how many changes had been when it did. */
  readonly reads: readonly number[]
  readonly count: number
  readonly revision: number | undefined
  readonly upstream: string | undefined
  /** Milliseconds of `clock.monotonic()`. */
  readonly since: number
  readonly until: number
}

/** Where the fields of an entry stand, in octets; then its reads, its key and its block. */
const SIZE = 0
const HASH = 4
const STATE = 8
const READS = 12
const SINCE = 16
const UNTIL = 24
const COUNT = 32
const REVISION = 40
const UPSTREAM = 48
const BLOCK = 52
const HEADER = 56
const ABOUT = { why: 'cached' }
/** States. */
const DEAD = 0
const LIVE = 1
const USED = 2
/** Behind the name: type, class, variant. */
const KEY_TAIL = 5
/** Beyond so many upstreams an entry does not tell which it is from. */
const MOST_UPSTREAMS = 1000
/** More are not kept, whatever the capacity: the index of so many takes a gigabyte. */
const MOST_ENTRIES = 2 ** 26
/** An entry that was asked for stays where another could go, so often in a row. */
const MOST_MOVES = 16

/**
 * Entries by question, bounded in number and memory. What goes first is the oldest that was not asked for since its turn came last
 * (FIFO with second chance). All of it is octets that the garbage collector never looks at: an open-addressed index, and a log of
 * entries, each with its key, so that keys are compared in place.
 */
export class Entries implements PackedSource {
  #capacity = -1
  #evictions: { value: number } = { value: 0 }
  readonly #marks: Marks
  readonly #log: SegmentLog
  /** Slots of two: the place of an entry and its hash, at the first free slot from where the hash points to. A place of 0 is a free slot. */
  #index = new Int32Array(0)
  #mask = 0
  #size = 0
  #liveOctets = 0
  readonly #upstreams: string[] = ['']

  constructor(capacity: number, mostOctets: number, marks: Marks) {
    this.#marks = marks
    this.#log = new SegmentLog(mostOctets)
    this.bound(capacity, this.#evictions, 0)
  }

  /** Bounds their number otherwise, and counts what goes elsewhere from now on. */
  bound(wanted: number, evictions: { value: number }, now: number): void {
    const capacity = Math.min(wanted, MOST_ENTRIES)
    this.#evictions = evictions
    while (this.#size > capacity) this.#evict(now)
    if (capacity === this.#capacity) return
    this.#capacity = capacity
    const before = this.#index
    // Half of it stays free, so that runs of slots are short.
    const slots = 2 ** Math.ceil(Math.log2(Math.max(8, 2 * capacity)))
    this.#index = new Int32Array(2 * slots)
    this.#mask = slots - 1
    for (let at = 0; at < before.length; at += 2) if (before[at] !== 0) this.#insert(before[at]!)
  }

  get size(): number {
    return this.#size
  }

  /** How much memory entries take. */
  get octets(): number {
    return this.#log.octets
  }

  /** The place of what holds at that time, or 0; what has ended, or was changed, is removed. */
  find(question: Question, variant: number, now: number): number {
    const place = this.#find(question, variant)
    if (place === 0 || this.#holds(place, now)) return place
    this.#remove(place)
    return 0
  }

  #find(question: Question, variant: number): number {
    const index = this.#index
    const mask = this.#mask
    const hash = hashOf(question, variant)
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const place = index[2 * slot]!
      if (place === 0 || (index[2 * slot + 1] === hash && this.#isAt(place, question, variant))) return place
    }
  }

  /** The reply at the place that was found for a question, for as long as nothing is put; it counts as asked for. */
  use(place: number, question: Question, now: number, keepsTtl: boolean): PackedReply {
    const { octets, integers, floats } = this.#log.segmentOf(place)
    const at = this.#log.offsetOf(place)
    // To write where it says so already would cost a transfer between caches of the processor.
    if (integers[(at + STATE) >> 2] !== USED) integers[(at + STATE) >> 2] = USED
    const seconds = keepsTtl ? 0 : Math.floor((now - floats[(at + SINCE) >> 3]!) / 1000)
    return new PackedReply(octets, at + integers[(at + BLOCK) >> 2]!, question, seconds, ABOUT, this, place)
  }

  /** The reply at a place as whoever asked first is told it, for as long as nothing is put. */
  toldAs(place: number, question: Question, { why, origin }: Message): PackedReply {
    const { octets, integers } = this.#log.segmentOf(place)
    const at = this.#log.offsetOf(place)
    return new PackedReply(octets, at + integers[(at + BLOCK) >> 2]!, question, 0, { why }, { originOf: () => origin! }, place)
  }

  originOf(place: number): Origin {
    const { integers, floats } = this.#log.segmentOf(place)
    const at = this.#log.offsetOf(place)
    const reads = Array.from({ length: integers[(at + READS) >> 2]! }, (_, index) => integers[(at + HEADER) / 4 + index]! >>> 0)
    const revision = floats[(at + REVISION) >> 3]!
    const upstream = this.#upstreams[integers[(at + UPSTREAM) >> 2]!]!
    return {
      kind: 'cache',
      since: floats[(at + SINCE) >> 3]!,
      reads,
      ...(revision >= 0 && { revision }),
      ...(upstream !== '' && { upstream })
    }
  }

  /** Keeps an entry in place of that for the same question, evicts others where there is no room; gives its place, or 0 where it is too large. */
  put(entry: NewEntry): number {
    const { question, variant, block, reads, since } = entry
    this.delete(question, variant)
    while (this.#size > 0 && this.#size >= this.#capacity) this.#evict(since)
    const key = HEADER + 4 * reads.length
    const start = key + question.nameLength + KEY_TAIL
    const place = this.#capacity === 0 ? 0 : this.#room(start + block.length, since)
    if (place === 0) return 0
    const segment = this.#log.segmentOf(place)
    const at = this.#log.offsetOf(place)
    this.#write(segment, at, entry, start)
    question.copyName(segment.octets, at + key)
    writeTail(segment.octets, at + start - KEY_TAIL, question, variant)
    segment.octets.set(block, at + start)
    this.#insert(place)
    this.#size++
    this.#liveOctets += start + block.length
    return place
  }

  #write({ integers, floats }: Segment, at: number, entry: NewEntry, start: number): void {
    const { question, variant, block, reads, count, revision = -1, upstream, since, until } = entry
    integers[(at + SIZE) >> 2] = start + block.length
    integers[(at + HASH) >> 2] = hashOf(question, variant)
    integers[(at + STATE) >> 2] = LIVE
    integers[(at + READS) >> 2] = reads.length
    floats[(at + SINCE) >> 3] = since
    floats[(at + UNTIL) >> 3] = until
    floats[(at + COUNT) >> 3] = count
    floats[(at + REVISION) >> 3] = revision
    integers[(at + UPSTREAM) >> 2] = this.#upstreamNumber(upstream)
    integers[(at + BLOCK) >> 2] = start
    for (let i = 0; i < reads.length; i++) integers[(at + HEADER) / 4 + i] = reads[i]!
  }

  #upstreamNumber(upstream = ''): number {
    const known = this.#upstreams.indexOf(upstream)
    if (known >= 0) return known
    return this.#upstreams.length < MOST_UPSTREAMS ? this.#upstreams.push(upstream) - 1 : 0
  }

  delete(question: Question, variant: number): void {
    const place = this.#find(question, variant)
    if (place !== 0) this.#remove(place)
  }

  clear(): void {
    this.#index = new Int32Array(this.#index.length)
    this.#log.clear()
    this.#size = 0
    this.#liveOctets = 0
  }

  #isAt(place: number, question: Question, variant: number): boolean {
    const { octets, integers } = this.#log.segmentOf(place)
    const at = this.#log.offsetOf(place)
    const key = at + HEADER + 4 * integers[(at + READS) >> 2]!
    const tail = key + question.nameLength
    return (
      tail + KEY_TAIL === at + integers[(at + BLOCK) >> 2]! && isTail(octets, tail, question, variant) && question.isNameAt(octets, key)
    )
  }

  #holds(place: number, now: number): boolean {
    const { integers, floats } = this.#log.segmentOf(place)
    const at = this.#log.offsetOf(place)
    if (now >= floats[(at + UNTIL) >> 3]!) return false
    const count = floats[(at + COUNT) >> 3]!
    if (count === this.#marks.count) return true
    const reads = integers[(at + READS) >> 2]!
    for (let i = 0; i < reads; i++) if (this.#marks.isLater(integers[(at + HEADER) / 4 + i]!, count)) return false
    return true
  }

  /** Removes the oldest that was not asked for; there is at least one entry. */
  #evict(now: number): void {
    for (let moves = 0; ; ) {
      const place = this.#log.tail
      const { integers } = this.#log.segmentOf(place)
      const at = this.#log.offsetOf(place)
      const size = integers[(at + SIZE) >> 2]!
      const state = integers[(at + STATE) >> 2]!
      if (state === USED && moves < MOST_MOVES && this.#holds(place, now) && this.#move(place, LIVE, false)) moves++
      else if (state !== DEAD) this.#remove(place)
      this.#log.passTail(size)
      if (state === DEAD || integers[(at + STATE) >> 2] !== DEAD) continue
      this.#evictions.value++
      return
    }
  }

  /** Room for an entry. */
  #room(size: number, now: number): number {
    if (size > SEGMENT_OCTETS) return 0
    if (!this.#log.isFull(size)) return this.#log.take(size, false)
    const place = this.#log.take(size, false)
    if (place === 0) {
      const last = this.#log.take(size, true)
      this.#emptyTail(now, true)
      return last
    }
    // Where most is gone that was written, its room is used again before more is taken.
    if (2 * this.#liveOctets < this.#log.usedOctets) this.#emptyTail(now, false)
    return place
  }

  /** Frees the oldest segment: what holds in it moves to the head; where room is short half of it at most, and only what was asked for. */
  #emptyTail(now: number, isShort: boolean): void {
    const { oldest } = this.#log
    let moved = 0
    while (oldest >= 0 && this.#log.oldest === oldest) {
      const place = this.#log.tail
      const { integers } = this.#log.segmentOf(place)
      const at = this.#log.offsetOf(place)
      const size = integers[(at + SIZE) >> 2]!
      const state = integers[(at + STATE) >> 2]!
      const stays = state !== DEAD && this.#holds(place, now) && (!isShort || (state === USED && moved < SEGMENT_OCTETS / 2))
      if (stays && this.#move(place, isShort ? LIVE : state, true)) moved += size
      else if (state !== DEAD) {
        this.#remove(place)
        this.#evictions.value++
      }
      this.#log.passTail(size)
    }
  }

  /** Moves an entry to the head, in this state; false where there is no room. */
  #move(place: number, state: number, reserve: boolean): boolean {
    const from = this.#log.segmentOf(place)
    const at = this.#log.offsetOf(place)
    const size = from.integers[(at + SIZE) >> 2]!
    const there = this.#log.take(size, reserve)
    if (there === 0) return false
    const to = this.#log.segmentOf(there)
    const offset = this.#log.offsetOf(there)
    to.octets.set(from.octets.subarray(at, at + size), offset)
    to.integers[(offset + STATE) >> 2] = state
    this.#index[2 * this.#slotOf(place)] = there
    return true
  }

  #remove(place: number): void {
    const { integers } = this.#log.segmentOf(place)
    const at = this.#log.offsetOf(place)
    integers[(at + STATE) >> 2] = DEAD
    this.#size--
    this.#liveOctets -= integers[(at + SIZE) >> 2]!
    this.#freeSlot(this.#slotOf(place))
  }

  #hashAt(place: number): number {
    return this.#log.segmentOf(place).integers[(this.#log.offsetOf(place) + HASH) >> 2]!
  }

  /** Which slot of the index has this place. */
  #slotOf(place: number): number {
    let slot = this.#hashAt(place) & this.#mask
    while (this.#index[2 * slot] !== place) slot = (slot + 1) & this.#mask
    return slot
  }

  #insert(place: number): void {
    const hash = this.#hashAt(place)
    let slot = hash & this.#mask
    while (this.#index[2 * slot] !== 0) slot = (slot + 1) & this.#mask
    this.#index[2 * slot] = place
    this.#index[2 * slot + 1] = hash
  }

  /** Frees a slot, and moves those behind it that would not be found any more. */
  #freeSlot(slot: number): void {
    const index = this.#index
    const mask = this.#mask
    let free = slot
    for (let next = (free + 1) & mask; index[2 * next] !== 0; next = (next + 1) & mask) {
      const wanted = index[2 * next + 1]! & mask
      // Whether where it wants to be lies behind the free slot, round the end.
      if (((next - wanted) & mask) < ((next - free) & mask)) continue
      index.copyWithin(2 * free, 2 * next, 2 * next + 2)
      free = next
    }
    index[2 * free] = 0
  }
}

function hashOf({ hash, qtype, qclass }: Question, variant: number): number {
  const mixed = hash ^ Math.imul(qtype, 0x9e3779b1) ^ Math.imul((qclass << 8) | variant, 0x85ebca6b)
  return Math.imul(mixed ^ (mixed >>> 15), 0x2c1b3c6d) ^ (mixed >>> 16)
}

function writeTail(octets: Uint8Array, at: number, { qtype, qclass }: Question, variant: number): void {
  octets[at] = qtype >> 8
  octets[at + 1] = qtype & 0xff
  octets[at + 2] = qclass >> 8
  octets[at + 3] = qclass & 0xff
  octets[at + 4] = variant
}

function isTail(octets: Uint8Array, at: number, { qtype, qclass }: Question, variant: number): boolean {
  return (
    ((octets[at]! << 8) | octets[at + 1]!) === qtype && ((octets[at + 2]! << 8) | octets[at + 3]!) === qclass && octets[at + 4] === variant
  )
}
