import type { Asked } from './message/gate.js'
import {
  AA,
  AD,
  CD,
  type ExtendedError,
  extendedErrorsOf,
  Message,
  type MessageParts,
  OPCODE,
  type Origin,
  QR,
  RA,
  RD
} from './message/message.js'
import { FormatError, HEADER_OCTETS, nameOctets, RecordError } from './message/name.js'
import { Question, type Source } from './message/question.js'
import { Edns } from './message/read.js'
import type { ResourceRecord } from './message/record.js'
import { className, type Rcode, type RRClass, type RRType, typeName, typeNumber } from './message/registry.js'
import { Writer } from './message/writer.js'

/** Who asked, and how. */
export interface Client {
  readonly address: string
  readonly port: number
  readonly transport: 'udp' | 'tcp' | 'tls' | 'https' | 'quic'
  /** Our address that was asked. */
  readonly local: string
  /** What the server listens on there, by the Corefile, where that is known: `127.0.0.1:53`, `[::1]:53`, `:53` for all addresses. */
  readonly endpoint?: string
}

/** `127.0.0.1:53`, `[::1]:53`. */
export function shownAddress(address: string, port: number): string {
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`
}

/** A named, typed place for one per-query value, such as `cache/hit`. */
export interface Fact<T> {
  readonly name: string
  /** Never set: carries the type. */
  readonly type?: T
}

/** Makes a fact's key; the part before the slash is the plugin that sets it. */
export function fact<T>(name: `${string}/${string}`): Fact<T> {
  return { name }
}

/** What a reply made by a plugin says. Records may leave out their class: it is the query's. */
export interface ReplyParts {
  readonly rcode?: Rcode
  readonly aa?: boolean
  readonly ra?: boolean
  readonly answer?: readonly ResourceRecord[]
  readonly authority?: readonly ResourceRecord[]
  readonly additional?: readonly ResourceRecord[]
  readonly extendedErrors?: readonly ExtendedError[]
  readonly origin?: Origin
  readonly why?: string
  /** What went wrong, for the log; the client does not see it. */
  readonly problem?: string
  /** Whether the client is told that its CO flag was understood. */
  readonly compactOk?: boolean
}

/** Everything about a query that a plugin may change for the layers after it. */
export interface QueryChanges {
  /** Canonical. */
  readonly qname?: string
  readonly qtype?: RRType
  readonly client?: Client
  readonly zone?: string
}

/** In a query that is explained, and in all that it asks for: whoever explains notes there what becomes of it. */
export interface Trace {
  /** Milliseconds, as `clock.monotonic()`. */
  now(): number
}

/** Facts of a query. Most have one or none, for which a map would be dear. */
class Facts {
  #name = ''
  #value: unknown
  #others: Map<string, unknown> | undefined

  get(name: string): unknown {
    return name === this.#name ? this.#value : this.#others?.get(name)
  }

  set(name: string, value: unknown): void {
    if (this.#name === '') this.#name = name
    if (name === this.#name) this.#value = value
    else {
      this.#others ??= new Map()
      this.#others.set(name, value)
    }
  }
}

/** Room for a header, a question and an OPT record without options. */
const QUERY_OCTETS = HEADER_OCTETS + 255 + 4 + 11
const DO = 0x8000
/** How deep look-ups of the server for itself may go, one inside of another. */
export const MAX_DEPTH = 8

const writer = new Writer()

/** One question of one client, as every plugin is handed it. Never changed: a changed query is a new one. */
export class Query {
  readonly question: Question
  readonly client: Client
  /** Apex of the server block's zone that it was routed to. */
  readonly zone: string
  readonly edns: Edns | undefined
  /** The header's bits as asked. */
  readonly flags: number
  /** How many look-ups of the server for itself this one is inside of; 0 for a client's. */
  readonly depth: number
  /** The ID that the client chose. */
  readonly id: number
  /** The octets of the request; 0 for what the server asks itself. */
  readonly size: number
  /** Set where somebody explains it. */
  readonly trace: Trace | undefined
  /** When it came, as `clock.monotonic()`; of a client's own question alone. */
  readonly since: number | undefined
  /** Who has the octets that it is read from, if somebody may take them away. */
  readonly #source: Source | undefined
  #facts: Facts | undefined
  #qtype: RRType | undefined

  constructor(
    question: Question,
    client: Client,
    zone: string,
    flags: number,
    edns: Edns | undefined,
    depth = 0,
    id = 0,
    size = 0,
    trace?: Trace,
    source?: Source,
    since?: number
  ) {
    this.question = question
    this.client = client
    this.zone = zone
    this.flags = flags
    this.edns = edns
    this.depth = depth
    this.id = id
    this.size = size
    this.trace = trace
    this.#source = source
    this.since = since
  }

  /** The query of a request that passed the header gate. */
  static fromRequest({ source, question, edns, flags, id, size }: Asked, client: Client, zone: string, since?: number): Query {
    return new Query(question, client, zone, flags, edns, 0, id, size, undefined, source, since)
  }

  /**
   * This query, to be used for as long as anybody likes. Before that, one that a client has sent must not be used any more once
   * the layer that was given it has returned a reply: its octets are another's then. Layers that do not say `inPlace` need not care.
   */
  keep(): this {
    this.#source?.keep?.()
    return this
  }

  /** Whether somebody keeps it: what he asks for may then be looked at late as well, such as behind an `await`. */
  get isKept(): boolean {
    return this.#source?.isKept !== false
  }

  /** The name asked for: canonical, lower case. */
  get qname(): string {
    return this.question.qname
  }

  get qtype(): RRType {
    this.#qtype ??= typeName(this.question.qtype)
    return this.#qtype
  }

  get qclass(): RRClass {
    return className(this.question.qclass)
  }

  get rd(): boolean {
    return (this.flags & RD) !== 0
  }

  get cd(): boolean {
    return (this.flags & CD) !== 0
  }

  /** The DO bit (RFC 3225). */
  get dnssecOk(): boolean {
    return this.edns?.dnssecOk ?? false
  }

  /** The CO flag beside DO (RFC 9824 §5.1): whether NXDOMAIN may go with a compact denial. */
  get compactOk(): boolean {
    return this.edns?.compactOk ?? false
  }

  /** Whether the asker understands the AD bit (RFC 6840 §5.8). */
  get wantsAd(): boolean {
    return this.dnssecOk || (this.flags & AD) !== 0
  }

  get<T>(key: Fact<T>): T | undefined {
    return this.#facts?.get(key.name) as T | undefined
  }

  set<T>(key: Fact<T>, value: T): void {
    this.#facts ??= new Facts()
    this.#facts.set(key.name, value)
  }

  /** The apex in `apexes` with the most labels that the qname is within, or undefined. */
  within(apexes: readonly string[]): string | undefined {
    let best: string | undefined
    for (const apex of apexes) if ((best === undefined || apex.length > best.length) && this.#isWithin(apex)) best = apex
    return best
  }

  #isWithin(apex: string): boolean {
    return apex === '.' || this.question.isBelow(octetsOf(apex))
  }

  /** A reply with these parts; NOERROR, no flags and empty sections where left out. RD and CD are the asker's. `origin` may stand apart. */
  reply(parts: ReplyParts, origin = parts.origin): Message {
    const flags = QR | (this.flags & (RD | CD)) | (parts.aa === true ? AA : 0) | (parts.ra === true ? RA : 0)
    return Message.made(flags, this.#classed(parts), origin)
  }

  /** An empty reply that says why there is nothing. */
  fail(rcode: Rcode, why: string, about: Pick<ReplyParts, 'ra' | 'extendedErrors' | 'problem' | 'origin'> = {}): Message {
    return this.reply({ rcode, why, ...about })
  }

  /** The same query for the layers after this one, but for the changes. Facts are shared. */
  with(changes: QueryChanges): Query {
    this.#facts ??= new Facts()
    const query = this.#derived(changes, this.flags, this.edns, this.depth)
    query.#facts = this.#facts
    return query
  }

  /** This query as the server asks itself: one deeper, in that zone. Facts are shared. */
  inside(zone: string): Query {
    this.#facts ??= new Facts()
    const query = this.#derived({ zone }, this.flags, this.edns, this.depth + 1)
    query.#facts = this.#facts
    return query
  }

  /** The same query, explained to somebody else. Facts are shared. */
  traced(trace: Trace): Query {
    this.#facts ??= new Facts()
    const query = this.#derived({}, this.flags, this.edns, this.depth, trace)
    query.#facts = this.#facts
    return query
  }

  /** Another question on behalf of this query, for `host.resolve`: with RD, without the asker's EDNS but for DO. */
  ask(qname: string, qtype: RRType): Query {
    const { edns } = this
    const own = edns?.dnssecOk ? Edns.of(edns.size, true) : undefined
    return this.#derived({ qname, qtype }, this.flags | RD, own, this.depth)
  }

  /** This question as a message to another server: the asker's RD, CD and AD, and where `edns` is given an OPT record without options. */
  octets(id: number, edns?: Pick<Edns, 'size' | 'dnssecOk'>): Uint8Array {
    writer.begin(new Uint8Array(QUERY_OCTETS), QUERY_OCTETS, id, this.flags & (RD | CD | AD))
    writer.question(this.question.octets)
    if (edns !== undefined && writer.opt(edns.size, 0, edns.dnssecOk ? DO : 0, [])) writer.count(10, 1)
    return writer.octets.subarray(0, writer.at)
  }

  /** Whether received octets are a response to this question; the ID is the receiver's to check. Throws FormatError where their question cannot be read. */
  isAnsweredBy(octets: Uint8Array): boolean {
    return octets.length >= HEADER_OCTETS && this.#isAnsweredBy(Message.fromOctets(octets))
  }

  /**
   * A response that another server gave to this question, read to its last octet, with the reasons that the server gives (RFC 8914).
   * Throws FormatError where it is malformed, or answers another question.
   */
  received(octets: Uint8Array, about: Pick<MessageParts, 'origin' | 'why'> = {}): Message {
    // The reasons are known once the message is read, which is not to be read again for them: filled in before anybody sees it.
    const extendedErrors: ExtendedError[] = []
    const message = octets.length < HEADER_OCTETS ? undefined : Message.fromOctets(octets, { ...about, extendedErrors })
    if (message === undefined || !this.#isAnsweredBy(message)) throw new FormatError('a reply to another question')
    // Reads it all now, so that nothing of it throws later on.
    extendedErrors.push(...extendedErrorsOf(message.edns))
    return message
  }

  #isAnsweredBy(message: Message): boolean {
    if ((message.flags & (QR | OPCODE)) !== QR) return false
    const { qname, qtype, qclass } = message.question
    return qname === this.qname && qtype === this.question.qtype && qclass === this.question.qclass
  }

  #derived(changes: QueryChanges, flags: number, edns: Edns | undefined, depth: number, trace = this.trace): Query {
    const { question: own } = this
    const { qname, qtype } = changes
    const number = qtype === undefined ? own.qtype : numberOf(qtype)
    const isOwn = number === own.qtype && (qname === undefined || qname === own.name)
    const question = isOwn ? own : Question.of(qname ?? own.name, number, own.qclass)
    const { client = this.client, zone = this.zone } = changes
    return new Query(question, client, zone, flags, edns, depth, this.id, this.size, trace, this.#source)
  }

  #classed(parts: ReplyParts): ReplyParts {
    if (this.question.qclass === 1) return parts
    const inClass = (records: readonly ResourceRecord[] | undefined): readonly ResourceRecord[] =>
      (records ?? []).map((record) => (record.class === undefined ? { ...record, class: this.qclass } : record))
    return { ...parts, answer: inClass(parts.answer), authority: inClass(parts.authority), additional: inClass(parts.additional) }
  }
}

/** Zones in wire format; the configuration has few. */
const MOST_KNOWN = 1000
const knownZones = new Map<string, Uint8Array>()

function octetsOf(apex: string): Uint8Array {
  let octets = knownZones.get(apex)
  if (octets === undefined) {
    octets = nameOctets(apex)
    if (knownZones.size < MOST_KNOWN) knownZones.set(apex, octets)
  }
  return octets
}

function numberOf(qtype: RRType): number {
  const number = typeNumber(qtype)
  if (number === undefined) throw new RecordError(`there is no type ${JSON.stringify(qtype)}`)
  return number
}
