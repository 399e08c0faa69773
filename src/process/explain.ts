/** What the server does with a question: each layer that saw it, what it decided and why, and where the data comes from. */
import { isIP } from 'node:net'
import { answer } from '../chain/answer.js'
import { flagsOf } from '../chain/difference.js'
import { type Pass, type PassRecord, Recorder, rounded } from '../chain/recorder.js'
import { isWildcard, localAddresses, shownEndpoint } from '../listen/addresses.js'
import { accept } from '../message/gate.js'
import { type ExtendedError, extendedErrorsOf, Message, RD } from '../message/message.js'
import { canonicalName } from '../message/name.js'
import { shownRecord } from '../message/presentation.js'
import { classNumber, typeNumber } from '../message/registry.js'
import { questionOctets, Writer } from '../message/writer.js'
import { type Client, Query, shownAddress } from '../query.js'
import type { Key } from '../store/key.js'
import { shownKey } from '../store/key.js'
import { witnesses } from '../store/reading.js'
import type { Instance } from './instance.js'
import type { PlannedEndpoint } from './plan.js'

/** A question to explain, in words as an operator gives them. */
export interface Asked {
  readonly name: string
  readonly type: string
  readonly class?: string | undefined
  /** An address, of this machine where left out. */
  readonly client?: string | undefined
  /** Whether the DO bit is set. */
  readonly do?: boolean | undefined
  /** `ADDRESS`, `ADDRESS:PORT` or `:PORT` that was asked; the first one that serves the name where left out. */
  readonly at?: string | undefined
}

/** A question that cannot be asked. The message is one line. */
export class ExplainError extends Error {
  override readonly name = 'ExplainError'
  readonly code = 'SKEIN_EXPLAIN'
}

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
  /** Where a cache has answered with what came from the store: what the layers behind it say now, and read. */
  readonly behind?: Pass
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

const UDP_SIZE = 1232
const DO = 0x8000
const REQUEST_OCTETS = 512

/** The question of a call. */
export function askedOf({ searchParams: given }: URL): Asked {
  const text = (name: string): string | undefined => given.get(name) ?? undefined
  return {
    name: given.get('name') ?? '',
    type: given.get('type') ?? 'A',
    class: text('class'),
    client: text('client'),
    do: ['1', 'true'].includes(given.get('do') ?? ''),
    at: text('at')
  }
}

/** Asks the server a question as that client would, through a chain whose every step is noted. Throws ExplainError. */
export async function explain(instance: Instance, asked: Asked): Promise<Explained> {
  const { octets, shown } = requestOf(asked)
  const accepted = accept(octets, instance.serving.udpSize)
  const address = addressOf(asked.client)
  const name = accepted.kind === 'asked' ? accepted.question.qname : '.'
  const endpoint = endpointOf(instance, asked.at, name, address)
  const at = shownAddress(endpoint.address, endpoint.port)
  const about = { question: shown, client: address, do: asked.do ?? false, at }
  const { clock } = instance.serving
  const begun = clock.monotonic()
  const took = (): number => rounded(clock.monotonic() - begun)
  if (accepted.kind !== 'asked')
    return { ...about, ...(accepted.kind === 'refused' && { reply: shownReply(accepted.reply) }), took: took() }
  const routed = endpoint.routes.find(accepted.question)
  const query = Query.fromRequest(accepted, clientAt(address, endpoint), routed?.apex ?? '.')
  const names = new Map<number, string>()
  const witness = (hash: number, key: Key): void => void names.set(hash, shownKey(key))
  witnesses.add(witness)
  try {
    const recorder = new Recorder(
      () => clock.monotonic(),
      (hash) => names.get(hash)
    )
    const pass = recorder.pass(routed?.block ?? { configured: [], at: { file: '', line: 0, column: 0 } }, query)
    const sent = await new Promise<Uint8Array | undefined>((resolve) => {
      let out = new Uint8Array()
      answer(
        pass.chain,
        query,
        {
          octets,
          reserve: (size) => {
            out = new Uint8Array(size)
            return out
          },
          send: (length) => resolve(out.subarray(0, length)),
          drop: () => resolve(undefined)
        },
        instance.serving
      )
    })
    const ended = took()
    const behind = await saidBehind(pass, Query.fromRequest(accepted, query.client, query.zone))
    return {
      ...about,
      ...(sent !== undefined && { reply: shownReply(sent) }),
      ...(routed !== undefined && { pass: pass.told }),
      ...(behind !== undefined && { behind }),
      took: ended
    }
  } finally {
    witnesses.delete(witness)
  }
}

