/** Proofs that something is not there: the records that go with a negative answer, not yet signed. */
import { isPromiseLike, type MaybePromise, type ResourceRecord, type RRType, typeNumber } from 'skein/plugin'
import { ancestors, type Known, type Names } from './names.js'
import { nsecRecord } from './nsec.js'
import { coveringNsec3, keptHashOf, matchingNsec3 } from './nsec3.js'
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
  /** The type that is not there; undefined where the name is not. */
  readonly type: number | undefined
  /** Seconds. */
  readonly ttl: number
}

/** Finds out of a name of which nobody tells whether it exists. */
export type Ask = (name: string) => MaybePromise<Known>

const RRSIG = 46
const NSEC = 47
const NXNAME = 128
const NS = 2
const SOA = 6

/**
 * What a name may have of which nobody tells what it has: types that a resolver would take for missing where they are not in the
 * list (RFC 8198). What makes a name something else, as CNAME and NS do, is not among them.
 */
export const ANY_TYPES: readonly RRType[] = [
  'A',
  'PTR',
  'HINFO',
  'MX',
  'TXT',
  'AAAA',
  'LOC',
  'SRV',
  'NAPTR',
  'CERT',
  'SSHFP',
  'TLSA',
  'HIP',
  'OPENPGPKEY',
  'SVCB',
  'HTTPS',
  'URI',
  'CAA'
]

/** The one NSEC record of a compact denial (RFC 9824 §3); it never lists the type asked for, RRSIG of a name that does not exist included. */
export function compactProof(names: Names, { zone, name, type, ttl }: Denied, asked = type): Proof {
  const { types, reads } = type === undefined ? { types: undefined, reads: [] } : (names.at(zone, name) ?? UNKNOWN)
  const list = type === undefined ? [NXNAME] : typesFor(zone, name, types ?? ANY_TYPES, type)
  const told = [...list, RRSIG, NSEC].filter((each) => each !== asked)
  return { records: [nsecRecord(name, told, zone.apex, ttl)], reads }
}

/** The NSEC3 records (RFC 5155 §7.2), none of which covers more than one name. */
export function whiteLies(names: Names, denied: Denied, ask: Ask): MaybePromise<Proof> {
  const { zone, name, type, ttl } = denied
  if (type !== undefined) {
    const { types, reads } = names.at(zone, name) ?? UNKNOWN
    return { records: [atName(zone, name, typesFor(zone, name, types ?? ANY_TYPES, type), ttl, type)], reads }
  }
  const found = closestEncloser(names, zone, name, ask)
  return isPromiseLike(found) ? found.then((encloser) => nameProof(zone, encloser, ttl)) : nameProof(zone, found, ttl)
}

const UNKNOWN: Known = { types: ANY_TYPES, reads: [] }

/** Where a name that does not exist would hang. */
interface Encloser {
  readonly encloser: string
  readonly types: readonly RRType[]
  /** The name one label longer, which does not exist. */
  readonly nextCloser: string
  readonly reads: readonly number[]
}

function nameProof(zone: SignedZone, { encloser, types, nextCloser, reads }: Encloser, ttl: number): Proof {
  const wildcard = encloser === '.' ? '*.' : `*.${encloser}`
  const records = [atName(zone, encloser, typesFor(zone, encloser, types), ttl), coveringNsec3(nextCloser, zone.apex, ttl)]
  // Asked for by itself it is the next closer name, too.
  if (wildcard !== nextCloser) records.push(coveringNsec3(wildcard, zone.apex, ttl, keptHashOf(wildcard)))
  return { records, reads }
}

/** An NSEC3 record at a name; where it has nothing signed, as an empty non-terminal or a cut without DS, there is no RRSIG (RFC 5155 §7.1). */
function atName(zone: SignedZone, name: string, types: readonly number[], ttl: number, denied?: number): ResourceRecord {
  const isSigned = denied !== RRSIG && (types.some((type) => type !== NS) || name === zone.apex)
  return matchingNsec3(name, isSigned ? [...types, RRSIG] : types, zone.apex, ttl)
}

/** The types at a name as numbers, those of the apex among them, without the one that is denied. */
function typesFor(zone: SignedZone, name: string, types: readonly RRType[], denied?: number): number[] {
  const numbers = new Set(types.map((type) => typeNumber(type)!))
  if (name === zone.apex) {
    for (const type of zone.own.keys()) numbers.add(type)
    numbers.add(SOA)
    if (types === ANY_TYPES) numbers.add(NS)
  }
  if (denied !== undefined) numbers.delete(denied)
  return [...numbers]
}

/** The longest name above one that exists (RFC 5155 §1.3), as far as the chain has to be asked for that one after another. */
function closestEncloser(names: Names, zone: SignedZone, name: string, ask: Ask): MaybePromise<Encloser> {
  const above = [...ancestors(name, zone.apex)]
  const reads: number[] = []
  const step = (index: number): MaybePromise<Encloser> => {
    const encloser = above[index]!
    const nextCloser = index === 0 ? name : above[index - 1]!
    const isApex = encloser === zone.apex
    const known = names.at(zone, encloser) ?? (isApex ? UNKNOWN : ask(encloser))
    const use = ({ types, reads: more }: Known): MaybePromise<Encloser> => {
      reads.push(...more)
      if (types !== undefined || isApex) return { encloser, types: types ?? ANY_TYPES, nextCloser, reads }
      return step(index + 1)
    }
    return isPromiseLike(known) ? known.then(use) : use(known)
  }
  return step(0)
}

/** The proof that a zone is cut at a name without DS, or the other way round what a cut has (RFC 4035 §3.1.4, RFC 5155 §7.2.7). */
export function cutProof(zone: SignedZone, apex: string, ttl: number): Proof {
  const record = zone.denial === 'nsec' ? nsecRecord(apex, [NS, RRSIG, NSEC], zone.apex, ttl) : atName(zone, apex, [NS], ttl)
  return { records: [record], reads: [] }
}
