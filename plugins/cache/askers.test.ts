import type { Query, ReplyParts, ResourceRecord } from 'skein/plugin'
import { type Answer, type AskOptions, serverOf } from 'skein/testing'
import { afterEach, describe, expect, test } from 'vitest'
import { type Act, shown, soa, startScripted, upstream } from './scripted-upstream.js'

const open: { readonly stop: () => Promise<void> }[] = []
afterEach(async () => {
  for (const one of open.splice(0)) await one.stop()
})

async function before(act: Act) {
  const running = await startScripted((corefile, file) => serverOf(corefile, { file }), act)
  open.push(running)
  return running
}

const CD = 0x0010
const RRSIG = Buffer.from('0001050200000e107fffffff00000000000103676f6f00ff', 'hex')
const RECORDS: Readonly<Record<string, ResourceRecord['rdata']>> = {
  A: '192.0.2.1',
  RRSIG,
  NSEC: Buffer.from('000001400000', 'hex'),
  NSEC3: Buffer.from('0100000100021122000140', 'hex'),
  DS: Buffer.from('0001050200', 'hex')
}
const record = (type: string, owner = 'a.example.org.'): ResourceRecord =>
  ({ owner, type, ttl: 60, rdata: RECORDS[type]! }) as ResourceRecord
const records = (...types: string[]): ResourceRecord[] => types.map((type) => record(type))
/** The types of the records of each section. */
const types = ({ answer, authority, additional }: Answer): string =>
  [answer, authority, additional].map((section) => section.map((text) => text.split(' ')[2]).join(' ')).join(' / ')

describe('what one question has brought does not answer another', () => {
  const questions: [string, AskOptions][] = [
    ['a.example.org. TXT', {}],
    ['b.example.org. TXT', {}],
    ['a.example.org. SPF', {}],
    ['a.example.org. TXT CH', {}],
    ['a.example.org. TXT', { dnssecOk: true }],
    ['a.example.org. TXT', { flags: CD }],
    ['a.example.org. TXT', { flags: CD, dnssecOk: true }]
  ]
  /** Says in its record what it was asked. */
  const saysWhatItWasAsked = (query: Query) => {
    const text = `${query.qname} ${query.qtype} ${query.qclass} ${query.dnssecOk} ${query.cd}`
    return upstream(query, {
      answer: [{ owner: query.qname, type: query.qtype, ttl: 60, rdata: Buffer.from(`${String.fromCodePoint(text.length)}${text}`) }]
    })
  }

  test.each([
    ['in this order', questions],
    ['in the other', questions.toReversed()]
  ])('%s', async (_title, list) => {
    const { server, asked } = await before(saysWhatItWasAsked)
    const ask = async (): Promise<string[]> => {
      const told: string[] = []
      for (const [question, options] of list) told.push((await server.ask(question, options)).answer.join())
      return told
    }
    const misses = await ask()
    expect(new Set(misses).size).toBe(list.length)
    expect(await ask()).toEqual(misses)
    // The cache sees class IN alone.
    expect(asked).toHaveLength(list.length + 1)
  })

  const answer = records('A')
  test.each<[string, (query: Query) => ReplyParts, [string, AskOptions, string][]]>([
    [
      'CD: an upstream that validates has an answer for those alone who check for themselves',
      ({ cd }) => (cd ? { answer } : { rcode: 'SERVFAIL' }),
      [
        ['a.example.org. A', { flags: CD }, 'NOERROR rd ra cd: a.example.org. 60 A 192.0.2.1'],
        ['a.example.org. A', {}, 'SERVFAIL rd ra: '],
        ['a.example.org. A', { flags: CD }, 'NOERROR rd ra cd: a.example.org. 60 A 192.0.2.1']
      ]
    ],
    [
      'class: a name that one class does not have',
      ({ qclass }) => (qclass === 'CH' ? { rcode: 'NXDOMAIN', authority: [soa(60, 60)] } : { answer }),
      [
        ['a.example.org. A CH', {}, 'NXDOMAIN rd ra:  / example.org. 60 CH SOA ns.example.org. h.example.org. 1 2 3 4 60'],
        ['a.example.org. A', {}, 'NOERROR rd ra: a.example.org. 60 A 192.0.2.1'],
        ['a.example.org. A CH', {}, 'NXDOMAIN rd ra:  / example.org. 60 CH SOA ns.example.org. h.example.org. 1 2 3 4 60']
      ]
    ]
  ])('%s', async (_title, parts, steps) => {
    const { server } = await before((query) => upstream(query, parts(query)))
    for (const [question, options, expected] of steps) expect(shown(await server.ask(question, options))).toBe(expected)
  })
})

