import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { kv } from './command.js'
import { ask } from './dnssec-judging.js'
import { type DnssecScene, startScene } from './dnssec-scene.js'
import { contentOf, lower, signaturesIn, type WireReply } from './dnssec-wire.js'
import { needs } from './tools.js'

const [NOERROR, NXDOMAIN] = [0, 3]
const [A, NSEC] = [1, 47]
const PATH = '/skydns/test/skydns'

/** The types that an NSEC record lists, in ascending order. */
function typesIn(rdata: Buffer): number[] {
  let at = 0
  while (rdata[at]! > 0) at += 1 + rdata[at]!
  const types: number[] = []
  for (at += 1; at < rdata.length; at += 2 + rdata[at + 1]!) {
    for (let bit = 0; bit < 8 * rdata[at + 1]!; bit++) {
      if ((rdata[at + 2 + (bit >> 3)]! & (0x80 >> (bit & 7))) !== 0) types.push((rdata[at]! << 8) | bit)
    }
  }
  return types
}

describe.for(['nsec', 'nsec3'] as const)('with %s, and answers kept by cache', (denial) => {
  describe('what is proven follows the store', needs('unbound', 'nsd', 'dnssec-keygen', 'dnssec-signzone'), () => {
    let scene: DnssecScene
    beforeAll(async () => {
      scene = await startScene({ denial, keys: [[13, 'csk']], lines: ['cache'], validators: [{ isPlain: true, keepsFor: 0 }] })
    })
    afterAll(() => scene?.stop())

    const judged = async (qname: string, qtype: string): Promise<WireReply> => {
      const reply = await ask(scene.validators[0]!.port, { qname, qtype }, { dnssecOk: true })
      expect([qname, qtype, reply.isAuthentic, reply.errors]).toEqual([qname, qtype, true, []])
      return reply
    }
    // What Unbound keeps for 0 seconds it says until the second is over.
    const nextSecond = (): Promise<void> => sleep(1020 - (Date.now() % 1000))
    const put = async (key: string, value: object): Promise<void> => {
      expect(await kv(scene.cwd, ['put', `${PATH}/${key}`, JSON.stringify(value)])).toBe('')
      await nextSecond()
    }
    const remove = async (key: string): Promise<void> => {
      expect(await kv(scene.cwd, ['del', `${PATH}/${key}`])).toBe('')
      await nextSecond()
    }
    const absent = denial === 'nsec' ? NOERROR : NXDOMAIN

    test('a name comes, is changed and goes', async () => {
      expect((await judged('new.skydns.test.', 'A')).rcode).toBe(absent)
      await put('new', { host: '10.9.0.1' })
      expect(contentOf(await judged('new.skydns.test.', 'A'))).toHaveLength(1)
      expect(contentOf(await judged('new.skydns.test.', 'AAAA'))).toEqual([])
      await put('new', { host: '2001:db8:9::1' })
      expect(contentOf(await judged('new.skydns.test.', 'A'))).toEqual([])
      expect(contentOf(await judged('new.skydns.test.', 'AAAA'))).toHaveLength(1)
      await put('new', { host: 'addr4.skydns.test' })
      expect(contentOf(await judged('new.skydns.test.', 'A'))).toHaveLength(2)
      await remove('new')
      expect((await judged('new.skydns.test.', 'A')).rcode).toBe(absent)
    })

    test('names above a new one exist from then on', async () => {
      expect((await judged('a.b.fresh.skydns.test.', 'A')).rcode).toBe(absent)
      expect((await judged('fresh.skydns.test.', 'TXT')).rcode).toBe(absent)
      await put('fresh/c/d', { host: '10.9.0.2' })
      expect((await judged('a.b.fresh.skydns.test.', 'A')).rcode).toBe(absent)
      expect((await judged('fresh.skydns.test.', 'TXT')).rcode).toBe(NOERROR)
      await remove('fresh/c/d')
      expect((await judged('fresh.skydns.test.', 'TXT')).rcode).toBe(absent)
    })

    test('the end of a lease leaves the signature as it is', async () => {
      const signed = async (): Promise<[number, number, string]> => {
        const reply = await ask(scene.port, { qname: 'lease.leases.skydns.test.', qtype: 'A' }, { dnssecOk: true })
        const { ttl, originalTtl, signature } = signaturesIn(reply).find(({ covers }) => covers === A)!
        return [ttl, originalTtl, signature.toString('hex')]
      }
      const [ttl, original, signature] = await signed()
      await sleep(2_100)
      expect(ttl).toBeLessThanOrEqual(3_000)
      const [later, ...rest] = await signed()
      expect(later).toBeLessThan(ttl)
      expect(rest).toEqual([original, signature])
      expect(original).toBe(3_600)
    })
  })
})

describe('with nsec', () => {
  describe('a proof tells the truth', needs('unbound', 'nsd', 'dnssec-keygen', 'dnssec-signzone'), () => {
    let scene: DnssecScene
    beforeAll(async () => {
      scene = await startScene({ denial: 'nsec', keys: [[13, 'csk']] })
    })
    afterAll(() => scene?.stop())

    test('the types in a proof are those that are there', async () => {
      const listed = async (qname: string): Promise<number[]> => {
        const { records } = await ask(scene.port, { qname, qtype: 'NSEC' }, { dnssecOk: true })
        return typesIn(records.find(({ type, owner }) => type === NSEC && `${lower(owner).join('.')}.` === qname)!.rdata)
      }
      const [NXNAME, RRSIG, TXT, AAAA, SRV, CNAME, MX] = [128, 46, 16, 28, 33, 5, 15]
      const own = [RRSIG, NSEC]
      expect({
        'addr4 has an address': await listed('addr4.skydns.test.'),
        'addr6 has one of the other family': await listed('addr6.skydns.test.'),
        'pool has what is below it': await listed('pool.skydns.test.'),
        'to-pool is an alias': await listed('to-pool.skydns.test.'),
        'inside would be one, but for the address below it': await listed('inside.skydns.test.'),
        'ent has names below it, with addresses and a text': await listed('ent.skydns.test.'),
        'text has text alone': await listed('text.skydns.test.'),
        'mail has addresses and mail': (await listed('mail.skydns.test.')).includes(MX),
        'nope is not there': await listed('nope.skydns.test.')
      }).toEqual({
        'addr4 has an address': [A, SRV, ...own],
        'addr6 has one of the other family': [AAAA, SRV, ...own],
        'pool has what is below it': [A, AAAA, SRV, ...own],
        'to-pool is an alias': [CNAME, SRV, ...own],
        'inside would be one, but for the address below it': [A, AAAA, SRV, ...own],
        'ent has names below it, with addresses and a text': [A, TXT, SRV, ...own],
        'text has text alone': [TXT, ...own],
        'mail has addresses and mail': true,
        'nope is not there': [...own, NXNAME]
      })
    })
  })
})
