import { base32Hex } from 'skein/plugin'
import { MemoryStore, serverOf, TestClock, type TestServer } from 'skein/testing'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { judged, type KeyFolder, keyFolder } from './judged.testing.js'
import { hashOf } from './nsec3.js'

let folder: KeyFolder
let server: TestServer | undefined
beforeAll(async () => {
  folder = await keyFolder(['skydns.local.'])
})
afterEach(async () => {
  await server?.stop()
  server = undefined
})
afterAll(() => folder.remove())

const services = {
  '/skydns/local/skydns/east/web/1': { host: '192.0.2.1', port: 80 },
  '/skydns/local/skydns/east/web/2': { host: '192.0.2.2', port: 80 },
  '/skydns/local/skydns/six': { host: '2001:db8::1', text: 'six' },
  '/skydns/local/skydns/alias': { host: 'web.east.skydns.local' },
  '/skydns/local/skydns/lost': { host: 'nowhere.skydns.local' },
  '/skydns/local/skydns/mail': { host: '192.0.2.25', mail: true },
  '/skydns/local/skydns/dns/ns/a': { host: '192.0.2.53' }
}

const corefile = (denial: string, more = ''): string =>
  `. {\n${more}\ndnssec skydns.local {\nkeys ${folder.path}\ndenial ${denial}\nverify 100\n}\netcd skydns.local {\nstore\n}\n}`

async function start(denial: string, more?: string, clock = new TestClock()): Promise<TestServer> {
  server = await serverOf(corefile(denial, more), { services, clock })
  return server
}

const SOA = ['skydns.local. SOA', 'skydns.local. RRSIG SOA']

describe('what there is', () => {
  test.each<[string, readonly string[], string[]?]>([
    [
      'an RRset has one signature',
      ['web.east.skydns.local. A 192.0.2.1', 'web.east.skydns.local. A 192.0.2.2', 'web.east.skydns.local. RRSIG A']
    ],
    [
      'a CNAME has its own, and so has what it leads to',
      [
        'alias.skydns.local. CNAME web.east.skydns.local.',
        'alias.skydns.local. RRSIG CNAME',
        'web.east.skydns.local. A 192.0.2.1',
        'web.east.skydns.local. A 192.0.2.2',
        'web.east.skydns.local. RRSIG A'
      ]
    ],
    ['a CNAME is given where it leads to nothing', ['lost.skydns.local. CNAME nowhere.skydns.local.', 'lost.skydns.local. RRSIG CNAME']],
    ['the apex', ['skydns.local. SOA', 'skydns.local. RRSIG SOA']],
    [
      'the servers, with their addresses',
      ['skydns.local. NS a.ns.dns.skydns.local.', 'skydns.local. RRSIG NS'],
      ['a.ns.dns.skydns.local. A 192.0.2.53', 'a.ns.dns.skydns.local. RRSIG A']
    ],
    ['a pattern', ['any.east.skydns.local. A 192.0.2.1', 'any.east.skydns.local. A 192.0.2.2', 'any.east.skydns.local. RRSIG A']],
    ['keys', ['skydns.local. DNSKEY', 'skydns.local. RRSIG DNSKEY']],
    ['what the parent is to have', ['skydns.local. CDS', 'skydns.local. RRSIG CDS']],
    ['the same as a key', ['skydns.local. CDNSKEY', 'skydns.local. RRSIG CDNSKEY']]
  ])('%s', async (_, answer, additional = []) => {
    const [first] = answer
    const [name, type] = first!.split(' ')
    const question = `${name} ${type === 'CNAME' ? 'A' : type}`
    for (const denial of ['nsec', 'nsec3']) {
      const got = await judged(await start(denial, 'cache'), folder.keys, question)
      expect(got).toMatchObject({ rcode: 'NOERROR', answer, additional, authority: [] })
      // From the cache, and in capitals.
      expect(await judged(server!, folder.keys, question.toUpperCase())).toMatchObject({ rcode: 'NOERROR', additional })
      await server!.stop()
    }
  })

  test('of SRV every target is signed by itself', async () => {
    const got = await judged(await start('nsec'), folder.keys, 'web.east.skydns.local. SRV')
    expect(got.answer).toEqual(['web.east.skydns.local. SRV', 'web.east.skydns.local. SRV', 'web.east.skydns.local. RRSIG SRV'])
    expect(got.additional).toEqual([
      '1.web.east.skydns.local. A 192.0.2.1',
      '1.web.east.skydns.local. RRSIG A',
      '2.web.east.skydns.local. A 192.0.2.2',
      '2.web.east.skydns.local. RRSIG A'
    ])
  })

  test('nobody gets signatures without DO, nor is anything else then', async () => {
    const questions = [
      'web.east.skydns.local. A',
      'nowhere.skydns.local. A',
      'lost.skydns.local. A',
      '*.skydns.local. A',
      'six.skydns.local. A'
    ]
    const unsigned = await serverOf('. {\netcd skydns.local {\nstore\n}\n}', { services })
    await start('nsec')
    for (const question of questions) {
      const { octets } = await unsigned.ask(question, { edns: 1232 })
      expect((await server!.ask(question, { edns: 1232 })).octets, question).toEqual(octets)
    }
    await unsigned.stop()
  })

  test('AD is never set', async () => {
    await start('nsec')
    const { flags } = await server!.ask('web.east.skydns.local. A', { dnssecOk: true, flags: 0x20 })
    expect(flags).toBe('aa rd ra')
  })
})

