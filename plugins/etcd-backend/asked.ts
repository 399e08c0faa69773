import { isWithin, type RRType } from 'skein/plugin'
import type { Options } from './options.js'
import { below } from './zone.js'

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

/** Which names others answer for. */
export type Standing = Pick<Options, 'local' | 'apexAlone'>

/** The question as it is answered: `apex.dns` answers for the apex where that is configured, and for `local.dns` the name that is. */
export function askedOf({ local, apexAlone }: Standing, apex: string, question: Pick<Asked, 'owner' | 'type' | 'now' | 'dnssecOk'>): Asked {
  const { owner, type, now, dnssecOk } = question
  const asked = { name: owner, owner, type, now, dnssecOk }
  if (apexAlone && owner === apex && type !== 'SOA' && type !== 'NS') return { ...asked, name: below('apex.dns', apex) }
  if (local === undefined || !isWithin(local, apex)) return asked
  if (owner === below('local.dns', apex)) return { ...asked, name: local }
  // What is above a name that exists does so too.
  return owner === below('dns', apex) ? { ...asked, lower: local } : asked
}
