import { describe, expect, test } from 'vitest'
import { accept } from './message/gate.js'
import { AD, CD, Message, QR, RA, RD, TC } from './message/message.js'
import { type Client, fact, Query } from './query.js'
import { type AskOptions, readAnswer, requestOctets } from './testing.js'

const client: Client = { address: '192.0.2.1', port: 4711, transport: 'udp', local: '127.0.0.1' }

function asked(question: string, options: AskOptions = {}): Query {
  const request = accept({ octets: requestOctets(question, options) }, 1232)
  if (request.kind !== 'asked') throw new Error('the gate turned it away')
  return Query.fromRequest(request, client, '.')
}

const hex = (octets: Uint8Array): string => Buffer.from(octets).toString('hex')

describe('a query says what was asked', () => {
  test('name, type, class, flags, EDNS', () => {
    const query = asked('WwW.Example.ORG. TYPE65280 CH', { id: 0x1234, edns: 4096, dnssecOk: true, flags: CD })
    const { qname, qtype, qclass, rd, cd, dnssecOk, wantsAd, depth, id, zone } = query
    expect({ qname, qtype, qclass, rd, cd, dnssecOk, wantsAd, depth, id, zone }).toEqual({
      qname: 'www.example.org.',
      qtype: 'TYPE65280',
      qclass: 'CH',
      rd: true,
      cd: true,
      dnssecOk: true,
      wantsAd: true,
      depth: 0,
      id: 0x1234,
      zone: '.'
    })
    expect([query.question.name, query.edns?.size]).toEqual(['WwW.Example.ORG.', 4096])
  })

  test('and nothing that was not asked', () => {
    const { rd, cd, dnssecOk, wantsAd, edns } = asked('example.org. A', { rd: false })
    expect({ rd, cd, dnssecOk, wantsAd, edns }).toEqual({ rd: false, cd: false, dnssecOk: false, wantsAd: false, edns: undefined })
    expect(asked('example.org. A', { flags: AD }).wantsAd).toBe(true)
  })

  test.each<[string, readonly string[], string | undefined]>([
    ['www.example.org.', ['org.', 'example.org.', '.'], 'example.org.'],
    ['www.example.org.', ['.'], '.'],
    ['www.example.org.', ['ample.org.', 'example.net.'], undefined],
    ['a\\.example.org.', ['example.org.'], undefined],
    ['example.org.', [], undefined]
  ])('%s is within the longest of %j', (name, apexes, apex) => {
    expect(asked(`${name} A`).within(apexes)).toBe(apex)
  })
})

describe('a reply', () => {
  test.each<[string, AskOptions, Parameters<Query['reply']>[0], number]>([
    ['has QR alone where nothing is said', { rd: false }, {}, QR],
    ["copies the asker's RD and CD, and not AD, TC, RA", { flags: CD | AD | TC | RA }, {}, QR | RD | CD],
    ['has AA and RA where it says so', { rd: false }, { aa: true, ra: true }, QR | 0x0480],
    ['has its rcode', { rd: false }, { rcode: 'NXDOMAIN' }, QR | 3]
  ])('%s', (_title, options, parts, flags) => {
    expect(asked('example.org. A', options).reply(parts).flags).toBe(flags)
  })

  test('that fails is empty and says why', () => {
    const { rcode, why, problem, answer, extendedErrors } = asked('example.org. A').fail('SERVFAIL', 'fault', {
      problem: 'x',
      extendedErrors: [{ code: 14 }]
    })
    expect({ rcode, why, problem, answer, extendedErrors }).toEqual({
      rcode: 'SERVFAIL',
      why: 'fault',
      problem: 'x',
      answer: [],
      extendedErrors: [{ code: 14 }]
    })
  })

  test("has records of the query's class, but for those with their own", () => {
    const record = { owner: 'example.org.', type: 'TXT', ttl: 1, rdata: ['x'] } as const
    const classes = (qclass: string): unknown =>
      asked(`example.org. TXT ${qclass}`)
        .reply({ answer: [record, { ...record, class: 'HS' }], authority: [record], additional: [record] })
        .answer.map((each) => each.class)
    expect(classes('CH')).toEqual(['CH', 'HS'])
    expect(classes('IN')).toEqual([undefined, 'HS'])
  })
})

const hit = fact<boolean>('cache/hit')

