/**
 * Each two layers that do SkyDNS's steps: what clients see of them in the standard order, and what they see once the operator has
 * swapped the two. The addresses say who answered: 10.0.0.0/24 the store, 198.51.100.0/24 the stub zone's server, 203.0.113.0/24
 * the nameserver; the last octet counts the answers of these two. Ten seconds pass after each question, so a TTL says how old it is.
 */
import type { AskOptions } from 'skein/testing'

/** The layers in the standard order, as their directives are spelled. */
export const LAYERS = ['any', 'loadbalance', 'cache', 'stub', 'chaos', 'dnssec', 'etcd', 'forward'] as const
export type Layer = (typeof LAYERS)[number]

/** A question `name TYPE [CLASS]`, and how it is asked. */
export type Asked = string | readonly [string, AskOptions]

/** Two layers, the others that they need, and options of theirs in place of the usual ones. */
export interface Pair {
  readonly first: Layer
  readonly second: Layer
  readonly others?: readonly Layer[]
  /** The options of one directive, a line each; STUB stands for the address of the stub zone's server. */
  readonly options?: Partial<Record<Layer, string>>
}

/** Two layers that can be told apart. An outcome is rcode, flags and the answer's TTLs and rdata, or that nothing came. */
export interface Told extends Pair {
  readonly behaviour: string
  readonly asked: readonly Asked[]
  readonly outcome: readonly string[]
  /** What comes instead where the second layer is asked before the first. */
  readonly swapped: readonly string[]
  readonly storeFails?: true
}

/** Two layers that cannot be told apart, and why. */
export interface NotTold extends Pair {
  readonly reason: string
}

/** A question that another server has given to a stub zone already. */
const looped = (question: string): Asked => [question, { options: [[65011, Uint8Array.of(1)]] }]
/** A question of a client that validates. */
const signed = (question: string): Asked => [question, { edns: 1232, dnssecOk: true }]
const thrice = (text: string): string[] => [text, text, text]

/** Two addresses of the store, or of a server, by their last octets. */
const stored = (ttl: number, one: number, other: number): string => `NOERROR aa rd ra ${ttl} 10.0.0.${one} ${ttl} 10.0.0.${other}`
const told = (network: string, one: number, other: number): string => `NOERROR rd ra 300 ${network}.${one} 300 ${network}.${other}`
const SOA = '3600 ns.dns.skydns.test. hostmaster.skydns.test. 1767225600 28800 7200 604800 60'

