/** What is known of the names of signed zones: by who answers for them, and by who answers below a cut. */
import {
  type BlockServed,
  blockServed,
  type Host,
  isWithin,
  type KnownName,
  type NamesKnown,
  namesKnown,
  parentName,
  type ZoneCut,
  zoneCuts,
  zonesServed
} from 'skein/plugin'
import type { SignedZone } from './zone.js'

const NO_READS: readonly number[] = []
const NO_CUTS: readonly ZoneCut[] = []

/** Names of one server block. */
export class Names {
  readonly #host: Host
  #answering: readonly NamesKnown[] | undefined
  #cuts: readonly (() => readonly ZoneCut[])[] = []
  /** What those have said last, and the cuts in each zone that come of it. */
  #said: readonly (readonly ZoneCut[])[] = []
  readonly #byZone = new Map<SignedZone, readonly ZoneCut[]>()

  constructor(host: Host) {
    this.#host = host
  }

  /** Has what others offer looked for anew: they do so when they start, and after a reload they may be others. */
  forget(): void {
    this.#answering = undefined
  }

  /** What is known of a name in a zone; undefined where nobody offers to tell, so that the chain has to be asked. Throws as who answers does. */
  at(zone: SignedZone, name: string): KnownName | undefined {
    const cut = this.cutsIn(zone).find(({ apex }) => apex === name)
    if (cut !== undefined) return { types: cut.ds.length > 0 ? ['NS', 'DS'] : ['NS'], reads: NO_READS }
    const known = this.#answeringFor(name)?.at(name)
    // Above a cut a name exists, whoever knows of it.
    return known?.types === undefined && this.isAboveCut(zone, name) ? { types: [], reads: known?.reads ?? NO_READS } : known
  }

  /** The zones below one, each once, by their apexes, with DS records where some are known. The same list while nothing has changed. */
  cutsIn(zone: SignedZone): readonly ZoneCut[] {
    this.#settle()
    if (this.#cuts.length === 0) return NO_CUTS
    // Asked for each RRset, and mostly nothing has changed.
    if (this.#cuts.some((list, index) => list() !== this.#said[index])) {
      this.#said = this.#cuts.map((list) => list())
      this.#byZone.clear()
    }
    let cuts = this.#byZone.get(zone)
    if (cuts === undefined) {
      cuts = within(zone.apex, this.#said.flat())
      this.#byZone.set(zone, cuts)
    }
    return cuts
  }

  /** Whether there is a cut at or below a name, which makes it exist. */
  isAboveCut(zone: SignedZone, name: string): boolean {
    return this.cutsIn(zone).some(({ apex }) => isWithin(apex, name))
  }

  /** The topmost cut that a name is at or below of. */
  cutAbove(zone: SignedZone, name: string): ZoneCut | undefined {
    let topmost: ZoneCut | undefined
    for (const cut of this.cutsIn(zone))
      if (isWithin(name, cut.apex) && (topmost === undefined || cut.apex.length < topmost.apex.length)) topmost = cut
    return topmost
  }

  #answeringFor(name: string): NamesKnown | undefined {
    this.#settle()
    let best: NamesKnown | undefined
    let longest = -1
    for (const known of this.#answering!) {
      for (const zone of known.zones) {
        if (zone.length <= longest || !isWithin(name, zone)) continue
        best = known
        longest = zone.length
      }
    }
    return best
  }

  #settle(): void {
    if (this.#answering !== undefined) return
    const host = this.#host
    this.#answering = host.find(namesKnown)
    const served = [...blocksBeside(host), ...host.find(zonesServed).flat()].map((apex): ZoneCut => ({ apex, ds: [] }))
    // A zone that is signed by another server block tells its DS.
    const everywhere = host.find({ ...zoneCuts, scope: 'process' })
    const signed = served.flatMap(({ apex }) =>
      everywhere.flatMap((cuts) => cuts().filter((cut) => cut.apex === apex && cut.ds.length > 0))
    )
    const standing = [...served, ...signed]
    this.#cuts = [...(standing.length === 0 ? [] : [() => standing]), ...host.find(zoneCuts)]
    this.#said = []
    this.#byZone.clear()
  }
}

/** The zones that other server blocks answer for where this one listens. */
function blocksBeside(host: Host): string[] {
  const own: readonly BlockServed[] = host.find(blockServed)
  const all: readonly BlockServed[] = host.find({ ...blockServed, scope: 'process' })
  const endpoints = new Set(own.flatMap(({ places }) => places.map(({ endpoint }) => endpoint)))
  const places = all.filter((block) => !own.includes(block)).flatMap((block) => block.places)
  return places.filter(({ endpoint }) => endpoints.has(endpoint)).map(({ zone }) => zone)
}

/** The cuts below an apex, each once; the one with DS records where there are several. */
function within(apex: string, cuts: readonly ZoneCut[]): readonly ZoneCut[] {
  const byApex = new Map<string, ZoneCut>()
  for (const cut of cuts) {
    if (cut.apex === apex || !isWithin(cut.apex, apex)) continue
    if (cut.ds.length > 0 || !byApex.has(cut.apex)) byApex.set(cut.apex, cut)
  }
  return byApex.size === 0 ? NO_CUTS : [...byApex.values()]
}

/** The names above one, its parent first and the apex last; none above the apex. */
export function ancestors(name: string, apex: string): string[] {
  const above: string[] = []
  for (let at = name; at !== apex; above.push(at)) at = parentName(at)
  return above
}
