import { describe, expect, test } from 'vitest'
import { answer } from '../chain/answer.js'
import type { Chain } from '../chain/compose.js'
import { accept } from '../message/gate.js'
import { AA, AD, CD, Message, QR, RA, RD, TC } from '../message/message.js'
import { nameOctets, RecordError } from '../message/name.js'
import { PackedReply, pack } from '../message/packed.js'
import type { ResourceRecord } from '../message/record.js'
import { typeNumber } from '../message/registry.js'
import { Writer } from '../message/writer.js'
import type { Next } from '../plugin.js'
import { systemClock } from '../process/clock.js'
import { type Client, Query } from '../query.js'
import { finish, type Outgoing } from './finish.js'
import { SizeError } from './size.js'

const chainOf = (run: Next): Chain => ({ run, observers: [], tellsErrors: false })

interface Asked {
  readonly transport?: Client['transport']
  /** The size that the client's OPT record advertises; none where left out. */
  readonly edns?: number
  readonly dnssecOk?: boolean
  readonly flags?: number
  readonly qname?: string
  readonly udpSize?: number
}

class Sent implements Outgoing {
  readonly octets: Uint8Array
  readonly query: Query
  readonly udpSize: number
  reserved = 0
  reply: Buffer | undefined
  #buffer = Buffer.alloc(0)

  constructor({ transport = 'udp', edns, dnssecOk = false, flags = RD, qname = 'A.example.org.', udpSize = 1232 }: Asked) {
    const writer = new Writer()
    const octets = Buffer.alloc(512)
    writer.begin(octets, 512, 0xabcd, flags)
    writer.question(Buffer.concat([nameOctets(qname), Buffer.from([0, 1, 0, 1])]))
    if (edns !== undefined && writer.opt(edns, 0, dnssecOk ? 0x8001 : 1, [[100, Buffer.alloc(3)]])) writer.count(10, 1)
    this.octets = octets.subarray(0, writer.at)
    const asked = accept(this, udpSize)
    if (asked.kind !== 'asked') throw new Error(asked.kind)
    this.query = Query.fromRequest(asked, { address: '192.0.2.7', port: 5, transport, local: '192.0.2.1' }, '.')
    this.udpSize = udpSize
  }

  reserve(size: number): Buffer {
    this.reserved = size
    this.#buffer = Buffer.alloc(size, 0xa5)
    return this.#buffer
  }

  send(length: number): void {
    if (this.reply !== undefined) throw new Error('sent twice')
    this.reply = this.#buffer.subarray(0, length)
  }

  drop(): void {
    throw new Error('dropped')
  }
}

function finished(reply: Parameters<Query['reply']>[0] | Message, asked: Asked = {}): Message {
  const sent = new Sent(asked)
  finish(sent.query, reply instanceof Message ? reply : sent.query.reply(reply), sent, sent.udpSize)
  expect(sent.reply!.length).toBeLessThanOrEqual(sent.reserved)
  const message = Message.fromOctets(sent.reply!)
  // ID and question come back octet for octet.
  expect(sent.reply!.readUInt16BE(0)).toBe(0xabcd)
  expect(sent.reply!.subarray(12, message.question.end)).toEqual(sent.octets.subarray(12, sent.query.question.end))
  expect(message.edns !== undefined).toBe(asked.edns !== undefined)
  expect(replayed(reply, asked)).toEqual(sent.reply)
  return message
}

/** What is sent where the reply comes out of a cache: the same. */
function replayed(reply: Parameters<Query['reply']>[0] | Message, asked: Asked): Buffer | undefined {
  const sent = new Sent(asked)
  finish(sent.query, fromCache(sent.query, reply instanceof Message ? reply : sent.query.reply(reply)), sent, sent.udpSize)
  return sent.reply
}

function fromCache({ question }: Query, reply: Message): PackedReply {
  const block = pack(question, reply)
  if (block === undefined) throw new Error('a reply that cannot be packed')
  return new PackedReply(block.slice(), 0, question, 0, { why: 'cached' }, { originOf: () => ({ kind: 'cache' }) }, 0)
}

