import { addressesShuffled, type ShuffleSource } from './address-sets.js'
import { FormatError, HEADER_OCTETS } from './name.js'
import { Question } from './question.js'
import { type Edns, readSections, type Sections, u16 } from './read.js'
import type { ResourceRecord } from './record.js'
import { type Rcode, rcodeName, rcodeNumber } from './registry.js'

/** The bits of a header's second word (RFC 1035 §4.1.1, RFC 4035 §3.1.6). */
export const QR = 0x8000
export const AA = 0x0400
export const TC = 0x0200
export const RD = 0x0100
export const RA = 0x0080
export const AD = 0x0020
export const CD = 0x0010
export const OPCODE = 0x7800

/** The EDNS option that carries an extended error (RFC 8914 §2). */
export const EXTENDED_ERROR = 15

/** An extended error (RFC 8914): the number of its meaning, and a text for people. */
export interface ExtendedError {
  readonly code: number
  readonly text?: string
}

/** Where a reply comes from; plain fields that cost nothing when nobody asks. */
export interface Origin {
  /** `store`, `upstream`, `static` … */
  readonly kind: string
  /** Hashes of the parts of the store that it rests on, see `store/reading.ts`. */
  readonly reads?: readonly number[]
  /** The store's revision when it was read. */
  readonly revision?: number
  readonly upstream?: string
  /** Milliseconds from the question to the upstream's answer; measured for a query that is explained. */
  readonly rtt?: number
  /** When it was kept, as `clock.monotonic()`; of what comes from a cache. */
  readonly since?: number
}

/** The extended errors among the options of an OPT record. */
export function extendedErrorsOf(edns: Edns | undefined): ExtendedError[] {
  const errors: ExtendedError[] = []
  for (const [code, payload] of edns?.options ?? []) {
    if (code !== EXTENDED_ERROR || payload.length < 2) continue
    errors.push({ code: u16(payload, 0), text: Buffer.from(payload.subarray(2)).toString('utf8') })
  }
  return errors
}

/** The extended errors among EDNS options that stand whole at [start, end). */
export function extendedErrorsIn(octets: Uint8Array, start: number, end: number): ExtendedError[] {
  const errors: ExtendedError[] = []
  for (let at = start; at < end; at += 4 + u16(octets, at + 2)) {
    const stop = at + 4 + u16(octets, at + 2)
    if (u16(octets, at) !== EXTENDED_ERROR || stop - at < 6) continue
    errors.push({ code: u16(octets, at + 4), text: Buffer.from(octets.subarray(at + 6, stop)).toString('utf8') })
  }
  return errors
}

/** What a message says, for {@link Message.of}. */
export interface MessageParts {
  /** Bits other than the rcode. */
  readonly flags: number
  readonly rcode?: Rcode
  readonly answer?: readonly ResourceRecord[]
  readonly authority?: readonly ResourceRecord[]
  readonly additional?: readonly ResourceRecord[]
  readonly extendedErrors?: readonly ExtendedError[]
  readonly origin?: Origin | undefined
  /** A short stable code of why it is so, e.g. `nodata`. */
  readonly why?: string | undefined
  /** What went wrong, for the log; the client does not see it. */
  readonly problem?: string | undefined
  /** Whether it tells the client that its CO flag was understood (RFC 9824 §5.1). */
  readonly compactOk?: boolean | undefined
}

const NONE: readonly ResourceRecord[] = []
const NO_ERRORS: readonly ExtendedError[] = []

/**
 * A DNS message: octets as they came, or parts as they were made. Nobody changes one: a changed message is a new one.
 * Octets are read into records at most once, when somebody first asks for them.
 */
export class Message {
  /** The octets it was received as; undefined where it was made here. Never change them. */
  readonly octets: Uint8Array | undefined
  /** The header's bits, with the lower four of the rcode. */
  readonly flags: number
  readonly why: string | undefined
  readonly #about: Pick<MessageParts, 'problem' | 'extendedErrors' | 'compactOk'>
  readonly #origin: Origin | undefined
  readonly #parts: Partial<MessageParts> | undefined
  #rcode: Rcode | undefined
  #question: Question | undefined
  #sections: Sections | undefined

  protected constructor(
    octets: Uint8Array | undefined,
    flags: number,
    about: Partial<MessageParts>,
    parts?: Partial<MessageParts>,
    origin = about.origin
  ) {
    this.octets = octets
    this.flags = flags
    this.why = about.why
    this.#about = about
    this.#origin = origin
    this.#parts = parts
    this.#rcode = about.rcode
  }

