/** What SkyDNS counts, by its names. */
import { isMetaType, type MetricFamily, type MetricSample, type Query, type Sent, SizeError } from 'skein/plugin'
import { Histogram } from './histogram.js'

/** The label `system`, by its index: who answered. */
export const SYSTEMS = ['auth', 'cache', 'recursive', 'reverse', 'stub'] as const
/** The label `cause`, by its index: why there is no answer, or not the whole one. */
export const CAUSES = ['nxdomain', 'nodata', 'truncated', 'refused', 'overflow', 'servfail'] as const

/** In seconds. */
const TIME_BOUNDS: readonly number[] = [0.001, 0.003, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
/** In octets. */
const SIZE_BOUNDS: readonly number[] = [0, 512, 1024, 1500, 2048, 4096, ...Array.from({ length: 15 }, (_, n) => 4096 * (n + 2))]

const [AUTH, CACHE, RECURSIVE, REVERSE, STUB] = [0, 1, 2, 3, 4]
const [NXDOMAIN, NODATA, TRUNCATED, REFUSED, OVERFLOW, SERVFAIL] = [0, 1, 2, 3, 4, 5]
const REVERSE_ZONES: readonly string[] = ['in-addr.arpa.', 'ip6.arpa.']
const CLASS_IN = 1
const PTR = 12
/** The bits of a header. */
const AA = 0x0400
const TC = 0x0200

/** What one of the systems has answered. */
class Answered {
  requests = 0
  readonly durations = new Histogram(TIME_BOUNDS)
  readonly sizes = new Histogram(SIZE_BOUNDS)
  /** By cause. */
  readonly errors: number[] = CAUSES.map(() => 0)
}

/** What is counted under one prefix. A query makes no string and no promise. */
export class SkydnsTraffic {
  readonly #prefix: string
  readonly #answered = SYSTEMS.map(() => new Answered())
  readonly #signers = new Set<() => number>()
  /** The signatures of those that have gone: a counter does not fall. */
  #signedBefore = 0
  #misses = 0

  /** `prefix` is what all names begin with. */
  constructor(prefix: string) {
    this.#prefix = prefix
  }

  count(query: Query, sent: Sent): void {
    const system = systemOf(query, sent.layer)
    const answered = this.#answered[system]!
    answered.requests++
    answered.durations.add(sent.milliseconds / 1000)
    // Nothing was sent.
    if (typeof sent.reply === 'symbol') return
    answered.sizes.add(sent.octets)
    const cause = causeOf(sent)
    if (cause !== undefined) answered.errors[cause]!++
    if (system === AUTH && isOfData(query, sent)) this.#misses++
  }

  /** Asks for the signatures of a server block too, as often as somebody scrapes, until what is returned is called. */
  askFor(signatures: () => number): () => void {
    this.#signers.add(signatures)
    return () => {
      if (this.#signers.delete(signatures)) this.#signedBefore += signatures()
    }
  }

  families(): MetricFamily[] {
    const signed = [...this.#signers].reduce((sum, signatures) => sum + signatures(), this.#signedBefore)
    const errors = this.#answered.flatMap((answered, system) =>
      answered.errors.map((value, cause) => ({ labels: [SYSTEMS[system]!, CAUSES[cause]!], value }))
    )
    const misses = [
      { labels: ['response'], value: this.#misses },
      { labels: ['signature'], value: signed }
    ]
    // All counters are there from the start, or none would be seen to grow for the first time.
    return [
      this.#family(
        'request_count_total',
        'counter',
        'DNS requests.',
        ['system'],
        this.#each(({ requests }) => requests)
      ),
      this.#family(
        'request_duration_seconds',
        'histogram',
        'How long it took to answer a request, in seconds.',
        ['system'],
        this.#each(({ durations }) => (durations.total === 0 ? undefined : durations))
      ),
      this.#family(
        'response_size_bytes',
        'histogram',
        'Sizes of responses, as they were sent.',
        ['system'],
        this.#each(({ sizes }) => (sizes.total === 0 ? undefined : sizes))
      ),
      this.#family('error_count_total', 'counter', 'DNS requests that got no answer, or not the whole one.', ['system', 'cause'], errors),
      this.#family('cachemiss_count_total', 'counter', 'Responses and signatures that had to be made.', ['cache'], misses)
    ]
  }

  #each(of: (answered: Answered) => MetricSample['value'] | undefined): MetricSample[] {
    return this.#answered.flatMap((answered, system) => {
      const value = of(answered)
      return value === undefined ? [] : [{ labels: [SYSTEMS[system]!], value }]
    })
  }

  #family(
    name: string,
    type: MetricFamily['type'],
    help: string,
    labels: readonly string[],
    samples: readonly MetricSample[]
  ): MetricFamily {
    return { name: `${this.#prefix}_dns_${name}`, type, help, labels, samples }
  }
}

/** Who answered, by the directive of the layer. */
function systemOf(query: Query, layer: string | undefined): number {
  switch (layer) {
    case 'cache':
      return CACHE
    case 'stub':
      return STUB
    case 'forward':
      return isReverse(query) ? REVERSE : RECURSIVE
    case 'etcd':
      return isReverse(query) ? REVERSE : AUTH
    default:
      return AUTH
  }
}

function isReverse(query: Query): boolean {
  return query.question.qtype === PTR && query.within(REVERSE_ZONES) !== undefined
}

/** The first that holds; undefined where there is an answer. */
function causeOf({ reply, rcode, flags, error }: Sent): number | undefined {
  if ((flags & TC) !== 0) return TRUNCATED
  switch (rcode) {
    case 'NOERROR':
      return (flags & AA) !== 0 && typeof reply !== 'symbol' && !reply.hasAnswer ? NODATA : undefined
    case 'NXDOMAIN':
      return NXDOMAIN
    case 'REFUSED':
      return REFUSED
    case 'SERVFAIL':
      return error instanceof SizeError ? OVERFLOW : SERVFAIL
    default:
      return undefined
  }
}

/** Whether the zone's own data were asked for, which a cache may keep. */
function isOfData({ question }: Query, { rcode }: Sent): boolean {
  return question.qclass === CLASS_IN && !isMetaType(question.qtype) && rcode !== 'REFUSED'
}