describe('what is not there, by compact denial', () => {
  const proof = (name: string, types: string): string[] => [...SOA, `${name} NSEC ${types}`, `${name} RRSIG NSEC`]
  test.each<[string, string, string, string]>([
    ['a type', 'six.skydns.local. A', 'six.skydns.local.', 'TXT AAAA SRV RRSIG NSEC'],
    ['a type that exists elsewhere', 'six.skydns.local. MX', 'six.skydns.local.', 'TXT AAAA SRV RRSIG NSEC'],
    ['an unknown type', 'mail.skydns.local. TYPE65280', 'mail.skydns.local.', 'A MX SRV RRSIG NSEC'],
    ['a name', 'nowhere.skydns.local. A', 'nowhere.skydns.local.', 'RRSIG NSEC NXNAME'],
    ['a name below another', 'no.six.skydns.local. A', 'no.six.skydns.local.', 'RRSIG NSEC NXNAME'],
    ['a type at the apex', 'skydns.local. HINFO', 'skydns.local.', 'A NS SOA MX TXT AAAA SRV RRSIG NSEC DNSKEY CDS CDNSKEY'],
    ['DS of a name that is no cut', 'web.east.skydns.local. DS', 'web.east.skydns.local.', 'A SRV RRSIG NSEC'],
    ['a pattern that matches nothing', 'any.six.skydns.local. A', 'any.six.skydns.local.', 'RRSIG NSEC']
  ])('%s', async (_, question, name, types) => {
    const got = await judged(await start('nsec'), folder.keys, question)
    expect(got).toMatchObject({ rcode: 'NOERROR', answer: [], additional: [], authority: proof(name, types) })
  })

  test('NXDOMAIN is told to whoever asks with CO beside DO, and he is told that it was understood', async () => {
    await start('nsec', 'cache')
    const co = { compactOk: true }
    for (const _ of ['made', 'cached']) {
      expect(await judged(server!, folder.keys, 'nowhere.skydns.local. A', co)).toMatchObject({
        rcode: 'NXDOMAIN',
        message: { edns: { compactOk: true } }
      })
      expect(await judged(server!, folder.keys, 'six.skydns.local. A', co)).toMatchObject({
        rcode: 'NOERROR',
        message: { edns: { compactOk: true } }
      })
      expect(await judged(server!, folder.keys, 'nowhere.skydns.local. A')).toMatchObject({
        rcode: 'NOERROR',
        message: { edns: { compactOk: false } }
      })
      expect(await judged(server!, folder.keys, 'six.skydns.local. AAAA', co)).toMatchObject({ message: { edns: { compactOk: true } } })
    }
  })

  test('the record itself can be asked for', async () => {
    await start('nsec')
    expect(await judged(server!, folder.keys, 'six.skydns.local. NSEC')).toMatchObject({
      rcode: 'NOERROR',
      answer: ['six.skydns.local. NSEC TXT AAAA SRV RRSIG NSEC', 'six.skydns.local. RRSIG NSEC'],
      authority: []
    })
    expect((await judged(server!, folder.keys, 'alias.skydns.local. NSEC')).answer[0]).toBe('alias.skydns.local. NSEC CNAME SRV RRSIG NSEC')
  })

  test('a name that begins with * is refused', async () => {
    await start('nsec')
    expect(await judged(server!, folder.keys, '*.east.skydns.local. A')).toMatchObject({ rcode: 'REFUSED', answer: [], authority: [] })
    expect(await judged(server!, folder.keys, '*.nowhere.skydns.local. A')).toMatchObject({ rcode: 'REFUSED' })
  })
})

