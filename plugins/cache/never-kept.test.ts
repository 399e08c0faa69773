import { drop, type Message, type Query, type Reply, type ReplyParts, type ResourceRecord } from 'skein/plugin'
import { type AskOptions, requestOctets, serverOf } from 'skein/testing'
import { afterEach, describe, expect, test } from 'vitest'
import { type Act, address, soa, startScripted, upstream } from './scripted-upstream.js'

const open: { readonly stop: () => Promise<void> }[] = []
afterEach(async () => {
  for (const one of open.splice(0)) await one.stop()
})

async function before(act: Act, cache?: string, more?: string) {
  const running = await startScripted((corefile, file) => serverOf(corefile, { file }), act, cache, more)
  open.push(running)
  return running
}

const TC = 0x0200
const says = (parts: ReplyParts) => (query: Query) => upstream(query, parts)
const alias = (owner: string, rdata: string, ttl = 60): ResourceRecord => ({ owner, type: 'CNAME', ttl, rdata })

describe('never kept is', () => {
  const [a, b] = ['a.example.org.', 'b.example.org.']
  const record: ResourceRecord = { owner: a, type: 'A', ttl: 60, rdata: '192.0.2.1' }
  const ns: ResourceRecord = { owner: 'example.org.', type: 'NS', ttl: 60, rdata: 'ns.example.net.' }
  test.each<[string, string, Act, AskOptions]>([
    ['half an answer', `${a} A`, (query) => (upstream(query, { answer: [record] }) as Message).with({ flags: 0x8080 | TC }), {}],
    ['REFUSED', `${a} A`, says({ rcode: 'REFUSED' }), {}],
    ['NOTIMP', `${a} A`, says({ rcode: 'NOTIMP' }), {}],
    ['FORMERR', `${a} A`, says({ rcode: 'FORMERR' }), {}],
    ['BADCOOKIE', `${a} A`, says({ rcode: 'BADCOOKIE' }), { edns: 1232 }],
    ['NXDOMAIN without SOA', `${a} A`, says({ rcode: 'NXDOMAIN' }), {}],
    ['no data without SOA', `${a} A`, says({}), {}],
    ['no data with the SOA of somebody else', `${a} A`, says({ authority: [soa(60, 60, 'example.net.')] }), {}],
    ['a CNAME that leads to no address, without SOA', `${a} A`, says({ answer: [alias(a, b)] }), {}],
    ['a CNAME beside an address of another name', `${a} A`, says({ answer: [alias(a, b), { ...record, owner: 'c.example.org.' }] }), {}],
    ['a circle of CNAMEs', `${a} A`, says({ answer: [alias(a, b), alias(b, a)] }), {}],
    ['a referral', `${a} A`, says({ authority: [ns] }), {}],
    ['what nobody was asked', `${a} A`, (query) => query.fail('SERVFAIL', 'ndots', { origin: { kind: 'none' } }), {}],
    ['SERVFAIL of a server that stops', `${a} A`, (query) => query.fail('SERVFAIL', 'stopping'), {}],
    ['SERVFAIL of a key that cannot sign', `${a} A`, (query) => query.fail('SERVFAIL', 'signing-failed'), { dnssecOk: true }],
    ['SERVFAIL without RD', `${a} A`, says({ rcode: 'SERVFAIL' }), { rd: false }],
    ['an answer for a client’s network', `${a} A`, says({ answer: [record] }), { options: [[8, Buffer.from([0, 1, 24, 0, 192, 0, 2])]] }],
    ['ANY', `${a} ANY`, says({ answer: [record] }), {}],
    ['an answer with one TTL of 0', `${a} A`, says({ answer: [record, { ...record, ttl: 0 }] }), {}],
    ['a denial with an SOA of TTL 0', `${a} A`, says({ rcode: 'NXDOMAIN', authority: [soa(0, 60)] }), {}],
    ['a denial with a minimum of 0', `${a} A`, says({ rcode: 'NXDOMAIN', authority: [soa(60, 0)] }), {}]
  ])('%s', async (_title, question, act, options) => {
    const { server, asked } = await before(act)
    const first = await server.ask(question, options)
    expect(await server.ask(question, options)).toEqual(first)
    expect(asked).toHaveLength(2)
  })

  test('a question that is dropped, or ends in a fault', async () => {
    const running = await before(() => drop)
    expect(await running.server.exchange(requestOctets('a.example.org. A'))).toBeUndefined()
    running.act = () => Promise.reject(new Error('boom'))
    expect((await running.server.ask('a.example.org. A')).rcode).toBe('SERVFAIL')
    running.act = address(60)
    expect((await running.server.ask('a.example.org. A')).rcode).toBe('NOERROR')
    expect(running.asked).toHaveLength(3)
  })

  test('an answer for a client’s network, which does not come from the cache either', async () => {
    const { server, asked } = await before(address(60))
    await server.ask('a.example.org. A')
    await server.ask('a.example.org. A', { options: [[8, Buffer.from([0, 1, 24, 0, 192, 0, 2])]] })
    await server.ask('a.example.org. A')
    expect(asked).toHaveLength(2)
  })
})

/** Asks twice at once: the second reply comes first. */
async function crossed(first: ReplyParts, second: ReplyParts) {
  const waiting: (() => void)[] = []
  const running = await before(
    (query) =>
      new Promise<Reply>((resolve) => {
        const parts = waiting.length === 0 ? first : second
        waiting.push(() => resolve(upstream(query, parts)))
      })
  )
  const asked = [running.server.ask('a.example.org. A'), running.server.ask('a.example.org. A')]
  waiting[0]!()
  await asked[0]
  waiting[1]!()
  await asked[1]
  running.act = says({ rcode: 'NXDOMAIN', authority: [soa(60, 60)] })
  return running
}

describe('a fresh answer takes the place of an older one:', () => {
  const answer: ResourceRecord[] = [{ owner: 'a.example.org.', type: 'A', ttl: 60, rdata: '192.0.2.1' }]
  const denied: ReplyParts = { rcode: 'NXDOMAIN', authority: [soa(60, 60)] }
  test.each<[string, ReplyParts, ReplyParts, string, number]>([
    ['an address that of no name', denied, { answer }, 'NOERROR', 2],
    ['no name that of an address', { answer }, denied, 'NXDOMAIN', 2],
    [
      'one that may not be kept ends the other',
      { answer },
      { answer: answer.map((record) => ({ ...record, ttl: 0 }) as ResourceRecord) },
      'NXDOMAIN',
      3
    ],
    ['a denial without SOA too', { answer }, { rcode: 'NXDOMAIN' }, 'NXDOMAIN', 3],
    ['an answer that of a failure', { rcode: 'SERVFAIL' }, { answer }, 'NOERROR', 2],
    ['but never a failure', { answer }, { rcode: 'SERVFAIL' }, 'NOERROR', 2],
    ['nor a refusal', { answer }, { rcode: 'REFUSED' }, 'NOERROR', 2]
  ])('%s', async (_title, first, second, rcode, times) => {
    const { server, asked } = await crossed(first, second)
    expect((await server.ask('a.example.org. A')).rcode).toBe(rcode)
    expect(asked).toHaveLength(times)
  })
})
