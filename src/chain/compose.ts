import { Message } from '../message/message.js'
import { classNumber } from '../message/registry.js'
import type { Handler, Layer, MaybePromise, Next, Plugin, Reply } from '../plugin.js'
import { type Fact, fact, MAX_DEPTH, type Query } from '../query.js'

/** A composed chain, and those of its layers that are told what was sent. */
export interface Chain {
  readonly run: Next
  readonly observers: readonly Layer[]
  /** Whether one of them tells of errors. */
  readonly tellsErrors: boolean
  /** Whether one of them may use a query or a reply after it was told of it. */
  readonly observersKeep?: boolean
  /** Whether queries carry which layer they have come to last, see {@link layerOf}. */
  readonly marks?: boolean
}

/**
 * Builds the chain once, when the configuration is read. Each layer's `next` is fixed here, so a query allocates no closure.
 */
export function compose(handlers: readonly Handler[], last: Next = refuse): Next {
  return handlers.reduceRight<Next>((next, handle) => (query) => handle(query, next), last)
}

/** The handler of a layer that may use what it was given as long as it likes. */
function keeping(handle: Handler): Handler {
  return (query, next) => handle(query.keep(), (asked) => kept(next(asked)))
}

/** What comes later is kept already. What is no reply is told of elsewhere. */
function kept(reply: MaybePromise<Reply>): MaybePromise<Reply> {
  return reply instanceof Message ? reply.keep() : reply
}

/** The end of every chain: nobody here serves that name. */
export function refuse(query: Query): Message {
  return query.fail('REFUSED', 'not-served', { origin: { kind: 'none' } })
}

/** What there is where no server block is. */
export const NO_CHAIN: Chain = { run: refuse, observers: [], tellsErrors: false }

/** The layers that queries have come to last, by how deep the query is: look-ups of the server share the facts of who asks. */
const LAST_LAYERS = Array.from({ length: MAX_DEPTH + 1 }, (_, depth): Fact<string | undefined> => fact(`chain/layer-${depth}`))

/** The directive of the layer that answered a query: the last one that it came to; undefined where that was the end of the chain, or is not noted. */
export function layerOf(query: Query): string | undefined {
  return query.get(LAST_LAYERS[query.depth]!)
}

function marking(name: string | undefined, handle: Handler): Handler {
  return (query, next) => {
    query.set(LAST_LAYERS[query.depth]!, name)
    return handle(query, next)
  }
}

function endMarked(query: Query): Message {
  query.set(LAST_LAYERS[query.depth]!, undefined)
  return refuse(query)
}

/** A layer with its directive and the classes that its plugin sees. */
export interface ClassedLayer {
  readonly layer: Layer
  readonly name?: string
  readonly classes: readonly string[]
}

/** The composed chains of one server block: one for each class that a plugin asks for, and one for all others. */
export class Chains {
  readonly #byClass = new Map<number, Chain>()
  readonly #others: Chain

  constructor(layers: readonly ClassedLayer[]) {
    for (const number of new Set(layers.flatMap(({ classes }) => classes.map(classNumber)))) {
      if (number !== undefined) this.#byClass.set(number, chainOf(layers.filter(({ classes }) => seesClass(classes, number))))
    }
    this.#others = chainOf(layers.filter(({ classes }) => classes.includes('*')))
  }

  /** The chain for questions of this class. */
  of(qclass: number): Chain {
    return this.#byClass.get(qclass) ?? this.#others
  }
}

/** The classes that a plugin sees. */
export function classesOf({ classes = ['IN'] }: Pick<Plugin, 'classes'>): readonly string[] {
  return classes
}

/** Whether a plugin for these classes sees questions of one. */
export function seesClass(classes: readonly string[], qclass: number): boolean {
  return classes.some((name) => name === '*' || classNumber(name) === qclass)
}

function chainOf(seen: readonly ClassedLayer[]): Chain {
  const observers = seen.map(({ layer }) => layer).filter((layer) => layer.observe !== undefined)
  const marks = observers.some((layer) => layer.wantsLayer === true)
  const handlers = seen.flatMap(({ layer, name }): Handler[] => {
    // A layer may be an instance of a class, whose methods need it.
    const bound = layer.handle?.bind(layer)
    if (bound === undefined) return []
    const handle = layer.inPlace === true ? bound : keeping(bound)
    return [marks ? marking(name, handle) : handle]
  })
  const run = compose(handlers, marks ? endMarked : refuse)
  return {
    run,
    observers,
    tellsErrors: observers.some((layer) => layer.tellsErrors === true),
    observersKeep: observers.some((layer) => layer.inPlace !== true),
    marks
  }
}
