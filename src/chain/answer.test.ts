import { describe, expect, test } from 'vitest'
import { accept } from '../message/gate.js'
import type { Message } from '../message/message.js'
import { andThen, drop, type Handler, type Layer, type Next, type Reply, type Sent } from '../plugin.js'
import { Query } from '../query.js'
import type { Outgoing } from '../reply/finish.js'
import { readAnswer, requestOctets, TestClock } from '../testing.js'
import { answer, lookUp, type Serving } from './answer.js'
import { type Chain, compose } from './compose.js'

const client = { address: '192.0.2.1', port: 4711, transport: 'udp', local: '127.0.0.1' } as const
const octets = requestOctets('example.org. A')

function asked(): Query {
  const request = accept({ octets }, 1232)
  if (request.kind !== 'asked') throw new Error('the gate turned it away')
  return Query.fromRequest(request, client, '.')
}

const servingWith = (report: (error: unknown) => void): Serving => ({ udpSize: 1232, clock: new TestClock(), report, inFlight: 0 })
const chainOf = (run: Next, ...observers: Layer[]): Chain => ({
  run,
  observers,
  tellsErrors: observers.some(({ tellsErrors }) => tellsErrors === true)
})

interface Outcome {
  readonly sent: readonly string[]
  readonly reports: readonly string[]
}

/** What is sent, and what is reported, when a chain of these handlers answers. */
async function outcomeOf(...handlers: readonly Handler[]): Promise<Outcome> {
  const sent: string[] = []
  const reports: string[] = []
  const room = Buffer.alloc(65535)
  const out: Outgoing = {
    reserve: () => room,
    send: (length) => sent.push(readAnswer(new Uint8Array(room.subarray(0, length))).rcode),
    drop: () => sent.push('nothing')
  }
  answer(
    chainOf(compose(handlers)),
    asked(),
    out,
    servingWith((error) => reports.push(String(error)))
  )
  for (let turns = 0; turns < 3; turns++) await new Promise(setImmediate)
  return { sent, reports }
}

const pass: Handler = (query, next) => andThen(next(query), (reply) => reply)
const slow: Handler = async (query, next) => {
  await new Promise(setImmediate)
  return next(query)
}
const returns = (value: unknown): Handler => (() => value) as never
const throws =
  (error: unknown): Handler =>
  () => {
    throw error
  }

/** An object with a `then` of its own; written so that no linter holds it for a slip. */
const thenable = (settle: (use: (reply: Reply) => void) => void): never =>
  Object.defineProperty({}, ['th', 'en'].join(''), { value: settle }) as never

const rejects =
  (error: unknown): Handler =>
  () =>
    Promise.reject(error)

describe('a chain is answered once', () => {
  test.each<[string, readonly Handler[], string]>([
    ['at its end', [], 'REFUSED'],
    ['by a handler', [pass, (query) => query.reply({ rcode: 'NXDOMAIN' })], 'NXDOMAIN'],
    ['after an asynchronous handler', [pass, slow, pass, (query) => query.reply({})], 'NOERROR'],
    ['with nothing, where a handler drops', [pass, () => drop], 'nothing'],
    ['with nothing, where it drops later', [pass, async (): Promise<Reply> => drop], 'nothing'],
    ['by an object with `then` that answers twice', [(query) => thenable((use) => [use(query.reply({})), use(query.reply({}))])], 'NOERROR']
  ])('%s', async (_title, handlers, sent) => {
    const outcome = await outcomeOf(...handlers)
    expect(outcome).toEqual({ sent: [sent], reports: [] })
  })
})

const faults: readonly [string, Handler, RegExp][] = [
  ['throws', throws(new Error('boom')), /boom/],
  ['throws no error', throws('boom'), /boom/],
  ['rejects', rejects(new Error('boom')), /boom/],
  ['returns nothing', returns(undefined), /returned no reply: did it forget to return next\(query\)/],
  ['returns null', returns(null), /returned no reply/],
  ['returns an object of its own', returns({ rcode: 'NOERROR', answer: [] }), /returned no reply/],
  ['promises nothing', returns(Promise.resolve()), /returned no reply/],
  ['answers with a `then` that throws', () => thenable(throws(new Error('boom')) as never), /boom/]
]

