import { type Query, upstreamEdns } from 'skein/plugin'

/** SkyDNS's: of those for local use (RFC 6891 §9), 65001 and 10. */
const LOOP_OPTION = 65011

/** Whether a query was already given to a stub zone by another server. */
export function cameFromStub({ edns }: Query): boolean {
  return edns?.options.some(([code]) => code === LOOP_OPTION) ?? false
}

/** The question as a message that says that it was given to a stub zone: EDNS, whoever asked, with the option's single octet 1. */
export function stubOctets(query: Query, id: number): Uint8Array {
  const plain = query.octets(id, upstreamEdns(query))
  const octets = Buffer.concat([plain, Uint8Array.of(LOOP_OPTION >> 8, LOOP_OPTION & 0xff, 0, 1, 1)])
  // The OPT record stands last, without options: its last two octets say the length of what follows.
  octets.writeUInt16BE(octets.length - plain.length, plain.length - 2)
  return octets
}
