import {
  andThen,
  type ExtendedError,
  fact,
  type Host,
  isMetaType,
  type MaybePromise,
  type Message,
  type Next,
  type Origin,
  type Query,
  type Reply,
  reasonsOf,
  type Shared,
  storeReads
} from 'skein/plugin'
import { Changes } from './changes.js'
import { classify } from './classify.js'
import { Entries } from './entries.js'
import { Entry } from './entry.js'
import { aged, lasting } from './lifetime.js'
import { Numbers, telling } from './numbers.js'
import type { Options } from './options.js'
import { withoutProofs } from './proofs.js'

/** True where a query was answered from the cache. */
export const cacheHit = fact<boolean>('cache/hit')

/** How much memory the answers of each kind take at most, whatever their number: 64 MiB. */
const MOST_OCTETS = 64 * 1024 * 1024
/** The bits of a header for AA and the rcode. */
const AA = 0x0400
const RCODE = 0xf
/** The EDNS option of RFC 7871. */
const CLIENT_SUBNET = 8
/** RFC 8914 §4.14. */
const CACHED_ERROR: ExtendedError = { code: 13, text: 'cached' }
const NO_READS: ReadonlySet<number> = new Set()

/** The answers of one server block, which outlive a reload that changes nothing of what they rest on. */
interface Kept {
  readonly success: Entries
  /** Failures too. */
  readonly denial: Entries
}

/** Answers from what is kept, and keeps what comes. */
export class Cache {
  readonly #options: Options
  readonly #host: Host
  readonly #changes: Changes
  readonly #numbers: Numbers
  #success: Entries
  #denial: Entries
  #kept: Shared<Kept> | undefined
  #stopTelling: (() => Promise<void>) | undefined

