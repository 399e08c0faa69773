/** The signed zones of a server block: which of them a name is in, and which signs what. */
import { isWithin, type ZoneCut } from 'skein/plugin'
import type { Names } from './names.js'
import type { RRset } from './rrset.js'
import type { SignedZone } from './zone.js'

const NS = 2
const DS = 43
const NSEC = 47

/** All of them, and where they are cut. */
export class Zones {
  readonly apexes: readonly string[]
  readonly #zones: readonly SignedZone[]
  readonly #names: Names

  constructor(zones: readonly SignedZone[], names: Names) {
    this.#zones = zones
    this.#names = names
    this.apexes = zones.map(({ apex }) => apex)
  }

  /** The zone that a name's records of a type are in: DS at an apex is the parent's, where that is here (RFC 4035 §3.1.4.1). */
  of(name: string, type: number): SignedZone | undefined {
    let best: SignedZone | undefined
    let atApex: SignedZone | undefined
    for (const zone of this.#zones) {
      if (!isWithin(name, zone.apex)) continue
      if (type === DS && zone.apex === name) atApex = zone
      else if (best === undefined || zone.apex.length > best.apex.length) best = zone
    }
    return best ?? atApex
  }

  /** The cut that makes a name's records of a type somebody else's: at the cut itself DS, and the proof that there is none, are ours. */
  cutFrom(zone: SignedZone, name: string, type: number): ZoneCut | undefined {
    const cut = this.#names.cutAbove(zone, name)
    return cut === undefined || (cut.apex === name && type === DS) ? undefined : cut
  }

  /** The zone that signs an RRset of a reply that tells of a cut at `cut`, if it does; undefined where it is somebody else's. */
  signerOf({ owner, type }: RRset, cut: string | undefined): SignedZone | undefined {
    const zone = this.of(owner, type)
    if (zone === undefined || (type === NS && owner !== zone.apex)) return undefined
    const above = cut !== undefined && isWithin(owner, cut) ? cut : this.#names.cutAbove(zone, owner)?.apex
    return above === undefined || (above === owner && (type === DS || type === NSEC)) ? zone : undefined
  }
}
