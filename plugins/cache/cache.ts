import {
  type ExtendedError,
  fact,
  type Host,
  isMetaType,
  isPromiseLike,
  type MaybePromise,
  type Message,
  type Next,
  pack,
  type Query,
  type Reply,
  reasonsOf,
  type Shared,
  storeReads
} from 'skein/plugin'
import { Changes } from './changes.js'
import { classify } from './classify.js'
import { ClockSteps } from './clock-steps.js'
import { Entries } from './entries.js'
import { lasting, signedFor } from './lifetime.js'
import { Marks } from './marks.js'
import { type Asked, Numbers, telling } from './numbers.js'
import type { Options } from './options.js'
import { withoutProofs } from './proofs.js'

/** True where a query was answered from the cache. */
export const cacheHit = fact<boolean>('cache/hit')

/** How much memory the answers of each kind take at most: 64 MiB, or so much for each that may be kept where that is more. */
const MOST_OCTETS = 64 * 1024 * 1024
const OCTETS_EACH = 1024
/** The bits of a header for AA and the rcode. */
const AA = 0x0400
const RCODE = 0xf
/** The type's number. */
const RRSIG = 46
/** The EDNS option of RFC 7871. */
const CLIENT_SUBNET = 8
/** RFC 8914 §4.14. */
const CACHED_ERROR: ExtendedError = { code: 13, text: 'cached' }
const NO_READS: readonly number[] = []

/** The answers of one server block, which outlive a reload that changes nothing of what they rest on. */
interface Kept {
  readonly success: Entries
  /** Failures too. */
  readonly denial: Entries
  readonly marks: Marks
  /** Noticed by when the answers were kept, whichever layer answers from them. */
  readonly steps: ClockSteps
}

/** Answers from what is kept, and keeps what comes. */
export class Cache {
  readonly #options: Options
  readonly #host: Host
  readonly #changes: Changes
  readonly #numbers: Numbers
  #marks = new Marks()
  #steps: ClockSteps
  #success: Entries
  #denial: Entries
  #kept: Shared<Kept> | undefined
  #stopTelling: (() => Promise<void>) | undefined

  constructor(options: Options, host: Host) {
    this.#options = options
    this.#host = host
    this.#numbers = new Numbers(options.zones, { success: () => this.#success.size, denial: () => this.#denial.size })
    this.#success = entriesFor(options.success.capacity, this.#marks)
    this.#denial = entriesFor(options.denial.capacity, this.#marks)
    this.#steps = new ClockSteps(host.clock)
    this.#changes = new Changes(host, this.#marks)
  }

