import type { Message } from '../message/message.js'
import { classNumber } from '../message/registry.js'
import type { Handler, Layer, Next } from '../plugin.js'
import type { Query } from '../query.js'

/** A composed chain, and those of its layers that are told what was sent. */
export interface Chain {
  readonly run: Next
  readonly observers: readonly Layer[]
  /** Whether one of them tells of errors. */
  readonly tellsErrors: boolean
}

/**
 * Builds the chain once, when the configuration is read. Each layer's `next` is fixed here, so a query allocates no closure.
 */
export function compose(handlers: readonly Handler[], last: Next = refuse): Next {
  return handlers.reduceRight<Next>((next, handle) => (query) => handle(query, next), last)
}

/** The end of every chain: nobody here serves that name. */
export function refuse(query: Query): Message {
  return query.fail('REFUSED', 'not-served', { origin: { kind: 'none' } })
}

/** What there is where no server block is. */
export const NO_CHAIN: Chain = { run: refuse, observers: [], tellsErrors: false }

/** A layer with the classes that its plugin sees. */
export interface ClassedLayer {
  readonly layer: Layer
  readonly classes: readonly string[]
}

/** The composed chains of one server block: one for each class that a plugin asks for, and one for all others. */
export class Chains {
  readonly #byClass = new Map<number, Chain>()
  readonly #others: Chain

  constructor(layers: readonly ClassedLayer[]) {
    const seen = layers.map(({ layer, classes }) => ({ layer, numbers: classes.map(classNumber), all: classes.includes('*') }))
    for (const number of new Set(seen.flatMap(({ numbers }) => numbers))) {
      if (number !== undefined) this.#byClass.set(number, chainOf(seen.filter(({ all, numbers }) => all || numbers.includes(number))))
    }
    this.#others = chainOf(seen.filter(({ all }) => all))
  }

  /** The chain for questions of this class. */
  of(qclass: number): Chain {
    return this.#byClass.get(qclass) ?? this.#others
  }
}

function chainOf(seen: readonly { readonly layer: Layer }[]): Chain {
  const layers = seen.map(({ layer }) => layer)
  const observers = layers.filter((layer) => layer.observe !== undefined)
  // A layer may be an instance of a class, whose methods need it.
  const handlers = layers.flatMap((layer): Handler[] => (layer.handle === undefined ? [] : [layer.handle.bind(layer)]))
  return { run: compose(handlers), observers, tellsErrors: observers.some((layer) => layer.tellsErrors === true) }
}
