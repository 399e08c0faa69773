/** Which sockets endpoints need: those that were passed, and for the rest one of UDP and one of TCP on each address. */
import { ipv6Octets, ipv6Text } from '../message/address.js'
import { shownAddress } from '../query.js'
import { isWildcard, shownEndpoint } from './addresses.js'
import { type PassedSocket, shownPassed } from './passed-sockets.js'
import { type Endpoint, ListenError, type Receive, type Slot } from './slot.js'

/** An address to have sockets on. */
export interface Wanted {
  readonly endpoint: Endpoint
  readonly address: string
  readonly port: number
  /** Which; one alone where the other was passed. */
  readonly transport: 'both' | 'udp' | 'tcp'
  /** The socket, where it was passed. */
  readonly passed?: PassedSocket
}

/** What is known besides the endpoints. */
export interface Known {
  readonly passed: readonly PassedSocket[]
  /** The machine's addresses, which take a while to find: asked for where an endpoint is for all of them. */
  readonly local: () => readonly string[]
  /** The port of an endpoint; what port 0 has become. */
  readonly portOf: (endpoint: Endpoint) => number
}

/** What all endpoints need. Throws ListenError where a passed socket leaves no room for one. */
export function wantedBy(endpoints: readonly Endpoint[], known: Known): Wanted[] {
  const served = known.passed.flatMap((passed) => servedBy(passed, endpoints))
  return [...served, ...endpoints.flatMap((endpoint) => opened(endpoint, endpoints, known))]
}

/** What it is the same for as long as it is open. */
export function wantedKey({ address, port, transport, passed }: Pick<Wanted, 'address' | 'port' | 'transport' | 'passed'>): string {
  return `${transport} ${address} ${port} ${passed?.fd ?? ''}`
}

/** A passed socket for the endpoints of its address, or of all addresses; none where nobody serves there. */
function servedBy(passed: PassedSocket, endpoints: readonly Endpoint[]): Wanted[] {
  const { address, port, transport, isDual } = passed
  const there = endpoints.filter((endpoint) => endpoint.port === port)
  const named = there.find((endpoint) => isSame(endpoint.address, address))
  const forAll = (isV6: boolean): Endpoint | undefined =>
    there.find((endpoint) => isWildcard(endpoint.address) && endpoint.address.includes(':') === isV6)
  const own = named ?? forAll(address.includes(':'))
  const v4 = isDual ? forAll(false) : undefined
  const endpoint = own !== undefined && v4 !== undefined ? together(v4, own) : (own ?? v4)
  return endpoint === undefined ? [] : [{ endpoint, address, port, transport, passed }]
}

/** One endpoint for a socket of both families. */
function together(v4: Endpoint, v6: Endpoint): Endpoint {
  const receive: Receive = (slot: Slot) => (slot.client.address.includes(':') ? v6 : v4).receive(slot)
  return { ...v6, receive }
}

/** The sockets of an endpoint that were not passed. A wildcard leaves an address to the endpoint that names it. */
function opened(endpoint: Endpoint, all: readonly Endpoint[], { passed, local, portOf }: Known): Wanted[] {
  const { address: wanted } = endpoint
  const port = portOf(endpoint)
  const of = passed.filter((socket) => socket.port === endpoint.port)
  const forAll = of.filter((socket) => coversFamily(socket, wanted))
  const addresses = isWildcard(wanted) ? unnamed(endpoint, all, local) : [wanted]
  return addresses.flatMap((address) => {
    const here = of.filter((socket) => isSame(socket.address, address))
    const given = isWildcard(wanted) ? [...forAll, ...here] : here
    const transport = missingOf(given)
    if (transport === undefined) return []
    if (!isWildcard(wanted)) checkRoom(address, port, transport, forAll)
    return [{ endpoint, address, port, transport }]
  })
}

/** The local addresses of a wildcard that no endpoint of its port names. */
function unnamed({ address: wildcard, port }: Endpoint, all: readonly Endpoint[], local: () => readonly string[]): string[] {
  const isV6 = wildcard.includes(':')
  const named = all.filter((each) => each.port === port && !isWildcard(each.address)).map(({ address }) => address)
  return local().filter((address) => address.includes(':') === isV6 && !named.includes(address))
}

/** Whether a passed socket is for all addresses of the family of this one. */
function coversFamily({ address, isDual }: PassedSocket, of: string): boolean {
  return isWildcard(address) && (isDual || address.includes(':') === of.includes(':'))
}

function missingOf(given: readonly PassedSocket[]): Wanted['transport'] | undefined {
  const [hasUdp, hasTcp] = (['udp', 'tcp'] as const).map((transport) => given.some((socket) => socket.transport === transport))
  if (hasUdp) return hasTcp ? undefined : 'tcp'
  return hasTcp ? 'udp' : 'both'
}

/** The kernel would only say that the port is in use. */
function checkRoom(address: string, port: number, transport: Wanted['transport'], forAll: readonly PassedSocket[]): void {
  const other = forAll.find((socket) => transport === 'both' || socket.transport === transport)
  if (other === undefined) return
  const where = `a server block of ${shownEndpoint(other.address, port)} without bind, or a passed socket of ${shownAddress(address, port)}`
  const problem = `${shownPassed(other)} has the port for every address, expected ${where}`
  throw new ListenError(address, port, other.transport, new Error(problem))
}

/** Whether two texts are the same address. */
function isSame(one: string, other: string): boolean {
  return one === other || (one.includes(':') && other.includes(':') && oneSpelling(one) === oneSpelling(other))
}

function oneSpelling(address: string): string {
  const [bare = '', zone = ''] = address.split('%')
  const octets = ipv6Octets(bare)
  return octets === undefined ? address : `${ipv6Text(octets)}%${zone}`
}
