import {
  type Entry,
  type Host,
  isWithin,
  type MaybePromise,
  type Next,
  type Plugin,
  type Query,
  type Reading,
  type Reply,
  type ReplyParts,
  type ResourceRecord,
  type Store,
  storeReads,
  zonesServed
} from 'skein/plugin'
import { type Asked, answerParts, nothing, type Rules } from './answer.js'
import { BadValues } from './bad-values.js'
import { keyOf, Lookup, type Source } from './lookup.js'
import { type Options, readOptions } from './options.js'
import { Outside } from './outside.js'
import { distinctRecords, oneTtl } from './records.js'
import { readService, ServiceProblem } from './service.js'

/** What makes names of a reverse zone. */
const REVERSE = ['in-addr.arpa.', 'ip6.arpa.']
/** An answer that needs more looks outside than this is a loop of servers. */
const MAX_ROUNDS = 9
const OTHER_ERROR = 0

/** Answers from SkyDNS's services, which lie as JSON under reversed names in the store. */
export default {
  name: 'etcd-backend',
  directives: ['etcd'],
  api: 1,
  facts: [storeReads],
  setup(directive, host) {
    const options = readOptions(directive)
    const store = host.store({ folder: options.store, api: options.api, token: options.token })
    const backend = new Backend(options, store, host)
    return {
      handle: (query, next) => backend.handle(query, next),
      start() {
        host.offer(
          zonesServed,
          options.zones.filter((zone) => !isReverse(zone))
        )
      }
    }
  }
} satisfies Plugin

class Backend {
  readonly #options: Options
  readonly #store: Store
  readonly #host: Host
  readonly #source: Source
  readonly #rules: Rules

  constructor(options: Options, store: Store, host: Host) {
    this.#options = options
    this.#store = store
    this.#host = host
    const bad = new BadValues(host)
    this.#source = { path: options.path, ttl: options.ttl, bad: (entry, problem) => bad.tell(entry, problem) }
    this.#rules = { ...options, skipped: (service) => bad.tell(service, 'stands under ns.dns and is no address') }
  }

  handle(query: Query, next: Next): MaybePromise<Reply> {
    const apex = query.within(this.#options.zones)
    if (apex === undefined) return next(query)
    const reverse = isReverse(apex)
    if (!reverse && isMeta(query.question.qtype)) return query.fail('REFUSED', 'meta-type')
    let reading: Reading
    try {
      reading = this.#store.read()
    } catch (error) {
      return failed(query, error)
    }
    if (reverse) return this.#reverse(query, reading, apex) ?? passOn(query, reading.reads, next)
    const now = this.#host.clock.now()
    return this.#attempt(query, next, new Lookup(reading, this.#source, apex, now), this.#asked(query, apex, now), new Outside(), 1)
  }

  /** Answers with what is known; looks up what was missing outside the zone, and tries again. */
  #attempt(query: Query, next: Next, lookup: Lookup, asked: Asked, outside: Outside, round: number): MaybePromise<Reply> {
    let parts: ReplyParts
    try {
      parts = answerParts(lookup, outside, this.#rules, asked)
    } catch (error) {
      return failed(query, error)
    }
    if (outside.missed.length > 0 && round < MAX_ROUNDS) {
      return outside
        .fetch(query, (inner) => this.#host.resolve(inner), this.#options.rcacheTtl)
        .then((known) => this.#attempt(query, next, lookup, asked, known, round + 1))
    }
    const { reads, revision } = lookup.reading
    if (parts.rcode === 'NXDOMAIN' && this.#fallsThrough(query)) return passOn(query, reads, next)
    const all = outside.reads.length === 0 ? reads : [...reads, ...outside.reads]
    return query.reply({ ...parts, origin: { kind: 'store', reads: all, revision } })
  }

  /** `local.dns.` of the zone stands for the name that is configured. */
  #asked(query: Query, apex: string, now: number): Asked {
    const { local } = this.#options
    const alias = local !== undefined && query.qname === (apex === '.' ? 'local.dns.' : `local.dns.${apex}`)
    return { name: alias && isWithin(local, apex) ? local : query.qname, owner: query.qname, type: query.qtype, now }
  }

  /** Addresses' names: an exact key answers PTR, without authority. Everything else is somebody else's: undefined where that is asked. */
  #reverse(query: Query, reading: Reading, apex: string): Reply | undefined {
    const now = this.#host.clock.now()
    const key = keyOf(this.#options.path, query.qname)
    try {
      const answer = query.qtype === 'PTR' ? this.#pointers(query, reading.at(key), now) : []
      const origin = { kind: 'store', reads: reading.reads, revision: reading.revision }
      if (answer.length > 0) return query.reply({ ra: true, answer, origin, why: 'found' })
      if (this.#fallsThrough(query)) return undefined
      if (isMeta(query.question.qtype)) return query.fail('REFUSED', 'meta-type')
      const exists = query.qname === apex || reading.has(key)
      const parts = nothing(apex, this.#rules, now)
      return query.reply({ ...parts, origin, ...(exists ? { why: 'nodata' } : { rcode: 'NXDOMAIN', why: 'no-such-name' }) })
    } catch (error) {
      return failed(query, error)
    }
  }

  #pointers(query: Query, entries: readonly Entry[], now: number): readonly ResourceRecord[] {
    const records = entries.flatMap((entry): ResourceRecord[] => {
      const service = readService(entry, this.#options.ttl, now)
      if (service instanceof ServiceProblem) this.#source.bad(entry, service.problem)
      else if (service.host?.kind === 'name') return [{ owner: query.qname, type: 'PTR', ttl: service.ttl, rdata: service.host.name }]
      return []
    })
    return oneTtl(distinctRecords(records))
  }

  #fallsThrough(query: Query): boolean {
    return this.#options.fallthrough !== undefined && query.within(this.#options.fallthrough) !== undefined
  }
}

/** The answer of somebody else holds only as long as nothing is found here: what was read goes along. */
function passOn(query: Query, reads: readonly number[], next: Next): MaybePromise<Reply> {
  query.set(storeReads, [...(query.get(storeReads) ?? []), ...reads])
  return next(query)
}

function failed(query: Query, error: unknown): Reply {
  const problem = error instanceof Error ? error.message : String(error)
  return query.fail('SERVFAIL', 'store-failed', {
    problem,
    extendedErrors: [{ code: OTHER_ERROR, text: 'the service store cannot be read' }]
  })
}

function isReverse(zone: string): boolean {
  return REVERSE.some((reverse) => isWithin(zone, reverse))
}

/** Types that ask for something else than records of that type (RFC 6895 §3.1). */
function isMeta(qtype: number): boolean {
  return (qtype >= 128 && qtype <= 255) || qtype === 41 || qtype === 0
}
