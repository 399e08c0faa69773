import { type ResourceRecord, writtenOnce } from 'skein/plugin'
import type { Options } from './options.js'
import { below } from './zone.js'

const HOUR_MS = 3_600_000

/** What the SOA records of a configuration have in common. */
type SoaOptions = Pick<Options, 'minTtl' | 'hostmaster'>

/** SkyDNS's SOA records: their serial is the time, cut to the hour. */
export class SoaRecords {
  readonly #options: SoaOptions
  #hour = Number.NaN
  /** Those of negative answers in this hour, by their apex: each is written once. */
  readonly #negative = new Map<string, ResourceRecord>()

  constructor(options: SoaOptions) {
    this.#options = options
  }

  /** For a negative answer (RFC 2308 §3). */
  negative(apex: string, now: number): ResourceRecord {
    const hour = Math.floor(now / HOUR_MS)
    if (hour !== this.#hour) this.#negative.clear()
    this.#hour = hour
    let record = this.#negative.get(apex)
    if (record === undefined) {
      record = writtenOnce(this.of(apex, this.#options.minTtl, now))
      this.#negative.set(apex, record)
    }
    return record
  }

  /** With a TTL of so many seconds. */
  of(apex: string, ttl: number, now: number): ResourceRecord {
    const { minTtl, hostmaster } = this.#options
    // RFC 1982: 32 bits, whatever the clock says.
    const serial = ((Math.floor(now / HOUR_MS) * HOUR_MS) / 1000) >>> 0
    const mname = below('ns.dns', apex)
    const rname = hostmaster ?? below('hostmaster', apex)
    return {
      owner: apex,
      type: 'SOA',
      ttl,
      rdata: { mname, rname, serial, refresh: 28800, retry: 7200, expire: 604800, minimum: minTtl }
    }
  }
}
