import {
  coveredType,
  type MaybePromise,
  originalTtlOf,
  type Query,
  type Reply,
  type ResourceRecord,
  type RRType,
  sameName,
  storeReads
} from 'skein/plugin'

/** What a look-up outside the zone came to. */
export type OutsideAnswer =
  /** The name exists; its CNAMEs in order, then the addresses, if it has any of that type. */
  | { readonly kind: 'found'; readonly records: readonly ResourceRecord[] }
  /** It does not exist, or nobody was asked. */
  | { readonly kind: 'none' }
  /** Somebody was asked and did not answer properly. */
  | { readonly kind: 'failed' }

/** The types of addresses. */
export type AddressType = 'A' | 'AAAA'

/** One that is needed. */
interface Missed {
  readonly name: string
  readonly type: AddressType
}

const NOTHING_MISSED: readonly Missed[] = []
const NO_READS: readonly number[] = []
const NO_RECORDS: readonly ResourceRecord[] = []
/** The bit of a header that says that the message was cut. */
const TC = 0x0200
const MAX_CNAMES = 8
/** Services that name each other crosswise have more ways through them than anybody can wait for. */
const MOST_FOLLOWED = 2000
/** Look-ups at once: an answer with more names outside takes several rounds. */
const MOST_AT_ONCE = 100

/**
 * The names outside the zone that an answer needs. The rules are pure functions that run to their end with what is known;
 * what they missed is then looked up, and they run again.
 */
export class Outside {
  readonly #known: Map<string, OutsideAnswer> | undefined
  // Most queries need nothing from outside.
  #missed: Map<string, Missed> | undefined
  /** What the answers that are known have read of the store themselves. */
  readonly reads: readonly number[]
  #followed = 0

  constructor(known?: Map<string, OutsideAnswer>, reads: readonly number[] = NO_READS) {
    this.#known = known
    this.reads = reads
  }

  /** Look-ups that were missed in this run. */
  get missed(): readonly Missed[] {
    return this.#missed === undefined ? NOTHING_MISSED : [...this.#missed.values()]
  }

  /** What is known of a name; `none` where it has yet to be looked up. */
  find(name: string, type: AddressType): OutsideAnswer {
    const what = `${name} ${type}`
    const answer = this.#known?.get(what)
    if (answer !== undefined) return answer
    this.#missed ??= new Map()
    // The others are missed again when these are known.
    if (this.#missed.size < MOST_AT_ONCE) this.#missed.set(what, { name, type })
    return { kind: 'none' }
  }

  /** Whether this run may follow one more name. */
  follows(): boolean {
    return this.#followed++ < MOST_FOLLOWED
  }

  /**
   * Looks up what was missed, all at once; gives what is known then. What has not come when `patience` is over counts as failed,
   * and goes on without anybody waiting for it.
   */
  async fetch(query: Query, resolve: (query: Query) => MaybePromise<Reply>, ttl: number, patience?: Promise<unknown>): Promise<Outside> {
    const reads = [...this.reads]
    const known = this.#known ?? new Map<string, OutsideAnswer>()
    const done = Promise.all(
      this.missed.map(async ({ name, type }) => {
        const inner = query.ask(name, type)
        const reply = await resolve(inner)
        if (typeof reply !== 'symbol') reads.push(...(reply.origin?.reads ?? []))
        reads.push(...(inner.get(storeReads)?.reads ?? []))
        known.set(`${name} ${type}`, readOutside(reply, name, type, ttl, query.dnssecOk))
      })
    )
    if (patience === undefined) await done
    else {
      await Promise.race([done, patience])
      // Not to be set once the answer is made: the map is the next run's own.
      done.catch(() => {})
      const come = new Map(known)
      for (const { name, type } of this.missed) if (!come.has(`${name} ${type}`)) come.set(`${name} ${type}`, { kind: 'failed' })
      return new Outside(come, [...reads])
    }
    return new Outside(known, reads)
  }
}

/** What a reply says of a name; its TTLs become `ttl`. `signed` says that signatures of it are wanted. */
export function readOutside(reply: Reply, name: string, type: RRType, ttl: number, signed = false): OutsideAnswer {
  if (typeof reply === 'symbol') return { kind: 'failed' }
  if (reply.rcode === 'NXDOMAIN') return { kind: 'none' }
  // What is cut is not whole, and cannot be asked for again by a client who sees our own answer.
  if (reply.flags & TC) return { kind: 'failed' }
  if (reply.rcode !== 'NOERROR') return { kind: reply.origin?.kind === 'none' ? 'none' : 'failed' }
  const records: ResourceRecord[] = []
  let owner = name
  for (let cnames = 0; cnames <= MAX_CNAMES; cnames++) {
    const at = reply.answer.filter((record) => sameName(record.owner, owner))
    const here = at.filter(isUsable)
    const told = (set: readonly ResourceRecord[], covered: RRType): readonly ResourceRecord[] =>
      lasting(set, signed ? at.filter((record) => isSignatureOf(record, covered)) : NO_RECORDS, ttl)
    const addresses = here.filter((record) => record.type === type)
    if (addresses.length > 0) return { kind: 'found', records: [...records, ...told(addresses, type)] }
    const alias = here.find((record) => record.type === 'CNAME')
    if (alias === undefined) return { kind: 'found', records }
    records.push(...told([alias], 'CNAME'))
    owner = alias.rdata as string
  }
  // So many CNAMEs are a loop, and nothing that anybody could follow.
  return { kind: 'failed' }
}

/** A set and its signatures: the TTL is never above the one that was signed (RFC 4035 §5.3.3). */
function lasting(set: readonly ResourceRecord[], signatures: readonly ResourceRecord[], ttl: number): ResourceRecord[] {
  let least = ttl
  for (const signature of signatures) least = Math.min(least, originalTtlOf(signature)!)
  return [...set, ...signatures].map((record) => timed(record, least))
}

/** What is looked up has no other TTL than that: what is left of the one that it came with goes down by itself. */
function timed({ owner, type, rdata }: ResourceRecord, ttl: number): ResourceRecord {
  return { owner, type, ttl, rdata } as ResourceRecord
}

/** A signature over records of this type. */
function isSignatureOf(record: ResourceRecord, covered: RRType): boolean {
  return coveredType(record) === covered && (record.class ?? 'IN') === 'IN'
}

/** A record of class IN with rdata: what an upstream says in other classes, or in none, is not for our clients. */
function isUsable(record: ResourceRecord): boolean {
  return (record.class ?? 'IN') === 'IN' && typeof record.rdata === 'string'
}
