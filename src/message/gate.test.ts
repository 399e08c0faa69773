import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Asked, accept } from './gate.js'
import { Message } from './message.js'
import { nameOctets } from './name.js'

const UDP_SIZE = 1232
const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex')
const id = 'abcd'
const question = '0141 036f726700 0001 0001'
const opt = '00 0029 1000 00008000 0000'
const soa = 'c00e 0006 0001 00000000 0016 00 00 0000000100000002000000030000000400000005'
const one = '0001 0000 0000'

describe('says nothing to', () => {
  test.each([
    ['no octets', ''],
    ['words', '746573740a'],
    ['11 octets', `${id} 0100 ${one} 00`],
    ['a header with QR', `${id} 8100 ${one} 0000`],
    ['an answer', `${id} 8180 ${one} 0000 ${question}`]
  ])('%s', (_, octets) => {
    expect(accept({ octets: hex(octets) }, UDP_SIZE)).toEqual({ kind: 'silence' })
  })
})

describe('passes on', () => {
  test.each([
    ['a query', `${id} 0100 ${one} 0000 ${question}`],
    ['a query with EDNS', `${id} 0100 ${one} 0001 ${question} ${opt}`],
    ['OPT and TSIG', `${id} 0100 ${one} 0002 ${question} ${opt} 0161 00 00fa 00ff 00000000 0001 00`],
    ['an IXFR with the SOA that the client has', `${id} 0000 0001 0000 0001 0000 0141036f726700 00fb 0001 ${soa}`],
    ['a query for the root', `${id} 0100 ${one} 0000 00 0002 0001`],
    ['a class that nobody has', `${id} 0100 ${one} 0000 00 0001 ff00`],
    ['EDNS options that nobody knows', `${id} 0000 ${one} 0001 ${question} 00 0029 0200 00000000 0008 ffff 0004 01020304`]
  ])('%s', (_, octets) => {
    const request = hex(octets)
    const asked = accept({ octets: request }, UDP_SIZE)
    expect(asked).toMatchObject({ kind: 'asked', source: { octets: request }, size: request.length })
  })

  test('with its question and EDNS read', () => {
    const request = hex(`${id} 0110 ${one} 0001 ${question} 00 0029 1000 00008001 0007 000a 0003 010203`)
    const asked = accept({ octets: request }, UDP_SIZE) as Asked
    expect(asked).toMatchObject({ id: Number.parseInt(id, 16), flags: 0x0110, size: request.length })
    expect(asked.question).toMatchObject({ name: 'A.org.', qname: 'a.org.', qtype: 1, qclass: 1, end: 23, isLower: false })
    expect(asked.edns).toMatchObject({ size: 4096, version: 0, extendedRcode: 0, dnssecOk: true, options: [[10, Uint8Array.of(1, 2, 3)]] })
    expect([asked.edns!.has(10), asked.edns!.has(11)]).toEqual([true, false])
  })
})

