/** A question to explain, as it is asked in words, and the message and addresses that these stand for. */
import { isIP } from 'node:net'
import { domainToASCII } from 'node:url'
import { shown } from '../corefile/directive.js'
import { isWildcard, localAddresses } from '../listen/addresses.js'
import { ipv6Octets, ipv6Text } from '../message/address.js'
import { RD } from '../message/message.js'
import { canonicalName } from '../message/name.js'
import { className, classNumber, typeName, typeNumber } from '../message/registry.js'
import { questionOctets, Writer } from '../message/writer.js'
import { shownAddress } from '../query.js'
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

/** What `GET /explain` takes. */
export const EXPLAIN_PARAMETERS = ['name', 'type', 'class', 'client', 'do', 'at'] as const

/** The question of a call. Throws ExplainError. */
export function askedOf(given: ReadonlyMap<string, string>): Asked {
  const wantsDo = given.get('do') ?? '0'
  if (!['0', '1', 'false', 'true'].includes(wantsDo)) throw expected('do to be 1 or 0', wantsDo)
  return {
    name: given.get('name') ?? '',
    type: given.get('type') ?? 'A',
    class: given.get('class'),
    client: given.get('client'),
    do: wantsDo === '1' || wantsDo === 'true',
    at: given.get('at')
  }
}

const UDP_SIZE = 1232
const DO = 0x8000
const REQUEST_OCTETS = 512

/** The message that a client would send, and its question as it is shown. Throws ExplainError. */
export function requestOf({ name, type, class: klass = 'IN', do: dnssecOk = false }: Asked): { octets: Uint8Array; shown: string } {
  const spelled = asClientsAsk(name)
  const qname = read(() => canonicalName(spelled), 'a name such as www.example.org', name)
  const qtype = read(() => typeNumber(type.toUpperCase()), 'a type such as A or TYPE65', type)
  const qclass = read(() => classNumber(klass.toUpperCase()), 'a class such as IN or CH', klass)
  const writer = new Writer()
  writer.begin(new Uint8Array(REQUEST_OCTETS), REQUEST_OCTETS, 0, RD)
  writer.question(questionOctets(spelled, qtype, qclass))
  if (writer.opt(UDP_SIZE, 0, dnssecOk ? DO : 0, [])) writer.count(10, 1)
  const shown = `${qname} ${typeName(qtype)}${qclass === 1 ? '' : ` ${className(qclass)}`}`
  return { octets: writer.octets.slice(0, writer.at), shown }
}

/** Clients ask for a name in other letters than ASCII's by its form in ASCII (RFC 5890 §2.3.2.1). */
function asClientsAsk(name: string): string {
  return /[^\0-\x7f]/.test(name) ? domainToASCII(name) || name : name
}

function read<T>(make: () => T | undefined, what: string, given: string): T {
  try {
    const made = make()
    if (made !== undefined) return made
  } catch {
    // What is wrong with it is less than what was expected.
  }
  throw expected(what, given)
}

function expected(what: string, given: string): ExplainError {
  return new ExplainError(`explain: expected ${what}, not ${given === '' ? 'nothing' : shown(given)}`)
}

/** The address of who asks, as the server sees it: its sockets take IPv4 as IPv4. Throws ExplainError. */
export function clientAddressOf(client = '127.0.0.1'): string {
  if (isIP(client) === 0) throw expected('an address as client', client)
  return oneSpelling(client).replace(/^::ffff:(?=.*\.)/, '')
}

function oneSpelling(address: string): string {
  const [plain = '', interfaceName] = address.split('%')
  const octets = ipv6Octets(plain)
  if (octets === undefined) return address
  return interfaceName === undefined ? ipv6Text(octets) : `${ipv6Text(octets)}%${interfaceName}`
}

/** Where a question is asked. */
export interface AskedAt {
  readonly endpoint: PlannedEndpoint
  /** Our address that it came to. */
  readonly local: string
}

/** The address that is asked: as said, or the first that has a server block for the name. Throws ExplainError. */
export function askedAt(plan: readonly PlannedEndpoint[], at: string | undefined, qname: string, client: string): AskedAt {
  if (at !== undefined) return named(plan, at)
  const serving = plan.filter(({ routes }) => routes.zoneOf(qname) !== undefined)
  const endpoint = serving.find(({ address }) => address.includes(':') === client.includes(':')) ?? serving[0] ?? plan[0]
  if (endpoint === undefined) throw new ExplainError('explain: the server listens nowhere')
  return { endpoint, local: localOf(endpoint) }
}

function named(plan: readonly PlannedEndpoint[], at: string): AskedAt {
  const { host, port } = placeOf(at)
  const places = plan.filter((endpoint) => port === undefined || endpoint.port === port)
  const endpoint = places.find(({ address }) => host === '' || oneSpelling(address) === host) ?? wildcardFor(places, host)
  if (endpoint === undefined) {
    const known = plan.map(({ address, port: each }) => shownAddress(address, each)).join(', ')
    throw expected(`an address that the server listens on, one of ${known}`, at)
  }
  return { endpoint, local: host === '' || isWildcard(host) ? localOf(endpoint) : host }
}

/** `ADDRESS`, `ADDRESS:PORT`, `[ADDRESS]:PORT`, `:PORT`; what is none of these has a host that nobody listens on. */
function placeOf(at: string): { host: string; port: number | undefined } {
  if (isIP(at) !== 0) return { host: oneSpelling(at), port: undefined }
  const [, bracketed, plain = '', digits] = /^(?:\[([^[\]]+)\]|([^:[\]]*)):(\d{1,5})$/.exec(at) ?? []
  if (digits === undefined) return { host: at || '?', port: undefined }
  return { host: bracketed === undefined ? plain : oneSpelling(bracketed), port: Number(digits) }
}

/** An address of this machine where a server block listens on all of them. */
function wildcardFor(places: readonly PlannedEndpoint[], host: string): PlannedEndpoint | undefined {
  if (!localAddresses().map(oneSpelling).includes(host)) return undefined
  return places.find(({ address }) => isWildcard(address) && address.includes(':') === host.includes(':'))
}

function localOf({ address }: PlannedEndpoint): string {
  if (!isWildcard(address)) return address
  return address.includes(':') ? '::1' : '127.0.0.1'
}
