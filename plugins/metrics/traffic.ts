import type { Client, HistogramValue, MetricFamily, MetricSample, Query, Sent } from 'skein/plugin'
import { FAMILIES, PROTOCOLS, TYPES, ZoneTraffic } from './zone-traffic.js'

/** How many pairs of an endpoint and a zone are told apart. */
export const MOST_ZONES = 1000

/** How CoreDNS's name of a server begins. */
const SCHEMES = { udp: 'dns', tcp: 'dns', tls: 'tls', https: 'https', quic: 'quic' } as const

/** The counts of one zone at one of our endpoints. */
interface Place {
  readonly endpoint: string
  readonly scheme: string
  readonly traffic: ZoneTraffic
}

/** All that is counted in this process. A query makes no string and no promise; labels are made when somebody scrapes. */
export class Traffic {
  readonly #zones = new Map<string, Place[]>()
  readonly #all: ZoneTraffic[] = []
  #others: ZoneTraffic | undefined
  /** What was counted last. */
  #last: Place | undefined

  count(query: Query, sent: Sent): void {
    this.#of(query.client, query.zone).count(query, sent)
  }

  #of({ local, endpoint = local, transport }: Client, zone: string): ZoneTraffic {
    const scheme = SCHEMES[transport]
    const last = this.#last
    if (last !== undefined && last.endpoint === endpoint && last.scheme === scheme && last.traffic.zone === zone) return last.traffic
    const places = this.#zones.get(zone)
    // A server listens on few endpoints.
    for (const place of places ?? []) {
      if (place.endpoint !== endpoint || place.scheme !== scheme) continue
      this.#last = place
      return place.traffic
    }
    if (this.#all.length >= MOST_ZONES) {
      this.#others ??= new ZoneTraffic('other', 'other')
      return this.#others
    }
    const traffic = new ZoneTraffic(`${scheme}://${endpoint}`, zone)
    const place: Place = { endpoint, scheme, traffic }
    if (places === undefined) this.#zones.set(zone, [place])
    else places.push(place)
    this.#all.push(traffic)
    return traffic
  }

  /** What was counted, by CoreDNS's names. */
  families(): MetricFamily[] {
    const zones = this.#others === undefined ? this.#all : [...this.#all, this.#others]
    const samples = (of: (zone: ZoneTraffic, labels: readonly string[]) => readonly MetricSample[]): MetricSample[] =>
      zones.flatMap((zone) => of(zone, [zone.server, zone.zone, '']))
    return [
      family('coredns_dns_requests_total', 'counter', 'DNS requests.', ['proto', 'family', 'type'], samples(requests)),
      family(
        'coredns_dns_request_duration_seconds',
        'histogram',
        'How long it took to answer a request, in seconds.',
        [],
        samples(({ durations }, labels) => [{ labels, value: durations }])
      ),
      family(
        'coredns_dns_request_size_bytes',
        'histogram',
        'Sizes of requests.',
        ['proto'],
        samples(({ requestSizes }, labels) => byProtocol(requestSizes, labels))
      ),
      family(
        'coredns_dns_response_size_bytes',
        'histogram',
        'Sizes of responses, as they were sent.',
        ['proto'],
        samples(({ responseSizes }, labels) => byProtocol(responseSizes, labels))
      ),
      family(
        'coredns_dns_do_requests_total',
        'counter',
        'DNS requests with the DO bit.',
        [],
        samples(({ withDo }, labels) => (withDo === 0 ? [] : [{ labels, value: withDo }]))
      ),
      family(
        'coredns_dns_responses_total',
        'counter',
        'DNS responses.',
        ['rcode', 'plugin'],
        samples(({ responses }, labels) => [...responses].map(([rcode, { value }]) => ({ labels: [...labels, rcode, ''], value })))
      )
    ]
  }
}

function family(
  name: string,
  type: MetricFamily['type'],
  help: string,
  more: readonly string[],
  samples: readonly MetricSample[]
): MetricFamily {
  return { name, help, type, labels: ['server', 'zone', 'view', ...more], samples }
}

function requests(zone: ZoneTraffic, labels: readonly string[]): MetricSample[] {
  return PROTOCOLS.flatMap((proto, protocol) =>
    FAMILIES.flatMap((version, family) =>
      TYPES.flatMap((type, index) => {
        const value = zone.requestsOf(protocol, family, index)
        return value === 0 ? [] : [{ labels: [...labels, proto, version, type], value }]
      })
    )
  )
}

function byProtocol(histograms: readonly (HistogramValue & { readonly total: number })[], labels: readonly string[]): MetricSample[] {
  return histograms.flatMap((value, protocol) => (value.total === 0 ? [] : [{ labels: [...labels, PROTOCOLS[protocol]!], value }]))
}
