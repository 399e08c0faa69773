/** What a chain does with one query, noted layer by layer from outside: the layers know nothing of it. */
import { type Place, placeText } from '../corefile/directive.js'
import type { Origin } from '../message/message.js'
import { thrownText } from '../message/one-line.js'
import type { Handler, Layer } from '../plugin.js'
import type { Query } from '../query.js'
import { WHOLE } from '../store/reading.js'
import type { BuiltChain, Configured } from './build.js'
import { type Chain, classesOf, compose, refuse, seesClass } from './compose.js'
import { type Pass, questionOf, rounded, type Source, StepRecord } from './step.js'

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
    const layers = configured.filter(({ layer, plugin }) => layer.handle !== undefined && seesClass(classesOf(plugin), qclass))
    return new PassRecord(this, layers, at, query)
  }

  sourceOf(origin: Origin | undefined): Source | undefined {
    if (origin === undefined || origin.kind === 'none') return undefined
    const { kind, revision, upstream, rtt, since } = origin
    const reads = [...new Set(origin.reads)]
    const keys = [...new Set(reads.flatMap((hash) => this.#nameKey(hash) ?? []))]
    const unnamed = reads.filter((hash) => hash !== WHOLE && this.#nameKey(hash) === undefined).length
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
      at: placeText(this.#at),
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
