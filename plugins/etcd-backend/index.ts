import {
  type Entry,
  type Feed,
  type Host,
  isMetaType,
  isWithin,
  type MaybePromise,
  type Next,
  namesKnown,
  type Plugin,
  type Query,
  type Reading,
  type Reply,
  type ReplyParts,
  type ResourceRecord,
  type Store,
  type StoreTrace,
  serviceStore,
  storeChanges,
  storeReads,
  thrownText,
  waitingText,
  withTtl,
  zonesServed
} from 'skein/plugin'
import { answerParts, nothing, ownSoa, type Rules } from './answer.js'
import { type Asked, askedOf } from './asked.js'
import { BadValues } from './bad-values.js'
import { warningsOf } from './cluster.js'
import { withOriginal } from './group.js'
import { keyOf, Lookup, MOST_KEYS, type Source } from './lookup.js'
import { KnownNames } from './names.js'
import { type Options, readOptions, schema } from './options.js'
import { Outside } from './outside.js'
import { distinctRecords, oneTtl } from './records.js'
import { readService, ServiceProblem, type Times } from './service.js'
import { SoaRecords } from './soa.js'
import { isReverse } from './zone.js'

/** An answer that needs more looks outside than this is a loop of servers. */
const MAX_ROUNDS = 9
/** How long an answer waits for the addresses of its targets outside the zone. */
const COURTESY_MS = 1000
/** Seconds: of what may be old, since the cluster cannot be reached. */
const STALE_TTL = 30
/** Seconds: of a key whose lease is there, and nobody knows for how long. */
const UNSURE_TTL = 1

/** Answers from SkyDNS's services, which lie as JSON under reversed names in the store. */
export default {
  name: 'etcd-backend',
  directives: ['etcd'],
  api: 1,
  facts: [storeReads],
  schema,
  async setup(config, host) {
    const options = await readOptions(config, (path) => host.readFile(path))
    const { store: folder, api, token, cluster } = options
    for (const text of cluster === undefined ? [] : warningsOf(cluster)) host.log.warn(text)
    const store = host.store({ folder, api, token, etcd: cluster, judge: new URL('./judge.js', import.meta.url).href })
    const backend = new Backend(options, store, host)
    const names = new KnownNames(options, () => readable(store, options), host)
    host.offer(serviceStore, { store: cluster === undefined ? store : asFed(store, options), path: options.path })
    const { zones, fallthrough = [] } = options
    return {
      reach: { zones, ends: zones.filter((zone) => !fallthrough.some((other) => isWithin(zone, other) || isWithin(other, zone))) },
      inPlace: true,
      handle: (query, next) => backend.handle(query, next),
      ready: () => whyNotReady(feedOf(store, options)),
      start() {
        host.offer(
          zonesServed,
          options.zones.filter((zone) => !isReverse(zone))
        )
        if (names.zones.length > 0) host.offer(namesKnown, names)
        host.offer(storeChanges, (changed) => store.watch(options.path, changed))
      }
    }
  }
} satisfies Plugin<typeof schema>

class Backend {
  readonly #options: Options
  readonly #store: Store
  readonly #host: Host
  readonly #source: Source
  readonly #rules: Rules
  readonly #reverseZones: ReadonlySet<string>