  async start(): Promise<void> {
    const { success, denial } = this.#options
    this.#kept = await this.#host.shared(
      `cache ${this.#host.behind}`,
      () => {
        const value: Kept = { success: this.#success, denial: this.#denial, marks: this.#marks, steps: this.#steps }
        return { value, close: () => clear(value) }
      },
      'thread'
    )
    this.#success = this.#kept.value.success
    this.#denial = this.#kept.value.denial
    this.#marks = this.#kept.value.marks
    this.#steps = this.#kept.value.steps
    this.#changes.noteIn(this.#marks)
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
    const now = query.since ?? this.#host.clock.monotonic()
    // Who gets no signatures does not mind, and pays nothing.
    if (getsSignatures(query) && this.#steps.haveParted(now)) this.#forget()
    const hit = this.#find(query, now, asked)
    if (hit !== undefined) {
      query.set(cacheHit, true)
      // Until a layer that awaits looks at it, another may come into its place.
      return query.isKept ? hit.keep() : hit
    }
    asked.misses++
    const { count } = this.#marks
    const reply = next(query)
    if (!isPromiseLike(reply)) return typeof reply === 'symbol' ? reply : this.#keep(query, reply, count)
    // Until it is looked at, another may come into the place of what has just been kept.
    return reply.then((late) => (typeof late === 'symbol' ? late : this.#keep(query, late, count).keep()))
  }

  #forget(): void {
    this.#success.clear()
    this.#denial.clear()
  }

  /** What is known to a client is known to the server as well; not the other way round, for a client may be refused what the server looks up. */
  #find(query: Query, now: number, asked: Asked): Message | undefined {
    const own = this.#at(query, variantOf(query, query.depth > 0), now, asked)
    return own ?? (query.depth > 0 ? this.#at(query, variantOf(query, false), now, asked) : undefined)
  }

  #at({ question }: Query, variant: number, now: number, asked: Asked): Message | undefined {
    let place = this.#success.find(question, variant, now)
    if (place !== 0) {
      asked.hits.success++
      return this.#success.use(place, question, now, this.#options.keepsTtl)
    }
    place = this.#denial.find(question, variant, now)
    if (place === 0) return undefined
    asked.hits.denial++
    return this.#denial.use(place, question, now, this.#options.keepsTtl)
  }

  /** Keeps a reply if it may be kept, and gives it as it is told. `count` is how many changes there were when it was asked for. */
  #keep(query: Query, given: Message, count: number): Message {
    const reply = withoutProofs(query, given)
    const kind = classify(query, reply)
    const isOwn = reply.origin?.kind === 'store'
    // What is made of our own data inside a look-up may lack what is too deep to be looked up there.
    if (kind === 'nothing' || (isOwn && query.depth > 0)) return reply
    const variant = variantOf(query, query.depth > 0)
    if (kind === 'failure') {
      this.#keepFailure(query, variant, reply, count)
      return reply
    }
    // Whatever comes of it, a fresh answer is better than an old one.
    this.#success.delete(query.question, variant)
    this.#denial.delete(query.question, variant)
    if (kind === 'fleeting') return reply
    const limits = this.#options[kind]
    if (query.within(limits.disabled) !== undefined) return reply
    const told = lasting(reply, limits, isOwn, this.#within(query, reply))
    if (told === undefined) return reply
    const entries = kind === 'success' ? this.#success : this.#denial
    const place = this.#put(entries, query, variant, asCached(told.reply, isForwarded(reply)), count, told.seconds * 1000)
    // What hits tell of data of our own is what the first asker is told, and written already.
    return place > 0 && isOwn && reply.problem === undefined ? entries.toldAs(place, query.question, told.reply) : told.reply
  }

  /**
   * For how many seconds its signatures bound a reply; undefined where they do not. Whoever hears a TTL that does not count down in the
   * last moment keeps the answer as long again.
   */
  #within(query: Query, reply: Message): number | undefined {
    if (!getsSignatures(query)) return undefined
    const left = signedFor(reply, this.#host.clock.now())
    return left !== undefined && this.#options.keepsTtl ? Math.floor(left / 2) : left
  }

  /** A failure never takes the place of an answer. Upstreams fail where they are asked without RD for what they do not know. */
  #keepFailure(query: Query, variant: number, reply: Message, count: number): void {
    const { servfailMs, denial } = this.#options
    if (servfailMs === 0 || !query.rd || query.within(denial.disabled) !== undefined) return
    const now = this.#host.clock.monotonic()
    if (this.#success.find(query.question, variant, now) + this.#denial.find(query.question, variant, now) > 0) return
    this.#put(this.#denial, query, variant, asCached(reply, isForwarded(reply)), count, servfailMs)
  }

  /** Keeps a reply as hits tell it; gives its place, or 0 where it cannot be kept. */
  #put(entries: Entries, query: Query, variant: number, reply: Message, count: number, lastsMs: number): number {
    const reads = readsOf(query, reply)
    if (this.#marks.touch(reads, count)) return 0
    const block = pack(query.question, reply)
    if (block === undefined) return 0
    const since = this.#host.clock.monotonic()
    return entries.put({
      question: query.question,
      variant,
      block,
      reads,
      count: this.#marks.count,
      revision: revisionOf(query, reply),
      upstream: reply.origin?.upstream,
      since,
      until: since + Math.min(lastsMs, this.#options.keepMs)
    })
  }
}

function entriesFor(capacity: number, marks: Marks): Entries {
  return new Entries(capacity, Math.max(MOST_OCTETS, capacity * OCTETS_EACH), marks)
}

function clear({ success, denial }: Kept): void {
  success.clear()
  denial.clear()
}

/** Equal for equal questions that have the same answer. */
function variantOf(query: Query, isInside: boolean): number {
  return (query.dnssecOk ? 1 : 0) | (query.cd ? 2 : 0) | (isInside ? 4 : 0) | (query.compactOk ? 8 : 0)
}

/** Without DO signatures come only to who asks for nothing else. */
function getsSignatures({ dnssecOk, question }: Query): boolean {
  return dnssecOk || question.qtype === RRSIG
}

/** An answer to a question with a client's network may hold for that network alone (RFC 7871 §7.3). */
function hasSubnet({ edns }: Query): boolean {
  return edns?.has(CLIENT_SUBNET) === true
}

/** What a reply has read of the store, and what the layers before it have read that passed the query on. */
function readsOf(query: Query, { origin }: Message): readonly number[] {
  const passed = query.get(storeReads)?.reads ?? []
  const own = origin?.reads ?? []
  return passed.length + own.length === 0 ? NO_READS : [...new Set([...own, ...passed])]
}

function revisionOf(query: Query, { origin }: Message): number | undefined {
  const revisions = [origin?.revision, query.get(storeReads)?.revision].filter((revision) => revision !== undefined)
  return revisions.length === 0 ? undefined : Math.min(...revisions)
}

/** Whether somebody else has said it. */
function isForwarded({ octets, origin }: Message): boolean {
  return octets !== undefined || origin?.kind === 'upstream'
}

/** The reply as hits tell it. AA is for data of our own: what was forwarded is never authoritative from here (RFC 1035 §4.1.1). */
function asCached(reply: Message, wasForwarded: boolean): Message {
  const flags = reply.flags & ~(wasForwarded ? AA | RCODE : RCODE)
  return reply.with({ flags, extendedErrors: errorsOf(reply), origin: { ...reply.origin, kind: 'cache' } })
}

/** What a client is told of the reason must not depend on whether the answer was kept; of a failure it is told that too. */
function errorsOf(reply: Message): readonly ExtendedError[] {
  return reply.rcode === 'SERVFAIL' ? [...reasonsOf(reply), CACHED_ERROR] : reasonsOf(reply)
}
