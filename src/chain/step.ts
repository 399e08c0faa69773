/** What one layer did with a query, noted from outside. */
import { type Place, placeText } from '../corefile/directive.js'
import { Message, type Origin } from '../message/message.js'
import { thrownText } from '../message/one-line.js'
import { className, typeName } from '../message/registry.js'
import { drop, type Handler, isPromiseLike, type MaybePromise, type Next, type Reply, type StoreTrace, storeReads } from '../plugin.js'
import type { Query, Trace } from '../query.js'
import type { BuiltChain } from './build.js'
import type { Chain } from './compose.js'
import { difference } from './difference.js'
import type { PassRecord, Recorder } from './recorder.js'

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

/** A layer that has a query; as the query's trace it takes the look-ups that are made for it. */
export class StepRecord implements Trace {
  readonly recorder: Recorder
  readonly at: Place
  readonly #layer: string
  readonly #query: Query
  readonly #begun: number
  readonly #asked: Behind[] = []
  /** What had come from behind when it gave its reply: what comes later is for another time. */
  #received: readonly Behind[] = []
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
    return settling(
      () => handle(query.traced(this), (asked) => this.#ask(asked, next)),
      (outcome) => {
        this.#ended = this.now()
        if ('error' in outcome) {
          this.#failure = thrownText(outcome.error)
          return
        }
        this.#reply = outcome.reply
        this.#received = this.#asked.filter((behind) => behind.reply !== undefined)
        // Layers behind it note what they read in the same place.
        if (this.#asked.length === 0) this.#noteReads(query)
        if (!isReply(outcome.reply)) this.#failure = 'it returned no reply'
      }
    )
  }

  #ask(asked: Query, next: Next): MaybePromise<Reply> {
    const begun = this.now()
    const behind: Behind = { query: asked, reply: undefined }
    this.#asked.push(behind)
    this.#noteReads(asked)
    return settling(
      () => next(asked),
      (outcome) => {
        this.#behindMs += this.now() - begun
        behind.reply = 'error' in outcome ? 'failed' : outcome.reply
      }
    )
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
      at: placeText(this.at),
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
    return this.#received.every(({ reply: other }) => !(other instanceof Message) || other.why !== reply.why)
  }

  #did(): Step['did'] {
    if (this.#failure !== undefined) return 'failed'
    if (this.#ended === undefined) return 'is waiting'
    const reply = this.#reply
    if (typeof reply === 'symbol' && !this.#received.some((behind) => behind.reply === reply)) return 'sent nothing'
    if (this.#received.length === 0) return 'answered'
    const given = this.#received.filter((behind) => isSame(behind.reply, reply))
    if (given.length === 0) return 'changed the answer'
    return given.some(({ query }) => questionOf(query) === questionOf(this.#query)) ? 'passed on' : 'changed the question'
  }

  #notes(reply: Message | undefined): string[] {
    const last = this.#received.at(-1)?.reply
    const wasHanded = this.#received.some((behind) => behind.reply === reply)
    return [
      ...(this.#failure === undefined ? [] : [this.#failure]),
      ...(reply?.problem === undefined || wasHanded ? [] : [thrownText(reply.problem)]),
      ...(this.#isElsewhere && this.#did() === 'passed on' ? ['the name is in none of its zones'] : []),
      ...this.#asked.flatMap((behind) => this.#askedBehind(behind)),
      ...(reply !== undefined && last instanceof Message && this.#did() === 'changed the answer' ? difference(last, reply) : [])
    ]
  }

  /** What it asked of the layers behind it that is not just its own question, and what became of that. */
  #askedBehind(behind: Behind): string[] {
    const [asked, { client }] = [questionOf(behind.query), behind.query]
    const as = client.address === this.#query.client.address ? '' : ` as ${client.address}`
    const question = asked === questionOf(this.#query) ? '' : ` ${asked}`
    const [hasFailed, isLate] = [behind.reply === 'failed', this.#ended !== undefined && !this.#received.includes(behind)]
    if (this.#failure !== undefined || !(question || as || hasFailed || isLate)) return []
    return [`asked${question} of the layers behind it${as}${hasFailed ? ', which failed' : isLate ? ', and did not wait' : ''}`]
  }
}

/** A question to the layers behind one, and what they gave; nothing yet where left undefined. */
interface Behind {
  readonly query: Query
  reply: Reply | 'failed' | undefined
}

/** What a layer gave, be it a reply or not. */
type Outcome = { readonly reply: Reply } | { readonly error: unknown }

/** Runs, and tells of the outcome before anybody else has it. Synchronous where `run` is. */
function settling(run: () => MaybePromise<Reply>, settled: (outcome: Outcome) => void): MaybePromise<Reply> {
  const end = (reply: Reply): Reply => {
    if (reply instanceof Message) reply.keep()
    settled({ reply })
    return reply
  }
  const fail = (error: unknown): never => {
    settled({ error })
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

/** A plugin in plain JavaScript may return anything. */
function isReply(reply: unknown): reply is Reply {
  return reply === drop || reply instanceof Message
}

function isSame(one: Behind['reply'], other: Reply | undefined): boolean {
  return one === other || (one instanceof Message && other instanceof Message && difference(one, other).length === 0)
}

/** An answer of somebody else rests on what was read to ask him as well. */
function withReads(origin: Origin, read: Origin | undefined): Origin {
  return read === undefined ? origin : { ...read, ...origin, reads: [...(origin.reads ?? []), ...(read.reads ?? [])] }
}

/** `name TYPE`, with the class where that is not IN. */
export function questionOf({ question: { qname, qtype, qclass } }: Query): string {
  return `${qname} ${typeName(qtype)}${qclass === 1 ? '' : ` ${className(qclass)}`}`
}

/** To a microsecond. */
export function rounded(milliseconds: number): number {
  return Math.round(milliseconds * 1000) / 1000
}
