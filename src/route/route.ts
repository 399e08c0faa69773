import type { Chains } from '../chain/compose.js'
import { parentName } from '../message/name.js'
import type { Question } from '../message/read.js'

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

/** The zones of one listening address: the block with the longest apex gets the query. */
export class Routes<B extends Block = Block> {
  readonly #zones = new Map<string, Routed<B>>()

  /** Adds a zone (canonical); gives the block that already has it, and changes nothing, where there is one. */
  add(apex: string, block: B): B | undefined {
    const there = this.#zones.get(apex)
    if (there !== undefined) return there.block
    this.#zones.set(apex, { apex, block })
    return undefined
  }

  get zones(): readonly string[] {
    return [...this.#zones.keys()]
  }

  /**
   * The zone with the longest apex that the qname is within, or undefined. DS belongs to the parent side of a zone cut
   * (RFC 4035 §3.1.4.1): at an apex it goes to the zone above, where that is served here too. The root is not meant: who has a
   * block for it mostly forwards there, and the zone itself knows better than the world that no signed parent is here.
   */
  find({ qname, qtype }: Pick<Question, 'qname' | 'qtype'>): Routed<B> | undefined {
    const found = this.#longest(qname)
    if (qtype !== DS || found === undefined || found.apex !== qname || qname === '.') return found
    const above = this.#longest(parentName(qname))
    return above === undefined || above.apex === '.' ? found : above
  }

  #longest(qname: string): Routed<B> | undefined {
    for (let name = qname; ; name = parentName(name)) {
      const found = this.#zones.get(name)
      if (found !== undefined || name === '.') return found
    }
  }
}
