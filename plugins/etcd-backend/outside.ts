import { type MaybePromise, type Query, type Reply, type ResourceRecord, type RRType, sameName, withTtl } from 'skein/plugin'

/** What a look-up outside the zone came to. */
export type OutsideAnswer =
  /** The name exists; its CNAMEs in order, then the addresses, if it has any of that type. */
  | { readonly kind: 'found'; readonly records: readonly ResourceRecord[] }
  /** It does not exist, or nobody was asked. */
  | { readonly kind: 'none' }
  /** Somebody was asked and did not answer properly. */
  | { readonly kind: 'failed' }

export type AddressType = 'A' | 'AAAA'

/** Reasons of replies that say that no server was asked. */
const NOT_SENT: readonly (string | undefined)[] = ['not-served', 'ndots', 'no-recursion', 'too-deep']
const MAX_CNAMES = 8
/** Services that name each other crosswise have more ways through them than anybody can wait for. */
const MOST_FOLLOWED = 2000

/**
 * The names outside the zone that an answer needs. The rules are pure functions that run to their end with what is known;
 * what they missed is then looked up, and they run again.
 */
export class Outside {
  readonly #known: Map<string, OutsideAnswer>
  /** Look-ups that were missed in this run. */
  readonly missed: { readonly name: string; readonly type: AddressType }[] = []
  /** What the answers that are known have read of the store themselves. */
  readonly reads: readonly number[]
  #followed = 0

  constructor(known: Map<string, OutsideAnswer> = new Map(), reads: readonly number[] = []) {
    this.#known = known
    this.reads = reads
  }

  /** What is known of a name; `none` where it has yet to be looked up. */
  find(name: string, type: AddressType): OutsideAnswer {
    const answer = this.#known.get(`${name} ${type}`)
    if (answer !== undefined) return answer
    if (!this.missed.some((other) => other.name === name && other.type === type)) this.missed.push({ name, type })
    return { kind: 'none' }
  }

  /** Whether this run may follow one more name. */
  follows(): boolean {
    return this.#followed++ < MOST_FOLLOWED
  }

  /** Looks up what was missed, all at once; gives what is known then. */
  async fetch(query: Query, resolve: (query: Query) => MaybePromise<Reply>, ttl: number): Promise<Outside> {
    const reads = [...this.reads]
    await Promise.all(
      this.missed.map(async ({ name, type }) => {
        const reply = await resolve(query.ask(name, type))
        if (typeof reply !== 'symbol') reads.push(...(reply.origin?.reads ?? []))
        this.#known.set(`${name} ${type}`, readOutside(reply, name, type, ttl))
      })
    )
    return new Outside(this.#known, reads)
  }
}

/** What a reply says of a name; its TTLs become `ttl`. */
export function readOutside(reply: Reply, name: string, type: RRType, ttl: number): OutsideAnswer {
  if (typeof reply === 'symbol') return { kind: 'failed' }
  if (reply.rcode === 'NXDOMAIN') return { kind: 'none' }
  if (reply.rcode !== 'NOERROR') return { kind: NOT_SENT.includes(reply.why) ? 'none' : 'failed' }
  const records: ResourceRecord[] = []
  let owner = name
  for (let cnames = 0; cnames <= MAX_CNAMES; cnames++) {
    const here = reply.answer.filter((record) => sameName(record.owner, owner))
    const addresses = here.filter((record) => record.type === type)
    if (addresses.length > 0) return { kind: 'found', records: [...records, ...addresses.map((record) => withTtl(record, ttl))] }
    const alias = here.find((record) => record.type === 'CNAME')
    if (alias === undefined) return { kind: 'found', records }
    records.push(withTtl(alias, ttl))
    owner = alias.rdata as string
  }
  // So many CNAMEs are a loop, and nothing that anybody could follow.
  return { kind: 'failed' }
}
