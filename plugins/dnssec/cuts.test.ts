/** Zones that are cut from the signed one, and names of which nobody tells but the chain itself. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { base32Hex } from 'skein/plugin'
import { MemoryStore, serverOf, type TestServer } from 'skein/testing'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { judged, type KeyFolder, keyFolder } from './judged.testing.js'
import { hashOf } from './nsec3.js'

let folder: KeyFolder
let server: TestServer | undefined
beforeAll(async () => {
  folder = await keyFolder(['example.test.'], ['child.example.test.'], ['skydns.local.', 8])
  writeFileSync(join(folder.path, 'zone.mjs'), ZONE)
})
afterEach(async () => {
  await server?.stop()
  server = undefined
})
afterAll(() => folder.remove())

/** An authoritative server of example.test that tells nobody which names it has, as one behind `forward`: it answers, later where `slow`. */
const ZONE = `
const soa = { owner: 'example.test.', type: 'SOA', ttl: 300, rdata: { mname: 'ns.example.test.', rname: 'x.example.test.', serial: 1, refresh: 1, retry: 1, expire: 1, minimum: 60 } }
const NAMES = new Set(['example.test.', 'www.example.test.', 'a.deep.example.test.', 'deep.example.test.', 'ns.example.test.'])
const a = (owner) => ({ owner, type: 'A', ttl: 300, rdata: '192.0.2.7' })
const answered = (query) => {
  const { qname, qtype } = query
  const cut = ['sub.example.test.', 'sec.example.test.'].find((apex) => qname === apex || qname.endsWith('.' + apex))
  if (cut !== undefined && !(qname === cut && qtype === 'DS')) {
    const ds = cut.startsWith('sec') ? [{ owner: cut, type: 'DS', ttl: 300, rdata: new Uint8Array(36) }] : []
    return query.reply({ authority: [{ owner: cut, type: 'NS', ttl: 300, rdata: 'ns.' + cut }, ...ds], additional: [a('ns.' + cut)] })
  }
  if (cut !== undefined) return cut.startsWith('sec')
    ? query.reply({ aa: true, answer: [{ owner: cut, type: 'DS', ttl: 300, rdata: new Uint8Array(36) }] })
    : query.reply({ aa: true, authority: [soa] })
  if (qname === 'signed.example.test.') return query.reply({ aa: true, answer: [a(qname), { owner: qname, type: 'RRSIG', ttl: 300, rdata: Uint8Array.from([0, 1, ...new Uint8Array(40)]) }] })
  if (qname === 'out.example.test.') return query.reply({ aa: true, answer: [{ owner: qname, type: 'CNAME', ttl: 300, rdata: 'www.example.net.' }, a('www.example.net.')] })
  if (qname === 'lost.example.test.') return query.reply({ aa: true, rcode: 'NXDOMAIN', answer: [{ owner: qname, type: 'CNAME', ttl: 300, rdata: 'no.www.example.test.' }], authority: [soa] })
  if (qname === 'star.example.test.') return query.reply({ aa: true, answer: [{ owner: qname, type: 'MX', ttl: 300, rdata: { preference: 1, exchange: '*.example.test.' } }], additional: [a('*.example.test.'), a('www.example.test.')] })
  if (qname === 'theirs.example.test.') return query.reply({ answer: [a(qname)] })
  if (qname === 'broken.example.test.') return query.fail('SERVFAIL', 'broken')
  if (!NAMES.has(qname)) return query.reply({ aa: true, rcode: 'NXDOMAIN', authority: [soa] })
  if (qname === 'example.test.' && qtype === 'SOA') return query.reply({ aa: true, answer: [soa] })
  return qtype === 'A' && !qname.startsWith('deep') ? query.reply({ aa: true, answer: [a(qname)] }) : query.reply({ aa: true, authority: [soa] })
}
export default { name: 'zone', api: 1, schema: { about: 'x', args: [{ name: 'WHEN', type: 'choice', of: ['now', 'later'] }] }, setup: ({ args: [when] }) => ({
  handle: (query) => when === 'now' ? answered(query) : new Promise((resolve) => setTimeout(() => resolve(answered(query.keep())), 1))
}) }`

const hashed = (name: string): string => `${base32Hex(hashOf(name))}.example.test.`
const around = (name: string): string => {
  const before = (BigInt(`0x${Buffer.from(hashOf(name)).toString('hex')}`) - 1n).toString(16).padStart(40, '0')
  return `${base32Hex(Buffer.from(before, 'hex'))}.example.test.`
}

const COMMON = 'A PTR HINFO MX TXT AAAA LOC SRV NAPTR CERT SSHFP TLSA HIP OPENPGPKEY SVCB HTTPS URI CAA'
/** Those, and what is always there, in order of number. */
const listed = (without: string, ...more: string[]): string[] =>
  [...COMMON.split(' ').filter((type) => type !== without), ...more].toSorted()