  constructor(options: Options, store: Store, host: Host) {
    this.#options = options
    this.#store = store
    this.#host = host
    const bad = new BadValues(host)
    this.#source = {
      path: options.path,
      // What feeds a replica tells of each when it comes.
      bad: options.cluster === undefined ? (entry, problem) => bad.tell(entry, problem) : () => {},
      cut: (key) => bad.tellCut(key, MOST_KEYS)
    }
    this.#rules = {
      ...options,
      soa: new SoaRecords(options),
      skipped: (service) => bad.tell(service, 'stands under ns.dns and is no address')
    }
    this.#reverseZones = new Set(options.zones.filter(isReverse))
  }

  handle(query: Query, next: Next): MaybePromise<Reply> {
    const apex = query.within(this.#options.zones)
    if (apex === undefined) return next(query)
    const reverse = this.#reverseZones.has(apex)
    if (!reverse && isMetaType(query.question.qtype)) return query.fail('REFUSED', 'meta-type')
    let reading: Reading
    let feed: Feed | undefined
    try {
      feed = feedOf(this.#store, this.#options)
      if (feed?.state === 'waiting') return notReady(query)
      reading = this.#store.read()
    } catch (error) {
      return failed(query, error)
    }
    const now = this.#host.clock.now()
    const times = this.#timesOf(feed, now)
    if (reverse) return this.#reverse(query, reading, apex, times) ?? passOn(query, reading, next)
    const asked = askedOf(this.#options, apex, { owner: query.qname, type: query.qtype, now, dnssecOk: query.dnssecOk })
    return this.#attempt(query, next, new Lookup(reading, this.#source, apex, times), asked, new Outside(), 1)
  }

  /** What is left of leases is known for a replica alone by what etcd has said, and it may have renewed them since. */
  #timesOf(feed: Feed | undefined, now: number): Times {
    const { ttl, lease } = this.#options
    const unsure = feed === undefined ? 0 : feed.state === 'stale' ? STALE_TTL : UNSURE_TTL
    const leaseTtl = (leftMs: number): number => Math.min(lease.max, Math.max(lease.min, leftMs > 0 ? Math.ceil(leftMs / 1000) : unsure))
    return { ttl, now, leaseTtl }
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
      return this.#lookOutside(query, outside, asked).then((known) => this.#attempt(query, next, lookup, asked, known, round + 1))
    }
    const { reads, revision } = lookup.reading
    if (parts.rcode === 'NXDOMAIN' && this.#fallsThrough(query)) return passOn(query, { reads, revision }, next)
    const all = outside.reads.length === 0 ? reads : [...reads, ...outside.reads]
    return query.reply(this.#shown(parts), { kind: 'store', reads: all, revision })
  }

  /** Addresses of targets are a courtesy: an answer that is whole without them does not wait long for servers that are silent. */
  async #lookOutside(query: Query, outside: Outside, { type }: Asked): Promise<Outside> {
    const resolve = (inner: Query): MaybePromise<Reply> => this.#host.resolve(inner)
    if (type === 'A' || type === 'AAAA') return outside.fetch(query, resolve, this.#options.rcacheTtl)
    let timer: { cancel(): void } | undefined
    const patience = new Promise<void>((over) => {
      timer = this.#host.clock.after(COURTESY_MS, over)
    })
    try {
      return await outside.fetch(query, resolve, this.#options.rcacheTtl, patience)
    } finally {
      timer?.cancel()
    }
  }

  /** Addresses' names: an exact key answers PTR, without authority, and the zone has its SOA. Everything else is somebody else's: undefined where that is asked. */
  #reverse(query: Query, reading: Reading, apex: string, times: Times): Reply | undefined {
    const { now } = times
    const key = keyOf(this.#options.path, query.qname)
    try {
      const answer = query.qtype === 'PTR' ? this.#pointers(query, reading.at(key), times) : []
      const origin = { kind: 'store', reads: reading.reads, revision: reading.revision }
      if (answer.length > 0) return query.reply({ ...this.#shown({ answer }), ra: true, origin, why: 'found' })
      if (this.#fallsThrough(query)) return undefined
      if (isMetaType(query.question.qtype)) return query.fail('REFUSED', 'meta-type')
      const isApex = query.qname === apex
      const isSoa = isApex && query.qtype === 'SOA'
      const parts = isSoa ? ownSoa(apex, this.#rules, now) : nothing(apex, this.#rules, now, isApex || reading.has(key))
      return query.reply({ ...this.#shown(parts), origin })
    } catch (error) {
      return failed(query, error)
    }
  }

  #pointers(query: Query, entries: readonly Entry[], times: Times): readonly ResourceRecord[] {
    const records = entries.flatMap((entry): ResourceRecord[] => {
      const service = readService(entry, times)
      if (service instanceof ServiceProblem) this.#source.bad(entry, service.problem)
      else if (service.host?.kind === 'name') {
        const record = { owner: query.qname, type: 'PTR', ttl: service.ttl, rdata: service.host.name } as const
        return [withOriginal(record, service.originalTtl)]
      }
      return []
    })
    return oneTtl(distinctRecords(records))
  }

  /** As it is now: the cluster may have gone while a look-up outside took its time. */
  #shown(parts: ReplyParts): ReplyParts {
    return this.#store.feed?.state === 'stale' ? withShortTtls(parts) : parts
  }

  #fallsThrough(query: Query): boolean {
    return this.#options.fallthrough !== undefined && query.within(this.#options.fallthrough) !== undefined
  }
}

/** The answer of somebody else holds only as long as nothing is found here: what was read goes along. */
function passOn(query: Query, trace: StoreTrace, next: Next): MaybePromise<Reply> {
  const before = query.get(storeReads)
  query.set(
    storeReads,
    before === undefined ? trace : { reads: [...before.reads, ...trace.reads], revision: Math.min(before.revision, trace.revision) }
  )
  return next(query)
}

/** How the store stands to its cluster. A replica of another path, as after a reload, has nothing yet of what is below this one. */
function feedOf({ feed }: Store, { cluster }: Options): Feed | undefined {
  if (feed === undefined || cluster === undefined || feed.path === cluster.path || feed.path === undefined) return feed
  return { ...feed, state: 'waiting' }
}

/** The store as it stands to the cluster here, for whoever reads it beside the answers. */
function asFed(store: Store, options: Options): Store {
  return {
    read: () => store.read(),
    watch: (key, changed) => store.watch(key, changed),
    get feed() {
      return feedOf(store, options)
    }
  }
}

/** The store, for who has no query to answer. Throws where nothing was ever read of the cluster. */
function readable(store: Store, options: Options): Store {
  const feed = feedOf(store, options)
  if (feed?.state === 'waiting') throw new Error(waitingText(feed))
  return store
}

function whyNotReady(feed: Feed | undefined): true | string {
  return feed?.state !== 'waiting' || waitingText(feed)
}

/** Before anything was ever read of the cluster nobody knows what exists. */
function notReady(query: Query): Reply {
  // Why stands in the log once, and not again for each query.
  return query.fail('REFUSED', 'not-ready')
}

/** What is old may be wrong: nobody is to keep it for long. */
function withShortTtls(parts: ReplyParts): ReplyParts {
  const shorten = (records: readonly ResourceRecord[] = []): ResourceRecord[] =>
    records.map((record) => (record.ttl > STALE_TTL ? withTtl(record, STALE_TTL) : record))
  return { ...parts, answer: shorten(parts.answer), authority: shorten(parts.authority), additional: shorten(parts.additional) }
}

function failed(query: Query, error: unknown): Reply {
  const problem = thrownText(error)
  return query.fail('SERVFAIL', 'store-failed', { problem })
}
