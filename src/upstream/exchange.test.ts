import { afterEach, describe, expect, test } from 'vitest'
import { accept } from '../message/gate.js'
import { Query } from '../query.js'
import { requestOctets, TestClock } from '../testing.js'
import { upstreamAt } from './address.js'
import { askUpstream } from './ask.js'
import type { Asking, ExchangeOutcome } from './exchange.js'
import { fakeUpstream, prefixed, questionOctets, recordOctets, replyTo, type UpstreamActs } from './fake-upstream.js'
import { UdpExchange } from './udp-exchange.js'

const open: { stop(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.stop()
})

const request = accept({ octets: requestOctets('www.example.org. A') }, 1232)
if (request.kind !== 'asked') throw new Error('the gate turned it away')
const query = Query.fromRequest(request, { address: '192.0.2.1', port: 4711, transport: 'udp', local: '127.0.0.1' }, '.')

function askingOf(port: number, transport: 'udp' | 'tcp', about: Partial<Asking> = {}): Asking {
  const octets = query.octets(0x1234)
  return { query, upstream: upstreamAt('127.0.0.1', port)!, transport, octets, timeoutMs: 1000, why: 'test', ...about }
}

/** What comes of a question to an upstream that does this; addresses are left out. Time stands still. */
async function outcomeOf(acts: UpstreamActs, transport: 'udp' | 'tcp' = 'udp', about: Partial<Asking> = {}): Promise<ExchangeOutcome> {
  const fake = await fakeUpstream(acts)
  open.push(fake)
  const outcome = await askUpstream(askingOf(fake.port, transport, about), new TestClock()).outcome
  return outcome.kind === 'failed' ? { ...outcome, problem: outcome.problem.replace(/127\.0\.0\.1:\d+/g, 'ADDRESS') } : outcome
}

/** One that says this over either transport. */
const says = (make: (octets: Buffer) => Uint8Array): UpstreamActs => ({
  udp: ({ octets }, answer) => answer(make(octets)),
  tcp: ({ octets }, socket) => socket.write(prefixed(make(octets)))
})

describe.each(['udp', 'tcp'] as const)('over %s', (transport) => {
  test('a reply says where it is from and why', async () => {
    const fake = await fakeUpstream(says(replyTo))
    open.push(fake)
    const { text } = upstreamAt('127.0.0.1', fake.port)!
    expect(await askUpstream(askingOf(fake.port, transport), new TestClock()).outcome).toMatchObject({
      kind: 'reply',
      message: { rcode: 'NOERROR', answer: [{ type: 'A' }], why: 'test', origin: { kind: 'upstream', upstream: text } }
    })
  })

  test('with the reply its timer is gone', async () => {
    const fake = await fakeUpstream(says(replyTo))
    open.push(fake)
    let timers = 0
    const after = (): { cancel(): void } => {
      timers++
      return { cancel: () => timers-- }
    }
    const { outcome } = askUpstream(askingOf(fake.port, transport), { after })
    expect(timers).toBe(1)
    expect([(await outcome).kind, timers]).toEqual(['reply', 0])
  })

  test('a question spelled in another case is the same', async () => {
    const outcome = await outcomeOf(
      says((octets) => replyTo(octets, { question: questionOctets('WWW.example.ORG') })),
      transport
    )
    expect(outcome.kind).toBe('reply')
  })

  test.each<[string, (octets: Buffer) => Uint8Array, string]>([
    ['no question', (octets) => replyTo(octets, { question: new Uint8Array(0), answer: [] }), 'a message with no question, or several'],
    [
      'no question that can be read, and TC',
      (octets) => replyTo(octets, { flags: 0x8380, question: new Uint8Array(0), answer: [] }),
      'a message with no question, or several'
    ],
    [
      'a forward pointer in rdata',
      (octets) => replyTo(octets, { answer: [recordOctets(5, Uint8Array.of(0xc0, 0xff))] }),
      'a compression pointer that does not point back'
    ],
    ['a record that is cut', (octets) => replyTo(octets).subarray(0, -2), 'rdata runs past the end of the message'],
    ['octets behind the end', (octets) => Buffer.concat([replyTo(octets), Buffer.of(0)]), 'octets behind the last record'],
    [
      'an address of 3 octets',
      (octets) => replyTo(octets, { answer: [recordOctets(1, Uint8Array.of(1, 2, 3))] }),
      'a field of rdata runs past its record'
    ]
  ])('a reply is malformed with %s', async (_title, make, problem) => {
    expect(await outcomeOf(says(make), transport)).toEqual({
      kind: 'failed',
      problem: `read ${transport} ADDRESS->ADDRESS: malformed reply: ${problem}`,
      wasReached: true,
      isOurs: false
    })
  })

  test.each<[boolean | undefined, boolean]>([
    [undefined, false],
    [true, true]
  ])('silence ends with the time, and where that is cut short (%s) it is not the upstream’s: %s', async (isCutShort, isOurs) => {
    const fake = await fakeUpstream({ udp: () => {}, tcp: () => {} })
    open.push(fake)
    const clock = new TestClock()
    const { outcome } = askUpstream(askingOf(fake.port, transport, isCutShort === undefined ? {} : { isCutShort }), clock)
    await expect.poll(() => fake.asked.length).toBe(1)
    clock.advance(1000)
    expect(await outcome).toMatchObject({ problem: expect.stringMatching(/: i\/o timeout$/) as string, wasReached: false, isOurs })
  })

  test('it can be cancelled', async () => {
    const fake = await fakeUpstream({ udp: () => {}, tcp: () => {} })
    open.push(fake)
    const exchange = askUpstream(askingOf(fake.port, transport), new TestClock())
    exchange.cancel()
    expect(await exchange.outcome).toMatchObject({ problem: `dial ${transport} 127.0.0.1:${fake.port}: the server is stopping` })
  })

  test('one that cannot be opened fails once, and its timer is gone', async () => {
    const clock = new TestClock()
    const asking = askingOf(1, transport, { upstream: { address: '127.0.0.1', port: 70_000, text: '127.0.0.1:70000' } })
    const exchange = askUpstream(asking, clock)
    clock.advance(2000)
    exchange.cancel()
    const outcome = await exchange.outcome
    expect(outcome).toMatchObject({ kind: 'failed', wasReached: false })
    expect((outcome as { problem: string }).problem).toMatch(new RegExp(`^dial ${transport} 127.0.0.1:70000: connect: .*port`, 'i'))
  })
})

