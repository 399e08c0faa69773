/** What a plugin's tests need, `skein/testing`: a whole server without a socket, with time and store in the test's hands. */
import type { ProcessServices, Stores } from './chain/scope.js'
import { parseCorefile } from './corefile/parser.js'
import type { Receive, Slot } from './listen/slot.js'
import { AA, AD, CD, Message, QR, RA, RD, TC } from './message/message.js'
import { shownRecord } from './message/presentation.js'
import { decodes } from './message/read.js'
import { classNumber, type Rcode, typeNumber } from './message/registry.js'
import { type EdnsOption, questionOctets, Writer } from './message/writer.js'
import type { Clock, Log, Random, Store } from './plugin.js'
import { buildInstance, type Instance } from './process/instance.js'
import { PromRegistry } from './process/metrics.js'
import { Sharing } from './process/shares.js'
import type { Client } from './query.js'
import { MemoryStore } from './store/memory.js'
import { traced } from './store/reading.js'

export { Message } from './message/message.js'
export { Question } from './message/question.js'
export { MemoryStore } from './store/memory.js'
export {
  addressRecord,
  type FakeUpstream,
  fakeUpstream,
  prefixed,
  questionOctets,
  type ReplyOptions,
  recordOctets,
  replyTo,
  type UpstreamActs,
  type UpstreamAsked
} from './upstream/fake-upstream.js'
export { decodes }

/** A clock that stands still until a test moves it. */
export class TestClock implements Clock {
  #now: number
  #timers: { at: number; fire: () => void }[] = []

  constructor(now = Date.UTC(2026, 0, 1)) {
    this.#now = now
  }

  now(): number {
    return this.#now
  }

  monotonic(): number {
    return this.#now
  }

  after(milliseconds: number, fire: () => void): { cancel(): void } {
    const timer = { at: this.#now + milliseconds, fire }
    this.#timers.push(timer)
    return {
      cancel: () => {
        this.#timers = this.#timers.filter((other) => other !== timer)
      }
    }
  }

  /** Moves time on, and fires what is due, in order. */
  advance(milliseconds: number): void {
    const until = this.#now + milliseconds
    for (;;) {
      const [next] = this.#timers.filter(({ at }) => at <= until).sort((a, b) => a.at - b.at)
      if (next === undefined) break
      this.#timers = this.#timers.filter((timer) => timer !== next)
      this.#now = Math.max(this.#now, next.at)
      next.fire()
    }
    this.#now = until
  }
}

/** Keeps the lines that are written. */
export class TestLog implements Log {
  readonly lines: string[] = []
  readonly format: 'text' | 'json'
  #debug = false

  constructor(format: 'text' | 'json' = 'text') {
    this.format = format
  }

  showDebug(on: boolean): void {
    this.#debug = on
  }

  debug(text: string): void {
    if (this.#debug) this.lines.push(`[DEBUG] ${text}`)
  }

  info(text: string): void {
    this.lines.push(`[INFO] ${text}`)
  }

  warn(text: string): void {
    this.lines.push(`[WARNING] ${text}`)
  }

  error(text: string): void {
    this.lines.push(`[ERROR] ${text}`)
  }

  line(text: string): void {
    this.lines.push(text)
  }
}

/** What a test may put in place of the real thing. */
export interface TestOptions {
  /** Paths and values of the service store, objects as JSON; or a store that the test changes while it runs. */
  readonly services?: Readonly<Record<string, unknown>> | MemoryStore
  readonly clock?: Clock
  readonly random?: Random
  /** Where the Corefile is said to be. */
  readonly file?: string
  /** What lines are, as the flag -log-format has it. */
  readonly logFormat?: 'text' | 'json'
}

/** How a question is asked. */
export interface AskOptions {
  readonly client?: Partial<Client>
  /** The advertised UDP size; no OPT record where left out. */
  readonly edns?: number
  readonly dnssecOk?: boolean
  /** The CO flag (RFC 9824 §5.1); alone it means nothing. */
  readonly compactOk?: boolean
  readonly options?: readonly EdnsOption[]
  readonly rd?: boolean
  readonly flags?: number
  readonly id?: number
}

/** A reply as a client reads it. */
export interface Answer {
  readonly rcode: Rcode
  /** Those of aa tc rd ra ad cd that are set, in this order. */
  readonly flags: string
  /** The question's name as it came back. */
  readonly qname: string
  /** Records in presentation format. */
  readonly answer: readonly string[]
  readonly authority: readonly string[]
  readonly additional: readonly string[]
  readonly edns: Message['edns']
  readonly octets: Uint8Array
}

/** Builds and starts the server of a Corefile, listening nowhere. Stop it at the end of the test. */
export async function serverOf(corefile: string, options: TestOptions = {}): Promise<TestServer> {
  const log = new TestLog(options.logFormat)
  const metrics = new PromRegistry()
  const { services = {} } = options
  const store = services instanceof MemoryStore ? services : MemoryStore.of(services)
  const process: ProcessServices = {
    log,
    clock: options.clock ?? new TestClock(),
    random: options.random ?? { below: (limit) => Math.floor(Math.random() * limit) },
    metrics,
    stores: { lease: () => memoryStores(traced(() => store)) },
    shares: new Sharing(),
    version: 'Skein-test'
  }
  const file = options.file ?? 'Corefile'
  const instance = await buildInstance(parseCorefile(corefile, file).blocks, { services: process, file, defaultPort: 53 })
  await instance.start()
  return new TestServer(instance, log, metrics)
}

function memoryStores(store: Store): Stores {
  return { use: () => store, open: async () => {}, serve: () => {}, close: async () => {}, used: [], opened: [] }
}

/** A server that listens nowhere: a test hands it requests. */
export class TestServer {
  readonly instance: Instance
  readonly log: TestLog
  readonly #metrics: PromRegistry