describe('turns away', () => {
  test.each([
    ['a question that is not there', `${id} 0100 ${one} 0000`, 'FORMERR', 0],
    ['half a question', `${id} 0100 ${one} 0000 0141 00 0001`, 'FORMERR', 0],
    ['no question', `${id} 0100 0000 0000 0000 0000`, 'FORMERR', 0],
    ['two questions', `${id} 0100 0002 0000 0000 0000 ${question} ${question}`, 'FORMERR', 0],
    ['65535 questions', `${id} 0100 ffff 0000 0000 0000 ${question}`, 'FORMERR', 0],
    ['a pointer as the question', `${id} 0100 ${one} 0000 c00c 0001 0001`, 'FORMERR', 0],
    ['a label that points back into itself', `${id} 0000 0001 0001 0000 0000 0f 036f7267000001000101616200 c00c 0001 0001`, 'FORMERR', 0],
    ['an answer in a query', `${id} 0100 0001 0001 0000 0000 ${question} ${soa}`, 'FORMERR', 1],
    ['an authority in a query', `${id} 0100 0001 0000 0001 0000 ${question} ${soa}`, 'FORMERR', 1],
    ['three additional records', `${id} 0100 ${one} 0003 ${question} ${opt}`, 'FORMERR', 1],
    ['a record that is not there', `${id} 0100 ${one} 0001 ${question}`, 'FORMERR', 1],
    ['rdata past the end', `${id} 0100 ${one} 0001 ${question} 00 0029 1000 00000000 0001`, 'FORMERR', 1],
    ['octets behind the last record', `${id} 0100 ${one} 0000 ${question} 00`, 'FORMERR', 1],
    ['two OPT records', `${id} 0100 ${one} 0002 ${question} ${opt} ${opt}`, 'FORMERR', 1],
    ['an OPT record of a name', `${id} 0100 ${one} 0001 ${question} 0161 ${opt}`, 'FORMERR', 1],
    ['an OPT record by a pointer', `${id} 0100 ${one} 0001 ${question} c012 0029 1000 00000000 0000`, 'FORMERR', 1],
    ['a STATUS', `${id} 1000 ${one} 0000 ${question}`, 'NOTIMP', 1],
    ['a NOTIFY with an SOA', `${id} 2400 0001 0001 0000 0000 ${question} ${soa}`, 'NOTIMP', 1],
    ['an UPDATE of no zone', `${id} 2800 0000 0000 0000 0000`, 'NOTIMP', 0],
    ['an HTTP request', Buffer.from('GET / HTTP/1.1\r\nHost: x\r\n\r\n').toString('hex'), 'NOTIMP', 0]
  ])('%s', (_, octets, rcode, questions) => {
    const request = hex(octets)
    const refused = accept({ octets: request }, UDP_SIZE)
    if (refused.kind !== 'refused') throw new Error(refused.kind)
    const { reply } = refused
    const message = Message.fromOctets(reply)
    expect(Buffer.from(reply).readUInt16BE(0)).toBe(request.readUInt16BE(0))
    expect(Buffer.from(reply).readUInt16BE(4)).toBe(questions)
    // QR, and of the asker's bits only the opcode, RD and CD.
    expect(message.flags & 0xfff0).toBe(0x8000 | (request.readUInt16BE(2) & 0x7910))
    expect(message.flags & 0xf).toBe(rcode === 'NOTIMP' ? 4 : 1)
    if (questions === 1) {
      expect(Buffer.from(reply.subarray(12, 23))).toEqual(request.subarray(12, 23))
      expect(message.answer.length + message.authority.length + message.additional.length).toBe(0)
    } else expect(reply).toHaveLength(12)
  })

  test('a version of EDNS other than 0, with its own OPT record (RFC 6891 §6.1.3)', () => {
    const request = hex(`${id} 0100 ${one} 0001 ${question} 00 0029 1000 00648000 0004 0064 0000`)
    const refused = accept({ octets: request }, UDP_SIZE)
    const message = Message.fromOctets(refused.kind === 'refused' ? refused.reply : new Uint8Array())
    expect(message.rcode).toBe('BADVERS')
    expect(message.edns).toMatchObject({
      size: UDP_SIZE,
      version: 0,
      extendedRcode: 1,
      dnssecOk: false,
      options: [[15, new Uint8Array(Buffer.from('\0\0edns-version'))]]
    })
  })

  test.each([
    ['FORMERR', 'malformed', 0, `0100 0001 0001 0000 0001 ${question} ${soa} ${opt}`],
    ['FORMERR', 'malformed', 0, `0100 ${one} 0001 ${question} ${opt} 00`],
    ['FORMERR', 'malformed', 0, `0100 ${one} 0002 ${question} ${opt}`],
    ['FORMERR', 'malformed', 0, `0100 ${one} 0003 ${question} ${opt}`],
    ['FORMERR', 'malformed', 0, `0100 ${one} 0002 ${question} ${opt} ${opt}`],
    ['FORMERR', 'malformed', 0, `0100 ${one} 0002 ${question} ${opt} c0`],
    ['FORMERR', 'malformed', 0, `0100 ${one} 0001 ${question} 00 0029 1000 00000000 0004 0064 0001`],
    ['NOTIMP', 'not-implemented', 21, `1000 ${one} 0002 ${question} ${opt} c0`],
    ['NOTIMP', 'not-implemented', 21, `1000 ${one} 0001 ${question} ${opt}`],
    ['BADVERS', 'edns-version', 0, `0100 ${one} 0001 ${question} 00 0029 1000 00010000 0000`]
  ])('%s with the reason %s where the request has EDNS', (rcode, reason, code, octets) => {
    const refused = accept({ octets: hex(`${id} ${octets}`) }, UDP_SIZE)
    const message = Message.fromOctets(refused.kind === 'refused' ? refused.reply : new Uint8Array())
    const options = message.edns!.options.map(([number, payload]) => [number, payload[1], Buffer.from(payload.subarray(2)).toString()])
    expect([message.rcode, options]).toEqual([rcode, [[15, code, reason]]])
  })

  test('options that run past their record, with an OPT record', () => {
    const refused = accept({ octets: hex(`${id} 0100 ${one} 0001 ${question} 00 0029 1000 00000000 0004 0064 0001`) }, UDP_SIZE)
    const message = Message.fromOctets(refused.kind === 'refused' ? refused.reply : new Uint8Array())
    expect(message.rcode).toBe('FORMERR')
    expect(message.edns).toBeDefined()
  })

  test('the longest name without cutting it', () => {
    const name = nameOctets(`${'x'.repeat(63)}.${'y'.repeat(63)}.${'z'.repeat(63)}.${'w'.repeat(61)}.`)
    const request = Buffer.concat([hex(`${id} 0000 ${one} 0001`), name, hex(`0001 0001 00 0029 1000 00010000 0000`)])
    const refused = accept({ octets: request }, UDP_SIZE)
    expect(refused.kind === 'refused' && refused.reply.length).toBe(12 + 255 + 4 + 11 + 6 + 'edns-version'.length)
  })
})