test('DO is that of the question, whatever the upstream makes of it', async () => {
  // Octets as of an upstream that does not know DNSSEC: no signature, and an OPT record without DO.
  const withoutDo = (query: Query) => {
    const octets = Buffer.concat([query.octets(0), Buffer.from('c00c000100010000003c0004c00002010000290400000000000000', 'hex')])
    octets.writeUInt16BE(0x8180, 2)
    octets.writeUInt16BE(1, 6)
    octets.writeUInt16BE(1, 10)
    return query.received(octets)
  }
  const { server, asked } = await before(withoutDo)
  for (let i = 0; i < 2; i++) {
    const { answer, edns } = await server.ask('a.example.org. A', { dnssecOk: true })
    expect([answer.length, edns?.dnssecOk]).toEqual([1, true])
  }
  expect(asked).toHaveLength(1)
})

describe('an asker without DO gets no proofs that some upstreams send to everybody, whether the cache had the answer or not', () => {
  const denied = (rcode: 'NOERROR' | 'NXDOMAIN'): ReplyParts => ({ rcode, authority: [soa(60, 60), ...records('RRSIG', 'NSEC', 'NSEC3')] })
  const signed = {
    answer: records('A', 'RRSIG'),
    authority: records('NSEC', 'RRSIG'),
    additional: [record('A', 'b.'), record('RRSIG', 'b.')]
  }
  test.each<[string, string, ReplyParts, AskOptions, string]>([
    ['beside an answer', 'A', signed, {}, 'A /  / A'],
    ['with EDNS alone', 'A', signed, { edns: 1232 }, 'A /  / A'],
    ['beside what does not exist', 'A', denied('NXDOMAIN'), {}, ' / SOA / '],
    ['beside what is not there', 'A', denied('NOERROR'), {}, ' / SOA / '],
    ['but with DO', 'A', signed, { dnssecOk: true }, 'A RRSIG / NSEC RRSIG / A RRSIG'],
    ['but the type that it asks for', 'RRSIG', { answer: records('RRSIG') }, {}, 'RRSIG /  / '],
    ['but NSEC, without its signature', 'NSEC', { answer: records('NSEC', 'RRSIG') }, {}, 'NSEC /  / '],
    ['but what is asked for as any other type', 'DS', { answer: records('DS', 'RRSIG') }, {}, 'DS /  / '],
    ['also of what is never kept', 'A', { answer: records('RRSIG') }, {}, ' /  / ']
  ])('%s', async (_title, type, parts, options, expected) => {
    const { server } = await before((query) => upstream(query, parts))
    const miss = await server.ask(`a.example.org. ${type}`, options)
    expect(types(miss)).toBe(expected)
    expect(await server.ask(`a.example.org. ${type}`, options)).toEqual(miss)
  })

  test('and no AA from a hit of what others have said', async () => {
    const received = (query: Query) => {
      const octets = Buffer.concat([query.octets(0), Buffer.from('c00c000100010000003c0004c0000201c00c002e00010000003c0018', 'hex'), RRSIG])
      octets.writeUInt16BE(0x8400, 2)
      octets.writeUInt16BE(2, 6)
      return query.received(octets)
    }
    const { server } = await before(received)
    const told: string[] = []
    for (let i = 0; i < 2; i++) told.push(shown(await server.ask('a.example.org. A')))
    expect(told).toEqual(['NOERROR aa rd: a.example.org. 60 A 192.0.2.1', 'NOERROR rd: a.example.org. 60 A 192.0.2.1'])
  })
})
