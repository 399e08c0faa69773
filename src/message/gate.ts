/**
 * The header gate, the same for every transport: what is turned away before any plugin sees it
 * (RFC 1035 §4.1.1, RFC 9619, RFC 6891 §6.1.3, RFC 8906 §3).
 */
import { CD, OPCODE, QR, RD } from './message.js'
import { FormatError, HEADER_OCTETS } from './name.js'
import { Question, type Source } from './question.js'
import { type Edns, OptError, readFrame, u16 } from './read.js'
import { errorOptions, toldAs } from './reasons.js'
import { type EdnsOption, Writer } from './writer.js'

/** A request that passed: its question and its OPT record, read in place. */
export class Asked {
  readonly kind = 'asked'
  readonly source: Source
  /** The header's ID, and its bits. */
  readonly id: number
  readonly flags: number
  /** How many octets it has. */
  readonly size: number
  readonly question: Question
  readonly edns: Edns | undefined

  constructor(source: Source, size: number, question: Question, edns: Edns | undefined) {
    this.source = source
    this.id = u16(source.octets, 0)
    this.flags = u16(source.octets, 2)
    this.size = size
    this.question = question
    this.edns = edns
  }
}

/** `silence`: no message to answer. `refused`: `reply` goes out at once. Else the request. */
export type Accepted = Asked | { readonly kind: 'silence' } | { readonly kind: 'refused'; readonly reply: Uint8Array }

const SILENCE: Accepted = { kind: 'silence' }
const IXFR = 251

/** What is said to a request that is turned away: its rcode, and the reason where it has EDNS. */
interface Refusal {
  readonly rcode: number
  readonly options: readonly EdnsOption[]
}

const FORMERR: Refusal = { rcode: 1, options: errorOptions(toldAs('malformed')) }
const NOTIMP: Refusal = { rcode: 4, options: errorOptions(toldAs('not-implemented')) }
const BADVERS: Refusal = { rcode: 16, options: errorOptions(toldAs('edns-version')) }

/** Checks a request of `length` octets as it came. `udpSize` is what an error reply's OPT record advertises. Never throws. */
export function accept(source: Source, udpSize: number, length = source.octets.length): Accepted {
  const { octets } = source
  if (length < HEADER_OCTETS) return SILENCE
  const flags = u16(octets, 2)
  // Answering an answer would make a loop of two servers.
  if (flags & QR) return SILENCE
  let question: Question | undefined
  try {
    if (u16(octets, 4) === 1) question = Question.read(source, length)
    if (flags & OPCODE) return refused(source, length, NOTIMP, question, udpSize)
    if (question === undefined || !countsFit(octets, question.qtype)) return refused(source, length, FORMERR, question, udpSize)
    const edns = readFrame(source, length, question.end)
    if (edns !== undefined && edns.version !== 0) return refused(source, length, BADVERS, question, udpSize)
    return new Asked(source, length, question, edns)
  } catch (error) {
    if (!(error instanceof FormatError)) throw error
    // The rest of the header may be nonsense where the opcode is one that nobody here reads.
    return refused(source, length, flags & OPCODE ? NOTIMP : FORMERR, question, udpSize)
  }
}

/** Whether a request that is turned away has an OPT record, as far as that can be told: then its reply has one (RFC 6891 §6.1.1). */
function hasOpt(source: Source, length: number, question: Question | undefined): boolean {
  try {
    return u16(source.octets, 4) <= 1 && readFrame(source, length, question?.end ?? HEADER_OCTETS) !== undefined
  } catch (error) {
    if (!(error instanceof FormatError)) throw error
    return error instanceof OptError
  }
}

/** A query carries a question, at most OPT and TSIG or SIG(0), and in IXFR the asker's SOA (RFC 1995 §3). */
function countsFit(octets: Uint8Array, qtype: number): boolean {
  return u16(octets, 6) === 0 && u16(octets, 8) <= (qtype === IXFR ? 1 : 0) && u16(octets, 10) <= 2
}

/** Of what is said here: a header, the longest question, an OPT record and a reason; less than every client takes. */
const MOST_OCTETS = HEADER_OCTETS + 255 + 4 + 11 + 38

const writer = new Writer()

/** An empty reply with the question as far as it could be read, and an OPT record with the reason where the request has one. */
function refused(source: Source, length: number, { rcode, options }: Refusal, question: Question | undefined, udpSize: number): Accepted {
  const { octets } = source
  const reply = new Uint8Array(MOST_OCTETS)
  writer.begin(reply, reply.length, u16(octets, 0), QR | (u16(octets, 2) & (OPCODE | RD | CD)) | (rcode & 0xf))
  if (question !== undefined) writer.question(question.octets)
  if (hasOpt(source, length, question) && writer.opt(udpSize, rcode, 0, options)) writer.count(10, 1)
  return { kind: 'refused', reply: reply.subarray(0, writer.at) }
}
