import type { Client, Query, Rcode, Sent } from 'skein/plugin'
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
const typeIndexes = new Map(TYPES.slice(0, OTHER_TYPE).map((type, index) => [type, index]))

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
  readonly responses = new Map<Rcode | 'other', number>()
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
    const family = query.client.address.includes(':') ? 1 : 0
    this.#requests[indexOf(protocol, family, typeIndexes.get(query.qtype) ?? OTHER_TYPE)]!++
    if (query.dnssecOk) this.withDo++
    this.requestSizes[protocol]!.add(query.size)
    this.durations.add(milliseconds / 1000)
    // Nothing was sent.
    if (typeof reply === 'symbol') return
    this.responseSizes[protocol]!.add(octets)
    const known = this.responses.get(rcode)
    if (known !== undefined) this.responses.set(rcode, known + 1)
    else if (this.responses.size < MOST_RCODES) this.responses.set(rcode, 1)
    else this.responses.set('other', (this.responses.get('other') ?? 0) + 1)
  }
}

function indexOf(protocol: number, family: number, type: number): number {
  return (protocol * FAMILIES.length + family) * TYPES.length + type
}

/** As CoreDNS: what comes by TLS or HTTPS comes by TCP, QUIC is UDP. */
function protocolOf({ transport }: Client): number {
  return transport === 'udp' || transport === 'quic' ? 0 : 1
}
