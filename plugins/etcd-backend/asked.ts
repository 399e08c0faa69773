import { isWithin, type RRType } from 'skein/plugin'
import type { Options } from './options.js'
import { apexOf, below } from './zone.js'

/** One question in one zone. */
export interface Asked {
  /** The name whose services answer. */
  readonly name: string
  /** The name that the records are for: the qname. */
  readonly owner: string
  readonly type: RRType
  /** The wall clock, in milliseconds. */
  readonly now: number
  /** Whether proofs are wanted: a name that has a CNAME is never denied then. */
  readonly dnssecOk: boolean
  /** A name without which the owner may exist too: where this one exists, it does. */
  readonly lower?: string | undefined
}

/** The zones, and which names others answer for. */
export type Standing = Pick<Options, 'zones' | 'local' | 'apexAlone'>

/** The name that answers for an owner: `apex.dns` for the apex where that is configured, and for `local.dns` the name that is. */
export function standIn({ zones, local, apexAlone }: Standing, owner: string, apex = apexOf(zones, owner)): string {
  if (apex === undefined) return owner
  if (apexAlone && owner === apex) return below('apex.dns', apex)
  return local !== undefined && isWithin(local, apex) && owner === below('local.dns', apex) ? local : owner
}

/** The question as it is answered. */
export function askedOf(standing: Standing, apex: string, question: Pick<Asked, 'owner' | 'type' | 'now' | 'dnssecOk'>): Asked {
  const { owner, type, now, dnssecOk } = question
  const isOwn = owner === apex && (type === 'SOA' || type === 'NS')
  const asked = { name: isOwn ? owner : standIn(standing, owner, apex), owner, type, now, dnssecOk }
  // What is above a name that exists does so too.
  const { local } = standing
  return local !== undefined && isWithin(local, apex) && owner === below('dns', apex) ? { ...asked, lower: local } : asked
}
