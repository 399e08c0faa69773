/** Signatures of RRsets, made once and kept. */
import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import {
  type Clock,
  countLabels,
  InFlight,
  isPromiseLike,
  type MaybePromise,
  nameOctets,
  type Random,
  type ResourceRecord,
  thrownText,
  type ZoneKey
} from 'skein/plugin'
import type { Counts } from './numbers.js'
import { canonicalRecords, type RRset } from './rrset.js'
import type { SignedZone } from './zone.js'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** Clocks differ: a signature holds from a while before it was made. */
const BACKDATED_MS = 3 * HOUR_MS
const VALID_MS = 8 * DAY_MS
/** How much of its time a signature must have left to be sent, by the most that clocks are said to differ. */
const SKEW_MS = HOUR_MS
/** From this much of its whole time on it is made anew, the one a bit earlier than the other. */
const RENEWED_MS = (VALID_MS + BACKDATED_MS) / 4
const JITTER_MS = DAY_MS / 2
/** No TTL of what is signed is longer, in seconds: a signature is never sent when it ends before that. */
export const MOST_TTL: number = (VALID_MS / DAY_MS / 2) * 86_400

const KEY_OCTETS = 300
/** Of an RRSIG's rdata what stands before the signer. */
const FIXED_OCTETS = 18

/** Why an RRset has no signature, in words. */
export class SigningProblem extends Error {}

/** The signatures of one RRset by all keys of its zone, kept. */
interface Kept {
  /** Of the RRSIG records. */
  readonly rdatas: readonly Uint8Array[]
  /** Milliseconds since 1970. */
  readonly renewAt: number
  readonly endsAt: number
}

/** What {@link Signatures} are made of. */
export interface SignaturesParts {
  readonly capacity: number
  /** How many of a hundred are verified. */
  readonly verified: number
  readonly clock: Clock
  readonly random: Random
}

/** Signs RRsets, and keeps the signatures by what they are made of, so that a TTL which counts down needs no other. */
export class Signatures {
  readonly #parts: SignaturesParts
  readonly #kept: LRUCache<string, Kept>
  readonly #making = new InFlight<Kept>()

  constructor(parts: SignaturesParts) {
    this.#parts = parts
    this.#kept = new LRUCache({ max: parts.capacity })
  }

  get size(): number {
    return this.#kept.size
  }

  /** The RRSIG records of an RRset. Throws, or rejects with, a SigningProblem. */
  of(rrset: RRset, zone: SignedZone, counts: Counts): MaybePromise<readonly ResourceRecord[]> {
    const records = canonicalRecords(rrset)
    const key = keyOf(records)
    const now = this.#parts.clock.now()
    const known = this.#kept.get(key)
    if (known !== undefined && now < known.renewAt && now + rrset.ttl * 1000 + SKEW_MS < known.endsAt) {
      counts.hits++
      return recordsOf(rrset, known)
    }
    counts.misses++
    const made = this.#make(key, records, rrset, zone, now, counts)
    return isPromiseLike(made) ? made.then((kept) => recordsOf(rrset, kept)) : recordsOf(rrset, made)
  }

  #make(key: string, records: Uint8Array, rrset: RRset, zone: SignedZone, now: number, counts: Counts): MaybePromise<Kept> {
    const underWay = this.#making.askers(key) > 0
    if (underWay) return this.#making.ask(key, () => Promise.reject(new SigningProblem('nothing is under way')))
    const endsAt = now + VALID_MS
    const renewAt = endsAt - RENEWED_MS - this.#parts.random.below(JITTER_MS)
    const finish = (rdatas: readonly Uint8Array[]): Kept => {
      const kept = { rdatas, renewAt, endsAt }
      this.#kept.set(key, kept)
      return kept
    }
    const signed = zone.signersOf(rrset.type).map((signer) => this.#sign(signer, records, rrset, now, counts))
    if (signed.every(isHere)) return finish(signed)
    return this.#making.ask(key, () => Promise.all(signed).then(finish))
  }

  #sign(signer: ZoneKey, records: Uint8Array, rrset: RRset, now: number, counts: Counts): MaybePromise<Uint8Array> {
    const head = headOf(signer, rrset, now)
    const octets = Buffer.concat([head, records])
    const done = (signature: Uint8Array): Uint8Array => {
      if (this.#parts.verified > 0 && this.#parts.random.below(100) < this.#parts.verified) verify(signer, octets, signature, counts)
      return Buffer.concat([head, signature])
    }
    try {
      const signature = signer.sign(octets)
      return isPromiseLike(signature) ? signature.then(done).catch((error: unknown) => failed(signer, error, counts)) : done(signature)
    } catch (error) {
      return failed(signer, error, counts)
    }
  }
}

function isHere(value: MaybePromise<Uint8Array>): value is Uint8Array {
  return !isPromiseLike(value)
}

function verify(signer: ZoneKey, octets: Uint8Array, signature: Uint8Array, counts: Counts): void {
  const isGood = signer.verifies(octets, signature)
  counts.verified[isGood ? 'good' : 'bad']++
  if (!isGood) throw new Error('what it has signed does not verify')
}

function failed(signer: ZoneKey, error: unknown, counts: Counts): never {
  counts.failures++
  throw new SigningProblem(`the key ${signer.name} cannot sign: ${thrownText(error)}`, { cause: error })
}

/** The records whole where they are few octets, else their hash, so that what is kept is small. */
function keyOf(records: Uint8Array): string {
  if (records.length <= KEY_OCTETS) return Buffer.from(records.buffer, records.byteOffset, records.length).toString('latin1')
  return createHash('sha256').update(records).digest('base64')
}

/** The rdata of an RRSIG before the signature (RFC 4034 §3.1). */
function headOf({ algorithm, tag, zone }: ZoneKey, { owner, type, originalTtl }: RRset, now: number): Uint8Array {
  const name = nameOctets(zone)
  const head = Buffer.allocUnsafe(FIXED_OCTETS + name.length)
  head.writeUInt16BE(type, 0)
  head[2] = algorithm
  head[3] = countLabels(owner)
  head.writeUInt32BE(originalTtl, 4)
  head.writeUInt32BE(seconds(now + VALID_MS), 8)
  head.writeUInt32BE(seconds(now - BACKDATED_MS), 12)
  head.writeUInt16BE(tag, 16)
  head.set(name, FIXED_OCTETS)
  return head
}

/** As RRSIG has it: serial numbers of 32 bits (RFC 4034 §3.1.5). */
function seconds(milliseconds: number): number {
  return Math.floor(milliseconds / 1000) >>> 0
}

function recordsOf({ records, ttl }: RRset, { rdatas }: Kept): readonly ResourceRecord[] {
  // Spelled as the records are, so that it is next to them for whoever compares.
  const { owner } = records[0]!
  return rdatas.map((rdata) => ({ owner, type: 'RRSIG', ttl, rdata }))
}
