import type { Config, Schema } from 'skein/plugin'

/** A TTL in seconds that bounds others, and whether the operator has written it. */
export interface Bound {
  readonly seconds: number
  readonly isWritten: boolean
}

/** How one kind of answers is kept. */
export interface Limits {
  /** How many. */
  readonly capacity: number
  readonly most: Bound
  readonly least: Bound
  /** The zones whose answers of this kind are not kept. */
  readonly disabled: readonly string[]
}

/** The directive as configured. */
export interface Options {
  /** The zones whose questions are answered from the cache. */
  readonly zones: readonly string[]
  readonly success: Limits
  readonly denial: Limits
  /** How long a failure is kept, in milliseconds; 0 for not at all. */
  readonly servfailMs: number
  /** How long any answer is kept at most, in milliseconds, whatever its TTL; without end where nobody says. */
  readonly keepMs: number
  /** Whether TTLs are told as they came, and do not count down. */
  readonly keepsTtl: boolean
}

const MAX_TTL = 0x7fffffff
const YEAR_MS = 365 * 86_400_000
const MAX_CAPACITY = 0x7fffffff
/** CoreDNS's 10000, as its 256 parts hold them. */
const CAPACITY = 9984
const SUCCESS_TTL = 3600
const DENIAL_TTL = 1800
const LEAST_TTL = 5

const LIMITS = [
  { name: 'CAP', type: 'integer', min: 1, max: MAX_CAPACITY },
  { name: 'TTL', type: 'integer', min: 1, max: MAX_TTL, optional: true },
  { name: 'MINTTL', type: 'integer', min: 0, max: MAX_TTL, optional: true }
] as const

/** What the directive `cache` takes. */
export const schema = {
  about: 'Keeps answers as long as their TTLs say, and answers from them.',
  args: [
    {
      name: 'TTL',
      type: 'integer',
      min: 1,
      max: MAX_TTL,
      expected: 'a TTL in seconds',
      optional: true,
      // What somebody means as a TTL, be it a wrong one; anything else is the first of the zones.
      when: /^[+-]?\d+(?:\.\d+)?(?:ms|[smhd])?$/,
      about: 'the longest that an answer is kept, in seconds'
    },
    {
      name: 'ZONES',
      type: 'zone',
      rest: true,
      optional: true,
      about: 'the zones that are cached; those of the server block where left out'
    }
  ],
  options: {
    success: { args: LIMITS, about: 'how many answers with records are kept, and for how many seconds at most and at least' },
    denial: { args: LIMITS, about: 'the same for answers that there is no such name, or no such record' },
    servfail: {
      args: [{ name: 'DUR', type: 'duration', max: 300_000 }],
      default: 5000,
      about: 'how long a failure is kept; 0 for not at all'
    },
    keep: {
      args: [{ name: 'DURATION', type: 'duration', min: 1000, max: YEAR_MS }],
      about: 'no answer is kept for longer, whatever its TTL, which is not cut; SkyDNS’s way'
    },
    keepttl: { about: 'TTLs are told as they came, and do not count down' },
    disable: {
      args: [
        { name: 'KIND', type: 'choice', of: ['success', 'denial'] },
        { name: 'ZONES', type: 'zone', rest: true, optional: true, default: ['.'] }
      ],
      repeats: true,
      about: 'answers of this kind are not kept; with zones only answers in those'
    },
    prefetch: { status: 'later', about: 'asks again before an answer that is often asked for has ended' },
    serve_stale: { status: 'later', about: 'answers with what has ended where nobody can be reached' },
    serve_stale_policy: { status: 'later', about: 'which of two answers that have ended is told' }
  }
} as const satisfies Schema

type CacheConfig = Config<typeof schema>

/** What the schema cannot say: what is least may not be more than what is most. Throws ConfigError. */
export function readOptions(config: CacheConfig): Options {
  const { args, options, directive } = config
  const [ttl, zones] = args
  return {
    zones: zones.length > 0 ? zones : directive.zones,
    success: limits(config, 'success', ttl, SUCCESS_TTL),
    denial: limits(config, 'denial', ttl, DENIAL_TTL),
    servfailMs: options.servfail,
    keepMs: options.keep ?? Number.POSITIVE_INFINITY,
    keepsTtl: options.keepttl
  }
}

function limits(config: CacheConfig, kind: 'success' | 'denial', ttl: number | undefined, standard: number): Limits {
  const [capacity = CAPACITY, ownTtl, leastTtl] = config.options[kind] ?? []
  const most = ownTtl ?? ttl
  const mostSeconds = most ?? standard
  if (leastTtl !== undefined && leastTtl > mostSeconds)
    config.fail(`expected a MINTTL of at most the TTL, which is ${mostSeconds}, not ${leastTtl}`, kind)
  return {
    capacity,
    most: { seconds: mostSeconds, isWritten: most !== undefined },
    least: { seconds: leastTtl ?? Math.min(LEAST_TTL, mostSeconds), isWritten: leastTtl !== undefined },
    disabled: config.options.disable.flatMap(([disabled, zones]) => (disabled === kind ? zones : []))
  }
}
