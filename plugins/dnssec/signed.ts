/** A reply with the signatures of what is a signed zone's own. */
import { andThen, coveredType, isPromiseLike, type MaybePromise, type ResourceRecord, withTtl } from 'skein/plugin'
import { allHere } from './all-here.js'
import type { Counts } from './numbers.js'
import { isWildcardOwner, type RRset, rrsetsOf } from './rrset.js'
import { MOST_TTL, type Signatures } from './signatures.js'
import type { SignedZone } from './zone.js'

/** The records of the three sections. */
export interface Sections {
  readonly answer: readonly ResourceRecord[]
  readonly authority: readonly ResourceRecord[]
  readonly additional: readonly ResourceRecord[]
}

/** So many RRsets of the additional section are signed; the rest of it is left out, as a message has no room for more. */
const MOST_ADDITIONAL = 100

/** Which zone an RRset is signed by: undefined where it is somebody else's, or stands at or below a cut. */
type ZoneOf = (rrset: RRset) => SignedZone | undefined

/** Signs the sections. Throws, or rejects with, a SigningProblem. */
export function signedSections(sections: Sections, zoneOf: ZoneOf, signatures: Signatures, counts: Counts): MaybePromise<Sections> {
  const answer = signedSection(sections.answer, zoneOf, signatures, counts)
  const authority = signedSection(sections.authority, zoneOf, signatures, counts)
  const additional = signedSection(sections.additional, zoneOf, signatures, counts, MOST_ADDITIONAL)
  if (!isPromiseLike(answer) && !isPromiseLike(authority) && !isPromiseLike(additional)) return { answer, authority, additional }
  return andThen(allHere([answer, authority, additional]), (all) => ({ answer: all[0]!, authority: all[1]!, additional: all[2]! }))
}

type Section = MaybePromise<readonly ResourceRecord[]>

/** Each RRset with its signatures behind it: ours where it is ours, else those that came with it. */
function signedSection(
  records: readonly ResourceRecord[],
  zoneOf: ZoneOf,
  signatures: Signatures,
  counts: Counts,
  most = Number.POSITIVE_INFINITY
): Section {
  if (records.length === 0) return records
  const { sets, signatures: given } = rrsetsOf(records)
  let signed = 0
  const parts: Section[] = []
  for (const set of sets) {
    const zone = isIn(set) ? zoneOf(set) : undefined
    if (zone === undefined) {
      const own = given.filter((signature) => isFor(signature, set))
      parts.push(own.length === 0 ? set.records : [...set.records, ...own])
      continue
    }
    // What cannot be signed would be taken for forged; whoever needs it asks for it.
    if (isWildcardOwner(set.owner) || signed++ >= most) continue
    parts.push(signedSet(withLeastTtl(set), zone, signatures, counts))
  }
  if (parts.length === 1) return parts[0]!
  return andThen(allHere(parts), joined)
}

function signedSet(set: RRset, zone: SignedZone, signatures: Signatures, counts: Counts): Section {
  const rrsigs = ofOrLate(set, zone, signatures, counts)
  return isPromiseLike(rrsigs) ? rrsigs.then((late) => [...set.records, ...late]) : [...set.records, ...rrsigs]
}

/** What fails does so late, since others that are being signed are waited for then. */
function ofOrLate(set: RRset, zone: SignedZone, signatures: Signatures, counts: Counts): Section {
  try {
    return signatures.of(set, zone, counts)
  } catch (error) {
    return Promise.reject(error as Error)
  }
}

/** One list of them; `flat` is slow. */
function joined(lists: readonly (readonly ResourceRecord[])[]): readonly ResourceRecord[] {
  const all: ResourceRecord[] = []
  for (const list of lists) for (const record of list) all.push(record)
  return all
}

/** The RRset with one TTL, which no signature ends before. */
function withLeastTtl(set: RRset): RRset {
  const ttl = Math.min(set.ttl, MOST_TTL)
  if (set.records.every((record) => record.ttl === ttl)) return set
  return { ...set, ttl, records: set.records.map((record) => withTtl(record, ttl)) }
}

function isIn({ records }: RRset): boolean {
  return (records[0]!.class ?? 'IN') === 'IN'
}

function isFor(signature: ResourceRecord, { owner, records }: RRset): boolean {
  return signature.owner.toLowerCase() === owner && coveredType(signature) === records[0]!.type
}
