import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Chain, type NameServer, startChain, startNsd, startValidator, type Validator } from './dnssec-chain.js'
import { judgeAll } from './dnssec-judging.js'
import { makeKey, signZone, type ZoneKey } from './dnssec-keys.js'
import { randomQuestions } from './dnssec-questions.js'
import { ZONE } from './dnssec-tree.js'
import type { Labels } from './dnssec-wire.js'
import { temporaryFolder } from './processes.js'
import { needs } from './tools.js'

const TEXT = [
  'skydns.test. 300 IN SOA ns. hostmaster. 1 3600 600 86400 60',
  'skydns.test. 300 IN NS ns1.ns.dns.skydns.test.',
  'ns1.ns.dns.skydns.test. 300 IN A 127.0.0.1',
  'addr4.skydns.test. 300 IN A 10.0.0.1',
  'x.y.ent.skydns.test. 300 IN AAAA 2001:db8::1',
  'inside.skydns.test. 300 IN CNAME addr4.skydns.test.',
  'out.skydns.test. 300 IN CNAME host.outside.test.',
  'mail.skydns.test. 300 IN MX 10 addr4.skydns.test.',
  'text.skydns.test. 300 IN TXT "hello"',
  'cut.skydns.test. 300 IN NS ns.cut.skydns.test.',
  'ns.cut.skydns.test. 300 IN A 127.0.0.1'
].join('\n')
const NAMES: Labels[] = [[], ['addr4'], ['y', 'ent'], ['inside'], ['mail'], ['text']].map((at) => [...at, ...ZONE])

describe.skipIf(needs('unbound', 'nsd', 'dnssec-keygen', 'dnssec-signzone').skip)('validators judge zones signed by BIND', () => {
  let chain: Chain
  let key: ZoneKey
  let otherKey: ZoneKey
  const stops: (() => Promise<void>)[] = []

  beforeAll(async () => {
    const folder = temporaryFolder().path
    ;[key, otherKey] = [await makeKey(folder, 'skydns.test', 13), await makeKey(folder, 'skydns.test', 13)]
    chain = await startChain([key])
    stops.push(() => chain.server.stop())
  })
  afterAll(async () => {
    await Promise.all(stops.map((stop) => stop()))
  })

  async function served(signing: { keys: ZoneKey[]; nsec3?: boolean; expiresIn?: number }): Promise<[NameServer, Validator]> {
    const zone = await startNsd({ 'skydns.test.': await signZone({ zone: 'skydns.test.', text: TEXT, ...signing }) })
    stops.push(() => zone.stop())
    const validator = await startValidator(chain, { zonePort: zone.port })
    stops.push(() => validator.stop())
    return [zone, validator]
  }

  // A static zone has records of DNSSEC for everybody, refuses no `*` and cuts the zone by itself.
  const questions = randomQuestions(NAMES, ZONE, 60, 1).filter(({ labels }) => labels[0] !== '*' && labels.length < 100)

  test.each([['nsec', false] as const, ['nsec3', true] as const])('a zone that is signed well is secure: %s', async (_, nsec3) => {
    const [zone, validator] = await served({ keys: [key], nsec3 })
    const judged = { zone: ZONE, unsigned: [], isCompact: false, server: zone.port, validator: validator.port }
    expect(await judgeAll(questions, judged)).toEqual([])
  })

  test.each([
    ['by a key that its parent does not know', () => ({ keys: [otherKey] }), /^\S+ \S+ \(\w+\): is bogus; the validator: (9|10|6) /],
    ['by signatures that are over', () => ({ keys: [key], expiresIn: -3_600 }), /: is bogus; the validator: 7 /]
  ])('a zone is bogus that is signed %s', async (_, signing, words) => {
    const [zone, validator] = await served(signing())
    const judged = { zone: ZONE, unsigned: [], isCompact: false, server: zone.port, validator: validator.port }
    const some = questions.filter(({ qtype }) => !['DS', 'ANY', 'RRSIG'].includes(qtype)).slice(0, 10)
    const wrong = await judgeAll(some, judged)
    expect(wrong.filter((problem) => words.test(problem))).toEqual(wrong)
    expect(wrong).toHaveLength(some.length)
  })
})