describe('takes any octets: a reply to a query gets no reply, and nothing is thrown', () => {
  const seeds = [
    `${id} 0100 ${one} 0001 ${question} ${opt}`,
    `${id} 0000 0001 0000 0001 0000 0141036f726700 00fb 0001 ${soa}`,
    `${id} 0100 ${one} 0001 ${question} 00 0029 1000 00008001 0007 000a 0003 010203`
  ].map(hex)

  function check(octets: Uint8Array): void {
    const result = accept({ octets }, UDP_SIZE)
    if (result.kind === 'asked') expect(result.question.end).toBeLessThanOrEqual(octets.length)
    if (result.kind !== 'refused') return
    // What it says itself is well formed, and would be met with silence.
    expect(accept({ octets: result.reply }, UDP_SIZE).kind).toBe('silence')
    if (result.reply[5] === 1) expect(Message.fromOctets(result.reply).additional).toEqual([])
  }

  test('at random', () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 80 }), check), { numRuns: 15_000 })
  })

  test('that were a query once', () => {
    const change = fc.tuple(fc.nat(79), fc.oneof(fc.nat(255), fc.constantFrom(0, 1, 0xc0, 0x0c, 0xff, 41)))
    const mutated = fc.record({
      seed: fc.constantFrom(...seeds),
      changes: fc.array(change, { maxLength: 4 }),
      from: fc.nat(80),
      cut: fc.nat(80),
      twice: fc.boolean()
    })
    fc.assert(
      fc.property(mutated, ({ seed, changes, from, cut, twice }) => {
        const octets = Buffer.from(
          twice ? Buffer.concat([seed.subarray(0, cut), seed.subarray(from)]) : seed.subarray(0, Math.max(12, cut))
        )
        for (const [at, octet] of changes) if (at < octets.length) octets[at] = octet
        check(octets)
      }),
      { numRuns: 15_000 }
    )
  })
})
