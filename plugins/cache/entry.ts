import type { Message, ResourceRecord } from 'skein/plugin'
import { aged } from './lifetime.js'
import type { Kind } from './numbers.js'

/** About what V8 takes for an entry, for a record and for a hash in the index. */
const ENTRY_OCTETS = 600
const RECORD_OCTETS = 200
const FIELD_OCTETS = 40
const READ_OCTETS = 120

/** One answer that is kept. */
export class Entry {
  readonly kind: Kind
  readonly key: string
  /** Hashes of what it has read of the store. */
  readonly reads: ReadonlySet<number>
  /** About how much memory it takes. */
  readonly octets: number
  /** Whether it was asked for since the last round of evictions came by. */
  isUsed = false
  readonly #reply: Message
  readonly #since: number
  readonly #until: number
  /** The reply as it is told in this second: who asks then gets the same. */
  #told: Message
  #seconds = 0

  /** `since` and `lasts` in milliseconds. */
  constructor(kind: Kind, key: string, reply: Message, reads: ReadonlySet<number>, since: number, lasts: number) {
    this.kind = kind
    this.key = key
    this.reads = reads
    this.#reply = reply
    this.#told = reply
    this.#since = since
    this.#until = since + lasts
    // Twice: as it came, and as it is told now.
    this.octets = ENTRY_OCTETS + key.length + reads.size * READ_OCTETS + 2 * sizeOf(reply)
  }

  holds(now: number): boolean {
    return now < this.#until
  }

  /** The reply as it is told at that time. */
  at(now: number, keepsTtl: boolean): Message {
    const seconds = keepsTtl ? 0 : Math.floor((now - this.#since) / 1000)
    if (seconds !== this.#seconds) {
      this.#told = aged(this.#reply, seconds)
      this.#seconds = seconds
    }
    return this.#told
  }
}

function sizeOf({ answer, authority, additional, extendedErrors }: Message): number {
  let sum = 0
  for (const { text } of extendedErrors) sum += 2 * FIELD_OCTETS + sizeOfValue(text)
  for (const records of [answer, authority, additional]) for (const record of records) sum += sizeOfRecord(record)
  return sum
}

function sizeOfRecord({ owner, rdata }: ResourceRecord): number {
  return RECORD_OCTETS + owner.length + sizeOfValue(rdata)
}

function sizeOfValue(value: unknown): number {
  if (typeof value === 'string') return FIELD_OCTETS + value.length
  // A view has an object of its own, and a buffer.
  if (value instanceof Uint8Array) return 4 * FIELD_OCTETS + value.length
  if (typeof value !== 'object' || value === null) return FIELD_OCTETS
  let sum = FIELD_OCTETS
  for (const part of Object.values(value)) sum += sizeOfValue(part)
  return sum
}