const address = (i: number, owner = 'a.example.org.'): ResourceRecord => ({ owner, type: 'A', ttl: 5, rdata: `192.0.${i >> 8}.${i & 255}` })
const addresses = (count: number, owner?: string): ResourceRecord[] => Array.from({ length: count }, (_, i) => address(i, owner))
const text = (length: number, owner = 'a.example.org.'): ResourceRecord => ({
  owner,
  type: 'TXT',
  ttl: 5,
  rdata: Array.from({ length: length / 100 }, () => 'x'.repeat(99))
})
const signature = (type: string, owner = 'a.example.org.', length = 60): ResourceRecord => {
  const number = typeNumber(type)!
  return {
    owner,
    type: 'RRSIG',
    ttl: 5,
    rdata: Buffer.concat([Buffer.from([number >> 8, number & 0xff]), Buffer.alloc(16), nameOctets('org.'), Buffer.alloc(length)])
  }
}
const server = (i: number): ResourceRecord => ({ owner: 'example.org.', type: 'NS', ttl: 5, rdata: `ns${i}.example.org.` })
const counts = ({ answer, authority, additional }: Message): number[] => [answer.length, authority.length, additional.length]

describe('the header has', () => {
  const all = QR | AA | TC | RD | RA | AD | CD | 0x40 | 0x7800
  test.each([
    ['the asker’s RD and CD', RD | CD, 0, QR | RD | CD],
    ['not the reply’s RD and CD', 0, RD | CD, QR],
    ['the reply’s AA and RA', 0, AA | RA, QR | AA | RA],
    ['no AD where nobody asked', RD, AD, QR | RD],
    ['AD for who sets it', RD | AD, AD, QR | RD | AD],
    ['no AD that the reply has not', RD | AD, 0, QR | RD],
    ['TC where the reply was cut upstream', RD, TC, QR | RD | TC],
    ['nothing else', RD | AD | 0x40, all, QR | AA | TC | RD | RA | AD]
  ])('%s', (_, asked, flags, expected) => {
    expect(finished(Message.of({ flags, answer: [address(1)] }), { flags: asked }).flags).toBe(expected)
  })

  test('AD for who sets DO', () => {
    expect(finished(Message.of({ flags: AD }), { edns: 1232, dnssecOk: true }).flags).toBe(QR | RD | AD)
    expect(finished(Message.of({ flags: AD }), { edns: 1232 }).flags).toBe(QR | RD)
  })
})

test('an OPT record says our size, the DO bit, and nothing that was asked besides', () => {
  expect(finished({}, { edns: 4096, dnssecOk: true }).edns).toMatchObject({
    size: 1232,
    version: 0,
    dnssecOk: true,
    extendedRcode: 0,
    options: []
  })
  expect(finished({}, { edns: 4096, udpSize: 400 }).edns).toMatchObject({ size: 512, dnssecOk: false })
})

test('an rcode of more than four bits needs an OPT record', () => {
  const reply = Message.of({ flags: QR, rcode: 'BADCOOKIE' })
  expect(finished(reply, { edns: 1232 }).rcode).toBe('BADCOOKIE')
  expect(finished(reply).rcode).toBe('SERVFAIL')
})

test('an owner that was asked for points to the question, whose case is the asker’s', () => {
  const reply = finished({ answer: addresses(4, 'A.EXAMPLE.org.') }, { qname: 'a.eXample.ORG.' })
  expect(reply.octets).toHaveLength(12 + 19 + 4 * 16)
  expect(reply.answer[0]!.owner).toBe('a.eXample.ORG.')
})

test.each(['b.example.org.', 'www.longer.example.org.', 'a.'])(
  'a reply out of a cache to another question, of %s, says what it says',
  (other) => {
    const sent = new Sent({})
    finish(sent.query, fromCache(sent.query.with({ qname: other }), sent.query.reply({ answer: [address(1, other)] })), sent, sent.udpSize)
    const reply = Message.fromOctets(sent.reply!)
    expect([reply.question.name, reply.answer.map(({ owner, rdata }) => [owner, rdata])]).toEqual([
      'A.example.org.',
      [[other, '192.0.0.1']]
    ])
  }
)

