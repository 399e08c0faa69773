import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Query, type ResourceRecord, type RRType, typeNumber } from 'skein/plugin'
import { serverOf } from 'skein/testing'
import { afterAll, describe, expect, test } from 'vitest'

const folder = mkdtempSync(join(tmpdir(), 'skein-etcd-'))
const world = join(folder, 'node_modules/skein-plugin-world')
mkdirSync(world, { recursive: true })
writeFileSync(join(world, 'package.json'), JSON.stringify({ type: 'module', exports: './index.js' }))
writeFileSync(
  join(world, 'index.js'),
  `export default { name: 'world', api: 1, setup: () => ({ handle: (query) => globalThis.etcdSigned(query) }) }`
)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** An RRSIG over a set of this type, made with that TTL; nobody checks the rest. */
function signature(owner: string, covered: RRType, originalTtl: number, klass?: 'CH'): ResourceRecord {
  const rdata = Buffer.alloc(18 + 1 + 8, 1)
  rdata.writeUInt16BE(typeNumber(covered)!)
  rdata.writeUInt32BE(originalTtl, 4)
  rdata[18] = 0
  return { owner, type: 'RRSIG', ttl: 999, rdata, ...(klass && { class: klass }) }
}

const address = (owner: string, ipv4 = '192.0.2.9'): ResourceRecord => ({ owner, type: 'A', ttl: 999, rdata: ipv4 })
const SIGNED: Readonly<Record<string, readonly ResourceRecord[]>> = {
  'web.example.': [address('web.example.'), signature('WEB.example.', 'A', 300)],
  'short.example.': [address('short.example.'), signature('short.example.', 'A', 300), signature('short.example.', 'A', 20)],
  'alias.example.': [
    { owner: 'alias.example.', type: 'CNAME', ttl: 999, rdata: 'web.example.' },
    signature('alias.example.', 'CNAME', 30),
    signature('web.example.', 'A', 300),
    address('web.example.')
  ],
  'others.example.': [
    address('others.example.'),
    signature('others.example.', 'AAAA', 1),
    signature('elsewhere.example.', 'A', 1),
    signature('others.example.', 'A', 1, 'CH'),
    { owner: 'others.example.', type: 'RRSIG', ttl: 999, rdata: new Uint8Array(17) }
  ]
}
Object.assign(globalThis, {
  etcdSigned: (query: Query) => {
    if (query.qname.startsWith('fails.')) return query.fail('SERVFAIL', 'upstream-failed')
    if (query.qname.startsWith('gone.')) return query.fail('NXDOMAIN', 'forwarded')
    return query.reply({ answer: query.qtype === 'A' ? (SIGNED[query.qname] ?? []) : [] })
  }
})

/** A record as text, of an RRSIG what it covers. */
function covering(record: string): string {
  return record.replace(/ RRSIG (\S+) .*/s, ' RRSIG $1')
}

type Services = Readonly<Record<string, unknown>>

/** The answer to a question, `a.z A` with `+` for DO; an RRSIG is told by what it covers. */
async function told(services: Services, question: string, options = ''): Promise<string> {
  const byPath = Object.entries(services).map(([name, value]) => [
    ['/skydns/z', ...name.split('.').reverse()].filter(Boolean).join('/'),
    value
  ])
  const server = await serverOf(`. {\n etcd z {\n store\n ${options}\n }\n world\n}`, {
    file: join(folder, 'Corefile'),
    services: Object.fromEntries(byPath)
  })
  const dnssecOk = question.endsWith('+')
  const { rcode, flags, answer, authority } = await server.ask(question.replace('+', ''), { dnssecOk })
  await server.stop()
  const shown = answer.map(covering)
  const aa = flags.includes('aa') || rcode === 'SERVFAIL' ? '' : 'not authoritative '
  return `${aa}${[rcode, ...shown, ...(authority.length > 0 ? ['SOA'] : [])].join(' | ')}`
}