  /** A received message. Only its header is looked at; the rest throws FormatError when it is read and malformed. */
  static fromOctets(octets: Uint8Array, about: Pick<MessageParts, 'origin' | 'why' | 'extendedErrors'> = {}): Message {
    if (octets.length < HEADER_OCTETS) throw new FormatError('a message shorter than a header')
    return new Message(octets, u16(octets, 2), about)
  }

  /** A message made here; its question is the asker's. */
  static of(parts: MessageParts): Message {
    return Message.made(parts.flags, parts)
  }

  /** {@link Message.of}, where flags and origin stand apart: nothing is copied. */
  static made(flags: number, parts: Partial<MessageParts>, origin = parts.origin): Message {
    const rcode = parts.rcode === undefined ? 0 : rcodeNumber(parts.rcode) & 0xf
    return new Message(undefined, (flags & ~0xf) | rcode, parts, parts, origin)
  }

  /** The question of a received message; throws FormatError where it has not exactly one. */
  get question(): Question {
    if (this.#question === undefined) {
      const octets = this.#received()
      if (u16(octets, 4) !== 1) throw new FormatError('a message with no question, or several')
      this.#question = Question.read({ octets })
    }
    return this.#question
  }

  get origin(): Origin | undefined {
    return this.#origin
  }

  /** What went wrong, for the log; the client does not see it. */
  get problem(): string | undefined {
    return this.#about.problem
  }

  /** Whether it tells the client that its CO flag was understood (RFC 9824 §5.1). */
  get compactOk(): boolean {
    return this.#about.compactOk === true
  }

  get extendedErrors(): readonly ExtendedError[] {
    return this.#about.extendedErrors ?? NO_ERRORS
  }

  get rcode(): Rcode {
    this.#rcode ??= rcodeName((this.flags & 0xf) | ((this.edns?.extendedRcode ?? 0) << 4))
    return this.#rcode
  }

  get answer(): readonly ResourceRecord[] {
    return this.#parts === undefined ? (this.#read().answer as unknown as readonly ResourceRecord[]) : (this.#parts.answer ?? NONE)
  }

  /** Whether its answer section has records, which are not read for that. */
  get hasAnswer(): boolean {
    return this.#parts === undefined ? u16(this.#received(), 6) > 0 : (this.#parts.answer ?? NONE).length > 0
  }

  get authority(): readonly ResourceRecord[] {
    return this.#parts === undefined ? (this.#read().authority as unknown as readonly ResourceRecord[]) : (this.#parts.authority ?? NONE)
  }

  /** The additional section without the OPT record. */
  get additional(): readonly ResourceRecord[] {
    return this.#parts === undefined ? (this.#read().additional as unknown as readonly ResourceRecord[]) : (this.#parts.additional ?? NONE)
  }

  /** The OPT record of a received message; a reply made here gets its own when it is sent. */
  get edns(): Edns | undefined {
    return this.#parts === undefined ? this.#read().edns : undefined
  }

  /**
   * This message, to be used for as long as anybody likes. One out of a cache that a layer was given by `next` may be overwritten when
   * that layer has returned. Layers that do not say `inPlace` need not care.
   */
  keep(): Message {
    return this
  }

  /** This message with the members of each address set (RFC 2181 §5) in random order among the places that the set holds. */
  withAddressesShuffled(random: ShuffleSource): Message {
    const answer = addressesShuffled(this.answer, random)
    const additional = addressesShuffled(this.additional, random)
    if (answer === undefined && additional === undefined) return this
    return this.with({ answer: answer ?? this.answer, additional: additional ?? this.additional })
  }

  /** This message with other parts. What is left out stays. */
  with(changes: Partial<MessageParts>): Message {
    // Each part by its name: to spread them costs more than everything else here.
    const origin = changes.origin ?? this.origin
    return Message.made(
      changes.flags ?? this.flags & ~0xf,
      {
        rcode: changes.rcode ?? this.rcode,
        answer: changes.answer ?? this.answer,
        authority: changes.authority ?? this.authority,
        additional: changes.additional ?? this.additional,
        extendedErrors: changes.extendedErrors ?? this.extendedErrors,
        origin,
        why: changes.why ?? this.why,
        problem: changes.problem ?? this.problem,
        compactOk: changes.compactOk ?? this.compactOk
      },
      origin
    )
  }

  #received(): Uint8Array {
    if (this.octets === undefined) throw new FormatError('a message made here has no octets yet')
    return this.octets
  }

  #read(): Sections {
    this.#sections ??= readSections({ octets: this.#received() }, this.question.end)
    return this.#sections
  }
}