export const TOLD: readonly Told[] = [
  {
    first: 'any',
    second: 'stub',
    behaviour: 'ANY is refused in stub zones too, and a query is not dropped for it',
    asked: ['a.corp.example. ANY', looped('a.corp.example. ANY')],
    outcome: ['REFUSED rd', 'REFUSED rd'],
    swapped: ['NOERROR rd ra 300 198.51.100.1', 'dropped']
  },
  {
    first: 'any',
    second: 'etcd',
    behaviour: 'ANY is refused before the store is read',
    asked: ['1.2.0.192.in-addr.arpa. ANY'],
    storeFails: true,
    outcome: ['REFUSED rd'],
    swapped: ['SERVFAIL rd']
  },
  {
    first: 'any',
    second: 'forward',
    behaviour: 'ANY is refused before a nameserver is asked, or a name has too few labels',
    asked: ['www.example.net. ANY', 'org. ANY'],
    outcome: ['REFUSED rd', 'REFUSED rd'],
    swapped: ['NOERROR rd ra 300 203.0.113.1', 'SERVFAIL rd ra']
  },
  {
    first: 'any',
    second: 'dnssec',
    others: ['etcd'],
    behaviour: 'NXNAME, which only proofs have, is refused with the rest of its like',
    asked: [signed('one.skydns.test. TYPE128')],
    outcome: ['REFUSED rd'],
    swapped: ['FORMERR rd']
  },
  {
    first: 'loadbalance',
    second: 'cache',
    others: ['etcd'],
    behaviour: 'what the cache has is shuffled anew',
    asked: thrice('web.skydns.test. A'),
    outcome: [stored(3600, 2, 1), stored(3590, 1, 2), stored(3580, 2, 1)],
    swapped: [stored(3600, 2, 1), stored(3590, 2, 1), stored(3580, 2, 1)]
  },
  {
    first: 'loadbalance',
    second: 'stub',
    behaviour: 'what the servers of a stub zone say is shuffled',
    asked: thrice('two.corp.example. A'),
    outcome: [told('198.51.100', 2, 1), told('198.51.100', 1, 2), told('198.51.100', 2, 1)],
    swapped: thrice(told('198.51.100', 1, 2))
  },
  {
    first: 'loadbalance',
    second: 'etcd',
    behaviour: 'what the store has is shuffled',
    asked: thrice('web.skydns.test. A'),
    outcome: [stored(3600, 2, 1), stored(3600, 1, 2), stored(3600, 2, 1)],
    swapped: thrice(stored(3600, 1, 2))
  },
  {
    first: 'loadbalance',
    second: 'forward',
    behaviour: 'what the nameservers say is shuffled',
    asked: thrice('two.example.net. A'),
    outcome: [told('203.0.113', 2, 1), told('203.0.113', 1, 2), told('203.0.113', 2, 1)],
    swapped: thrice(told('203.0.113', 1, 2))
  },
  {
    first: 'cache',
    second: 'stub',
    behaviour: 'the servers of a stub zone are not asked for what is cached',
    asked: ['a.corp.example. A', 'A.corp.example. A'],
    outcome: ['NOERROR rd ra 300 198.51.100.1', 'NOERROR rd ra 290 198.51.100.1'],
    swapped: ['NOERROR rd ra 300 198.51.100.1', 'NOERROR rd ra 300 198.51.100.2']
  },
  {
    first: 'cache',
    second: 'stub',
    behaviour: 'what is cached needs no stub zone, so its loop option drops nothing',
    asked: ['a.corp.example. A', looped('a.corp.example. A')],
    outcome: ['NOERROR rd ra 300 198.51.100.1', 'NOERROR rd ra 290 198.51.100.1'],
    swapped: ['NOERROR rd ra 300 198.51.100.1', 'dropped']
  },
  {
    first: 'cache',
    second: 'dnssec',
    behaviour: 'what is signed is cached with its signatures, keys too',
    asked: [signed('skydns.test. DNSKEY'), signed('skydns.test. DNSKEY')],
    outcome: ['NOERROR aa rd ra 3600 DNSKEY 3600 RRSIG DNSKEY', 'NOERROR aa rd ra 3590 DNSKEY 3590 RRSIG DNSKEY'],
    swapped: ['NOERROR aa rd ra 3600 DNSKEY 3600 RRSIG DNSKEY', 'NOERROR aa rd ra 3600 DNSKEY 3600 RRSIG DNSKEY']
  },
  {
    first: 'cache',
    second: 'etcd',
    behaviour: 'the store is not read for what is cached, a stored PTR neither',
    asked: ['one.skydns.test. A', 'one.skydns.test. A', '1.2.0.192.in-addr.arpa. PTR', '1.2.0.192.in-addr.arpa. PTR'],
    outcome: [
      'NOERROR aa rd ra 3600 10.0.0.1',
      'NOERROR aa rd ra 3590 10.0.0.1',
      'NOERROR rd ra 3600 web.skydns.test.',
      'NOERROR rd ra 3590 web.skydns.test.'
    ],
    swapped: [
      'NOERROR aa rd ra 3600 10.0.0.1',
      'NOERROR aa rd ra 3600 10.0.0.1',
      'NOERROR rd ra 3600 web.skydns.test.',
      'NOERROR rd ra 3600 web.skydns.test.'
    ]
  },
  {
    first: 'cache',
    second: 'forward',
    behaviour: 'the nameservers are not asked for what is cached',
    asked: ['www.example.net. A', 'WWW.example.net. A'],
    outcome: ['NOERROR rd ra 300 203.0.113.1', 'NOERROR rd ra 290 203.0.113.1'],
    swapped: ['NOERROR rd ra 300 203.0.113.1', 'NOERROR rd ra 300 203.0.113.2']
  },
  {
    first: 'stub',
    second: 'dnssec',
    behaviour: 'what the servers of a stub zone say is not signed, and its keys are theirs',
    options: { stub: 'zone skydns.test STUB' },
    asked: [signed('skydns.test. DNSKEY'), signed('own.skydns.test. A')],
    outcome: ['NOERROR rd ra', 'NOERROR aa rd ra 300 198.51.100.1'],
    swapped: ['NOERROR aa rd ra 3600 DNSKEY 3600 RRSIG DNSKEY', 'NOERROR aa rd ra 300 198.51.100.1 300 RRSIG A']
  },
  {
    first: 'stub',
    second: 'etcd',
    behaviour: 'local.dns is left to a stub zone that it is in',
    options: { stub: 'zone dns.skydns.test STUB' },
    asked: ['local.dns.skydns.test. A'],
    outcome: ['NOERROR rd ra 300 198.51.100.1'],
    swapped: ['NOERROR aa rd ra 3600 10.0.0.1']
  },
  {
    first: 'stub',
    second: 'etcd',
    behaviour: 'PTR is left to a stub zone that the name is in, whatever the store holds',
    asked: ['1.2.0.192.in-addr.arpa. PTR'],
    outcome: ['NOERROR rd ra 300 stub.example.'],
    swapped: ['NOERROR rd ra 3600 web.skydns.test.']
  },
  {
    first: 'stub',
    second: 'etcd',
    behaviour: 'the SOA of the domain, and every type, is left to a stub zone that the name is in',
    options: { stub: 'zone skydns.test STUB' },
    asked: ['skydns.test. SOA', 'one.skydns.test. A'],
    outcome: ['NOERROR rd ra', 'NOERROR rd ra 300 198.51.100.1'],
    swapped: [`NOERROR aa rd ra ${SOA}`, 'NOERROR aa rd ra 3600 10.0.0.1']
  },
  {
    first: 'stub',
    second: 'etcd',
    behaviour: 'a query that was given to a stub zone already is dropped there, whatever the store holds, and nowhere else',
    options: { stub: 'zone one.skydns.test STUB' },
    asked: [looped('one.skydns.test. A'), looped('two.skydns.test. A')],
    outcome: ['dropped', 'NOERROR aa rd ra 3600 10.0.0.2'],
    swapped: ['NOERROR aa rd ra 3600 10.0.0.1', 'NOERROR aa rd ra 3600 10.0.0.2']
  },
  {
    first: 'stub',
    second: 'forward',
    behaviour: 'names in stub zones are not for the nameservers, and all others are',
    asked: ['a.corp.example. A', '7.2.0.192.in-addr.arpa. PTR', 'a.other.example. A'],
    outcome: ['NOERROR rd ra 300 198.51.100.1', 'NOERROR rd ra 300 stub.example.', 'NOERROR rd ra 300 203.0.113.1'],
    swapped: ['NOERROR rd ra 300 203.0.113.1', 'NOERROR rd ra 300 nameserver.example.', 'NOERROR rd ra 300 203.0.113.2']
  },
  {
    first: 'stub',
    second: 'forward',
    behaviour: 'a query that was given to a stub zone already is dropped, and no nameserver is asked',
    asked: [looped('a.corp.example. A'), looped('a.other.example. A')],
    outcome: ['dropped', 'NOERROR rd ra 300 203.0.113.1'],
    swapped: ['NOERROR rd ra 300 203.0.113.1', 'NOERROR rd ra 300 203.0.113.2']
  },
  {
    first: 'stub',
    second: 'forward',
    behaviour: 'stub zones are asked where clients get no recursion',
    options: { forward: 'no_rec' },
    asked: ['a.corp.example. A', 'a.other.example. A'],
    outcome: ['NOERROR rd ra 300 198.51.100.1', 'SERVFAIL rd'],
    swapped: ['SERVFAIL rd', 'SERVFAIL rd']
  },
  {
    first: 'stub',
    second: 'forward',
    behaviour: 'stub zones are asked for names that have too few labels for the nameservers',
    options: { forward: 'ndots 3' },
    asked: ['corp.example. A', 'other.example. A'],
    outcome: ['NOERROR rd ra 300 198.51.100.1', 'SERVFAIL rd ra'],
    swapped: ['SERVFAIL rd ra', 'SERVFAIL rd ra']
  },
  {
    first: 'stub',
    second: 'forward',
    others: ['etcd'],
    behaviour: 'a target in a stub zone is looked up there',
    asked: ['alias.skydns.test. A'],
    outcome: ['NOERROR aa rd ra 60 a.corp.example. 60 198.51.100.1'],
    swapped: ['NOERROR aa rd ra 60 a.corp.example. 60 203.0.113.1']
  },
  {
    first: 'dnssec',
    second: 'etcd',
    behaviour: 'what the store has is signed, and its zone has keys',
    asked: [signed('one.skydns.test. A'), 'one.skydns.test. A', signed('skydns.test. DNSKEY'), signed('no.skydns.test. A')],
    outcome: [
      'NOERROR aa rd ra 3600 10.0.0.1 3600 RRSIG A',
      'NOERROR aa rd ra 3600 10.0.0.1',
      'NOERROR aa rd ra 3600 DNSKEY 3600 RRSIG DNSKEY',
      'NOERROR aa rd ra'
    ],
    swapped: ['NOERROR aa rd ra 3600 10.0.0.1', 'NOERROR aa rd ra 3600 10.0.0.1', 'NOERROR aa rd ra', 'NXDOMAIN aa rd ra']
  },
  {
    first: 'dnssec',
    second: 'forward',
    behaviour: 'what the zone’s own servers say is signed, what a resolver says is not, and keys are told here',
    asked: [signed('own.skydns.test. A'), signed('other.skydns.test. A'), signed('skydns.test. DNSKEY')],
    outcome: [
      'NOERROR aa rd ra 300 203.0.113.1 300 RRSIG A',
      'NOERROR rd ra 300 203.0.113.2',
      'NOERROR aa rd ra 3600 DNSKEY 3600 RRSIG DNSKEY'
    ],
    swapped: ['NOERROR aa rd ra 300 203.0.113.1', 'NOERROR rd ra 300 203.0.113.2', 'NOERROR rd ra']
  },
  {
    first: 'etcd',
    second: 'forward',
    behaviour: 'local.dns is the store’s, and not the nameservers’',
    asked: ['local.dns.skydns.test. A'],
    outcome: ['NOERROR aa rd ra 3600 10.0.0.1'],
    swapped: ['NOERROR rd ra 300 203.0.113.1']
  },
  {
    first: 'etcd',
    second: 'forward',
    behaviour: 'a stored address answers PTR before the nameservers are asked, which have all others',
    asked: ['1.2.0.192.in-addr.arpa. PTR', '7.2.0.192.in-addr.arpa. PTR'],
    outcome: ['NOERROR rd ra 3600 web.skydns.test.', 'NOERROR rd ra 300 nameserver.example.'],
    swapped: ['NOERROR rd ra 300 nameserver.example.', 'NOERROR rd ra 300 nameserver.example.']
  },
  {
    first: 'etcd',
    second: 'forward',
    behaviour: 'a stored PTR is given where clients get no recursion',
    options: { forward: 'no_rec' },
    asked: ['1.2.0.192.in-addr.arpa. PTR', '7.2.0.192.in-addr.arpa. PTR'],
    outcome: ['NOERROR rd ra 3600 web.skydns.test.', 'SERVFAIL rd'],
    swapped: ['SERVFAIL rd', 'SERVFAIL rd']
  },
  {
    first: 'etcd',
    second: 'forward',
    behaviour: 'the domain’s SOA and names are the store’s, those that do not exist too, and all others the nameservers’',
    asked: ['skydns.test. SOA', 'one.skydns.test. A', 'no.skydns.test. A', 'www.example.net. A'],
    outcome: [`NOERROR aa rd ra ${SOA}`, 'NOERROR aa rd ra 3600 10.0.0.1', 'NXDOMAIN aa rd ra', 'NOERROR rd ra 300 203.0.113.1'],
    swapped: ['NOERROR rd ra', 'NOERROR rd ra 300 203.0.113.1', 'NOERROR rd ra 300 203.0.113.2', 'NOERROR rd ra 300 203.0.113.3']
  },
  {
    first: 'etcd',
    second: 'forward',
    behaviour: 'the domain is served where its names have too few labels for the nameservers',
    options: { forward: 'ndots 4' },
    asked: ['skydns.test. SOA', 'one.skydns.test. A', 'www.example.net. A'],
    outcome: [`NOERROR aa rd ra ${SOA}`, 'NOERROR aa rd ra 3600 10.0.0.1', 'SERVFAIL rd ra'],
    swapped: ['SERVFAIL rd ra', 'SERVFAIL rd ra', 'SERVFAIL rd ra']
  }
]