describe('with DO a name that has a CNAME is never denied', () => {
  const services = {
    'x.same': { host: 'b.z' },
    'y.same': { host: 'b.z', text: 'here' },
    b: { host: '192.0.2.1' },
    self: { host: 'self.z' },
    one: { host: 'two.z' },
    two: { host: 'one.z' },
    enter: { host: 'one.z' },
    far: { host: 'fails.z' },
    home: { host: 'local.dns.z' },
    lost: { host: 'none.z' },
    gone: { host: 'gone.example' },
    fails: { host: 'fails.example' },
    chain: { host: 'lost.z' },
    'x.both': { host: 'none.z' },
    'y.both': { host: 'gone.example' },
    'p.any-of.w': { host: 'b.z' }
  }
  test.each([
    ...['LOC', 'HTTPS', 'DS', 'NS', 'SOA', 'MX', 'CNAME', 'PTR'].map((type) => [
      `same.z ${type}`,
      'NOERROR | SOA',
      'NOERROR | same.z. 3600 CNAME b.z.'
    ]),
    ['same.z TXT', 'NOERROR | same.z. 3600 TXT "here"', 'NOERROR | same.z. 3600 TXT "here"'],
    ['same.z A', 'NOERROR | same.z. 3600 CNAME b.z. | b.z. 3600 A 192.0.2.1', 'NOERROR | same.z. 3600 CNAME b.z. | b.z. 3600 A 192.0.2.1'],
    ['same.z AAAA', 'NOERROR | SOA', 'NOERROR | same.z. 3600 CNAME b.z.'],
    ...['self.z A', 'self.z LOC', 'one.z A', 'two.z AAAA', 'one.z LOC'].map((question) => [question, 'NOERROR | SOA', 'NOERROR | SOA']),
    ['self.z CNAME', 'NOERROR | self.z. 3600 CNAME self.z.', 'NOERROR | SOA'],
    ['one.z CNAME', 'NOERROR | one.z. 3600 CNAME two.z.', 'NOERROR | SOA'],
    ['enter.z A', 'NOERROR | SOA', 'NOERROR | enter.z. 3600 CNAME one.z.'],
    ['enter.z CNAME', 'NOERROR | enter.z. 3600 CNAME one.z.', 'NOERROR | enter.z. 3600 CNAME one.z.'],
    ['lost.z A', 'NOERROR | SOA', 'NOERROR | lost.z. 3600 CNAME none.z.'],
    ['chain.z A', 'NOERROR | SOA', 'NOERROR | chain.z. 3600 CNAME lost.z. | lost.z. 3600 CNAME none.z.'],
    ['gone.z A', 'NOERROR | SOA', 'NOERROR | gone.z. 3600 CNAME gone.example.'],
    ['fails.z A', 'SERVFAIL', 'SERVFAIL'],
    ['fails.z AAAA', 'SERVFAIL', 'SERVFAIL'],
    ['fails.z LOC', 'NOERROR | SOA', 'NOERROR | fails.z. 3600 CNAME fails.example.'],
    ['far.z A', 'SERVFAIL', 'SERVFAIL'],
    ['home.z A', 'NOERROR | SOA', 'NOERROR | home.z. 3600 CNAME local.dns.z.'],
    ['both.z A', 'NOERROR | SOA', 'NOERROR | SOA'],
    ['*.any-of.w.z LOC', 'NOERROR | SOA', 'NOERROR | *.any-of.w.z. 3600 CNAME b.z.'],
    ['b.z LOC', 'NOERROR | SOA', 'NOERROR | SOA'],
    ['none.z LOC', 'NXDOMAIN | SOA', 'NXDOMAIN | SOA']
  ])('%s: %s, and then %s', async (question, without, withDo) => {
    expect([await told(services, question), await told(services, `${question}+`)]).toEqual([without, withDo])
  })

  test('local.dns leads to where its name does', async () => {
    expect(await told(services, 'local.dns.z LOC+', 'local same.z')).toBe('NOERROR | local.dns.z. 3600 CNAME b.z.')
  })
})

