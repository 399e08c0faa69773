import type { Message } from '../message/message.js'
import { classNumber } from '../message/registry.js'
import type { Handler, Layer, Next } from '../plugin.js'
import type { Query } from '../query.js'

/** RFC 8914 §4.21: this server is not authoritative for that name, and does not recurse for it. */
const NOT_AUTHORITATIVE = 20

/**
 * Builds the chain once, when the configuration is read. Each layer's `next` is fixed here, so a query allocates no closure.
 */
export function compose(handlers: readonly Handler[], last: Next = refuse): Next {
  return handlers.reduceRight<Next>((next, handle) => (query) => handle(query, next), last)
}

/** The end of every chain, and what there is where no server block is: nobody here serves that name. */
export function refuse(query: Query): Message {
  return query.fail('REFUSED', 'not-served', { extendedErrors: [{ code: NOT_AUTHORITATIVE }] })
}

/** A layer with the classes that its plugin sees. */
export interface ClassedLayer {
  readonly layer: Layer
  readonly classes: readonly string[]
}

/** The composed chains of one server block: one for each class that a plugin asks for, and one for all others. */
export class Chains {
  readonly #byClass = new Map<number, Next>()
  readonly #others: Next

  constructor(layers: readonly ClassedLayer[]) {
    const chainOf = (qclass?: number): Next =>
      compose(
        layers.flatMap(({ layer, classes }) => (layer.handle !== undefined && sees(classes, qclass) ? [layer.handle.bind(layer)] : []))
      )
    const numbers = layers.flatMap(({ classes }) => classes.flatMap((name) => classNumber(name) ?? []))
    for (const number of new Set(numbers)) this.#byClass.set(number, chainOf(number))
    this.#others = chainOf()
  }

  /** The chain for questions of this class. */
  of(qclass: number): Next {
    return this.#byClass.get(qclass) ?? this.#others
  }
}

/** Whether these classes have this one, or for undefined one that nobody names. */
function sees(classes: readonly string[], qclass: number | undefined): boolean {
  return classes.some((name) => name === '*' || (qclass !== undefined && classNumber(name) === qclass))
}
