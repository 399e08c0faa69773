/** What is known of the names of signed zones: by who answers for them, and by who answers below a cut. */
import {
  type BlockServed,
  blockServed,
  type Host,
  isWithin,
  type NamesKnown,
  namesKnown,
  parentName,
  type RRType,
  type ZoneCut,
  zoneCuts
} from 'skein/plugin'
import type { SignedZone } from './zone.js'

/** A name as a proof has it. */
export interface Known {
  /** Undefined where it does not exist. */
  readonly types: readonly RRType[] | undefined
  /** What of the store that rests on. */
  readonly reads: readonly number[]
}

const NO_READS: readonly number[] = []
const EXISTS: Known = { types: [], reads: NO_READS }

/** Names of one server block. */
export class Names {
  readonly #host: Host
  #answering: readonly NamesKnown[] | undefined
  #cuts: readonly (() => readonly ZoneCut[])[] = []

  constructor(host: Host) {
    this.#host = host
  }

  /** Has what others offer looked for anew: they do so when they start, and after a reload they may be others. */
  forget(): void {
    this.#answering = undefined
  }

  /** What is known of a name in a zone; undefined where nobody offers to tell, so that the chain has to be asked. */
  at(zone: SignedZone, name: string): Known | undefined {
    const cuts = this.cutsIn(zone)
    const cut = cuts.find(({ apex }) => apex === name)
    if (cut !== undefined) return { types: cut.ds.length > 0 ? ['NS', 'DS'] : ['NS'], reads: NO_READS }
    const known = this.#answeringFor(name)?.at(name)
    // Above a cut a name exists, whoever knows of it.
    if (known?.types === undefined && cuts.some(({ apex }) => isWithin(apex, name)))
      return known === undefined ? EXISTS : { ...EXISTS, reads: known.reads }
    return known
  }

  /** The zones below one, by their apexes; each once, with DS records where some are known. */
  cutsIn({ apex }: SignedZone): readonly ZoneCut[] {
    this.#settle()
    const cuts: ZoneCut[] = []
    for (const list of this.#cuts) for (const cut of list()) if (cut.apex !== apex && isWithin(cut.apex, apex)) cuts.push(cut)
    return cuts
  }

  /** Whether there is a cut at or below a name, which makes it exist. */
  isAboveCut(zone: SignedZone, name: string): boolean {
    return this.cutsIn(zone).some(({ apex }) => isWithin(apex, name))
  }

  /** The cut that a name is at or below of. */
  cutAbove(zone: SignedZone, name: string): ZoneCut | undefined {
    this.#settle()
    for (const list of this.#cuts)
      for (const cut of list()) if (cut.apex !== zone.apex && isWithin(name, cut.apex) && isWithin(cut.apex, zone.apex)) return cut
    return undefined
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
    this.#answering = this.#host.find(namesKnown)
    const own = this.#host.find(blockServed)
    const everywhere = this.#host.find({ ...zoneCuts, scope: 'process' })
    const beside = blocksBeside(own, this.#host.find({ ...blockServed, scope: 'process' }))
    const ofBlocks = (): ZoneCut[] =>
      beside.map((apex) => ({ apex, ds: everywhere.flatMap((cuts) => cuts().find((cut) => cut.apex === apex)?.ds ?? []) }))
    this.#cuts = beside.length === 0 ? this.#host.find(zoneCuts) : [ofBlocks, ...this.#host.find(zoneCuts)]
  }
}

/** The zones that other server blocks answer for where this one listens. */
function blocksBeside(own: readonly BlockServed[], all: readonly BlockServed[]): string[] {
  const endpoints = new Set(own.flatMap(({ places }) => places.map(({ endpoint }) => endpoint)))
  const zones = all
    .filter((block) => !own.includes(block))
    .flatMap(({ places }) => places.filter(({ endpoint }) => endpoints.has(endpoint)))
  return [...new Set(zones.map(({ zone }) => zone))]
}

/** The name's parent, and so on up to the apex, which is the last. */
export function* ancestors(name: string, apex: string): Generator<string> {
  for (let at = name; at !== apex; ) {
    at = parentName(at)
    yield at
  }
}
