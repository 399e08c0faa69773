/** Where Skein differs from SkyDNS on purpose: each mark `FIX:` of the description of SkyDNS, in the order of that text. */

/** What a mark says, or a part of it. */
export interface Fix {
  /** The section of the description. */
  readonly section: number
  /** The first words behind the mark. Rows that follow each other with the same words are of one mark. */
  readonly mark: string
  /** What is so here, as the title of a test. */
  readonly says: string
}

const rows = (section: number, ...marks: readonly (readonly [mark: string, ...says: string[]])[]): Fix[] =>
  marks.flatMap(([mark, ...says]) => says.map((each) => ({ section, mark, says: each })))

/** All of them. */
export const FIXES: readonly Fix[] = [
  ...rows(
    1,
    ['names have no case', 'keys written with capitals are found'],
    [
      'one malformed value must not fail its siblings',
      'a malformed value is left out, and its siblings answer',
      'a malformed value is told of once in the log, with its path',
      'a malformed value is counted once',
      'malformed values are listed for the operator'
    ],
    ['text of exactly 255·k bytes', 'text of exactly 255·k octets has no empty string behind it']
  ),
  {
    section: 2,
    mark: 'default hostmaster@<domain>',
    says: 'the mailbox of the SOA is hostmaster at the domain where nobody says another'
  },
  ...rows(
    3,
    ['RD is copied from the question', 'REFUSED has RD as the question has it'],
    ['AXFR, IXFR and the other meta types', 'AXFR, IXFR and the other meta types are REFUSED'],
    ['OPT in the answer iff in the question', 'an answer has an OPT record where the question has one, and only there'],
    ['class CH is decided before anything', 'class CH never meets data of class IN'],
    [
      'the key has the class and ignores case',
      'what is cached is told apart by class',
      'what is cached is found in any spelling',
      'what is cached counts down'
    ],
    ['longest matching stub zone wins', 'the longest stub zone is asked'],
    ["the source's operator precedence", 'only PTR is answered from the keys of addresses, under ip6.arpa too'],
    ['with etcd3 the source reads by bare prefix', 'PTR is answered from the exact key alone'],
    ['when every nameserver fails', 'SERVFAIL is the answer where every nameserver fails'],
    ['REFUSED, as for every class', 'a CHAOS query of another kind is REFUSED, as is every class that nobody serves'],
    ['an error of the store is SERVFAIL', 'an error of the store is SERVFAIL with an extended error, for every type'],
    [
      'the cached copy stays complete',
      'an answer that is cut for one client is cached whole',
      'the size that a client advertises is capped by bufsize',
      'additional data goes RRset by RRset, without TC'
    ]
  ),
  ...rows(
    4,
    ['by labels, never by string prefix', 'names are compared label by label'],
    ['a name below a key that has none below it', 'a name below a key that has none below it does not exist'],
    ['NS below the apex follows the same rule', 'NS below the apex is NXDOMAIN where there is no such name'],
    ['the apex exists, whatever is stored', 'the apex exists, whatever is stored'],
    ['NXDOMAIN carries AA=1 and RA=1', 'NXDOMAIN has AA and RA'],
    ['SkyDNS makes the target `.` of it', 'a service without a host has text at most'],
    ['the etcd3 backend never says NXDOMAIN', 'etcd v3 says NXDOMAIN too'],
    [
      'with the lowest TTL among them',
      'of equal services the lowest TTL counts',
      'equal services are one only after grouping',
      'of equal services the first in key order names the target'
    ],
    ['in SkyDNS the result depends on the order', 'the group of the shortest key decides, in whatever order keys are listed'],
    ['more than one CNAME at a name', 'there is one CNAME at a name and nothing beside it, or else the addresses themselves'],
    ['a pattern that matches nothing is NODATA', 'a pattern that matches nothing is NODATA where what stands right of it exists'],
    ['octet for octet', 'text is given octet for octet'],
    ['to the additional record too', 'targetstrip of an MX counts for the additional record too'],
    ['never 0 through rounding', 'a weight is at least 1'],
    ['a service that is none is skipped', 'a service under ns.dns that is no address is skipped, and logged'],
    ['a CNAME always precedes what it points to', 'a CNAME stands before what it points to, and only addresses are shuffled']
  ),
  ...rows(5, ['the own domain is never a stub zone', 'the own domain is no stub zone, and nothing in it']),
  ...rows(6, [
    'closest encloser computed truly',
    'the closest encloser is the longest name above that exists',
    'the types in a proof are those that the name has, and never the one asked for',
    'the types of the apex are right',
    'AD is never set',
    'a signature never outlives its validity in the cache',
    'signatures hold for whoever verifies them',
    'a lease that counts down needs no new signature: what is signed is the configured TTL',
    'a name that begins with * owns no signed record'
  ])
]
