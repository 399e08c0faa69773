/** What the server does with a question: each layer that saw it, what it decided and why, and where the data comes from. */
import { answer } from '../chain/answer.js'
import type { Chain } from '../chain/compose.js'
import { flagsOf } from '../chain/difference.js'
import { Recorder } from '../chain/recorder.js'
import { type Pass, rounded } from '../chain/step.js'
import { shownEndpoint } from '../listen/addresses.js'
import { type Asked as Accepted, accept } from '../message/gate.js'
import { type ExtendedError, extendedErrorsOf, Message } from '../message/message.js'
import { oneLine } from '../message/one-line.js'
import { shownRecord } from '../message/presentation.js'
import type { Clock } from '../plugin.js'
import { type Client, Query, shownAddress } from '../query.js'
import { type Key, shownKey } from '../store/key.js'
import { witnesses } from '../store/reading.js'
import { type Asked, type AskedAt, askedAt, clientAddressOf, requestOf } from './explain-question.js'
import type { Instance } from './instance.js'

/** What became of it. */
export interface Explained {
  /** `NAME TYPE`, and the class where that is not IN. */
  readonly question: string
  readonly client: string
  readonly do: boolean
  /** The address and port that was asked. */
  readonly at: string
  /** What the client would get; nothing where nothing is sent. */
  readonly reply?: ShownReply
  /** What the chain of the server block did; nothing where no server block has the name, or the header gate has answered. */
  readonly pass?: Pass
  /** Milliseconds. */
  readonly took: number
}

/** A reply as a client gets it. */
export interface ShownReply {
  readonly rcode: string
  readonly flags: readonly string[]
  readonly octets: number
  readonly answer: readonly string[]
  readonly authority: readonly string[]
  readonly additional: readonly string[]
  /** RFC 8914. */
  readonly extendedErrors: readonly ExtendedError[]
}

/** Clients have given up long before; whoever asks to have it explained waits for a minute. */
export const LONGEST_MS = 20_000

/** Asks the server a question as that client would, through a chain whose every step is noted. Throws ExplainError. */
export async function explain(instance: Instance, asked: Asked): Promise<Explained> {
  const { octets, shown } = requestOf(asked)
  const accepted = accept({ octets }, instance.serving.udpSize)
  const address = clientAddressOf(asked.client)
  const place = askedAt(instance.plan, asked.at, accepted.kind === 'asked' ? accepted.question.qname : '.', address)
  const at = shownAddress(place.endpoint.address, place.endpoint.port)
  const about = { question: shown, client: address, do: asked.do ?? false, at }
  if (accepted.kind === 'asked') return { ...about, ...(await explainAccepted(instance, accepted, place, address)) }
  return { ...about, ...(accepted.kind === 'refused' && { reply: shownReply(accepted.reply) }), took: 0 }
}

async function explainAccepted(
  instance: Instance,
  accepted: Accepted,
  place: AskedAt,
  address: string
): Promise<Pick<Explained, 'reply' | 'pass' | 'took'>> {
  const { clock } = instance.serving
  const begun = clock.monotonic()
  const routed = place.endpoint.routes.find(accepted.question)
  const query = Query.fromRequest(accepted, clientAt(address, place), routed?.apex ?? '.')
  const names = new Map<number, string>()
  const witness = (hash: number, key: Key): void => void names.set(hash, shownKey(key))
  witnesses.add(witness)
  try {
    const recorder = new Recorder(
      () => clock.monotonic(),
      (hash) => names.get(hash)
    )
    const pass = recorder.pass(routed?.block ?? { configured: [], at: { file: '', line: 0, column: 0 } }, query)
    const sent = await within(clock, sentTo(pass.chain, query, instance))
    const took = rounded(clock.monotonic() - begun)
    if (sent !== undefined) await within(clock, pass.askBehind())
    return {
      ...(sent !== undefined && { reply: shownReply(sent) }),
      ...(routed !== undefined && { pass: pass.told }),
      took
    }
  } finally {
    witnesses.delete(witness)
  }
}

/** What a chain sends to a client; undefined for nothing. */
function sentTo(chain: Chain, query: Query, { serving }: Instance): Promise<Uint8Array | undefined> {
  return new Promise((resolve) => {
    let out = new Uint8Array()
    const reserve = (size: number): Uint8Array => {
      out = new Uint8Array(size)
      return out
    }
    const send = (length: number): void => resolve(out.subarray(0, length))
    answer(chain, query, { reserve, send, drop: () => resolve(undefined) }, serving)
  })
}

/** A plugin may never come to an end; undefined where it has not in time. */
async function within<T>(clock: Clock, what: Promise<T>): Promise<T | undefined> {
  let timer: { cancel(): void } | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = clock.after(LONGEST_MS, () => resolve(undefined))
  })
  try {
    return await Promise.race([what, late])
  } finally {
    timer?.cancel()
  }
}

/** A client of that address, by UDP, with a port that no client has. */
function clientAt(address: string, { endpoint, local }: AskedAt): Client {
  return { address, port: 0, transport: 'udp', local, endpoint: shownEndpoint(endpoint.address, endpoint.port) }
}

function shownReply(octets: Uint8Array): ShownReply {
  const message = Message.fromOctets(octets)
  const { rcode, flags, answer: found, authority, additional, edns } = message
  return {
    rcode,
    flags: flagsOf(flags),
    octets: octets.length,
    answer: found.map(shownRecord),
    authority: authority.map(shownRecord),
    additional: additional.map(shownRecord),
    // They may be somebody else's words.
    extendedErrors: extendedErrorsOf(edns).map(({ code, text = '' }) => ({ code, text: oneLine(text) }))
  }
}
