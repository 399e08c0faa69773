import {
  asksForRecords,
  askUpstream,
  type Counter,
  drop,
  type Exchange,
  type ExchangeOutcome,
  type Host,
  InFlight,
  type MaybePromise,
  type Message,
  type Next,
  type Query,
  questionKey,
  type Reply,
  type StoreTrace,
  shown,
  storeReads,
  thrownText,
  type Upstream
} from 'skein/plugin'
import { cameFromStub, stubOctets } from './loop-option.js'
import type { StubZone, StubZones } from './stub-zones.js'

/** Milliseconds: of one attempt, and of all for one question; clients wait for 5 seconds mostly. */
const ATTEMPT_MS = 2000
const TOTAL_MS = 5000
/** Questions under way at once, each with one socket, and those who ask the same. */
const MOST_UNDER_WAY = 256
const MOST_ASKERS = 1000
const LOOP_LINE_MS = 60_000

/** Gives questions for names in stub zones to the servers of these. */
export class Forwarder {
  readonly #zones: StubZones
  readonly #host: Host
  readonly #requests: Counter
  readonly #failures: Counter
  readonly #loops: Counter
  readonly #underWay = new Set<Exchange>()
  readonly #inFlight = new InFlight<Reply>()
  #lastLoopLine = Number.NEGATIVE_INFINITY
  #isStopped = false

  constructor(zones: StubZones, host: Host) {
    this.#zones = zones
    this.#host = host
    const { metrics } = host
    this.#requests = metrics.counter('skein_stub_requests_total', 'Messages sent to the servers of stub zones.')
    this.#failures = metrics.counter('skein_stub_failures_total', 'Attempts that brought no reply.')
    this.#loops = metrics.counter('skein_stub_loops_total', 'Queries dropped since another server had given them to a stub zone already.')
  }

  handle(query: Query, next: Next): MaybePromise<Reply> {
    let trace: StoreTrace | undefined
    try {
      trace = this.#zones.refresh(query.trace !== undefined)
    } catch (error) {
      const problem = thrownText(error)
      return query.fail('SERVFAIL', 'store-failed', { ra: true, problem })
    }
    if (trace !== undefined) rest(query, trace)
    const zone = this.#zones.answering(query)
    if (zone === undefined) return next(query)
    if (cameFromStub(query)) return this.#looped(query, zone)
    if (!asksForRecords(query.question.qtype)) return query.fail('REFUSED', 'meta-type')
    if (this.#isStopped) return stopping(query)
    return this.#shared(query, zone)
  }

  /** Ends all that is under way with SERVFAIL. */
  async stop(): Promise<void> {
    this.#isStopped = true
    for (const one of this.#underWay) one.cancel()
    await this.#inFlight.ended()
  }

  /** What the servers say to this question, asked now or already under way. */
  #shared(query: Query, zone: StubZone): MaybePromise<Reply> {
    const key = keyOf(query, zone)
    const askers = this.#inFlight.askers(key)
    if (askers === 0 ? this.#inFlight.size >= MOST_UNDER_WAY : askers >= MOST_ASKERS)
      return query.fail('SERVFAIL', 'too-many', { ra: true })
    return this.#inFlight.ask(key, () => this.#ask(query, zone))
  }

  /** Two servers that have each other for a zone would ask each other for ever. */
  #looped(query: Query, zone: StubZone): Reply {
    this.#loops.value++
    const now = this.#host.clock.monotonic()
    if (now - this.#lastLoopLine >= LOOP_LINE_MS) {
      this.#lastLoopLine = now
      const { address } = query.client
      this.#host.log.warn(`a loop: ${address} asks for ${shown(query.qname)}, given to a stub zone already, in the stub zone ${zone.name}`)
    }
    return drop
  }

  async #ask(query: Query, { name, servers }: StubZone): Promise<Reply> {
    const deadline = this.#host.clock.monotonic() + TOTAL_MS
    let problem = 'no time was left to ask'
    let cut: Message | undefined
    for (let turn = 0; turn < servers.length && !this.#isOver(deadline); turn++) {
      const server = servers[(query.id + turn) % servers.length]!
      for (let retries = 1; ; retries--) {
        const outcome = await this.#exchange(query, server, deadline, (message) => {
          cut ??= message
        })
        if (outcome.kind === 'reply') {
          // Said again, it is the answer.
          if (outcome.message.rcode !== 'SERVFAIL' || retries === 0 || this.#isOver(deadline)) return outcome.message
          continue
        }
        if (outcome.kind === 'failed') problem = outcome.problem
        break
      }
    }
    // A client over UDP comes again over TCP; nobody else can do anything with half an answer.
    if (cut !== undefined && query.client.transport === 'udp' && query.depth === 0) return cut
    if (this.#isStopped) return stopping(query)
    return query.fail('SERVFAIL', 'stub-failed', { ra: true, problem: `stub zone ${name}: ${problem}` })
  }

  /** Over UDP where the client came so, and over TCP where that cuts the reply. */
  async #exchange(
    query: Query,
    server: Upstream,
    deadline: number,
    truncated: (message: Message | undefined) => void
  ): Promise<ExchangeOutcome> {
    const { transport } = query.client
    if (transport === 'udp' || transport === 'quic') {
      const outcome = await this.#attempt(query, server, deadline, 'udp')
      if (outcome.kind !== 'truncated') return outcome
      truncated(outcome.message)
    }
    return this.#attempt(query, server, deadline, 'tcp')
  }

  async #attempt(query: Query, upstream: Upstream, deadline: number, transport: 'udp' | 'tcp'): Promise<ExchangeOutcome> {
    const isOurs = true
    if (this.#isOver(deadline)) return { kind: 'failed', problem: `${upstream.text}: no time was left to ask`, wasReached: false, isOurs }
    const { clock, random } = this.#host
    const octets = stubOctets(query, random.below(0x10000))
    const timeoutMs = Math.min(ATTEMPT_MS, deadline - clock.monotonic())
    this.#requests.value++
    const exchange = askUpstream({ query, upstream, transport, octets, timeoutMs, why: 'stub' }, clock)
    this.#underWay.add(exchange)
    const outcome = await exchange.outcome
    this.#underWay.delete(exchange)
    if (outcome.kind === 'failed') this.#failures.value++
    return outcome
  }

  #isOver(deadline: number): boolean {
    return this.#isStopped || this.#host.clock.monotonic() >= deadline
  }
}

/** Equal for questions that get the same reply: the size advertised and the spelling of the name make none. */
function keyOf(query: Query, { servers }: StubZone): string {
  const { client, depth } = query
  return `${questionKey(query)} ${client.transport} ${depth > 0} ${servers.map(({ text }) => text).join()}`
}

/** Which zones there are decides every answer: a cached one ends when they change. */
function rest(query: Query, { reads, revision }: StoreTrace): void {
  const before = query.get(storeReads)
  query.set(
    storeReads,
    before === undefined ? { reads, revision } : { reads: [...before.reads, ...reads], revision: Math.min(before.revision, revision) }
  )
}

function stopping(query: Query): Reply {
  return query.fail('SERVFAIL', 'stopping', { ra: true })
}
