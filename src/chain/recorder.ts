/** What a chain does with one query, noted layer by layer from outside: the layers know nothing of it. */
import type { Place } from '../corefile/directive.js'
import { Message, type Origin } from '../message/message.js'
import { thrownText } from '../message/one-line.js'
import { className, typeName } from '../message/registry.js'
import {
  drop,
  type Handler,
  isPromiseLike,
  type Layer,
  type MaybePromise,
  type Next,
  type Reply,
  type StoreTrace,
  storeReads
} from '../plugin.js'
import type { Query, Trace } from '../query.js'
import type { BuiltChain, Configured } from './build.js'
import { type Chain, compose, refuse, seesClass } from './compose.js'
import { difference } from './difference.js'

/** A plugin in plain JavaScript may return anything. */
const NO_REPLY = 'it returned no reply'

/** Where a reply comes from, as far as its origin says. */
export interface Source {
  readonly kind: string
  /** The store's keys that it rests on, those found empty included; those whose names are not known any more are counted only. */
  readonly keys?: readonly string[]
  readonly unnamedKeys?: number
  readonly revision?: number
  readonly upstream?: string
  /** Milliseconds. */
  readonly rtt?: number
  /** Seconds for which a cache has had it. */
  readonly age?: number
}

/** What a layer did with a query, or the end of the chain, where `layer` is empty. */
export interface Step {
  readonly layer: string
  readonly at: string
  /** The question that it saw, `name TYPE`, where that is not the one that the chain was asked. */
  readonly question?: string
  readonly did: 'answered' | 'passed on' | 'changed the question' | 'changed the answer' | 'sent nothing' | 'failed' | 'is waiting'
  /** The code of why the reply that it gave is so. */
  readonly why?: string
  /** What it changed of the reply, what it asked instead, or how it failed. */
  readonly notes: readonly string[]
  /** Its own milliseconds, without the layers behind it; its look-ups are its own. */
  readonly took: number
  readonly from?: Source
  /** What it asked the server itself meanwhile. */
  readonly lookUps: readonly Pass[]
}

/** One question to one server block's chain. */
export interface Pass {
  readonly question: string
  readonly zone: string
  /** Where the server block stands. */
  readonly at: string
  /** Layers as the query came to them. */
  readonly steps: readonly Step[]
  /** Layers of the chain that never saw it. */
  readonly behind: readonly string[]
  /** Where a cache has answered with what came from the store: what the layers behind it say now, and read. */
  readonly now?: Pass
  /** What went wrong with what the layers gave, where that made it SERVFAIL and none of them says so. */
  readonly fault?: string
  /** Milliseconds. */
  readonly took: number
}

/** Names what was read: `undefined` for a hash that nobody can name. */
export type NameKey = (hash: number) => string | undefined

/** Notes what becomes of one query, and of all that is asked meanwhile. */
export class Recorder {
  readonly #now: () => number
  readonly #nameKey: NameKey

  constructor(now: () => number, nameKey: NameKey) {
    this.#now = now
    this.#nameKey = nameKey
  }

  now(): number {
    return this.#now()
  }

  /** Starts to note what the chain of a server block does with a query. */
  pass({ configured, at }: Pick<BuiltChain, 'configured' | 'at'>, query: Query): PassRecord {
    const { qclass } = query.question
    const layers = configured.filter(({ layer, plugin: { classes = ['IN'] } }) => layer.handle !== undefined && seesClass(classes, qclass))
    return new PassRecord(this, layers, at, query)
  }