describe('a fault is SERVFAIL and one report', () => {
  test.each([
    ...faults,
    [
      'answers with what cannot be written',
      (query) => query.reply({ answer: [{ owner: 'example.org.', type: 'A', ttl: 1, rdata: 'x' }] }),
      /A must be an IPv4 address/
    ],
    [
      'answers with a name that is none',
      (query) => query.reply({ answer: [{ owner: 'a..b.', type: 'A', ttl: 1, rdata: '192.0.2.1' }] }),
      /empty label/
    ],
    [
      'promises what cannot be written',
      async (query) => query.reply({ answer: [{ owner: '.', type: 'MX', ttl: 1, rdata: { preference: -1, exchange: '.' } }] }),
      /0 to 65535/
    ]
  ] as [string, Handler, RegExp][])('of a handler that %s', async (_title, handler, problem) => {
    const { sent, reports } = await outcomeOf(pass, handler)
    expect(sent).toEqual(['SERVFAIL'])
    expect(reports).toEqual([expect.stringMatching(problem)])
  })
})

describe('a look-up of the server for itself', () => {
  test.each(faults)('is SERVFAIL and one report where a handler %s', async (_title, handler, problem) => {
    const reports: string[] = []
    const reply = (await lookUp(
      chainOf(compose([pass, handler])),
      asked(),
      servingWith((error) => reports.push(String(error)))
    )) as Message
    expect([reply.rcode, reply.why]).toEqual(['SERVFAIL', 'fault'])
    expect(reports).toEqual([expect.stringMatching(problem)])
  })

  test('is synchronous where the chain is, and may be dropped', () => {
    const noReport = (): never => {
      throw new Error('nothing to report')
    }
    expect((lookUp(chainOf(compose([])), asked(), servingWith(noReport)) as Message).rcode).toBe('REFUSED')
    expect(
      lookUp(
        chainOf(() => drop),
        asked(),
        servingWith(noReport)
      )
    ).toBe(drop)
  })
})

describe('who observes is told what was sent', () => {
  /** What an observer of a chain of this one handler is told, and what is reported. */
  async function told(handler: Handler, more: Partial<Layer> = {}): Promise<{ sent: Sent[]; reports: string[] }> {
    const sent: Sent[] = []
    const reports: string[] = []
    const room = Buffer.alloc(65535)
    const out: Outgoing = { reserve: () => room, send() {}, drop() {} }
    const observer: Layer = { observe: (_query, told) => void sent.push(told), ...more }
    const second: Layer = { observe: (_query, told) => void sent.push(told) }
    answer(
      chainOf(compose([handler]), observer, second),
      asked(),
      out,
      servingWith((error) => reports.push(String(error)))
    )
    for (let turns = 0; turns < 3; turns++) await new Promise(setImmediate)
    return { sent, reports }
  }

  const texts = Array.from({ length: 9 }, () => ({ owner: 'example.org.', type: 'TXT', ttl: 1, rdata: ['x'.repeat(200)] }) as const)

  test.each<[string, Handler, Partial<Sent>, number]>([
    ['of an answer', (query) => query.reply({ aa: true }), { rcode: 'NOERROR', flags: 0x8500, octets: 29 }, 0],
    ['of a later one', slow, { rcode: 'REFUSED', flags: 0x8105, octets: 29 }, 0],
    ['with TC where it was cut', (query) => query.reply({ answer: texts }), { rcode: 'NOERROR', flags: 0x8300 }, 0],
    [
      'with SERVFAIL where it could not be written',
      (query) => query.reply({ answer: [{ ...texts[0]!, ttl: -1 }] }),
      { rcode: 'SERVFAIL', flags: 0x8102 },
      1
    ],
    ['with the error where there was one', throws('boom'), { rcode: 'SERVFAIL', error: 'boom' }, 1],
    ['of a drop', () => drop, { reply: drop, octets: 0 }, 0]
  ])('%s', async (_title, handler, expected, reported) => {
    const { sent, reports } = await told(handler)
    expect(sent).toMatchObject([expected, expected])
    expect(reports).toHaveLength(reported)
  })

  test('and the server reports no error where a layer tells of them', async () => {
    expect((await told(throws('boom'), { tellsErrors: true })).reports).toEqual([])
  })

  test('and one that throws is reported, and keeps nobody else from it', async () => {
    const { sent, reports } = await told((query) => query.reply({}), { observe: throws(new Error('observer')) as never })
    expect([sent.length, reports]).toEqual([1, ['Error: observer']])
  })
})