/** A cache knows hashes of keys alone: whoever read them names them, by reading them again. */
async function saidBehind(pass: PassRecord, query: Query): Promise<Pass | undefined> {
  if (!pass.told.steps.some(({ from }) => from?.kind === 'cache' && from.unnamedKeys !== undefined)) return undefined
  const rest = pass.rest(query)
  try {
    await rest.chain.run(query)
  } catch {
    // The step that failed says so.
  }
  return rest.told
}

function requestOf({ name, type, class: klass = 'IN', do: dnssecOk = false }: Asked): { octets: Uint8Array; shown: string } {
  const qname = read(() => canonicalName(name), `a name such as www.example.org`, name)
  const qtype = read(() => typeNumber(type.toUpperCase()), 'a type such as A', type)
  const qclass = read(() => classNumber(klass.toUpperCase()), 'a class such as IN or CH', klass)
  const writer = new Writer()
  writer.begin(new Uint8Array(REQUEST_OCTETS), REQUEST_OCTETS, 0, RD)
  writer.question(questionOctets(name, qtype, qclass))
  if (writer.opt(UDP_SIZE, 0, dnssecOk ? DO : 0, [])) writer.count(10, 1)
  const shown = `${qname} ${type.toUpperCase()}${qclass === 1 ? '' : ` ${klass.toUpperCase()}`}`
  return { octets: writer.octets.slice(0, writer.at), shown }
}

function read<T>(make: () => T | undefined, expected: string, given: string): T {
  try {
    const made = make()
    if (made !== undefined) return made
  } catch {
    // What is wrong with it is less than what was expected.
  }
  throw new ExplainError(`explain: expected ${expected}, not ${JSON.stringify(given)}`)
}

function addressOf(client = '127.0.0.1'): string {
  if (isIP(client) === 0) throw new ExplainError(`explain: expected an address as client, not ${JSON.stringify(client)}`)
  return client
}

/** A client of that address, by UDP, with a port that no client has. */
function clientAt(address: string, { address: listens, port }: PlannedEndpoint): Client {
  const loopback = listens === '::' ? '::1' : '127.0.0.1'
  const local = isWildcard(listens) ? loopback : listens
  return { address, port: 0, transport: 'udp', local, endpoint: shownEndpoint(listens, port) }
}

/** The address that is asked: as said, or the first that has a server block for the name. */
function endpointOf({ plan }: Instance, at: string | undefined, qname: string, client: string): PlannedEndpoint {
  if (at === undefined) {
    const serving = plan.filter(({ routes }) => routes.find({ qname, qtype: 0 }) !== undefined)
    const first = serving.find(({ address }) => address.includes(':') === client.includes(':')) ?? serving[0] ?? plan[0]
    if (first === undefined) throw new ExplainError('explain: the server listens nowhere')
    return first
  }
  const found = plan.find(({ address, port }) => [address, shownAddress(address, port), `:${port}`].includes(at)) ?? wildcardFor(plan, at)
  if (found !== undefined) return found
  const known = plan.map(({ address, port }) => shownAddress(address, port)).join(', ')
  throw new ExplainError(`explain: expected an address that the server listens on, one of ${known}, not ${JSON.stringify(at)}`)
}

/** An address of this machine where a server block listens on all of them. */
function wildcardFor(plan: readonly PlannedEndpoint[], at: string): PlannedEndpoint | undefined {
  return plan.find(({ address, port }) => {
    if (!isWildcard(address)) return false
    const isV6 = address.includes(':')
    return localAddresses().some((local) => local.includes(':') === isV6 && [local, shownAddress(local, port)].includes(at))
  })
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
    extendedErrors: extendedErrorsOf(edns)
  }
}
