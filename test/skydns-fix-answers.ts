/** Of the marks in skydns-fix-list.ts those that services, questions and right answers show. */
import type { SkyDns } from './skydns-like.js'

/** A server, and what it says to each question, as `told` of skydns-like.ts has it. */
export interface Answers extends Pick<SkyDns, 'services' | 'config'> {
  readonly asks: Readonly<Record<string, readonly string[]>>
}

const SOA = 'skydns.test. 60 SOA'
const FOUND = 'NOERROR aa rd ra'
const NODATA = [FOUND, SOA]
const NXDOMAIN = ['NXDOMAIN aa rd ra', SOA]
const REFUSED = ['REFUSED rd']

/** Questions that all have the same answer. */
const same = (questions: readonly string[], answer: readonly string[]): Record<string, readonly string[]> =>
  Object.fromEntries(questions.map((question) => [question, answer]))
const strings = (...lengths: number[]): string => lengths.map((length) => `"${'x'.repeat(length)}"`).join(' ')

/** By what a mark says. */
export const ANSWERS: Readonly<Record<string, Answers>> = {
  'keys written with capitals are found': {
    services: { '/skydns/Test/SKYDNS/East/WEB': { host: '10.0.0.1', port: 80 } },
    asks: {
      'web.east.skydns.test. A': [FOUND, 'web.east.skydns.test. 3600 A 10.0.0.1'],
      'EAST.SkyDNS.Test. SRV': [
        FOUND,
        'EAST.SkyDNS.Test. 3600 SRV 10 100 80 web.east.skydns.test.',
        '+ web.east.skydns.test. 3600 A 10.0.0.1'
      ],
      'web.skydns.test. A': NXDOMAIN
    }
  },
  'a malformed value is left out, and its siblings answer': {
    services: {
      'app/1': { host: '10.0.0.1', port: 1 },
      'app/2': '{"host":',
      'app/3': { host: '10.0.0.3', port: 65_536 },
      'app/4': { host: '10.0.0.4', weight: -1 },
      'app/5': { host: '10.0.0.5', port: 5, weight: 300 },
      alone: 'no'
    },
    asks: {
      'app.skydns.test. A': [FOUND, 'app.skydns.test. 3600 A 10.0.0.1', 'app.skydns.test. 3600 A 10.0.0.5'],
      'app.skydns.test. SRV': [
        FOUND,
        'app.skydns.test. 3600 SRV 10 25 1 1.app.skydns.test.',
        'app.skydns.test. 3600 SRV 10 75 5 5.app.skydns.test.',
        '+ 1.app.skydns.test. 3600 A 10.0.0.1',
        '+ 5.app.skydns.test. 3600 A 10.0.0.5'
      ],
      'alone.skydns.test. A': NODATA
    }
  },
  'text of exactly 255·k octets has no empty string behind it': {
    services: Object.fromEntries([254, 255, 256, 510].map((length) => [`t${length}`, { text: 'x'.repeat(length) }])),
    asks: {
      't254.skydns.test. TXT': [FOUND, `t254.skydns.test. 3600 TXT ${strings(254)}`],
      't255.skydns.test. TXT': [FOUND, `t255.skydns.test. 3600 TXT ${strings(255)}`],
      't256.skydns.test. TXT': [FOUND, `t256.skydns.test. 3600 TXT ${strings(255, 1)}`],
      't510.skydns.test. TXT': [FOUND, `t510.skydns.test. 3600 TXT ${strings(255, 255)}`]
    }
  },
  'AXFR, IXFR and the other meta types are REFUSED': {
    services: {
      web: { host: '10.0.0.1' },
      'dns/stub/test/corp/1': { host: '127.0.0.1', port: 9 },
      '/skydns/arpa/in-addr/10/0/0/1': { host: 'web.skydns.test' }
    },
    asks: same(
      ['skydns.test.', 'web.skydns.test.', 'no.skydns.test.', 'www.example.org.', 'a.corp.test.', '1.0.0.10.in-addr.arpa.'].flatMap(
        (name) => ['AXFR', 'IXFR', 'MAILA', 'MAILB', 'TYPE250', 'TYPE249', 'TYPE128', 'TYPE41', 'ANY'].map((type) => `${name} ${type}`)
      ),
      REFUSED
    )
  },
  'class CH never meets data of class IN': {
    services: {
      '': { text: 'the apex' },
      web: { host: '10.0.0.1' },
      'dns/stub/test/corp/1': { host: '127.0.0.1', port: 9 },
      '/skydns/arpa/in-addr/10/0/0/1': { host: 'web.skydns.test' },
      '/skydns/bind/version': { text: 'stored' }
    },
    asks: {
      ...same(['1.0.0.10.in-addr.arpa. PTR CH', 'skydns.test. SOA CH', 'skydns.test. DNSKEY CH'], REFUSED),
      ...same(['web.skydns.test. A CH', 'web.skydns.test. SRV CH', 'a.corp.test. A CH', 'www.example.org. A CH'], REFUSED),
      'version.bind. TXT CH': [FOUND, 'version.bind. 0 CH TXT "Skein-test"']
    }
  },
  'PTR is answered from the exact key alone': {
    services: {
      '/skydns/arpa/in-addr/10/0/0/1': { host: 'one.skydns.test' },
      '/skydns/arpa/in-addr/10/0/0/10': { host: 'ten.skydns.test' },
      '/skydns/arpa/in-addr/10/0/0/2/x': { host: 'below.skydns.test' }
    },
    asks: {
      '1.0.0.10.in-addr.arpa. PTR': ['NOERROR rd ra', '1.0.0.10.in-addr.arpa. 3600 PTR one.skydns.test.'],
      '10.0.0.10.in-addr.arpa. PTR': ['NOERROR rd ra', '10.0.0.10.in-addr.arpa. 3600 PTR ten.skydns.test.'],
      // They are forwarded, to nobody.
      ...same(['2.0.0.10.in-addr.arpa. PTR', '0.0.10.in-addr.arpa. PTR', 'x.1.0.0.10.in-addr.arpa. PTR'], ['SERVFAIL rd ra'])
    }
  },
  'a CHAOS query of another kind is REFUSED, as is every class that nobody serves': {
    asks: {
      'hostname.bind. TXT CH': [FOUND, 'hostname.bind. 0 CH TXT "localhost"'],
      'ID.Server. TXT CH': [FOUND, 'ID.Server. 0 CH TXT "localhost"'],
      ...same(['version.bind. A CH', 'other.bind. TXT CH', 'x.skydns.test. TXT CH', '. TXT CH'], REFUSED),
      ...same(['version.bind. TXT HS', 'skydns.test. SOA HS', 'www.example.org. A HS', 'skydns.test. A CLASS77'], REFUSED)
    }
  },
  'names are compared label by label': {
    services: {
      foo: { host: '10.0.0.1' },
      foobar: { host: '10.0.0.2' },
      'n/1': { host: '10.0.1.1' },
      'n/10': { host: '10.0.1.10' },
      'a.b': { host: '10.0.2.1' }
    },
    asks: {
      'foo.skydns.test. A': [FOUND, 'foo.skydns.test. 3600 A 10.0.0.1'],
      'fo.skydns.test. A': NXDOMAIN,
      '1.n.skydns.test. A': [FOUND, '1.n.skydns.test. 3600 A 10.0.1.1'],
      'a\\.b.skydns.test. A': [FOUND, 'a\\.b.skydns.test. 3600 A 10.0.2.1'],
      ...same(['b.a.skydns.test. A', 'a.skydns.test. A'], NXDOMAIN)
    }
  },
  'a name below a key that has none below it does not exist': {
    services: { leaf: { host: '10.0.0.1' } },
    asks: same(
      ['A', 'AAAA', 'SRV', 'TXT', 'MX', 'CNAME', 'HINFO'].flatMap((type) => [
        `x.leaf.skydns.test. ${type}`,
        `y.x.leaf.skydns.test. ${type}`
      ]),
      NXDOMAIN
    )
  },
  'NS below the apex is NXDOMAIN where there is no such name': {
    services: { leaf: { host: '10.0.0.1' }, 'dns/ns/1': { host: '10.0.0.53' } },
    asks: {
      ...same(['no.skydns.test. NS', 'x.leaf.skydns.test. NS'], NXDOMAIN),
      ...same(['leaf.skydns.test. NS', 'dns.skydns.test. NS', 'ns.dns.skydns.test. NS'], NODATA),
      'skydns.test. NS': [FOUND, 'skydns.test. 3600 NS 1.ns.dns.skydns.test.', '+ 1.ns.dns.skydns.test. 3600 A 10.0.0.53']
    }
  },
  'the apex exists, whatever is stored': {
    asks: same(
      ['A', 'AAAA', 'SRV', 'TXT', 'MX', 'NS', 'CNAME', 'HINFO', 'DNSKEY'].map((type) => `skydns.test. ${type}`),
      NODATA
    )
  },
  'NXDOMAIN has AA and RA': {
    services: { web: { host: '10.0.0.1' } },
    asks: same(
      ['A', 'SRV', 'TXT', 'NS', 'PTR'].map((type) => `no.skydns.test. ${type}`),
      ['NXDOMAIN aa rd ra', SOA]
    )
  },
  'a service without a host has text at most': {
    services: { 'a/1': { text: 'words', mail: true, port: 80 }, 'a/2': { host: '' }, b: {}, web: { host: '10.0.0.1' } },
    asks: {
      'a.skydns.test. TXT': [FOUND, 'a.skydns.test. 3600 TXT "words"'],
      ...same(
        ['A', 'AAAA', 'CNAME', 'SRV', 'MX'].flatMap((type) => [`a.skydns.test. ${type}`, `1.a.skydns.test. ${type}`]),
        NODATA
      ),
      ...same(['b.skydns.test. A', 'b.skydns.test. TXT'], NODATA),
      'skydns.test. A': [FOUND, 'skydns.test. 3600 A 10.0.0.1']
    }
  },
  'of equal services the lowest TTL counts': {
    services: {
      'a/1': { host: '10.0.0.1', ttl: 90 },
      'a/2': { host: '10.0.0.1', ttl: 30 },
      'a/3': { host: '10.0.0.1' },
      'mx/1': { host: 'm.example.org', mail: true, ttl: 90 },
      'mx/2': { host: 'm.example.org', mail: true, ttl: 40 },
      'mx/3': { host: 'm.example.org', ttl: 7 }
    },
    asks: {
      'a.skydns.test. A': [FOUND, 'a.skydns.test. 30 A 10.0.0.1'],
      'a.skydns.test. SRV': [FOUND, 'a.skydns.test. 30 SRV 10 100 0 1.a.skydns.test.', '+ 1.a.skydns.test. 30 A 10.0.0.1'],
      'mx.skydns.test. MX': [FOUND, 'mx.skydns.test. 40 MX 10 m.example.org.']
    }
  },
  'equal services are one only after grouping': {
    services: {
      'g/1/a': { host: '10.0.0.1', ttl: 5, group: 'other' },
      'g/2': { host: '10.0.0.1', ttl: 60, group: 'this' },
      'g/3/a': { host: '10.0.0.1', ttl: 90, group: 'this' }
    },
    asks: { 'g.skydns.test. SRV': [FOUND, 'g.skydns.test. 60 SRV 10 100 0 2.g.skydns.test.', '+ 2.g.skydns.test. 60 A 10.0.0.1'] }
  },
  'of equal services the first in key order names the target': {
    services: {
      'e/c': { host: '10.0.0.1' },
      'e/b/x': { host: '10.0.0.1' },
      'e/b': { host: '10.0.0.1' },
      // Equal is what was written: 10 is the default, and was not.
      'f/a': { host: '10.0.0.1' },
      'f/b': { host: '10.0.0.1', priority: 10 }
    },
    asks: {
      'e.skydns.test. SRV': [FOUND, 'e.skydns.test. 3600 SRV 10 100 0 b.e.skydns.test.', '+ b.e.skydns.test. 3600 A 10.0.0.1'],
      'f.skydns.test. SRV': [
        FOUND,
        'f.skydns.test. 3600 SRV 10 50 0 a.f.skydns.test.',
        'f.skydns.test. 3600 SRV 10 50 0 b.f.skydns.test.',
        '+ a.f.skydns.test. 3600 A 10.0.0.1',
        '+ b.f.skydns.test. 3600 A 10.0.0.1'
      ]
    }
  },
  'the group of the shortest key decides, in whatever order keys are listed': {
    services: {
      // The key that decides is listed last, first, and between.
      'last/a/b': { host: '10.0.0.1', group: 'g2' },
      'last/a/c': { host: '10.0.0.2' },
      'last/z': { host: '10.0.0.3', group: 'g1' },
      'first/a': { host: '10.0.0.3', group: 'g1' },
      'first/b/a': { host: '10.0.0.1', group: 'g2' },
      'first/b/b': { host: '10.0.0.2' },
      'between/0': { host: '10.0.0.2' },
      'between/a/b': { host: '10.0.0.1', group: 'g2' },
      'between/b': { host: '10.0.0.3', group: 'g1' },
      'between/c/a': { host: '10.0.0.4', group: 'g3' },
      'two/a': { host: '10.0.0.1', group: 'g1' },
      'two/b': { host: '10.0.0.2', group: 'g2' },
      'two/c/a': { host: '10.0.0.3', group: 'g3' }
    },
    asks: {
      'last.skydns.test. A': [FOUND, 'last.skydns.test. 3600 A 10.0.0.2', 'last.skydns.test. 3600 A 10.0.0.3'],
      'first.skydns.test. A': [FOUND, 'first.skydns.test. 3600 A 10.0.0.3', 'first.skydns.test. 3600 A 10.0.0.2'],
      'between.skydns.test. A': [FOUND, 'between.skydns.test. 3600 A 10.0.0.2', 'between.skydns.test. 3600 A 10.0.0.3'],
      'two.skydns.test. A': [FOUND, ...[1, 2, 3].map((last) => `two.skydns.test. 3600 A 10.0.0.${last}`)]
    }
  },
  'there is one CNAME at a name and nothing beside it, or else the addresses themselves': {
    services: {
      'web/1': { host: '10.0.0.1', ttl: 20 },
      'web/2': { host: '10.0.0.2' },
      'one/1': { host: 'web.skydns.test', port: 1 },
      'one/2': { host: 'web.skydns.test', port: 2 },
      'several/1': { host: '1.web.skydns.test' },
      'several/2': { host: '2.web.skydns.test' },
      'beside/1': { host: '2.web.skydns.test' },
      'beside/2': { host: '10.0.0.9', ttl: 50 },
      'before/1': { host: '10.0.0.9', ttl: 50 },
      'before/2': { host: '2.web.skydns.test' },
      'family/1': { host: '2.web.skydns.test' },
      'family/2': { host: '2001:db8::1' }
    },
    asks: {
      'one.skydns.test. A': [
        FOUND,
        'one.skydns.test. 20 CNAME web.skydns.test.',
        'web.skydns.test. 20 A 10.0.0.1',
        'web.skydns.test. 20 A 10.0.0.2'
      ],
      'several.skydns.test. A': [FOUND, 'several.skydns.test. 20 A 10.0.0.1', 'several.skydns.test. 20 A 10.0.0.2'],
      'several.skydns.test. CNAME': NODATA,
      'beside.skydns.test. A': [FOUND, 'beside.skydns.test. 50 A 10.0.0.2', 'beside.skydns.test. 50 A 10.0.0.9'],
      'before.skydns.test. A': [FOUND, 'before.skydns.test. 50 A 10.0.0.9', 'before.skydns.test. 50 A 10.0.0.2'],
      ...same(['beside.skydns.test. CNAME', 'before.skydns.test. CNAME'], NODATA),
      'family.skydns.test. A': [FOUND, 'family.skydns.test. 3600 A 10.0.0.2'],
      'family.skydns.test. AAAA': [FOUND, 'family.skydns.test. 3600 AAAA 2001:db8::1'],
      'family.skydns.test. CNAME': NODATA
    }
  },
  'a pattern that matches nothing is NODATA where what stands right of it exists': {
    services: { 'east/web/1': { host: '10.0.0.1' }, 'east/key': { host: '10.0.0.2' } },
    asks: {
      ...same(['*.key.east.skydns.test. A', 'web.*.east.skydns.test. A', 'no.any.east.skydns.test. SRV', '*.*.*.*.skydns.test. A'], NODATA),
      ...same(['*.west.skydns.test. A', 'a.*.web.west.skydns.test. A', 'x.any.y.skydns.test. SRV'], NXDOMAIN),
      '1.*.east.skydns.test. A': [FOUND, '1.*.east.skydns.test. 3600 A 10.0.0.1']
    }
  },
  'text is given octet for octet': {
    services: { t: { text: 'a\\b \\"c\\" \\\\ \u00e4 \t; "q"' } },
    asks: { 't.skydns.test. TXT': [FOUND, 't.skydns.test. 3600 TXT "a\\\\b \\\\\\"c\\\\\\" \\\\\\\\ \\195\\164 \\009; \\"q\\""'] }
  },
  'targetstrip of an MX counts for the additional record too': {
    services: {
      'mail/a': { host: '10.0.0.1', mail: true, targetstrip: 1 },
      'over/a': { host: '10.0.0.2', mail: true, targetstrip: 4 },
      'named/a': { host: 'x.mail.skydns.test', mail: true, targetstrip: 1 }
    },
    asks: {
      'a.mail.skydns.test. MX': [FOUND, 'a.mail.skydns.test. 3600 MX 10 mail.skydns.test.', '+ mail.skydns.test. 3600 A 10.0.0.1'],
      'over.skydns.test. MX': [FOUND, 'over.skydns.test. 3600 MX 10 a.over.skydns.test.', '+ a.over.skydns.test. 3600 A 10.0.0.2'],
      'named.skydns.test. MX': [FOUND, 'named.skydns.test. 3600 MX 10 mail.skydns.test.', '+ mail.skydns.test. 3600 A 10.0.0.1']
    }
  },
  'a weight is at least 1': {
    services: {
      'w/1': { host: 'a.example.org', weight: 65_000 },
      'w/2': { host: 'b.example.org', weight: 1 },
      'w/3': { host: 'c.example.org', weight: 5, priority: 20 },
      'w/4': { host: 'd.example.org', priority: 20 }
    },
    asks: {
      'w.skydns.test. SRV': [
        FOUND,
        'w.skydns.test. 3600 SRV 10 99 0 a.example.org.',
        'w.skydns.test. 3600 SRV 10 1 0 b.example.org.',
        'w.skydns.test. 3600 SRV 20 4 0 c.example.org.',
        'w.skydns.test. 3600 SRV 20 95 0 d.example.org.'
      ]
    }
  }
}