describe.each(['now', 'later'])('of a zone whose names only its server knows, which answers %s,', (when) => {
  const start = async (denial: string): Promise<void> => {
    const lines = ['plugin ./zone.mjs', `zone ${when}`, `dnssec example.test {\nkeys .\ndenial ${denial}\n}`]
    server = await serverOf(`. {\n${lines.join('\n')}\n}`, { file: join(folder.path, 'Corefile') })
  }
  const ask = (question: string): ReturnType<typeof judged> => judged(server!, folder.keys, question)
  const typesOf = (line: string): string[] => line.split(' ').slice(2).toSorted()

  test('proofs list all common types but the one that was asked for', async () => {
    await start('nsec')
    const { authority } = await ask('www.example.test. TXT')
    expect(authority[2]).toMatch(/^www\.example\.test\. NSEC /)
    expect(typesOf(authority[2]!)).toEqual(listed('TXT', 'RRSIG', 'NSEC'))
    await server!.stop()
    await start('nsec3')
    const apex = (await ask('example.test. TXT')).authority[2]!
    expect(apex).toMatch(hashed('example.test.'))
    expect(typesOf(apex)).toEqual(listed('TXT', 'RRSIG', 'NS', 'SOA', 'DNSKEY', 'NSEC3PARAM', 'CDS', 'CDNSKEY'))
  })

  test.each([
    ['no.www.example.test. A', 'www.example.test.', 'no.www.example.test.'],
    ['a.b.c.deep.example.test. A', 'deep.example.test.', 'c.deep.example.test.'],
    ['a.b.example.test. A', 'example.test.', 'b.example.test.']
  ])('the closest name above %s that exists is asked for: %s', async (question, encloser, nextCloser) => {
    await start('nsec3')
    const { rcode, authority } = await ask(question)
    const owners = authority.filter((line) => / NSEC3/.test(line) && !line.includes('RRSIG NSEC3')).map((line) => line.split(' ')[0])
    expect([rcode, owners]).toEqual(['NXDOMAIN', [hashed(encloser), around(nextCloser), around(`*.${encloser}`)]])
    expect(authority.filter((line) => line.endsWith('bogus'))).toEqual([])
  })

  test.each([
    ['nsec', 'sub.example.test. NSEC NS RRSIG NSEC', 'sub.example.test. RRSIG NSEC'],
    ['nsec3', `${hashed('sub.example.test.')} NSEC3 NS`, `${hashed('sub.example.test.')} RRSIG NSEC3`]
  ])('a referral to a zone without DS is proven to be one, by %s; nothing of the child is signed', async (denial, record, signature) => {
    await start(denial)
    for (const question of ['x.sub.example.test. A', 'sub.example.test. A']) {
      const { rcode, answer, authority, additional } = await ask(question)
      expect({ rcode, answer, authority, additional }).toEqual({
        rcode: 'NOERROR',
        answer: [],
        authority: ['sub.example.test. NS ns.sub.example.test.', record, signature],
        additional: ['ns.sub.example.test. A 192.0.2.7']
      })
    }
    expect((await ask('sub.example.test. DS')).authority.slice(2)).toEqual([record, signature])
  })

  test('of a referral to a signed zone DS is signed, and nothing else', async () => {
    await start('nsec3')
    expect(await ask('x.sec.example.test. A')).toMatchObject({
      authority: ['sec.example.test. NS ns.sec.example.test.', 'sec.example.test. DS', 'sec.example.test. RRSIG DS'],
      additional: ['ns.sec.example.test. A 192.0.2.7']
    })
    expect((await ask('sec.example.test. DS')).answer).toEqual(['sec.example.test. DS', 'sec.example.test. RRSIG DS'])
  })

  test('what comes with another’s signature gets ours in place of that, and what is somebody else’s has none', async () => {
    await start('nsec')
    expect((await ask('signed.example.test. A')).answer).toEqual(['signed.example.test. A 192.0.2.7', 'signed.example.test. RRSIG A'])
    expect((await ask('out.example.test. A')).answer).toEqual([
      'out.example.test. CNAME www.example.net.',
      'out.example.test. RRSIG CNAME',
      'www.example.net. A 192.0.2.7'
    ])
    expect((await ask('theirs.example.test. A')).answer).toEqual(['theirs.example.test. A 192.0.2.7'])
  })

  test('where a CNAME ends at nothing, that is what is proven', async () => {
    await start('nsec3')
    const { rcode, answer, authority } = await ask('lost.example.test. A')
    expect([rcode, answer]).toEqual(['NXDOMAIN', ['lost.example.test. CNAME no.www.example.test.', 'lost.example.test. RRSIG CNAME']])
    expect(authority[2]).toMatch(hashed('www.example.test.'))
  })

  test('records at * beside an answer are left out', async () => {
    await start('nsec')
    expect(await ask('star.example.test. MX')).toMatchObject({
      answer: ['star.example.test. MX', 'star.example.test. RRSIG MX'],
      additional: ['www.example.test. A 192.0.2.7', 'www.example.test. RRSIG A']
    })
  })

  test('where nobody can tell whether a name exists the answer is SERVFAIL', async () => {
    await start('nsec3')
    expect((await ask('broken.example.test. A')).rcode).toBe('SERVFAIL')
    expect((await ask('x.broken.example.test. A')).rcode).toBe('SERVFAIL')
  })
})

