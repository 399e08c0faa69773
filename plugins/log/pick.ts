/** Which queries are logged. */
import type { Query, Sent } from 'skein/plugin'

/** CoreDNS's classes of replies, and the word for all of them. */
export const CLASSES = ['success', 'denial', 'error', 'all'] as const

type ReplyClass = Exclude<(typeof CLASSES)[number], 'all'>

/** What narrows the queries that are logged. */
export interface Picks {
  /** Only replies of these classes. */
  readonly classes: readonly (typeof CLASSES)[number][]
  /** Each that ended in an error. */
  readonly errors: boolean
  /** Each that took so many milliseconds, or more. */
  readonly slow: number | undefined
  /** One in so many. */
  readonly sample: number | undefined
}

/** Says of a query whether it is logged. Counts those that it is asked of. */
export type Picked = (query: Query, sent: Sent) => boolean

/** Makes the choice: of the classes, all; but where there are `errors`, `slow` or `sample`, those that any of these picks. */
export function picked({ classes, errors, slow = Number.POSITIVE_INFINITY, sample }: Picks): Picked {
  const only = classes.includes('all') || classes.length === 0 ? undefined : new Set<string>(classes)
  const takesEach = !errors && slow === Number.POSITIVE_INFINITY && sample === undefined
  let count = 0
  return (query, sent) => {
    if (only !== undefined && !only.has(classOf(query, sent))) return false
    if (takesEach || sent.milliseconds >= slow || (errors && classOf(query, sent) === 'error')) return true
    if (sample === undefined) return false
    const isPicked = count === 0
    count = count + 1 === sample ? 0 : count + 1
    return isPicked
  }
}

const IXFR = 251
const AXFR = 252

/** As CoreDNS classifies what was sent: a transfer and what was never answered are errors. */
function classOf(query: Query, { reply, rcode }: Sent): ReplyClass {
  const { qtype } = query.question
  if (typeof reply === 'symbol' || qtype === AXFR || qtype === IXFR) return 'error'
  if (rcode === 'NXDOMAIN') return 'denial'
  if (rcode !== 'NOERROR') return 'error'
  if (reply.answer.length > 0) return 'success'
  return reply.authority.some(({ type }) => type === 'SOA') ? 'denial' : 'success'
}
