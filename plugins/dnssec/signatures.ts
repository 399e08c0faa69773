/** Signatures of RRsets, made once and kept. */
import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import {
  andThen,
  type Clock,
  countLabels,
  InFlight,
  isPromiseLike,
  type MaybePromise,
  type Random,
  type ResourceRecord,
  thrownText,
  type ZoneKey
} from 'skein/plugin'
import { allHere } from './all-here.js'
import type { Counts } from './numbers.js'
import { putRecords, type RRset } from './rrset.js'
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
/** So many RRsets are signed at once in the thread pool, which the store and files need too. */
const MOST_AT_ONCE = 1024
/** Of an RRSIG's rdata what stands before the signer. */
const FIXED_OCTETS = 18

/** Before the records there is room for what of the RRSIG is signed with them. */
const HEAD_ROOM = FIXED_OCTETS + 255
/** What is signed, one RRset at a time; more than of any that fits a message. */
const room = Buffer.alloc(HEAD_ROOM + 4 * 1024 * 1024)

/** Why an RRset has no signature, in words. */
export class SigningProblem extends Error {}

/** The signatures of one RRset by all keys of its zone, kept. */
interface Kept {
  /** Of the RRSIG records. */
  readonly rdatas: readonly Uint8Array[]
  /** Milliseconds since 1970. A clock that was put back has yet to come to where it was made. */
  readonly madeAt: number
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
    const end = putOrFail(rrset)
    const key = keyOf(end)
    const now = this.#parts.clock.now()
    const known = this.#kept.get(key)
    if (known !== undefined && now >= known.madeAt && now < known.renewAt && now + rrset.ttl * 1000 + SKEW_MS < known.endsAt) {
      counts.hits++
      return recordsOf(rrset, known)
    }
    counts.misses++
    const made = this.#make(key, end, rrset, zone, now, counts)
    return isPromiseLike(made) ? made.then((kept) => recordsOf(rrset, kept)) : recordsOf(rrset, made)
  }

  #make(key: string, end: number, rrset: RRset, zone: SignedZone, now: number, counts: Counts): MaybePromise<Kept> {
    const signers = zone.signersOf(rrset.type)
    const [first] = signers
    // As most zones have it: nobody else can be making the same meanwhile, and there is nothing to put together.
    if (signers.length === 1 && !first!.signsLater) {
      return andThen(this.#sign(first!, end, rrset, zone, now, counts), (rdata) => this.#keep(key, now, [rdata]))
    }
    // The same is being made: there is nothing to ask for.
    if (this.#making.askers(key) > 0) return this.#making.ask(key, never)
    if (this.#making.size >= MOST_AT_ONCE) {
      counts.failures++
      throw new SigningProblem(`${MOST_AT_ONCE} other RRsets are being signed`)
    }
    const signed = allHere(signers.map((signer) => this.#sign(signer, end, rrset, zone, now, counts)))
    if (!isPromiseLike(signed)) return this.#keep(key, now, signed)
    return this.#making.ask(key, async () => this.#keep(key, now, await signed))
  }

  #keep(key: string, now: number, rdatas: readonly Uint8Array[]): Kept {
    const endsAt = now + VALID_MS
    const kept = { rdatas, madeAt: now, renewAt: endsAt - RENEWED_MS - this.#parts.random.below(JITTER_MS), endsAt }
    this.#kept.set(key, kept)
    return kept
  }

  /** The rdata of the RRSIG by one key, of the records that stand in the room. */
  #sign(signer: ZoneKey, end: number, rrset: RRset, zone: SignedZone, now: number, counts: Counts): MaybePromise<Uint8Array> {
    const start = putHead(signer, zone, rrset, now)
    // The room is another's when this is waited for.
    const octets = signer.signsLater ? Buffer.from(room.subarray(start, end)) : room.subarray(start, end)
    const done = (signature: Uint8Array): Uint8Array => this.#rdata(signer, octets, HEAD_ROOM - start, signature, counts)
    try {
      const signature = signer.sign(octets)
      return isPromiseLike(signature) ? signature.then(done).catch((error) => failed(signer, error, counts)) : done(signature)
    } catch (error) {
      // Late like that of a key which signs elsewhere: whoever waits for several then waits for all.
      return Promise.reject(error as Error).catch(() => failed(signer, error, counts))
    }
  }

  /** What was signed up to the records, and the signature. */
  #rdata(signer: ZoneKey, octets: Buffer, headLength: number, signature: Uint8Array, counts: Counts): Uint8Array {
    const { verified, random } = this.#parts
    if (verified > 0 && random.below(100) < verified) verify(signer, octets, signature, counts)
    const rdata = new Uint8Array(headLength + signature.length)
    octets.copy(rdata, 0, 0, headLength)
    rdata.set(signature, headLength)
    return rdata
  }
}

/** Puts the records into the room, where they stay until the next ones are signed: nothing here waits before it has read them. */
function putOrFail(rrset: RRset): number {
  try {
    return putRecords(rrset, room, HEAD_ROOM)
  } catch (error) {
    throw new SigningProblem(`the records at ${rrset.owner} cannot be signed: ${thrownText(error)}`, { cause: error })
  }
}

function failed({ name }: ZoneKey, error: unknown, counts: Counts): never {
  counts.failures++
  throw new SigningProblem(`the key ${name} cannot sign: ${thrownText(error)}`, { cause: error })
}

function verify(signer: ZoneKey, octets: Uint8Array, signature: Uint8Array, counts: Counts): void {
  const isGood = signer.verifies(octets, signature)
  counts.verified[isGood ? 'good' : 'bad']++
  if (!isGood) throw new Error('what it has signed does not verify')
}

function never(): Promise<Kept> {
  return Promise.reject(new SigningProblem('nothing is under way'))
}

/** The records in the room whole where they are few octets, else their hash, so that what is kept is small. */
function keyOf(end: number): string {
  if (end - HEAD_ROOM <= KEY_OCTETS) return room.toString('latin1', HEAD_ROOM, end)
  return createHash('sha256').update(room.subarray(HEAD_ROOM, end)).digest('base64')
}

/** Puts the rdata of an RRSIG before the signature (RFC 4034 §3.1) in front of the records; gives where it begins. */
function putHead({ algorithm, tag }: ZoneKey, { apexOctets }: SignedZone, { owner, type, originalTtl }: RRset, now: number): number {
  const start = HEAD_ROOM - FIXED_OCTETS - apexOctets.length
  room.writeUInt16BE(type, start)
  room[start + 2] = algorithm
  room[start + 3] = countLabels(owner)
  room.writeUInt32BE(originalTtl, start + 4)
  room.writeUInt32BE(seconds(now + VALID_MS), start + 8)
  room.writeUInt32BE(seconds(now - BACKDATED_MS), start + 12)
  room.writeUInt16BE(tag, start + 16)
  room.set(apexOctets, start + FIXED_OCTETS)
  return start
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