describe('a zone below that is answered by somebody else here', () => {
  const services = MemoryStore.of({ '/skydns/local/skydns/web': { host: '192.0.2.1' } })

  test.each([
    ['nsec', 'corp.skydns.local. NSEC NS RRSIG NSEC'],
    ['nsec3', 'NSEC3 NS']
  ])('a stub zone is an insecure delegation, by %s', async (denial, record) => {
    const stub = 'stub {\nzone corp.skydns.local 127.0.0.1:9\nzone a.b.c.skydns.local 127.0.0.1:9\n}'
    server = await serverOf(
      `. {\n${stub}\ndnssec skydns.local {\nkeys ${folder.path}\ndenial ${denial}\n}\netcd skydns.local {\nstore\n}\n}`,
      { services }
    )
    const { rcode, authority } = await judged(server, folder.keys, 'corp.skydns.local. DS')
    expect([rcode, authority.length]).toEqual(['NOERROR', 4])
    expect(authority[2]).toContain(record)
    // Names above a cut exist.
    expect((await judged(server, folder.keys, 'b.c.skydns.local. DS')).rcode).toBe('NOERROR')
    expect((await judged(server, folder.keys, 'c.skydns.local. A')).rcode).toBe('NOERROR')
    expect((await judged(server, folder.keys, 'd.c.skydns.local. A')).rcode).toBe(denial === 'nsec3' ? 'NXDOMAIN' : 'NOERROR')
  })

  test.each(['nsec', 'nsec3'])('a zone of etcd that is not signed is an insecure delegation from one that is, by %s', async (denial) => {
    const nested = MemoryStore.of({
      '/skydns/local/skydns/web': { host: '192.0.2.1' },
      '/skydns/local/skydns/sub/web': { host: '192.0.2.2' }
    })
    const etcd = 'etcd skydns.local sub.skydns.local {\nstore\n}'
    server = await serverOf(`. {\ndnssec skydns.local {\nkeys ${folder.path}\ndenial ${denial}\n}\n${etcd}\n}`, { services: nested })
    const ask = (question: string): ReturnType<typeof judged> => judged(server!, folder.keys, question)
    expect((await ask('web.skydns.local. A')).answer).toHaveLength(2)
    expect((await ask('web.sub.skydns.local. A')).answer).toEqual(['web.sub.skydns.local. A 192.0.2.2'])
    expect((await ask('no.sub.skydns.local. A')).authority).toEqual(['sub.skydns.local. SOA'])
    const { rcode, authority } = await ask('sub.skydns.local. DS')
    expect([rcode, authority.slice(0, 2), authority[2]!.split(' ').slice(1).join(' ')]).toEqual([
      'NOERROR',
      ['skydns.local. SOA', 'skydns.local. RRSIG SOA'],
      denial === 'nsec' ? 'NSEC NS RRSIG NSEC' : 'NSEC3 NS'
    ])
  })

  test.each(['nsec', 'nsec3'])(
    'the zone of another server block is too, unless it is signed as well: then its DS is told, by %s',
    async (denial) => {
      const block = (zone: string, lines: string): string => `${zone} {\n${lines}\nzone now\n}\n`
      const signed = (zone: string): string => `dnssec ${zone} {\nkeys .\ndenial ${denial}\n}`
      const start = async (child: string): Promise<void> => {
        server = await serverOf(
          `plugin.test {\nplugin ./zone.mjs\nwhoami\n}\n${block('example.test', signed('example.test'))}${block('child.example.test', child)}`,
          { file: join(folder.path, 'Corefile') }
        )
      }
      await start('')
      const { rcode, authority } = await judged(server!, folder.keys, 'child.example.test. DS')
      expect([rcode, authority.length, authority[2]!.split(' ').slice(1).join(' ')]).toEqual([
        'NOERROR',
        4,
        denial === 'nsec' ? 'NSEC NS RRSIG NSEC' : 'NSEC3 NS'
      ])
      await server!.stop()
      await start(signed('child.example.test'))
      const got = await judged(server!, folder.keys, 'child.example.test. DS')
      expect(got.answer).toEqual(['child.example.test. DS', 'child.example.test. RRSIG DS'])
      const key = folder.keys.find(({ zone }) => zone === 'child.example.test.')!
      const [ds] = got.message.answer
      expect(ds!.rdata).toMatchObject({ keyTag: key.tag, algorithm: 13, digestType: 2 })
      expect((await judged(server!, folder.keys, 'child.example.test. DNSKEY')).answer).toHaveLength(2)
    }
  )
})