test('records of the root, asked for itself, have no pointer', () => {
  const reply = finished({ answer: [address(1, '.'), address(2, '.')] }, { qname: '.' })
  expect([reply.octets!.length, reply.answer.map(({ owner }) => owner)]).toEqual([12 + 5 + 2 * 15, ['.', '.']])
})

describe('a reply over UDP has at most', () => {
  test.each([
    ['512 octets without EDNS', {}, 512],
    ['what the client can take', { edns: 800 }, 800],
    ['512 octets where it says less', { edns: 100 }, 512],
    ['what the operator allows', { edns: 4096 }, 1232],
    ['more where the operator allows more', { edns: 65535, udpSize: 4096 }, 4096]
  ])('%s', (_, asked, size) => {
    const reply = finished({ answer: addresses(400) }, asked)
    const room = size - (reply.octets!.length + 16)
    expect(room).toBeLessThan(0)
    expect(room).toBeGreaterThanOrEqual(-16)
    expect(reply.flags & TC).toBe(TC)
    expect(reply.answer.map(({ rdata }) => rdata)).toEqual(
      addresses(400)
        .slice(0, reply.answer.length)
        .map(({ rdata }) => rdata)
    )
  })
})

describe('what does not fit goes in order:', () => {
  test('additional RRsets, one by one, without TC', () => {
    const additional = [...addresses(30, 'big.example.org.'), address(1, 'small.example.org.')]
    const reply = finished({ answer: addresses(10), additional })
    expect([counts(reply), reply.flags & TC]).toEqual([[10, 0, 1], 0])
    expect(reply.additional[0]!.owner).toBe('small.example.org.')
  })

  test('additional RRsets with their signatures', () => {
    const additional = [address(1, 'b.example.org.'), signature('A', 'b.example.org.', 300), address(2, 'c.example.org.')]
    const reply = finished({ answer: addresses(10), additional })
    expect(reply.additional.map(({ owner }) => owner)).toEqual(['c.example.org.'])
  })

  test('an extended error before anything else, and never the OPT record', () => {
    const extendedErrors = [{ code: 3, text: 'ü'.repeat(150) }]
    expect(finished({ answer: addresses(5), extendedErrors }, { edns: 512 }).edns!.options).toEqual([
      [15, new Uint8Array(Buffer.from(`\0\u0003${'ü'.repeat(150)}`))]
    ])
    const reply = finished({ answer: addresses(20), extendedErrors }, { edns: 512 })
    expect([counts(reply), reply.flags & TC, reply.edns!.options]).toEqual([[20, 0, 0], 0, []])
  })

  test('the authority beside an answer, without TC, but with DO, where it may prove something, and as the whole of what there is', () => {
    const parts = { answer: addresses(30), authority: [server(1)] }
    const plain = finished(parts)
    expect([counts(plain), plain.flags & TC]).toEqual([[30, 0, 0], 0])
    expect(finished({ ...parts, answer: addresses(29) }, { edns: 512, dnssecOk: true }).flags & TC).toBe(TC)
    expect(finished({ authority: [text(600)] }).flags & TC).toBe(TC)
  })

  test('whole records of the answer, with TC and no other section', () => {
    const reply = finished({ answer: [text(300), text(300)], authority: [server(1)], additional: [address(1)] })
    expect([counts(reply), reply.flags & TC]).toEqual([[1, 0, 0], TC])
  })

  test('with DO whole RRsets with their signatures', () => {
    const answer = [address(1), signature('A'), ...addresses(20, 'b.example.org.'), signature('A', 'b.example.org.')]
    const reply = finished({ answer }, { edns: 512, dnssecOk: true })
    expect([reply.answer.map(({ type }) => type), reply.flags & TC]).toEqual([['A', 'RRSIG'], TC])
  })

  test('with DO two RRsets of one owner apart', () => {
    const answer = [address(1), signature('A'), text(300), signature('TXT')]
    const reply = finished({ answer }, { edns: 512, dnssecOk: true })
    expect(reply.answer.map(({ type }) => type)).toEqual(['A', 'RRSIG'])
    const read = finished(Message.fromOctets(finished({ answer }, { edns: 1232, dnssecOk: true }).octets!), { edns: 512, dnssecOk: true })
    expect(read.answer.map(({ type }) => type)).toEqual(['A', 'RRSIG'])
  })
})