describe('a changed query is a new one', () => {
  test('with the changes, and all else as it was', () => {
    const query = asked('WwW.example.org. A', { edns: 4096, flags: CD, id: 7 })
    const changed = query.with({ qname: 'other.example.', qtype: 'AAAA', zone: 'example.', client: { ...client, port: 1 } })
    const { qname, qtype, qclass, zone, flags, edns, depth, id } = changed
    expect({ qname, qtype, qclass, zone, flags, depth, id }).toEqual({
      qname: 'other.example.',
      qtype: 'AAAA',
      qclass: 'IN',
      zone: 'example.',
      flags: query.flags,
      depth: 0,
      id: 7
    })
    expect([changed.client.port, edns, query.qname, query.qtype]).toEqual([1, query.edns, 'www.example.org.', 'A'])
  })

  test('that keeps the spelling where the name stays, and shares facts whoever sets them first', () => {
    const query = asked('WwW.example.org. A')
    const changed = query.with({ qtype: 'AAAA' })
    expect([changed.question.name, changed.question.end]).toEqual(['WwW.example.org.', query.question.end])
    changed.set(hit, true)
    expect([query.get(hit), changed.get(hit), asked('example.org. A').get(hit)]).toEqual([true, true, undefined])
  })

  test('and never one of a type that does not exist', () => {
    expect(() => asked('example.org. A').with({ qtype: 'a' as 'A' })).toThrow('there is no type "a"')
  })
})

describe('a look-up of the server for itself', () => {
  const options = [[65001, Uint8Array.of(1)]] as const

  test('is another question, with RD, and with facts of its own', () => {
    const query = asked('example.org. A', { rd: false, flags: CD })
    query.set(hit, true)
    const inner = query.ask('target.example.', 'AAAA')
    expect([inner.qname, inner.qtype, inner.depth, inner.rd, inner.cd, inner.get(hit)]).toEqual([
      'target.example.',
      'AAAA',
      0,
      true,
      true,
      undefined
    ])
    inner.set(hit, false)
    expect(query.get(hit)).toBe(true)
    const deeper = inner.inside('example.')
    expect([deeper.depth, deeper.zone, deeper.inside('.').depth]).toEqual([1, 'example.', 2])
    deeper.set(hit, true)
    expect(inner.get(hit)).toBe(true)
  })

  test("has the asker's DO, and none of its options", () => {
    const signed = asked('example.org. A', { edns: 4096, dnssecOk: true, options }).ask('x.example.', 'A')
    expect([signed.dnssecOk, signed.edns?.options]).toEqual([true, []])
    expect(asked('example.org. A', { edns: 4096, options }).ask('x.example.', 'A').edns).toBeUndefined()
    expect(asked('example.org. A').ask('x.example.', 'A').edns).toBeUndefined()
  })
})

describe('a query is a message to another server', () => {
  test.each<[string, AskOptions, Parameters<Query['octets']>[1]]>([
    ['with RD, CD and AD', { flags: CD | AD, id: 9 }, undefined],
    ['without RD', { rd: false, id: 9 }, undefined],
    ['with an OPT record', { id: 9, edns: 1400 }, { size: 1400, dnssecOk: false }],
    ['with DO', { id: 9, edns: 1400, dnssecOk: true }, { size: 1400, dnssecOk: true }]
  ])('%s, as it would be asked anew', (_title, options, edns) => {
    const name = 'WwW.a\\.b\\000\\255.Example.ORG. TYPE65280'
    expect(hex(asked(name, options).octets(9, edns))).toBe(hex(requestOctets(name, options)))
  })

  test('of the longest name', () => {
    const name = [...Array.from({ length: 3 }, () => 'a'.repeat(63)), 'b'.repeat(61), ''].join('.')
    expect(hex(asked(name, {}).octets(1, { size: 1232, dnssecOk: false }))).toBe(hex(requestOctets(name, { edns: 1232 })))
  })
})

describe('a reply of another server', () => {
  const query = asked('example.org. A')
  const response = (question: string, flags = QR): Uint8Array => requestOctets(question, { flags })

  test.each<[string, Uint8Array, boolean]>([
    ['of the same question', response('eXample.org. A'), true],
    ['of another name', response('victim.example. A'), false],
    ['of another type', response('example.org. AAAA'), false],
    ['of another class', response('example.org. A CH'), false],
    ['that is a query', response('example.org. A', 0), false],
    ['of another opcode', response('example.org. A', QR | 0x2000), false],
    ['of half a header', response('example.org. A').subarray(0, 11), false]
  ])('%s', (_title, octets, answers) => {
    expect(query.isAnsweredBy(octets)).toBe(answers)
    if (answers) expect(query.received(octets, { why: 'forwarded' })).toMatchObject({ why: 'forwarded', rcode: 'NOERROR', answer: [] })
    else expect(() => query.received(octets)).toThrow('a reply to another question')
  })

  test('that is malformed is none, however far it can be read', () => {
    const octets = response('example.org. A')
    octets[7] = 1
    expect(query.isAnsweredBy(octets)).toBe(true)
    expect(() => query.received(octets)).toThrow(expect.objectContaining({ code: 'SKEIN_FORMERR' }))
    expect(() => query.isAnsweredBy(octets.subarray(0, 20))).toThrow(expect.objectContaining({ code: 'SKEIN_FORMERR' }))
    expect(() => Message.fromOctets(octets.subarray(0, 3))).toThrow()
    expect(readAnswer(response('example.org. A')).qname).toBe('example.org.')
  })
})
