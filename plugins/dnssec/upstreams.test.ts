/** What an authoritative server behind `forward` may say, right or wrong: what becomes of it in a signed zone. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { base32Hex, type ResourceRecord } from 'skein/plugin'
import { serverOf, type TestServer } from 'skein/testing'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { judged, type KeyFolder, keyFolder } from './judged.testing.js'
import { hashOf } from './nsec3.js'

let folder: KeyFolder
let server: TestServer | undefined
beforeAll(async () => {
  folder = await keyFolder(['example.test.'], ['child.example.test.'])
  writeFileSync(join(folder.path, 'scripted.mjs'), SCRIPTED)
})
afterEach(async () => {
  await server?.stop()
  server = undefined
})
afterAll(() => folder.remove())

/** Says what the test has put into `globalThis`, and counts. */
const SCRIPTED = `export default { name: 'scripted', api: 1, schema: { about: 'x' }, setup: () => ({
  handle(query) {
    const { replies, asked } = globalThis.scripted
    asked.push(query.qname + ' ' + query.qtype)
    return query.reply(replies[query.qname + ' ' + query.qtype] ?? replies[query.qname] ?? replies.others)
  }
}) }`

interface Said {
  readonly rcode?: string
  readonly aa?: boolean
  readonly answer?: readonly ResourceRecord[]
  readonly authority?: readonly ResourceRecord[]
}

const soaAt = (owner: string, minimum = 60): ResourceRecord => ({
  owner,
  type: 'SOA',
  ttl: 300,
  rdata: { mname: 'ns.test.', rname: 'x.test.', serial: 1, refresh: 1, retry: 1, expire: 1, minimum }
})
const address = (owner: string, klass?: 'CH'): ResourceRecord => ({
  owner,
  type: 'A',
  ttl: 300,
  rdata: '192.0.2.1',
  ...(klass && { class: klass })
})
const APEX = 'example.test.'
const noSuchName: Said = { aa: true, rcode: 'NXDOMAIN', authority: [soaAt(APEX)] }
const noData: Said = { aa: true, authority: [soaAt(APEX)] }
const SOA: Said = { aa: true, answer: [soaAt(APEX)] }

const asked: string[] = []
async function start(denial: string, replies: Readonly<Record<string, Said>>): Promise<void> {
  asked.length = 0
  ;(globalThis as { scripted?: unknown }).scripted = { asked, replies: { others: noSuchName, 'example.test. SOA': SOA, ...replies } }
  const corefile = `. {\nplugin ./scripted.mjs\nerrors\nscripted\ndnssec ${APEX} {\nkeys .\ndenial ${denial}\n}\n}`
  server = await serverOf(corefile, { file: join(folder.path, 'Corefile') })
}

const ask = (question: string): ReturnType<typeof judged> => judged(server!, folder.keys, question)
const proofs = (lines: readonly string[]): string[] => lines.filter((line) => /^\S+ NSEC3?( |$)/.test(line))

