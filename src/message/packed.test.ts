import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Message, type MessageParts, QR } from './message.js'
import { name, plainMessage, sections } from './messages.testing.js'
import { PackedReply, pack } from './packed.js'
import { Question } from './question.js'
import type { ResourceRecord } from './record.js'

const question = Question.of('www.example.org.', 1, 1)
const NOWHERE = { originOf: (number: number) => ({ kind: 'cache', revision: number }) }

/** A reply that was packed, among other octets. */
function packed(reply: Message, { seconds = 0, asked = question, octets = new Uint8Array(300_000) } = {}): PackedReply {
  octets.set(pack(asked, reply)!, 1001)
  return new PackedReply(octets, 1001, asked, seconds, { why: 'cached' }, NOWHERE, 7)
}

const of = (parts: Partial<MessageParts>): Message => Message.of({ flags: QR, ...parts })

/** `owner ttl TYPE rdata`, in lower case. */
function texts(records: readonly ResourceRecord[]): string[] {
  return records.map(({ owner, ttl, type, rdata }) => `${owner.toLowerCase()} ${ttl} ${type} ${JSON.stringify(rdata)}`)
}

const address = (owner: string, last: number, ttl = 60): ResourceRecord => ({ owner, type: 'A', ttl, rdata: `192.0.2.${last}` })

test('says what was packed, whatever that is', () => {
  fc.assert(
    fc.property(name, sections, (qname, list) => {
      const before = Message.fromOctets(plainMessage(qname, list))
      const after = packed(before, { asked: before.question })
      // Told without being read, and so before.
      const told = [before.hasAnswer, after.hasAnswer, of({ answer: before.answer }).hasAnswer]
      expect(told).toEqual(told.map(() => before.answer.length > 0))
      expect(texts(after.answer)).toEqual(texts(before.answer))
      expect(texts(after.authority)).toEqual(texts(before.authority))
      // A signature of the whole message holds for one hop.
      expect(texts(after.additional)).toEqual(texts(before.additional.filter(({ type }) => type !== 'TSIG' && type !== 'SIG')))
    }),
    { numRuns: 300 }
  )
})

test('is as old as it is, and no TTL falls below 0', () => {
  const reply = of({ answer: [address('a.example.org.', 1, 100), address('b.example.org.', 2, 5)], additional: [address('c.', 3, 0)] })
  const aged = packed(reply, { seconds: 30 })
  expect([...aged.answer, ...aged.additional].map(({ ttl }) => ttl)).toEqual([70, 0, 0])
})

test('tells why it is so, where it comes from, and its extended errors', () => {
  const extendedErrors = [
    { code: 22, text: 'upstream-failed: ü' },
    { code: 13, text: '' }
  ]
  const reply = packed(of({ rcode: 'SERVFAIL', extendedErrors, why: 'x', origin: { kind: 'upstream' } }))
  expect({ ...shownOf(reply) }).toEqual({
    rcode: 'SERVFAIL',
    why: 'cached',
    origin: { kind: 'cache', revision: 7 },
    extendedErrors,
    problem: undefined
  })
})

function shownOf({ rcode, why, origin, extendedErrors, problem }: Message): object {
  return { rcode, why, origin, extendedErrors, problem }
}

test('that is kept outlives its octets, and is not changed by who shuffles it', () => {
  const octets = new Uint8Array(3000)
  const answer = [address('www.example.org.', 1), address('www.example.org.', 2)]
  const reply = packed(of({ answer }), { octets })
  expect(reply.keep()).toBe(reply)
  octets.fill(0xff)
  const before = texts(reply.answer)
  expect(before).toEqual(texts(answer))
  const shuffled = reply.withAddressesShuffled({ below: () => 0 })
  expect(texts(shuffled.answer)).toEqual([...before].reverse())
  expect(texts(reply.answer)).toEqual(before)
  expect(reply.origin).toEqual({ kind: 'cache', revision: 7 })
})

describe('addresses are shuffled', () => {
  const answer: ResourceRecord[] = [
    { owner: 'www.example.org.', type: 'CNAME', ttl: 60, rdata: 'a.example.org.' },
    address('a.example.org.', 1),
    address('b.example.org.', 9),
    address('A.example.org.', 2),
    { owner: 'a.example.org.', type: 'AAAA', ttl: 60, rdata: '2001:db8::1' },
    address('a.example.org.', 3)
  ]
  const additional = [address('c.example.org.', 5), address('c.example.org.', 6), address('a.example.org.', 4)]

  test('within each set of one section, and as where they are records', () => {
    const seen = new Set<string>()
    for (let one = 0; one < 3; one++) {
      for (let other = 0; other < 2; other++) {
        const random = (): { below: (limit: number) => number } => ({ below: (limit) => (limit === 3 ? one : other) })
        const inPlace = packed(of({ answer, additional })).withAddressesShuffled(random())
        const asRecords = of({ answer, additional }).withAddressesShuffled(random())
        expect([inPlace.answer, inPlace.additional].map(texts)).toEqual([asRecords.answer, asRecords.additional].map(texts))
        seen.add(texts(inPlace.answer).join())
      }
    }
    expect(seen.size).toBe(6)
  })

  test('not where no set has two: the same reply then', () => {
    const below = (): number => {
      throw new Error('nothing to shuffle')
    }
    for (const reply of [of({ answer: answer.slice(0, 3) }), of({})]) {
      expect(reply.withAddressesShuffled({ below })).toBe(reply)
      const other = packed(reply)
      expect(other.withAddressesShuffled({ below })).toBe(other)
    }
  })
})

test('addresses of class ANY, some without rdata, stay where they are', () => {
  const record = (...rdata: number[]) => ({ owner: Uint8Array.of(0xc0, 12), type: 1, klass: 255, ttl: 60, rdata: Uint8Array.from(rdata) })
  const octets = plainMessage(Uint8Array.of(1, 0x61, 0), [[record(192, 0, 2, 1), record()], [], []])
  const received = Message.fromOctets(octets)
  expect(received.answer.map(({ type, class: of }) => [type, of])).toEqual([
    ['A', 'ANY'],
    ['A', 'ANY']
  ])
  const reply = packed(received, { asked: received.question }).withAddressesShuffled({ below: () => 0 }) as PackedReply
  const to = new Uint8Array(512).fill(0xee)
  reply.copyTo(to, received.question)
  expect(Buffer.from(to.subarray(12, reply.length))).toEqual(octets.subarray(12))
})

test.each<[string, Partial<MessageParts>]>([
  [
    'options longer than any',
    { rcode: 'SERVFAIL', extendedErrors: Array.from({ length: 3 }, () => ({ code: 0, text: '\ufffd'.repeat(20_000) })) }
  ],
  ['an address that is none', { answer: [address('a.example.org.', 999)] }],
  [
    'more than a message has room for',
    { answer: Array.from({ length: 3000 }, (_, i) => ({ owner: `${i}.`, type: 'TXT', ttl: 1, rdata: ['x'.repeat(30)] })) }
  ]
])('%s cannot be packed', (_title, parts) => {
  expect(pack(question, of(parts))).toBeUndefined()
})