test('one without a socket to close fails too', async () => {
  class Unopened extends UdpExchange {
    protected override open(): void {
      throw Object.assign(new Error('socket EMFILE'), { code: 'EMFILE' })
    }
  }
  const clock = new TestClock()
  const { outcome } = new Unopened(askingOf(53, 'udp'), clock).begin()
  clock.advance(2000)
  expect(await outcome).toMatchObject({ problem: 'dial udp 127.0.0.1:53: socket: too many open files', isOurs: true })
})

describe('over UDP, what is no reply is passed over until the right one comes', () => {
  const right: NonNullable<UpstreamActs['udp']> = ({ octets }, answer) => answer(replyTo(octets))

  test.each<[string, (octets: Buffer) => Uint8Array]>([
    ['another ID', (octets) => replyTo(octets, { id: octets.readUInt16BE(0) ^ 1 })],
    ['another ID in its first octet', (octets) => replyTo(octets, { id: octets.readUInt16BE(0) ^ 0x0100 })],
    ['another name', (octets) => replyTo(octets, { question: questionOctets('victim.example.org') })],
    ['another name, cut', (octets) => replyTo(octets, { flags: 0x8380, question: questionOctets('victim.example.org') }).subarray(0, -2)],
    ['another type', (octets) => replyTo(octets, { question: questionOctets('www.example.org', 28) })],
    ['another class', (octets) => replyTo(octets, { question: questionOctets('www.example.org', 1, 3) })],
    ['QR=0', (octets) => replyTo(octets, { flags: 0x0180 })],
    ['another opcode', (octets) => replyTo(octets, { flags: 0xa980 })],
    ['nothing', () => new Uint8Array(0)],
    ['half a header', (octets) => octets.subarray(0, 6)]
  ])('%s', async (_title, wrong) => {
    let ignored = 0
    const udp: UpstreamActs['udp'] = (asked, answer, elsewhere) => {
      answer(wrong(asked.octets))
      right(asked, answer, elsewhere)
    }
    expect((await outcomeOf({ udp }, 'udp', { ignored: () => ignored++ })).kind).toBe('reply')
    expect(ignored).toBe(1)
  })

  test('another port', async () => {
    const udp: UpstreamActs['udp'] = ({ octets }, answer, answerFromElsewhere) => {
      answerFromElsewhere(replyTo(octets, { flags: 0x8183, answer: [] }))
      setTimeout(() => answer(replyTo(octets)), 20)
    }
    expect(await outcomeOf({ udp })).toMatchObject({ kind: 'reply', message: { rcode: 'NOERROR' } })
  })
})

describe('a truncated reply', () => {
  const truncated = (octets: Buffer): Buffer => replyTo(octets, { flags: 0x8380 })

  test('is told of over UDP, with what came', async () => {
    expect(await outcomeOf(says(truncated))).toMatchObject({ kind: 'truncated', message: { answer: [{ type: 'A' }] } })
  })

  test('is told of where it ends within a record', async () => {
    expect(await outcomeOf(says((octets) => truncated(octets).subarray(0, -2)))).toEqual({ kind: 'truncated', message: undefined })
  })

  test('is a reply over TCP', async () => {
    expect((await outcomeOf(says(truncated), 'tcp')).kind).toBe('reply')
  })
})

describe('over TCP', () => {
  test('a reply may come octet by octet', async () => {
    const tcp: UpstreamActs['tcp'] = ({ octets }, socket) => {
      for (const [index, octet] of prefixed(replyTo(octets)).entries()) setTimeout(() => socket.write(Uint8Array.of(octet)), index)
    }
    expect(await outcomeOf({ tcp }, 'tcp')).toMatchObject({ kind: 'reply', message: { answer: [{ type: 'A' }] } })
  })

  test.each<[string, NonNullable<UpstreamActs['tcp']>, string, boolean]>([
    ['closed at once', (_asked, socket) => socket.end(), 'EOF', true],
    ['closed half way', ({ octets }, socket) => socket.end(prefixed(replyTo(octets)).subarray(0, 20)), 'EOF', true],
    ['reset', (_asked, socket) => socket.resetAndDestroy(), 'read: connection reset by peer', false],
    ['a message of length 0', (_asked, socket) => socket.write(Uint8Array.of(0, 0)), 'a reply to another question', true],
    [
      'another ID',
      ({ octets }, socket) => socket.write(prefixed(replyTo(octets, { id: octets.readUInt16BE(0) ^ 1 }))),
      'a reply to another question',
      true
    ],
    [
      'another question',
      ({ octets }, socket) => socket.write(prefixed(replyTo(octets, { question: questionOctets('victim.example.org') }))),
      'a reply to another question',
      true
    ]
  ])('%s fails', async (_title, tcp, problem, wasReached) => {
    expect(await outcomeOf({ tcp }, 'tcp')).toMatchObject({ kind: 'failed', problem: `read tcp ADDRESS->ADDRESS: ${problem}`, wasReached })
  })
})
