/** Of the marks in skydns-fix-list.ts those that are about signatures and proofs. */
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { base32Hex, generateKeyPair } from 'skein/plugin'
import { type Answer, MemoryStore, TestClock, type TestServer } from 'skein/testing'
import { expect } from 'vitest'
import { holds, keysIn, setsIn } from './dnssec-verifier.js'
import { nameOctets, readReply, type Signature, signaturesIn } from './dnssec-wire.js'
import { temporaryFolder } from './processes.js'
import type { Scene, Stage } from './skydns-fix-scenes.js'
import { CACHED, type SkyDns, told } from './skydns-like.js'

const DAY = 86_400
const SIGNED = { edns: 4096, dnssecOk: true } as const
const SERVICES = {
  'web/1': { host: '10.0.0.1', port: 80 },
  'web/2': { host: '10.0.0.2', port: 80 },
  'deep/a/b': { host: '2001:db8::1', text: 'x' },
  mail: { host: '10.0.0.3', mail: true },
  alias: { host: 'web.skydns.test' },
  'dns/ns/1': { host: '10.0.0.53' }
}

/** Has a scene with a key of the domain. */
const signed =
  (scene: (start: (settings?: SkyDns) => Promise<TestServer>) => Promise<void>): Scene =>
  async ({ start }: Stage) => {
    const folder = temporaryFolder()
    try {
      const { name, publicText, privateText } = await generateKeyPair('skydns.test')
      writeFileSync(join(folder.path, `${name}.key`), publicText)
      writeFileSync(join(folder.path, `${name}.private`), privateText)
      await scene((settings = {}) => start({ services: SERVICES, flags: [`-dnssec=${join(folder.path, name)}`], ...settings }))
    } finally {
      folder.remove()
    }
  }

/** NSEC3's hash of a name of the domain, without iterations and salt. */
const hashOf = (...labels: string[]): string =>
  base32Hex(
    createHash('sha1')
      .update(nameOctets([...labels, 'skydns', 'test']))
      .digest()
  )

/** The NSEC3 records of a proof: from which hash to which, and the types. */
const nsec3In = ({ authority }: Answer): { from: string; to: string; types: string }[] =>
  authority.flatMap((record) => {
    const [, from, to, types = ''] = /^(\w+)\.skydns\.test\. \d+ NSEC3 1 0 0 - (\w+) ?(.*)$/i.exec(record) ?? []
    return from === undefined ? [] : [{ from: from.toLowerCase(), to: to!.toLowerCase(), types }]
  })
/** The types that a proof has of a name; undefined where it does not say that the name exists. */
const typesOf = (answer: Answer, ...labels: string[]): string | undefined =>
  nsec3In(answer).find(({ from }) => from === hashOf(...labels))?.types
const denies = (answer: Answer, ...labels: string[]): boolean =>
  nsec3In(answer).some(({ from, to }) => from < hashOf(...labels) && hashOf(...labels) < to)
const signatures = ({ octets }: Answer): Signature[] => signaturesIn(readReply(Buffer.from(octets)))