describe('a referral', () => {
  const glue = (count: number): ResourceRecord[] => Array.from({ length: count }, (_, i) => addresses(3, `ns${i}.example.org.`)).flat()
  const servers = Array.from({ length: 5 }, (_, i) => server(i))

  test.each([
    ['that lacks glue of its zone is cut (RFC 9471 §3.1)', {}, TC],
    ['of an authoritative answer is none', { aa: true }, 0],
    ['with an answer is none', { answer: [address(1)] }, 0]
  ])('%s', (_, more, tc) => {
    const reply = finished({ authority: servers, additional: glue(12), ...more })
    expect(reply.flags & TC).toBe(tc)
    expect(reply.additional.length).toBeGreaterThan(9)
  })

  test('that lacks addresses elsewhere is whole', () => {
    const additional = [...addresses(3, 'ns1.example.org.'), ...addresses(40, 'ns.example.net.')]
    expect(finished({ authority: servers, additional }).flags & TC).toBe(0)
  })
})

describe('over a stream', () => {
  test('a reply may have 64 KiB', () => {
    const answer = Array.from({ length: 20 }, () => text(3000))
    const reply = finished({ answer }, { transport: 'tcp' })
    expect([reply.answer.length, reply.flags & TC]).toEqual([20, 0])
  })

  test.each([undefined, 1232])('a larger one is a failure that is reported, EDNS %s', (edns) => {
    const sent = new Sent({ transport: 'tcp', ...(edns === undefined ? {} : { edns }) })
    const reports: unknown[] = []
    const reply = sent.query.reply({ aa: true, answer: Array.from({ length: 30 }, () => text(3000)) })
    answer(
      chainOf(() => reply),
      sent.query,
      sent,
      { udpSize: 1232, clock: systemClock, report: (error) => reports.push(error), inFlight: 0 }
    )
    expect(reports).toEqual([expect.any(SizeError)])
    expect(Message.fromOctets(sent.reply!)).toMatchObject({ rcode: 'SERVFAIL', flags: QR | RD | 2, answer: [] })
  })
})

test('a record that cannot be written is a failure that is reported, wherever it stands', () => {
  const bad: ResourceRecord = { owner: 'a..b.', type: 'A', ttl: 5, rdata: '192.0.2.1' }
  for (const parts of [{ answer: [address(1), bad] }, { authority: [bad] }, { additional: [bad] }]) {
    const sent = new Sent({ edns: 1232 })
    const reports: unknown[] = []
    answer(
      chainOf(() => sent.query.reply(parts)),
      sent.query,
      sent,
      { udpSize: 1232, clock: systemClock, report: (error) => reports.push(error), inFlight: 0 }
    )
    expect(reports).toEqual([expect.any(RecordError)])
    expect(Message.fromOctets(sent.reply!)).toMatchObject({ rcode: 'SERVFAIL', answer: [], authority: [], additional: [] })
  }
})

test('a big answer is cut for one client and stays whole for the next', () => {
  const reply = Message.of({ flags: QR, answer: addresses(300) })
  expect(finished(reply, { transport: 'tcp' }).answer).toHaveLength(300)
  expect(finished(reply).flags & TC).toBe(TC)
  expect(finished(reply, { edns: 4084, udpSize: 4096 }).octets!.length).toBeLessThanOrEqual(4084)
  expect(finished(reply, { transport: 'tcp' }).answer).toHaveLength(300)
})