  sourceOf(origin: Origin | undefined): Source | undefined {
    if (origin === undefined || origin.kind === 'none') return undefined
    const { kind, revision, upstream, rtt, since } = origin
    const reads = [...new Set(origin.reads)]
    const keys = [...new Set(reads.flatMap((hash) => this.#nameKey(hash) ?? []))]
    const unnamed = reads.filter((hash) => this.#nameKey(hash) === undefined).length
    return {
      kind,
      ...(keys.length > 0 && { keys }),
      ...(unnamed > 0 && { unnamedKeys: unnamed }),
      ...(revision !== undefined && { revision }),
      ...(upstream !== undefined && { upstream }),
      ...(rtt !== undefined && { rtt: rounded(rtt) }),
      ...(since !== undefined && { age: Math.max(0, Math.floor((this.#now() - since) / 1000)) })
    }
  }
}

/** A pass that goes on. */
export class PassRecord {
  readonly recorder: Recorder
  /** A chain of the same layers, which are noted here; none of them observes it. */
  readonly chain: Chain
  readonly #layers: readonly Configured[]
  readonly #at: Place
  readonly #query: Query
  readonly #begun: number
  readonly #steps: StepRecord[] = []
  #fault: string | undefined
  #now: PassRecord | undefined

  constructor(recorder: Recorder, layers: readonly Configured[], at: Place, query: Query) {
    this.recorder = recorder
    this.#layers = layers
    this.#at = at
    this.#query = query
    this.#begun = recorder.now()
    const end: Handler = (asked) => refuse(asked)
    const handlers = layers.map(({ layer, directive }) =>
      this.#noted(directive.name, directive.at, layer.handle!.bind(layer), layer.reach?.zones)
    )
    const observe: Layer['observe'] = (_query, { error }) => {
      if (error !== undefined) this.#fault = thrownText(error)
    }
    this.chain = { run: compose([...handlers, this.#noted('', at, end)]), observers: [{ observe }], tellsErrors: true }
  }

  /** What was noted until now. */
  get told(): Pass {
    const fault = this.#fault
    const steps = this.#steps.map((step) => step.told(questionOf(this.#query)))
    const isSaid = steps.some(({ did, notes }) => did === 'failed' && notes.some((note) => note === fault))
    return {
      question: questionOf(this.#query),
      zone: this.#query.zone,
      at: shownPlace(this.#at),
      steps,
      behind: this.#unseen.map(({ directive }) => directive.name),
      ...(this.#now !== undefined && { now: this.#now.told }),
      ...(fault !== undefined && !isSaid && { fault }),
      took: rounded(Math.max(...this.#steps.map(({ ended }) => ended)) - this.#begun)
    }
  }

  /**
   * A cache knows hashes of keys alone. Where one has answered, here or in a look-up, the layers behind it are asked: they name the
   * keys by reading them again.
   */
  async askBehind(): Promise<void> {
    if (this.told.steps.some(({ from }) => from?.kind === 'cache' && from.unnamedKeys !== undefined)) {
      const { qname, qtype } = this.#query
      // A question of its own: what the cache and the layers before it have noted of the other one is not for those behind.
      const query = this.#query.ask(qname, qtype)
      this.#now = new PassRecord(this.recorder, this.#unseen, this.#at, query)
      try {
        await this.#now.chain.run(query)
      } catch {
        // The step that failed says so.
      }
    }
    for (const step of this.#steps) for (const lookUp of step.lookUps) await lookUp.askBehind()
  }

  get #unseen(): Configured[] {
    const seen = new Set(this.#steps.map(({ at }) => at))
    return this.#layers.filter(({ directive }) => !seen.has(directive.at))
  }

  #noted(layer: string, at: Place, handle: Handler, zones?: readonly string[]): Handler {
    return (query, next) => {
      const step = new StepRecord(this.recorder, layer, at, query, zones)
      this.#steps.push(step)
      return step.run(handle, query, next)
    }
  }
}

/** A layer that has a query; as the query's trace it takes the look-ups that are made for it. */
export class StepRecord implements Trace {
  readonly recorder: Recorder
  readonly at: Place
  readonly #layer: string
  readonly #query: Query
  readonly #begun: number
  readonly #received: Reply[] = []
  readonly #asked: Query[] = []
  readonly lookUps: PassRecord[] = []
  readonly #isElsewhere: boolean
  readonly #traceBefore: StoreTrace | undefined
  /** What it has read of the store to decide whether to pass the query on. */
  #read: Origin | undefined
  #behindMs = 0
  #ended: number | undefined
  #reply: Reply | undefined
  #failure: string | undefined

  /** `zones` are those that the layer says it is for. */
  constructor(recorder: Recorder, layer: string, at: Place, query: Query, zones: readonly string[] | undefined) {
    this.recorder = recorder
    this.at = at
    this.#isElsewhere = zones !== undefined && query.within(zones) === undefined
    this.#layer = layer
    this.#query = query
    this.#begun = recorder.now()
    this.#traceBefore = query.get(storeReads)
  }

  now(): number {
    return this.recorder.now()
  }

  /** When it gave its reply; now, where it has not. */
  get ended(): number {
    return this.#ended ?? this.now()
  }

  /** Notes a look-up of the server for itself. */
  lookUp(built: BuiltChain, query: Query): Chain {
    const pass = this.recorder.pass(built, query)
    this.lookUps.push(pass)
    return pass.chain
  }

  run(handle: Handler, query: Query, next: Next): MaybePromise<Reply> {
    return this.#settle(
      () => handle(query.traced(this), (asked) => this.#ask(asked, next)),
      (reply) => {
        this.#reply = reply
        // Layers behind it note what they read in the same place.
        if (this.#asked.length === 0) this.#noteReads(query)
        if (!(reply instanceof Message) && reply !== drop) this.#failure = NO_REPLY
      },
      (error) => {
        this.#failure = thrownText(error)
      },
      () => {
        this.#ended = this.now()
      }
    )
  }

  #ask(asked: Query, next: Next): MaybePromise<Reply> {
    const begun = this.now()
    this.#asked.push(asked)
    this.#noteReads(asked)
    return this.#settle(
      () => next(asked),
      (reply) => this.#received.push(reply),
      () => {},
      () => {
        this.#behindMs += this.now() - begun
      }
    )
  }

  /** Synchronous where `run` is. */
  #settle(
    run: () => MaybePromise<Reply>,
    came: (reply: Reply) => void,
    failed: (error: unknown) => void,
    ended: () => void
  ): MaybePromise<Reply> {
    const end = (reply: Reply): Reply => {
      ended()
      came(reply)
      return reply
    }
    const fail = (error: unknown): never => {
      ended()
      failed(error)
      throw error
    }
    let reply: MaybePromise<Reply>
    try {
      reply = run()
    } catch (error) {
      return fail(error)
    }
    return isPromiseLike(reply) ? Promise.resolve(reply).then(end, fail) : end(reply)
  }

  #noteReads(query: Query): void {
    const trace = query.get(storeReads)
    if (trace === undefined || trace === this.#traceBefore) return
    const before = this.#traceBefore?.reads ?? []
    this.#read = { kind: 'store', revision: trace.revision, reads: trace.reads.filter((hash) => !before.includes(hash)) }
  }

  told(asked: string): Step {
    const reply = this.#reply
    const message = reply instanceof Message ? reply : undefined
    const own = questionOf(this.#query)
    const did = this.#did()
    // What it handed on was said, and is told of, by a layer behind it.
    const said = message !== undefined && this.#isOwn(message) ? message : undefined
    const from = this.recorder.sourceOf(said?.origin === undefined ? this.#read : withReads(said.origin, this.#read))
    return {
      layer: this.#layer,
      at: shownPlace(this.at),
      ...(own !== asked && { question: own }),
      did,
      ...(said?.why !== undefined && { why: thrownText(said.why) }),
      notes: this.#notes(message),
      took: rounded(Math.max(0, this.ended - this.#begun - this.#behindMs)),
      ...(from !== undefined && { from }),
      lookUps: this.lookUps.map(({ told }) => told)
    }
  }

  /** Whether a reply is not, by its reason, one that came from behind. */
  #isOwn(reply: Message): boolean {
    return this.#received.every((other) => typeof other !== 'object' || other.why !== reply.why)
  }

  #did(): Step['did'] {
    if (this.#failure !== undefined) return 'failed'
    if (this.#ended === undefined) return 'is waiting'
    const reply = this.#reply
    if (typeof reply === 'symbol' && !this.#received.includes(reply)) return 'sent nothing'
    if (this.#received.length === 0) return 'answered'
    if (!this.#received.some((other) => isSame(other, reply))) return 'changed the answer'
    return this.#asked.some((query) => questionOf(query) !== questionOf(this.#query)) ? 'changed the question' : 'passed on'
  }

  #notes(reply: Message | undefined): string[] {
    const others = this.#asked.map(questionOf).filter((asked) => asked !== questionOf(this.#query))
    const last = this.#received.at(-1)
    return [
      ...(this.#failure === undefined ? [] : [this.#failure]),
      ...(reply?.problem === undefined || this.#received.includes(reply) ? [] : [thrownText(reply.problem)]),
      ...(this.#isElsewhere && this.#did() === 'passed on' ? ['the name is in none of its zones'] : []),
      ...others.map((asked) => `asked ${asked} of the layers behind it`),
      ...(reply === undefined || typeof last !== 'object' || last === reply ? [] : difference(last, reply))
    ]
  }
}

function isSame(one: Reply, other: Reply | undefined): boolean {
  return one === other || (typeof one === 'object' && typeof other === 'object' && difference(one, other).length === 0)
}

/** An answer of somebody else rests on what was read to ask him as well. */
function withReads(origin: Origin, read: Origin | undefined): Origin {
  return read === undefined ? origin : { ...read, ...origin, reads: [...(origin.reads ?? []), ...(read.reads ?? [])] }
}

/** `name TYPE`, with the class where that is not IN. */
export function questionOf({ question: { qname, qtype, qclass } }: Query): string {
  return `${qname} ${typeName(qtype)}${qclass === 1 ? '' : ` ${className(qclass)}`}`
}

function shownPlace({ file, line }: Place): string {
  return `${file}:${line}`
}

/** To a microsecond. */
export function rounded(milliseconds: number): number {
  return Math.round(milliseconds * 1000) / 1000
}
