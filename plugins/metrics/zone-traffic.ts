import { type Client, type Query, type Rcode, type Sent, typeNumber } from 'skein/plugin'
import { Histogram, SIZE_BOUNDS, TIME_BOUNDS } from './histogram.js'

/** The types that CoreDNS names; all others are `other`, so that nobody makes labels by asking. */
// biome-ignore format: a table
export const TYPES: readonly string[] = [
  'A', 'AAAA', 'ANY', 'AXFR', 'CNAME', 'DNSKEY', 'DS', 'HTTPS', 'IXFR', 'MX', 'NS', 'NSEC', 'NSEC3', 'PTR', 'RRSIG', 'SOA', 'SRV', 'SVCB',
  'TXT', 'other'
]

/** The label `proto`, by its index. */
export const PROTOCOLS: readonly string[] = ['udp', 'tcp']
/** The label `family`, by its index: IPv4, IPv6. */
export const FAMILIES: readonly string[] = ['1', '2']

/** How many rcodes are told apart: an upstream may say any of 4096. */
export const MOST_RCODES = 32

const OTHER_TYPE = TYPES.length - 1
/** The index of each type by its number; of types beyond the table nobody has a name here. */
const typeIndexes = new Uint8Array(300).fill(OTHER_TYPE)
for (const [index, type] of TYPES.slice(0, OTHER_TYPE).entries()) typeIndexes[typeNumber(type)!] = index

/** What was asked of one zone at one of our addresses, in plain numbers. */
export class ZoneTraffic {
  readonly server: string
  readonly zone: string
  /** By type, family and protocol, see {@link requestsOf}. */
  readonly #requests: number[] = Array.from({ length: PROTOCOLS.length * FAMILIES.length * TYPES.length }, () => 0)
  readonly durations = new Histogram(TIME_BOUNDS)
  /** By protocol. */
  readonly requestSizes = PROTOCOLS.map(() => new Histogram(SIZE_BOUNDS))
  readonly responseSizes = PROTOCOLS.map(() => new Histogram(SIZE_BOUNDS))
  readonly responses = new Map<Rcode | 'other', { value: number }>()
  withDo = 0

  constructor(server: string, zone: string) {
    this.server = server
    this.zone = zone
  }

  /** How many of these were asked. */
  requestsOf(protocol: number, family: number, type: number): number {
    return this.#requests[indexOf(protocol, family, type)]!
  }

  count(query: Query, { reply, rcode, octets, milliseconds }: Sent): void {
    const protocol = protocolOf(query.client)
    // A client asks one of our addresses of its own family.
    const family = query.client.local.includes(':') ? 1 : 0
    this.#requests[indexOf(protocol, family, typeIndexes[query.question.qtype] ?? OTHER_TYPE)]!++
    if (query.dnssecOk) this.withDo++
    this.requestSizes[protocol]!.add(query.size)
    this.durations.add(milliseconds / 1000)
    // Nothing was sent.
    if (typeof reply === 'symbol') return
    this.responseSizes[protocol]!.add(octets)
    this.#responsesOf(rcode).value++
  }

  #responsesOf(rcode: Rcode | 'other'): { value: number } {
    const known = this.responses.get(rcode)
    if (known !== undefined) return known
    if (rcode !== 'other' && this.responses.size >= MOST_RCODES) return this.#responsesOf('other')
    const count = { value: 0 }
    this.responses.set(rcode, count)
    return count
  }
}

function indexOf(protocol: number, family: number, type: number): number {
  return (protocol * FAMILIES.length + family) * TYPES.length + type
}

/** As CoreDNS: what comes by TLS or HTTPS comes by TCP, QUIC is UDP. */
function protocolOf({ transport }: Client): number {
  return transport === 'udp' || transport === 'quic' ? 0 : 1
}