/** They are asked the same as everybody, and do nothing of it in either order. docs/skydns.md says so too. */
export const NOT_TOLD: readonly NotTold[] = [
  { first: 'any', second: 'loadbalance', others: ['etcd'], reason: 'what is refused has nothing to shuffle' },
  { first: 'any', second: 'cache', others: ['etcd', 'forward'], reason: 'the cache lets ANY and its like pass, and keeps none' },
  { first: 'any', second: 'chaos', others: ['etcd'], reason: 'chaos answers TXT alone' },
  { first: 'loadbalance', second: 'chaos', others: ['etcd'], reason: 'they see different classes' },
  {
    first: 'loadbalance',
    second: 'dnssec',
    others: ['etcd'],
    reason: 'a set is signed in its canonical order, and a signature stands behind its set in whichever it is sent'
  },
  { first: 'cache', second: 'chaos', others: ['etcd'], reason: 'they see different classes' },
  { first: 'stub', second: 'chaos', others: ['etcd'], reason: 'they see different classes' },
  { first: 'chaos', second: 'dnssec', others: ['etcd'], reason: 'they see different classes' },
  { first: 'chaos', second: 'etcd', reason: 'they see different classes' },
  { first: 'chaos', second: 'forward', others: ['etcd'], reason: 'they see different classes' }
]

/** What those are asked. */
export const ALL_SORTS: readonly Asked[] = [
  ...['web.skydns.test.', 'skydns.test.', '1.2.0.192.in-addr.arpa.', 'www.example.net.', 'a.corp.example.', 'version.bind.'].flatMap(
    (name) => ['A', 'TXT', 'SOA', 'PTR', 'ANY', 'AXFR', 'A CH', 'TXT CH', 'SOA CH', 'ANY CH'].map((type) => `${name} ${type}`)
  ),
  ...['web.skydns.test.', 'no.skydns.test.', 'alias.skydns.test.'].flatMap((name) =>
    ['A', 'A', 'A', 'SRV', 'DNSKEY', 'NSEC', 'A CH', 'ANY'].map((type) => signed(`${name} ${type}`))
  ),
  signed('skydns.test. DNSKEY'),
  signed('skydns.test. NSEC'),
  'web.skydns.test. A',
  'www.example.net. A',
  looped('a.corp.example. TXT CH'),
  looped('skydns.test. TXT CH')
]
