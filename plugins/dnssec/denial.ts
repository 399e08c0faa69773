/** Proofs that something is not there: the records that go with a negative answer, not yet signed. */
import { andThen, type KnownName, type MaybePromise, type ResourceRecord, type RRType, typeNumber } from 'skein/plugin'
import { ancestors, type Names } from './names.js'
import { nsecRecord } from './nsec.js'
import { coveringNsec3, keptHashOf, matchingNsec3 } from './nsec3.js'
import { SigningProblem } from './signatures.js'
import type { SignedZone } from './zone.js'

/** The proof, and what of the store it rests on. */
export interface Proof {
  readonly records: readonly ResourceRecord[]
  readonly reads: readonly number[]
}

/** What is to be proven. */
export interface Denied {
  readonly zone: SignedZone
  /** Canonical, within the zone. */
  readonly name: string
  /** Whether the name is there; what it does not have is what was asked for then. */
  readonly isThere: boolean
  /** The type that was asked for, which no list has; 0 where none is to be left out. */
  readonly asked: number
  /** Seconds. */
  readonly ttl: number
}

/** Finds out of a name of which nobody tells whether it exists. */
type Ask = (name: string) => MaybePromise<KnownName>

const NS = 2
const SOA = 6
const RRSIG = 46
const NSEC = 47
const NXNAME = 128
const NO_READS: readonly number[] = []

/**
 * What a name may have of which nobody tells what it has: types that a resolver would take for missing where they are not in the
 * list (RFC 8198). What makes a name something else, as CNAME and NS do, is not among them.
 */
// biome-ignore format: a list
export const ANY_TYPES: readonly RRType[] = [
  'A', 'PTR', 'HINFO', 'MX', 'TXT', 'AAAA', 'LOC', 'SRV', 'NAPTR', 'CERT', 'SSHFP', 'TLSA', 'HIP', 'OPENPGPKEY', 'SVCB', 'HTTPS', 'URI', 'CAA'
]

/** The one NSEC record of a compact denial (RFC 9824 §3). */
export function compactProof(names: Names, { zone, name, isThere, asked, ttl }: Denied): Proof {
  const { types, reads } = isThere ? knownAt(names, zone, name) : { types: [], reads: NO_READS }
  const list = [...(isThere ? typesAt(zone, name, types, asked) : [NXNAME]), RRSIG, NSEC].filter((type) => type !== asked)
  return { records: [nsecRecord(name, list, zone.apex, ttl)], reads }
}

/** The NSEC3 records (RFC 5155 §7.2), none of which covers more than one name. */
export function whiteLies(names: Names, { zone, name, isThere, asked, ttl }: Denied, ask: Ask): MaybePromise<Proof> {
  if (isThere) {
    const { types, reads } = knownAt(names, zone, name)
    return { records: [atName(zone, name, typesAt(zone, name, types, asked), ttl, asked)], reads }
  }
  return andThen(closestEncloser(names, zone, name, ask), ({ encloser, types, nextCloser, reads }) => {
    const wildcard = encloser === '.' ? '*.' : `*.${encloser}`
    const records = [atName(zone, encloser, typesAt(zone, encloser, types), ttl), coveringNsec3(nextCloser, zone.apex, ttl)]
    // Asked for by itself it is the next closer name, too.
    if (wildcard !== nextCloser) records.push(coveringNsec3(wildcard, zone.apex, ttl, keptHashOf(wildcard)))
    return { records, reads }
  })
}

/** The proof that the zone is cut at a name, and has no DS there (RFC 4035 §3.1.4, RFC 5155 §7.2.7). */
export function cutProof(zone: SignedZone, name: string, ttl: number): ResourceRecord {
  return zone.denial === 'nsec' ? nsecRecord(name, [NS, RRSIG, NSEC], zone.apex, ttl) : atName(zone, name, [NS], ttl)
}

/** An NSEC3 record at a name; where it has nothing signed, as an empty non-terminal or a cut without DS, there is no RRSIG (RFC 5155 §7.1). */
function atName(zone: SignedZone, name: string, types: readonly number[], ttl: number, asked?: number): ResourceRecord {
  const isSigned = asked !== RRSIG && (types.some((type) => type !== NS) || name === zone.apex)
  return matchingNsec3(name, isSigned ? [...types, RRSIG] : types, zone.apex, ttl)
}

/** What a name has that is there, as far as anybody tells. */
function knownAt(names: Names, zone: SignedZone, name: string): { types: readonly RRType[]; reads: readonly number[] } {
  const known = names.at(zone, name)
  return { types: known?.types ?? anyAt(zone, name), reads: known?.reads ?? NO_READS }
}

/** What a name may have. An apex has NS. */
function anyAt({ apex }: SignedZone, name: string): readonly RRType[] {
  return name === apex ? ['NS', ...ANY_TYPES] : ANY_TYPES
}

/** The types at a name as numbers, those of the apex among them, without the one that was asked for. */
function typesAt(zone: SignedZone, name: string, types: readonly RRType[], asked?: number): number[] {
  const numbers = new Set(types.map((type) => typeNumber(type)!))
  if (name === zone.apex) {
    // An apex without SOA would be told as a cut.
    if (asked === SOA) throw new SigningProblem(`nobody tells the SOA record of ${zone.apex}`)
    for (const type of zone.own.keys()) numbers.add(type)
    numbers.add(SOA)
  }
  if (asked !== undefined) numbers.delete(asked)
  return [...numbers]
}

/** Where a name that does not exist would hang. */
interface Encloser {
  readonly encloser: string
  readonly types: readonly RRType[]
  /** The name one label longer, which does not exist. */
  readonly nextCloser: string
  readonly reads: readonly number[]
}

/** The longest name above one that exists (RFC 5155 §1.3). Where nobody tells, half of what is left is asked for each time: seven questions at most. */
function closestEncloser(names: Names, zone: SignedZone, name: string, ask: Ask): MaybePromise<Encloser> {
  const above = ancestors(name, zone.apex)
  const reads: number[] = []
  const found = (index: number, types: readonly RRType[] | undefined): Encloser => {
    const encloser = above[index]!
    return { encloser, types: types ?? anyAt(zone, encloser), nextCloser: index === 0 ? name : above[index - 1]!, reads }
  }
  const last = above.length - 1
  for (let index = 0; index <= last; index++) {
    const known = names.at(zone, above[index]!)
    if (known === undefined) return andThen(searched(above, index, last, ask, reads), (at) => found(at, names.at(zone, above[at]!)?.types))
    reads.push(...known.reads)
    if (known.types !== undefined || index === last) return found(index, known.types)
  }
  throw new SigningProblem(`${name} is the apex, which exists`)
}

/** The first of the names from `low` on that exists; that at `high` does, and so does all that is above one that does. */
function searched(above: readonly string[], low: number, high: number, ask: Ask, reads: number[]): MaybePromise<number> {
  if (low >= high) return high
  const middle = (low + high) >> 1
  return andThen(ask(above[middle]!), (known) => {
    reads.push(...known.reads)
    return known.types === undefined ? searched(above, middle + 1, high, ask, reads) : searched(above, low, middle, ask, reads)
  })
}
