import type { Chains } from '../chain/compose.js'
import { nameOctets, parentName } from '../message/name.js'
import { hashName, Question } from '../message/question.js'

/** A server block as a query meets it. */
export interface Block {
  readonly chains: Chains
}

/** A block with the zone that led to it. */
export interface Routed<B extends Block = Block> {
  readonly apex: string
  readonly block: B
}

const DS = 43

/** A zone whose apex is looked for in place. */
interface Apex<B extends Block> {
  readonly octets: Uint8Array
  readonly routed: Routed<B>
}

/** The zones of one listening address: the block with the longest apex gets the query. */
export class Routes<B extends Block = Block> {
  readonly #zones = new Map<string, Routed<B>>()
  #root: Routed<B> | undefined
  /** Zones but the root by how many octets the apex has, longest first, and by its hash. */
  #byLength: (readonly [length: number, apexes: Map<number, Apex<B>[]>])[] = []

  /** Adds a zone (canonical); gives the block that already has it, and changes nothing, where there is one. */
  add(apex: string, block: B): B | undefined {
    const there = this.#zones.get(apex)
    if (there !== undefined) return there.block
    const routed = { apex, block }
    this.#zones.set(apex, routed)
    if (apex === '.') this.#root = routed
    else this.#index(nameOctets(apex), routed)
    return undefined
  }

  #index(octets: Uint8Array, routed: Routed<B>): void {
    const hash = hashName(octets, 0)
    let apexes = this.#byLength.find(([length]) => length === octets.length)?.[1]
    if (apexes === undefined) {
      apexes = new Map()
      this.#byLength.push([octets.length, apexes])
      this.#byLength.sort(([a], [b]) => b - a)
    }
    apexes.set(hash, [...(apexes.get(hash) ?? []), { octets, routed }])
  }

  get zones(): readonly string[] {
    return [...this.#zones.keys()]
  }

  /**
   * The zone with the longest apex that the qname is within, or undefined. DS belongs to the parent side of a zone cut
   * (RFC 4035 §3.1.4.1): at an apex it goes to the zone above, where that is served here too. The root is not meant: who has a
   * block for it mostly forwards there, and the zone itself knows better than the world that no signed parent is here.
   */
  find(question: Question): Routed<B> | undefined {
    const found = this.#longest(question)
    if (question.qtype !== DS || found === undefined || found.apex !== question.qname || found.apex === '.') return found
    const above = this.#longest(Question.of(parentName(found.apex), DS, question.qclass))
    return above === undefined || above.apex === '.' ? found : above
  }

  /** The zone with the longest apex that a name is within, whatever is asked of it. */
  zoneOf(qname: string): Routed<B> | undefined {
    return this.#longest(Question.of(qname, 0, 1))
  }

  #longest(question: Question): Routed<B> | undefined {
    for (const [length, apexes] of this.#byLength) {
      const rest = question.nameLength - length
      if (rest < 0 || !question.hasLabelAt(rest)) continue
      for (const apex of apexes.get(question.hashFrom(rest)) ?? NONE) if (question.isBelow(apex.octets)) return apex.routed
    }
    return this.#root
  }
}

const NONE: readonly Apex<never>[] = []