/** By what a mark says. */
export const PROOFS: Readonly<Record<string, Scene>> = {
  'the closest encloser is the longest name above that exists': signed(async (start) => {
    const server = await start()
    const cases: [name: string, encloser: string[], next: string[]][] = [
      ['no', [], ['no']],
      ['x.no', [], ['no']],
      ['x.y.no', [], ['no']],
      ['x.y.z.web', ['web'], ['z', 'web']],
      ['x.1.web', ['1', 'web'], ['x', '1', 'web']],
      ['x.y.a.deep', ['a', 'deep'], ['y', 'a', 'deep']],
      ['x.c.deep', ['deep'], ['c', 'deep']]
    ]
    for (const [name, encloser, next] of cases) {
      const answer = await server.ask(`${name}.skydns.test. A`, SIGNED)
      const parent = name.split('.').slice(1)
      const proof = {
        rcode: answer.rcode,
        encloser: typesOf(answer, ...encloser) !== undefined,
        next: denies(answer, ...next),
        wildcard: denies(answer, '*', ...encloser),
        parent: typesOf(answer, ...parent) !== undefined
      }
      const isEncloser = parent.join() === encloser.join()
      expect([name, proof]).toEqual([name, { rcode: 'NXDOMAIN', encloser: true, next: true, wildcard: true, parent: isEncloser }])
    }
  }),
  'the types in a proof are those that the name has, and never the one asked for': signed(async (start) => {
    const server = await start()
    const typesAt: [name: string, asked: string, types: string][] = [
      ['web', 'AAAA', 'A SRV RRSIG'],
      ['web', 'MX', 'A SRV RRSIG'],
      ['web', 'TYPE65280', 'A SRV RRSIG'],
      ['b.a.deep', 'A', 'TXT AAAA SRV RRSIG'],
      ['mail', 'TXT', 'A MX SRV RRSIG'],
      ['mail', 'NSEC3', 'A MX SRV RRSIG']
    ]
    for (const [name, asked, types] of typesAt) {
      const answer = await server.ask(`${name}.skydns.test. ${asked}`, SIGNED)
      expect([name, asked, answer.rcode, typesOf(answer, ...name.split('.'))]).toEqual([name, asked, 'NOERROR', types])
    }
  }),
  'the types of the apex are right': signed(async (start) => {
    const server = await start()
    for (const asked of ['CAA', 'TYPE65280']) {
      const types = typesOf(await server.ask(`skydns.test. ${asked}`, SIGNED))!
      expect(types).toBe('A NS SOA MX TXT AAAA SRV RRSIG DNSKEY NSEC3PARAM CDS CDNSKEY')
      for (const type of types.split(' ').filter((each) => each !== 'RRSIG'))
        expect([type, (await server.ask(`skydns.test. ${type}`, SIGNED)).answer.length > 0]).toEqual([type, true])
    }
    const empty = typesOf(await (await start({ services: {} })).ask('skydns.test. A', SIGNED))
    expect(empty).toBe('SOA RRSIG DNSKEY NSEC3PARAM CDS CDNSKEY')
  }),
  'AD is never set': signed(async (start) => {
    const server = await start({ config: CACHED })
    for (const question of ['web.skydns.test. A', 'web.skydns.test. A', 'no.skydns.test. A', 'web.skydns.test. MX', 'skydns.test. DNSKEY'])
      for (const flags of [0, 0x20]) expect((await server.ask(question, { ...SIGNED, flags })).flags).toBe('aa rd ra')
  }),
  'a signature never outlives its validity in the cache': signed(async (start) => {
    const clock = new TestClock()
    const server = await start({ config: { ...CACHED, ttl: 20 * DAY, min_ttl: 20 * DAY }, clock })
    const expirations = new Set<number>()
    for (let hours = 0; hours < 24 * 20; hours += 17) {
      const now = clock.now() / 1000
      for (const question of ['web.skydns.test. A', 'no.skydns.test. A']) {
        const answer = await server.ask(question, SIGNED)
        const all = signatures(answer)
        expect(all.length).toBeGreaterThan(0)
        for (const { inception, expiration, ttl } of all) {
          expect([hours, question, inception <= now, now + ttl <= expiration]).toEqual([hours, question, true, true])
          expirations.add(expiration)
        }
      }
      clock.advance(17 * 3600 * 1000)
    }
    expect(expirations.size).toBeGreaterThan(2)
    expect(server.counter('coredns_cache_hits_total')).toBeGreaterThan(20)
  }),
  'signatures hold for whoever verifies them': signed(async (start) => {
    const server = await start({ services: { ...SERVICES, out: { host: 'www.example.org' } } })
    const keys = keysIn(readReply(Buffer.from((await server.ask('skydns.test. DNSKEY', SIGNED)).octets)))
    const types = ['A', 'AAAA', 'SRV', 'TXT', 'NS', 'SOA']
    for (const name of ['', 'WEB.', 'alias.', 'out.', 'x.y.web.', 'any.', 'b.a.deep.']) {
      for (const type of types) {
        const { octets } = await server.ask(`${name}skydns.test. ${type}`, SIGNED)
        const reply = readReply(Buffer.from(octets))
        const sets = setsIn(reply, signaturesIn(reply))
        expect([name, type, sets.length > 0, sets.filter((set) => !holds(set, set.signature.owner, keys)).length]).toEqual([
          name,
          type,
          true,
          0
        ])
        // All of the domain is signed, in each section.
        const wanted = new Set(
          reply.records
            .filter((record) => record.type !== 46)
            .map((record) => `${record.section} ${record.owner.join('.').toLowerCase()} ${record.type}`)
        )
        expect([name, type, sets.length]).toEqual([name, type, wanted.size])
      }
    }
  }),
  'a lease that counts down needs no new signature: what is signed is the configured TTL': signed(async (start) => {
    const [clock, services] = [new TestClock(), new MemoryStore()]
    for (const host of ['10.0.0.1', '10.0.0.2'])
      services.put(['skydns', 'test', 'skydns', 'web', host], JSON.stringify({ host, ttl: 300 }), clock.now() + 200_000)
    const server = await start({ services, clock })
    const seen: string[] = []
    const made = (): number | undefined => server.counter('coredns_dnssec_cache_misses_total')
    await server.ask('web.skydns.test. A', SIGNED)
    const before = made()
    for (let seconds = 0; seconds < 200; seconds += 50) {
      const answer = await server.ask('web.skydns.test. A', SIGNED)
      const [signature] = signatures(answer)
      seen.push(`${answer.answer[0]!.split(' ')[1]} ${signature!.ttl} ${signature!.originalTtl}`)
      clock.advance(50_000)
    }
    expect([seen, made()]).toEqual([['200 200 300', '150 150 300', '100 100 300', '50 50 300'], before])
  }),
  'a name that begins with * owns no signed record': signed(async (start) => {
    const server = await start()
    const [pattern, any] = [await server.ask('*.web.skydns.test. A', SIGNED), await server.ask('any.web.skydns.test. A', SIGNED)]
    expect([pattern.rcode, pattern.answer, signatures(pattern).length > 0]).toEqual(['NOERROR', [], true])
    expect(signatures(pattern).filter(({ owner }) => owner[0] === '*')).toEqual([])
    expect(any.answer.slice(0, 2)).toEqual(['any.web.skydns.test. 3600 A 10.0.0.1', 'any.web.skydns.test. 3600 A 10.0.0.2'])
    expect(signatures(any).map(({ owner, labels }) => [owner[0], labels])).toEqual([['any', 4]])
    // Who asks without DO sees what SkyDNS gives.
    expect(await told(server, '*.web.skydns.test. A')).toEqual([
      'NOERROR aa rd ra',
      '*.web.skydns.test. 3600 A 10.0.0.1',
      '*.web.skydns.test. 3600 A 10.0.0.2'
    ])
  })
}
