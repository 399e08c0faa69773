/** Random questions about a zone, the same for the same seed. */
import { type Labels, nameOctets, shown } from './dnssec-wire.js'

/** One question, and how it goes to the validator. */
export interface Question {
  readonly labels: Labels
  /** In presentation format. */
  readonly qname: string
  readonly qtype: string
  readonly transport: 'udp' | 'tcp'
}

/** The types that are asked, the usual ones more often. */
const TYPES: readonly string[] = [
  'A AAAA SRV TXT MX A AAAA SRV CNAME NS SOA PTR A TXT',
  'DS DNSKEY NSEC NSEC3 NSEC3PARAM RRSIG CDS CDNSKEY',
  'HTTPS SVCB CAA TLSA HINFO LOC NAPTR DNAME TYPE65280 TYPE1234 TYPE0 TYPE128 ANY'
].flatMap((line) => line.split(' '))

const HEX32 = '0123456789abcdefghijklmnopqrstuv'
const MOST_OCTETS = 255

/** Numbers that look random, the same for the same seed; each call gives one from 0 up to the limit, which is left out. */
export type Below = (limit: number) => number

/** Makes such numbers. */
export function seeded(seed: number): Below {
  let state = seed >>> 0
  return (limit) => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit
  }
}

/** Questions about a zone with these names. */
export function randomQuestions(names: readonly Labels[], zone: Labels, count: number, seed: number): Question[] {
  const below = seeded(seed)
  return Array.from({ length: count }, () => {
    const shaped = pick(SHAPES, below)(pick(names, below), below, zone)
    const labels = fits(shaped) ? shaped : pick(names, below)
    const cased = below(3) === 0 ? mixedCase(labels, below) : labels
    return { labels: cased, qname: shown(cased), qtype: pick(TYPES, below), transport: below(2) === 0 ? 'udp' : 'tcp' } as const
  })
}

type Shape = (name: Labels, below: Below, zone: Labels) => Labels

const same: Shape = (name) => name
const child: Shape = (name, below) => [word(below), ...name]
const beside: Shape = (name, below, zone) => (name.length > zone.length ? [word(below), ...name.slice(1)] : child(name, below, zone))

/** What becomes of a name of the zone. */
const SHAPES: readonly Shape[] = [
  same,
  same,
  same,
  child,
  beside,
  (name, below) => [word(below), word(below), word(below), ...name],
  // Above it.
  (name, below, zone) => name.slice(below(name.length - zone.length + 1)),
  // With patterns.
  (name, below, zone) => withPattern(name, below, zone, 'any'),
  (name, below, zone) => withPattern(name, below, zone, '*'),
  (name, below, zone) => withPattern(withPattern(name, below, zone, 'ANY'), below, zone, '*'),
  (name) => ['*', ...name],
  (name) => ['any', ...name],
  (name, below) => [word(below), '*', ...name],
  // Right before and behind it, as denials have names.
  (name) => ['\x00', ...name],
  (name, below, zone) => nudged(name, zone, below(2) === 0 ? 1 : -1),
  (name, _, zone) => (name.length > zone.length ? [`${name[0]}\x00`, ...name.slice(1)] : ['\x00\x00', ...name]),
  // As long as can be, or nearly.
  (name, below) => padded(name, MOST_OCTETS - below(4), below),
  // The hash of something.
  (_, below, zone) => [Array.from({ length: 32 }, () => HEX32[below(32)]).join(''), ...zone],
  // Any octets.
  (name, below) => [Array.from({ length: 1 + below(20) }, () => String.fromCharCode(below(256))).join(''), ...name]
]

function pick<T>(list: readonly T[], below: Below): T {
  return list[below(list.length)]!
}

function word(below: Below): string {
  return Array.from({ length: 1 + below(9) }, () => 'abcdefghijklmnopqrstuvwxyz0123456789-_'[below(38)]).join('')
}

function withPattern(name: Labels, below: Below, zone: Labels, pattern: string): Labels {
  const own = name.length - zone.length
  const at = below(Math.max(1, own))
  return own === 0 ? [pattern, ...name] : name.map((label, index) => (index === at ? pattern : label))
}

// The label that follows or comes before in the order of octets.
function nudged(name: Labels, zone: Labels, by: number): Labels {
  const [first = '', ...rest] = name
  if (name.length <= zone.length) return name
  const last = (first.charCodeAt(first.length - 1) + by) & 0xff
  return [`${first.slice(0, -1)}${String.fromCharCode(last)}`, ...rest]
}

function padded(name: Labels, octets: number, below: Below): Labels {
  let labels: Labels = name
  for (let room = octets - nameOctets(labels).length; room > 1; room = octets - nameOctets(labels).length) {
    // A single octet left over has no room for a label.
    const size = room - 1 <= 63 ? room - 1 : Math.min(63, room - 3)
    labels = ['pqrstu'[below(6)]!.repeat(size), ...labels]
  }
  return labels
}

function mixedCase(labels: Labels, below: Below): Labels {
  return labels.map((label) => label.replace(/[a-z]/g, (letter) => (below(2) === 0 ? letter.toUpperCase() : letter)))
}

function fits(labels: Labels): boolean {
  return labels.every(({ length }) => length > 0 && length <= 63) && nameOctets(labels).length <= MOST_OCTETS
}