  constructor(options: Options, host: Host) {
    this.#options = options
    this.#host = host
    this.#numbers = new Numbers(options.zones, { success: () => this.#success.size, denial: () => this.#denial.size })
    this.#success = new Entries(options.success.capacity, MOST_OCTETS)
    this.#denial = new Entries(options.denial.capacity, MOST_OCTETS)
    this.#changes = new Changes(host, (hashes) => {
      this.#success.flush(hashes)
      this.#denial.flush(hashes)
    })
  }

  async start(): Promise<void> {
    const { success, denial } = this.#options
    this.#kept = await this.#host.shared(`cache ${this.#host.behind}`, () => {
      const value: Kept = { success: this.#success, denial: this.#denial }
      return { value, close: () => clear(value) }
    })
    this.#success = this.#kept.value.success
    this.#denial = this.#kept.value.denial
    const now = this.#host.clock.monotonic()
    this.#success.bound(success.capacity, this.#numbers.evictions.success, now)
    this.#denial.bound(denial.capacity, this.#numbers.evictions.denial, now)
    this.#stopTelling = await telling(this.#numbers, this.#host)
  }

  /** Listens to the stores that there are now: answers that were kept may rest on any of them. */
  refreshed(): void {
    this.#changes.stop()
    this.#changes.listenAnew()
  }

  async stop(): Promise<void> {
    this.#changes.stop()
    await this.#stopTelling?.()
    await this.#kept?.release()
  }

  handle(query: Query, next: Next): MaybePromise<Reply> {
    if (query.within(this.#options.zones) === undefined || isMetaType(query.question.qtype) || hasSubnet(query)) return next(query)
    this.#changes.listen()
    const asked = this.#numbers.of(query.client)
    asked.requests++
    const now = this.#host.clock.monotonic()
    const hit = this.#find(query, now)
    if (hit !== undefined) {
      asked.hits[hit.kind]++
      hit.isUsed = true
      query.set(cacheHit, true)
      return hit.at(now, this.#options.keepsTtl)
    }
    asked.misses++
    const { count } = this.#changes
    return andThen(next(query), (reply) => (typeof reply === 'symbol' ? reply : this.#keep(query, reply, count)))
  }

  /** What is known to a client is known to the server as well; not the other way round, for a client may be refused what the server looks up. */
  #find(query: Query, now: number): Entry | undefined {
    const own = this.#at(keyOf(query, query.depth > 0), now)
    return own ?? (query.depth > 0 ? this.#at(keyOf(query, false), now) : undefined)
  }

  #at(key: string, now: number): Entry | undefined {
    return this.#success.find(key, now) ?? this.#denial.find(key, now)
  }

  /** Keeps a reply if it may be kept, and gives it as it is told. `count` is how many changes there were when it was asked for. */
  #keep(query: Query, given: Message, count: number): Message {
    const reply = withoutProofs(query, given)
    const kind = classify(query, reply)
    const isOwn = reply.origin?.kind === 'store'
    // What is made of our own data inside a look-up may lack what is too deep to be looked up there.
    if (kind === 'nothing' || (isOwn && query.depth > 0)) return reply
    const key = keyOf(query, query.depth > 0)
    const now = this.#host.clock.monotonic()
    const reads = readsOf(query, reply)
    if (kind === 'failure') {
      this.#keepFailure(query, key, reply, reads, count, now)
      return reply
    }
    // Whatever comes of it, a fresh answer is better than an old one.
    this.#success.delete(key)
    this.#denial.delete(key)
    if (kind === 'fleeting') return reply
    const limits = this.#options[kind]
    if (query.within(limits.disabled) !== undefined) return reply
    const told = lasting(reply, limits, isOwn)
    if (told === undefined) return reply
    if (!this.#changes.touch(reads, count)) {
      const entry = new Entry(kind, key, asCached(told.reply, isForwarded(reply), reads, query, now), reads, now, told.seconds * 1000)
      ;(kind === 'success' ? this.#success : this.#denial).put(entry, now)
    }
    return told.reply
  }

  /** A failure never takes the place of an answer. Upstreams fail where they are asked without RD for what they do not know. */
  #keepFailure(query: Query, key: string, reply: Message, reads: ReadonlySet<number>, count: number, now: number): void {
    const { servfailMs, denial } = this.#options
    if (servfailMs === 0 || !query.rd || query.within(denial.disabled) !== undefined || this.#changes.touch(reads, count)) return
    if (this.#at(key, now) !== undefined) return
    this.#denial.put(new Entry('denial', key, asCached(aged(reply, 0), isForwarded(reply), reads, query, now), reads, now, servfailMs), now)
  }
}

function clear({ success, denial }: Kept): void {
  success.clear()
  denial.clear()
}

/** Equal for questions that have the same answer. */
function keyOf(query: Query, isInside: boolean): string {
  const { qtype, qclass } = query.question
  return `${query.qname} ${qtype} ${qclass} ${query.dnssecOk ? 1 : 0}${query.cd ? 1 : 0}${isInside ? 1 : 0}`
}

/** An answer to a question with a client's network may hold for that network alone (RFC 7871 §7.3). */
function hasSubnet({ edns }: Query): boolean {
  if (edns === undefined) return false
  for (const [code] of edns.options) if (code === CLIENT_SUBNET) return true
  return false
}

/** What a reply has read of the store, and what the layers before it have read that passed the query on. */
function readsOf(query: Query, { origin }: Message): ReadonlySet<number> {
  const passed = query.get(storeReads)?.reads ?? []
  const own = origin?.reads ?? []
  return passed.length + own.length === 0 ? NO_READS : new Set([...own, ...passed])
}

/** Whether somebody else has said it. */
function isForwarded({ octets, origin }: Message): boolean {
  return octets !== undefined || origin?.kind === 'upstream'
}

/** The reply as hits tell it. AA is for data of our own: what was forwarded is never authoritative from here (RFC 1035 §4.1.1). */
function asCached(reply: Message, wasForwarded: boolean, reads: ReadonlySet<number>, query: Query, since: number): Message {
  return reply.with({
    flags: reply.flags & ~(wasForwarded ? AA | RCODE : RCODE),
    origin: { ...originOf(reply.origin, reads, query), since },
    extendedErrors: errorsOf(reply),
    why: 'cached',
    problem: undefined
  })
}

/** What a client is told of the reason must not depend on whether the answer was kept; of a failure it is told that too. */
function errorsOf(reply: Message): readonly ExtendedError[] {
  return reply.rcode === 'SERVFAIL' ? [...reasonsOf(reply), CACHED_ERROR] : reasonsOf(reply)
}

function originOf(origin: Origin | undefined, reads: ReadonlySet<number>, query: Query): Origin {
  const revisions = [origin?.revision, query.get(storeReads)?.revision].filter((revision) => revision !== undefined)
  return {
    ...origin,
    kind: 'cache',
    reads: [...reads],
    ...(revisions.length > 0 && { revision: Math.min(...revisions) })
  }
}