describe.each(['nsec', 'nsec3'])('with %s', (denial) => {
  test('an apex exists, whatever is said of it', async () => {
    await start(denial, { 'example.test. A': noSuchName })
    const { rcode, authority } = await ask('example.test. A')
    const owner = denial === 'nsec' ? APEX : `${base32Hex(hashOf(APEX))}.${APEX}`
    expect([rcode, authority.length, proofs(authority)[0]!.startsWith(`${owner} `), proofs(authority)[0]]).toEqual([
      'NOERROR',
      4,
      true,
      expect.stringMatching(/ NS SOA .* DNSKEY/)
    ])
    expect(asked).toEqual(['example.test. A'])
  })

  test('what is empty, without an SOA, is proven all the same', async () => {
    await start(denial, { 'www.example.test. TXT': { aa: true } })
    const { rcode, authority } = await ask('www.example.test. TXT')
    expect([rcode, authority.slice(0, 2), proofs(authority).length]).toEqual([
      'NOERROR',
      ['example.test. SOA', 'example.test. RRSIG SOA'],
      1
    ])
  })

  test('proofs and signatures that it has made itself are left out, and ours are there', async () => {
    const nsec: ResourceRecord = { owner: 'a.example.test.', type: 'NSEC', ttl: 60, rdata: Uint8Array.from([1, 0x7a, 0, 0, 1, 0x40]) }
    const rrsig = (type: number, owner = APEX): ResourceRecord => ({
      owner,
      type: 'RRSIG',
      ttl: 60,
      rdata: Uint8Array.from([0, type, ...new Uint8Array(30)])
    })
    await start(denial, {
      'no.example.test.': { ...noSuchName, authority: [soaAt(APEX), rrsig(6), nsec, rrsig(47, 'a.example.test.')] },
      'www.example.test. A': { aa: true, answer: [address('www.example.test.'), rrsig(1, 'www.example.test.')] }
    })
    const { authority } = await ask('no.example.test. A')
    expect(authority.filter((line) => line.startsWith('a.') || line.endsWith('bogus'))).toEqual([])
    expect(authority.slice(0, 2)).toEqual(['example.test. SOA', 'example.test. RRSIG SOA'])
    expect((await ask('www.example.test. A')).answer).toEqual(['www.example.test. A 192.0.2.1', 'www.example.test. RRSIG A'])
  })

  test('an SOA of a zone below says that there is a cut: nothing of that is signed', async () => {
    await start(denial, { 'x.sub.example.test.': { aa: true, rcode: 'NXDOMAIN', authority: [soaAt('sub.example.test.')] } })
    expect(await ask('x.sub.example.test. A')).toMatchObject({ rcode: 'NXDOMAIN', authority: ['sub.example.test. SOA'] })
  })

  test('an SOA of a zone above is a failure that says what is wrong', async () => {
    asked.length = 0
    const replies = { others: noSuchName, 'example.test. SOA': SOA }
    ;(globalThis as { scripted?: unknown }).scripted = { asked, replies }
    const [key] = folder.keys.filter(({ zone }) => zone.startsWith('child.'))
    const lines = ['plugin ./scripted.mjs', 'errors', 'scripted', `dnssec ${APEX} {\nkeys .\nkey file ${key!.name}\ndenial ${denial}\n}`]
    server = await serverOf(`. {\n${lines.join('\n')}\n}`, { file: join(folder.path, 'Corefile') })
    expect((await ask('x.child.example.test. A')).rcode).toBe('SERVFAIL')
    expect(server.log.lines.at(-1)).toContain('the SOA record is that of example.test., and not of child.example.test.')
  })

  test('a server that fails to tell of a cut makes DS a failure, not a lie', async () => {
    await start(denial, { 'sub.example.test. DS': noData, 'sub.example.test. NS': { rcode: 'SERVFAIL' } })
    expect((await ask('sub.example.test. DS')).rcode).toBe('SERVFAIL')
    expect(server!.log.lines.at(-1)).toContain('nobody tells whether sub.example.test. is a zone')
  })

  test('records of another class are not signed, nor what is signed with them', async () => {
    await start(denial, { 'www.example.test. A': { aa: true, answer: [address('www.example.test.', 'CH'), address('www.example.test.')] } })
    const { answer } = await ask('www.example.test. A')
    expect(answer.filter((line) => line.includes('RRSIG'))).toEqual(['www.example.test. RRSIG A'])
  })

  test('the apex without SOA is a failure, not a cut', async () => {
    await start(denial, { 'example.test. SOA': noData })
    expect((await ask('example.test. SOA')).rcode).toBe('SERVFAIL')
  })

  test('a proof holds as long as its SOA, also where that has to be asked for', async () => {
    await start(denial, { 'example.test. SOA': { aa: true, answer: [soaAt(APEX, 17)] }, 'www.example.test. TXT': { aa: true } })
    const { message } = await ask('www.example.test. TXT')
    expect(message.authority.map(({ ttl }) => ttl)).toEqual([17, 17, 17, 17])
  })

  test('a proof in a referral too, however long its NS records hold', async () => {
    const ns: ResourceRecord = { owner: 'sub.example.test.', type: 'NS', ttl: 86_400, rdata: 'ns.sub.example.test.' }
    await start(denial, { 'x.sub.example.test. A': { authority: [ns] } })
    const { message, authority } = await ask('x.sub.example.test. A')
    expect(proofs(authority)).toHaveLength(1)
    expect(message.authority.map(({ ttl }) => ttl)).toEqual([86_400, 60, 60])
  })
})

test('to find what exists above a name with 120 labels seven questions are enough', async () => {
  await start('nsec3', { 'a.example.test.': noData, 'a.a.example.test.': noData })
  const { rcode, authority } = await ask(`${'a.'.repeat(115)}example.test. A`)
  expect(rcode).toBe('NXDOMAIN')
  expect(proofs(authority)[0]).toMatch(`${base32Hex(hashOf('a.a.example.test.'))}.`)
  expect(asked.length).toBeLessThanOrEqual(8)
})

test('a name that begins with * takes no SOA but that of the zone', async () => {
  await start('nsec3', {
    '*.example.test.': {
      aa: true,
      answer: [{ owner: '*.example.test.', type: 'CNAME', ttl: 300, rdata: 'x.other.' }],
      authority: [soaAt('other.')]
    }
  })
  expect((await ask('*.example.test. A')).authority.slice(0, 2)).toEqual(['example.test. SOA', 'example.test. RRSIG SOA'])
})