  constructor(instance: Instance, log: TestLog, metrics: PromRegistry) {
    this.instance = instance
    this.log = log
    this.#metrics = metrics
  }

  /** What a counter stands at, all its labels together; undefined where nobody made it. */
  counter(name: string): number | undefined {
    const samples = this.#metrics.families().find((family) => family.name === name)?.samples
    const values = samples?.map(({ value }) => (typeof value === 'number' ? value : 0))
    return this.#metrics.counters.get(name)?.value ?? values?.reduce((sum, value) => sum + value, 0)
  }

  /** Everything that is counted, as Prometheus reads it. */
  metricsText(): Promise<string> {
    return this.#metrics.text()
  }

  /** Asks `name TYPE [CLASS]`. Fails where there is no reply. */
  async ask(question: string, options: AskOptions = {}): Promise<Answer> {
    const octets = await this.exchange(requestOctets(question, options), options.client)
    if (octets === undefined) throw new Error(`no reply to ${question}`)
    return readAnswer(octets)
  }

  /** Hands octets to the server as a client would; gives the reply's, or undefined for none. */
  exchange(octets: Uint8Array, client: Partial<Client> = {}): Promise<Uint8Array | undefined> {
    return new Promise((resolve) => {
      new TestSlot(octets, resolve, client).giveTo(this.instance.endpoints[0]!.receive)
    })
  }

  async stop(): Promise<void> {
    await this.instance.stop()
  }
}

const ANOTHER_REQUEST = 0x3f
const ANOTHER_CLIENT: Client = { address: '203.0.113.99', port: 9, transport: 'udp', local: '203.0.113.98' }

/** A request as a driver with few slots hands it over: once the handler has returned, what nobody has kept is overwritten. */
export class TestSlot implements Slot {
  readonly octets: Uint8Array
  readonly length: number
  readonly client: Client
  readonly #sent: (reply: Uint8Array | undefined) => void
  #out = Buffer.alloc(0)
  isKept = false
  #isSettled = false

  /** `sent` is called with the reply, or with undefined for none. */
  constructor(request: Uint8Array, sent: (reply: Uint8Array | undefined) => void, client: Partial<Client> = {}) {
    this.octets = Buffer.alloc(request.length + 100, ANOTHER_REQUEST)
    this.octets.set(request)
    this.length = request.length
    this.client = { address: '192.0.2.1', port: 4711, transport: 'udp', local: '127.0.0.1', ...client }
    this.#sent = sent
  }

  keep(): void {
    this.isKept = true
  }

  reserve(size: number): Uint8Array {
    this.#out = Buffer.alloc(size)
    return this.#out
  }

  send(length: number): void {
    this.#isSettled = true
    this.#sent(new Uint8Array(this.#out.subarray(0, length)))
  }

  drop(): void {
    this.#isSettled = true
    this.#sent(undefined)
  }

  /** Has it answered, now or later. */
  giveTo(receive: Receive): void {
    receive(this)
    if (this.isKept || !this.#isSettled) return
    this.octets.fill(ANOTHER_REQUEST)
    Object.assign(this.client, ANOTHER_CLIENT)
  }
}

/** Flags of an OPT record. */
const DO = 0x8000
const CO = 0x4000

/** The octets of a request for `name TYPE [CLASS]`. */
export function requestOctets(question: string, options: AskOptions = {}): Uint8Array {
  const [name = '.', type = 'A', klass = 'IN'] = question.split(' ')
  const { id = 1, rd = true, flags = 0, edns } = options
  const writer = new Writer()
  const octets = new Uint8Array(65535)
  writer.begin(octets, octets.length, id, (rd ? RD : 0) | flags)
  writer.question(questionOctets(name, typeNumber(type) ?? 0, classNumber(klass) ?? 0))
  const bits = (options.dnssecOk === true ? DO : 0) | (options.compactOk === true ? CO : 0)
  if (edns !== undefined || bits !== 0 || options.options !== undefined) {
    writer.opt(edns ?? 1232, 0, bits, options.options ?? [])
    writer.count(10, 1)
  }
  return octets.slice(0, writer.at)
}

/** Reads a reply; throws FormatError where it is malformed. */
export function readAnswer(octets: Uint8Array): Answer {
  const message = Message.fromOctets(octets)
  const bits = [
    ['aa', AA],
    ['tc', TC],
    ['rd', RD],
    ['ra', RA],
    ['ad', AD],
    ['cd', CD]
  ] as const
  if ((message.flags & QR) === 0) throw new Error('the reply has QR=0')
  return {
    rcode: message.rcode,
    flags: bits.flatMap(([name, bit]) => (message.flags & bit ? [name] : [])).join(' '),
    qname: message.question.name,
    answer: message.answer.map(shownRecord),
    authority: message.authority.map(shownRecord),
    additional: message.additional.map(shownRecord),
    edns: message.edns,
    octets
  }
}