describe('what is not there, by white lies', () => {
  const at = (name: string, types: string): string[] => {
    const owner = `${base32Hex(hashOf(name))}.skydns.local.`
    return [`${owner} NSEC3 ${types}`.trimEnd(), `${owner} RRSIG NSEC3`]
  }
  const around = (name: string): string[] => {
    const before = (BigInt(`0x${Buffer.from(hashOf(name)).toString('hex')}`) - 1n).toString(16).padStart(40, '0')
    const owner = `${base32Hex(Buffer.from(before, 'hex'))}.skydns.local.`
    return [`${owner} NSEC3`, `${owner} RRSIG NSEC3`]
  }
  const APEX = 'A NS SOA MX TXT AAAA SRV RRSIG DNSKEY NSEC3PARAM CDS CDNSKEY'
  test.each<[string, string, string, readonly string[]]>([
    ['a type', 'six.skydns.local. A', 'NOERROR', at('six.skydns.local.', 'TXT AAAA SRV RRSIG')],
    ['a type at the apex', 'skydns.local. HINFO', 'NOERROR', at('skydns.local.', APEX)],
    [
      'a name',
      'nowhere.skydns.local. A',
      'NXDOMAIN',
      [...at('skydns.local.', APEX), ...around('nowhere.skydns.local.'), ...around('*.skydns.local.')]
    ],
    [
      'a name far below the apex',
      'a.b.c.skydns.local. A',
      'NXDOMAIN',
      [...at('skydns.local.', APEX), ...around('c.skydns.local.'), ...around('*.skydns.local.')]
    ],
    [
      'a name below another',
      'a.no.web.east.skydns.local. A',
      'NXDOMAIN',
      [...at('web.east.skydns.local.', 'A SRV RRSIG'), ...around('no.web.east.skydns.local.'), ...around('*.web.east.skydns.local.')]
    ],
    ['a name that begins with *, whatever it matches', '*.east.skydns.local. A', 'NOERROR', at('*.east.skydns.local.', 'SRV RRSIG')],
    [
      'one where nothing can match',
      '*.nowhere.skydns.local. A',
      'NXDOMAIN',
      [...at('skydns.local.', APEX), ...around('nowhere.skydns.local.'), ...around('*.skydns.local.')]
    ]
  ])('%s', async (_, question, rcode, proof) => {
    const got = await judged(await start('nsec3'), folder.keys, question)
    expect(got).toMatchObject({ rcode, answer: [], additional: [], authority: [...SOA, ...proof] })
  })

  test('NSEC3PARAM stands at the apex', async () => {
    await start('nsec3')
    expect((await judged(server!, folder.keys, 'skydns.local. NSEC3PARAM')).answer).toEqual([
      'skydns.local. NSEC3PARAM',
      'skydns.local. RRSIG NSEC3PARAM'
    ])
  })
})

test('a change of the store ends the proofs that rest on it, and no others', async () => {
  const store = MemoryStore.of(services)
  server = await serverOf(corefile('nsec3', 'cache'), { services: store })
  const proofs = async (): Promise<string[]> =>
    Promise.all(
      ['a.no.six.skydns.local. A', 'mail.skydns.local. TXT', 'nowhere.skydns.local. A'].map(
        async (question) => (await judged(server!, folder.keys, question)).authority[2]!
      )
    )
  const before = await proofs()
  const hits = (): number => server!.counter('coredns_cache_hits_total')!
  const [hitsBefore] = [hits()]
  store.put(['skydns', 'local', 'skydns', 'six', 'no'], '{"host":"192.0.2.9"}')
  const after = await proofs()
  // no.six is there now: it is the closest encloser.
  expect([after[0] === before[0], after[1] === before[1], after[2] === before[2]]).toEqual([false, true, true])
  expect(hits() - hitsBefore).toBe(2)
})