describe('with DO there is no CNAME at the apex', () => {
  // Of what is below the apex the group leaves nothing there.
  const leading = { '': { host: 'web.example', group: 'g' }, a: { host: 'z', port: 1, group: 'h' } }
  const out = { '': { host: 'web.example', text: 'here', mail: true } }
  const both = 'z. 60 A 192.0.2.9'
  test.each<[string, Services, string, string, string, string?]>([
    ['A', out, 'z A', 'z. 60 CNAME web.example. | web.example. 60 A 192.0.2.9', both],
    ['AAAA', out, 'z AAAA', 'z. 3600 CNAME web.example.', 'SOA'],
    ['CNAME', out, 'z CNAME', 'z. 3600 CNAME web.example.', 'SOA'],
    ['LOC', out, 'z LOC', 'SOA', 'SOA'],
    ['DNSKEY', out, 'z DNSKEY', 'SOA', 'SOA'],
    ['NS', out, 'z NS', 'SOA', 'SOA'],
    ['SOA', out, 'z SOA', 'z. 3600 SOA', 'z. 3600 SOA'],
    ['TXT', out, 'z TXT', 'z. 3600 TXT "here"', 'z. 3600 TXT "here"'],
    ['A of one name below it', { a: { host: 'web.example' } }, 'z A', 'z. 60 CNAME web.example. | web.example. 60 A 192.0.2.9', both],
    ['A of a name within', { a: { host: 'b.z' }, 'x.b': { host: 'b.z' } }, 'z A', 'SOA', 'SOA'],
    [
      'A of a name that leads there',
      leading,
      'a.z A',
      'a.z. 60 CNAME z. | z. 60 CNAME web.example. | web.example. 60 A 192.0.2.9',
      'a.z. 60 CNAME z. | z. 60 A 192.0.2.9'
    ],
    [
      'A of apex.dns',
      { 'apex.dns': { host: 'web.example' } },
      'z A',
      'z. 60 CNAME web.example. | web.example. 60 A 192.0.2.9',
      both,
      'no_apex_fallback'
    ],
    ['LOC of apex.dns', { 'apex.dns': { host: 'web.example' } }, 'z LOC', 'SOA', 'SOA', 'no_apex_fallback'],
    ['CNAME of apex.dns itself', { 'apex.dns': { host: 'web.example' } }, 'apex.dns.z LOC', 'SOA', 'apex.dns.z. 3600 CNAME web.example.'],
    [
      'A of a name that leads to apex.dns',
      { 'apex.dns': { host: 'web.example' }, a: { host: 'z' } },
      'a.z A',
      'a.z. 60 CNAME z. | z. 60 A 192.0.2.9',
      'a.z. 60 CNAME z. | z. 60 A 192.0.2.9',
      'no_apex_fallback'
    ],
    ['LOC of local.dns that is the zone', out, 'local.dns.z LOC', 'SOA', 'SOA', 'local z'],
    ['A of local.dns that is the zone', out, 'local.dns.z AAAA', 'local.dns.z. 3600 CNAME web.example.', 'SOA', 'local z']
  ])('%s', async (_, services, question, without, withDo, options) => {
    const tidy = (text: string): string => text.replace(/SOA .*/, 'SOA')
    expect([tidy(await told(services, question, options)), tidy(await told(services, `${question}+`, options))]).toEqual([
      `NOERROR | ${without}`,
      `NOERROR | ${withDo}`
    ])
  })

  test('nor of a zone within the zone', async () => {
    const server = await serverOf('. {\n etcd z y.z {\n store\n }\n world\n}', {
      file: join(folder, 'Corefile'),
      services: { '/skydns/z/y': { host: 'web.example' }, '/skydns/z/a': { host: 'y.z' } }
    })
    const { answer } = await server.ask('a.z A', { dnssecOk: true })
    await server.stop()
    expect(answer).toEqual(['a.z. 60 CNAME y.z.', 'y.z. 60 A 192.0.2.9'])
  })

  test('what could not be looked up is no proof there either', async () => {
    expect(await told({ '': { host: 'fails.example' } }, 'z A+')).toBe('SERVFAIL')
  })

  test('nor in the additional section', async () => {
    const server = await serverOf('. {\n etcd z {\n store\n }\n world\n}', {
      file: join(folder, 'Corefile'),
      services: { '/skydns/z': leading[''], '/skydns/z/a': leading.a }
    })
    const additional = async (dnssecOk: boolean): Promise<readonly string[]> => (await server.ask('a.z SRV', { dnssecOk })).additional
    const seen = [await additional(false), (await additional(true)).map(covering)]
    await server.stop()
    expect(seen).toEqual([
      ['z. 3600 CNAME web.example.', 'web.example. 60 A 192.0.2.9'],
      ['web.example. 60 A 192.0.2.9', 'web.example. 60 RRSIG A', 'z. 60 A 192.0.2.9']
    ])
  })
})

describe('with DO the addresses beside an answer are whole sets, as whoever asks for their names gets them', () => {
  const services = {
    '/skydns/z/strip/1': { host: '192.0.2.1', targetstrip: 1 },
    '/skydns/z/strip/2': { host: '192.0.2.2', targetstrip: 1 },
    '/skydns/z/p': { host: '192.0.2.3' },
    '/skydns/z/p/q': { host: '192.0.2.4' },
    '/skydns/z/dns/a': { host: '192.0.2.5', targetstrip: 2 }
  }
  test.each([
    ['1.strip.z SRV', ['strip.z. 3600 A 192.0.2.1'], ['strip.z. 3600 A 192.0.2.1', 'strip.z. 3600 A 192.0.2.2']],
    [
      'p.z SRV',
      ['p.z. 3600 A 192.0.2.3', 'q.p.z. 3600 A 192.0.2.4'],
      ['p.z. 3600 A 192.0.2.3', 'p.z. 3600 A 192.0.2.4', 'q.p.z. 3600 A 192.0.2.4']
    ]
  ])('%s', async (question, without, withDo) => {
    const server = await serverOf('. {\n etcd z {\n store\n }\n}', { services })
    const additional = async (dnssecOk: boolean): Promise<string[]> => [...(await server.ask(question, { dnssecOk })).additional].toSorted()
    const seen = [await additional(false), await additional(true)]
    await server.stop()
    expect(seen).toEqual([without, withDo])
  })
})

describe('what comes from outside keeps its signatures with DO', () => {
  test.each([
    ['web.example', 'a.z. 60 CNAME web.example. | web.example. 60 A 192.0.2.9 | web.example. 60 RRSIG A'],
    [
      'short.example',
      'a.z. 20 CNAME short.example. | short.example. 20 A 192.0.2.9 | short.example. 20 RRSIG A | short.example. 20 RRSIG A'
    ],
    [
      'alias.example',
      'a.z. 30 CNAME alias.example. | alias.example. 30 CNAME web.example. | alias.example. 30 RRSIG CNAME | web.example. 30 A 192.0.2.9 | web.example. 30 RRSIG A'
    ],
    ['others.example', 'a.z. 60 CNAME others.example. | others.example. 60 A 192.0.2.9']
  ])('%s', async (host, expected) => {
    expect(await told({ a: { host } }, 'a.z A+')).toBe(`NOERROR | ${expected}`)
    const bare = expected.replace(/ \| [^|]* RRSIG (A|CNAME)/g, '').replace(/ (20|30) /g, ' 60 ')
    expect(await told({ a: { host } }, 'a.z A')).toBe(`NOERROR | ${bare}`)
  })

  test('not where its addresses stand at a name of the zone', async () => {
    const services = { 'x.a': { host: 'web.example' }, 'y.a': { host: '192.0.2.1' } }
    expect(await told(services, 'a.z A+')).toBe('NOERROR | a.z. 60 A 192.0.2.9 | a.z. 60 A 192.0.2.1')
  })

  test('beside a target, each with the TTL of what it covers', async () => {
    const server = await serverOf('. {\n etcd z {\n store\n }\n world\n}', {
      file: join(folder, 'Corefile'),
      services: { '/skydns/z/a': { host: 'short.example', port: 1 } }
    })
    const { additional } = await server.ask('a.z SRV', { dnssecOk: true })
    await server.stop()
    expect(additional.map(covering)).toEqual(['short.example. 20 A 192.0.2.9', 'short.example. 20 RRSIG A', 'short.example. 20 RRSIG A'])
  })
})
