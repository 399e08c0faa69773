import type { Message } from 'skein/plugin'
import {
  type Answer,
  type AskOptions,
  addressRecord,
  decodes,
  type FakeUpstream,
  fakeUpstream,
  prefixed,
  recordOctets,
  replyTo,
  requestOctets,
  serverOf,
  type TestServer,
  type UpstreamActs
} from 'skein/testing'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { Forwarder } from './forwarder.js'

const open: { stop(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.stop()
})

async function upstream(acts: UpstreamActs = { udp: ({ octets }, answer) => answer(replyTo(octets)) }): Promise<FakeUpstream> {
  const fake = await fakeUpstream(acts)
  open.push(fake)
  return fake
}

async function server(block: string): Promise<TestServer> {
  const started = await serverOf(`.:1053 {\nlog "{common} {why}"\nerrors\n${block}\n}`)
  open.push(started)
  return started
}

/** A server that forwards everything to one upstream. */
async function before(fake: FakeUpstream, options = ''): Promise<TestServer> {
  return server(`forward . 127.0.0.1:${fake.port} {\n${options}\n}`)
}

const REASONS = /\b(forwarded|not-served|ndots|no-recursion|meta-type|upstream-failed|stopping|too-many)\b/

/** What a client is told, with the reason from the log. */
async function told(asked: TestServer, question: string, options?: AskOptions): Promise<string> {
  const { rcode, flags } = await asked.ask(question, options)
  return `${rcode} ${flags} ${REASONS.exec(asked.log.lines.findLast((line) => line.startsWith('[INFO]')) ?? '')?.[1]}`
}

const seen = ({ asked }: FakeUpstream): string => asked.map(({ transport }) => transport).join(' ')

describe('a question goes upstream and its reply comes back', () => {
  test('with the records, the flags and the spelling that client and upstream see', async () => {
    const fake = await upstream()
    const reply = await (await before(fake)).ask('WwW.Example.ORG. A')
    expect(reply).toMatchObject({ rcode: 'NOERROR', flags: 'rd ra', qname: 'WwW.Example.ORG.', edns: undefined })
    expect(reply.answer).toEqual(['WwW.Example.ORG. 300 A 192.0.2.1'])
    expect(fake.asked[0]!.octets.includes('Example')).toBe(true)
  })

  test.each<[string, number, string]>([
    ['AA and RA as the upstream says', 0x8580, 'NOERROR aa rd ra forwarded'],
    ['no RA where it has none', 0x8100, 'NOERROR rd forwarded'],
    ['NXDOMAIN', 0x8183, 'NXDOMAIN rd ra forwarded'],
    ['SERVFAIL, without asking another', 0x8182, 'SERVFAIL rd ra forwarded'],
    ['REFUSED', 0x8185, 'REFUSED rd ra forwarded']
  ])('%s', async (_title, flags, expected) => {
    const fake = await upstream({ udp: ({ octets }, answer) => answer(replyTo(octets, { flags, answer: [] })) })
    expect(await told(await before(fake), 'example.org. A')).toBe(expected)
    expect(fake.asked).toHaveLength(1)
  })

  test.each<[string, AskOptions, number, string]>([
    ['RD', {}, 0x0100, ''],
    ['no RD', { rd: false }, 0, ''],
    ['AD and CD', { flags: 0x0030 }, 0x0130, ''],
    ['EDNS with a size of ours', { edns: 4096 }, 0x0100, '00002904d000000000'],
    ['a smaller size of the client', { edns: 700 }, 0x0100, '00002902bc00000000'],
    ['no size below 512', { edns: 100 }, 0x0100, '000029020000000000'],
    ['DO', { dnssecOk: true }, 0x0100, '00002904d000008000'],
    [
      'none of the options of the client',
      {
        options: [
          [10, Buffer.from('cookie!!')],
          [100, Buffer.from('x')]
        ]
      },
      0x0100,
      '00002904d000000000'
    ]
  ])('the upstream sees %s', async (_title, options, flags, opt) => {
    const fake = await upstream()
    await (await before(fake)).ask('example.org. A', options)
    const { octets } = fake.asked[0]!
    expect(octets.readUInt16BE(2)).toBe(flags)
    expect(octets.subarray(12 + 17).toString('hex')).toBe(opt === '' ? '' : `${opt}0000`)
  })

  test('its extended errors too', async () => {
    const opt = Buffer.concat([Buffer.from('00002904d0000000000009000f000500076f6c64', 'hex')])
    const fake = await upstream({ udp: ({ octets }, answer) => answer(replyTo(octets, { flags: 0x8182, answer: [], additional: [opt] })) })
    const { edns } = await (await before(fake)).ask('example.org. A', { edns: 1232 })
    expect(edns?.options.map(([code, payload]) => [code, Buffer.from(payload).toString('latin1')])).toEqual([[15, '\0\x07old']])
  })

  test.each([
    ['without an OPT record', []],
    ['with extended errors', [Buffer.from('00002904d0000000000009000f000500076f6c64', 'hex')]]
  ])('a reply %s is read into records once', async (_title, additional) => {
    const fake = await upstream({ udp: ({ octets }, answer) => answer(replyTo(octets, { additional })) })
    const asked = await before(fake)
    const read = decodes.count
    await asked.exchange(requestOctets('example.org. A', { edns: 1232 }))
    expect(decodes.count - read).toBe(1)
  })

  test('each with an ID and a port of its own', async () => {
    const fake = await upstream()
    const asked = await before(fake)
    for (let i = 0; i < 20; i++) await asked.ask(`n${i}.example.org. A`, { id: 0 })
    const ids = new Set(fake.asked.map(({ octets }) => octets.readUInt16BE(0)))
    expect(ids.size).toBeGreaterThan(15)
    expect(new Set(fake.asked.map(({ port }) => port)).size).toBeGreaterThan(15)
  })
})

describe('what is not forwarded', () => {
  const cases: [string, string, AskOptions, string][] = [
    ['', 'example.net. A', {}, 'REFUSED rd not-served'],
    ['', 'notexample.org. A', {}, 'REFUSED rd not-served'],
    ['except internal.example.org', 'a.internal.example.org. A', {}, 'REFUSED rd not-served'],
    ['except internal.example.org', 'a.Xinternal.example.org. A', {}, 'NOERROR rd ra forwarded'],
    ['ndots 3', 'www.example.org. A', {}, 'NOERROR rd ra forwarded'],
    ['ndots 3', 'example.org. A', {}, 'SERVFAIL rd ra ndots'],
    ['no_rec', 'www.example.org. A', {}, 'SERVFAIL rd no-recursion'],
    ['no_rec\nndots 3', 'example.org. A', {}, 'SERVFAIL rd no-recursion'],
    ['', 'example.org. ANY', {}, 'NOERROR rd ra forwarded'],
    ['', 'example.org. AXFR', {}, 'REFUSED rd meta-type'],
    ['', 'example.org. OPT', {}, 'REFUSED rd meta-type'],
    ['', 'example.org. A CH', {}, 'REFUSED rd not-served']
  ]
  test.each(cases)('with %j the question %s', async (option, question, options, expected) => {
    const fake = await upstream()
    const asked = await server(`forward example.org 127.0.0.1:${fake.port} {\n${option}\n}`)
    expect(await told(asked, question, options)).toBe(expected)
    expect(fake.asked).toHaveLength(expected.endsWith('forwarded') ? 1 : 0)
  })

  test.each<[string, string, string | undefined, string]>([
    ['ndots 3', 'example.org. A', 'none', 'ndots 0 ndots: names of fewer than 3 labels are not forwarded'],
    ['no_rec', 'www.example.org. A', 'none', 'no-recursion 20 no-recursion'],
    ['', 'example.org. AXFR', 'none', 'meta-type 21 meta-type'],
    ['', 'example.org. TYPE128', 'none', 'meta-type 21 meta-type'],
    ['', 'example.org. TYPE0', 'none', 'meta-type 21 meta-type'],
    ['', 'example.org. A', 'upstream', 'forwarded ']
  ])('with %j the question %s has the origin %s and the reason %s', async (option, question, origin, reason) => {
    const fake = await upstream()
    const asked = await before(fake, option)
    const handle = vi.spyOn(Forwarder.prototype, 'handle')
    onTestFinished(() => handle.mockRestore())
    const { edns } = await asked.ask(question, { edns: 1232 })
    const reply = (await handle.mock.results.at(-1)!.value) as Message
    const reasons = (edns?.options ?? []).map(([, payload]) => `${payload[1]} ${Buffer.from(payload.subarray(2)).toString()}`)
    expect([reply.origin?.kind, `${reply.why} ${reasons.join()}`]).toEqual([origin, reason])
  })

  test('by one goes to the next, in the order of the file', async () => {
    const [org, all] = [await upstream(), await upstream()]
    const asked = await server(`forward example.org 127.0.0.1:${org.port} {\nexcept a.example.org\n}\nforward . 127.0.0.1:${all.port}`)
    for (const name of ['b.example.org.', 'a.example.org.', 'example.net.']) await asked.ask(`${name} A`)
    expect([org.asked.length, all.asked.length]).toEqual([1, 2])
  })

  test('by one for a network is what lies outside all its reverse zones, and in those that it leaves out', async () => {
    const fake = await upstream()
    const asked = await server(`forward 192.0.2.0/23 127.0.0.1:${fake.port} {\nexcept 192.0.3.128/25\n}`)
    const outcomes = ['1.2.0.192', '2.0.192', '127.3.0.192', '128.3.0.192', '255.3.0.192', '1.4.0.192', '1.1.0.192', '0.192'].map(
      async (name) => `${name}: ${(await asked.ask(`${name}.in-addr.arpa. PTR`)).rcode}`
    )
    expect(await Promise.all(outcomes)).toEqual([
      '1.2.0.192: NOERROR',
      '2.0.192: NOERROR',
      '127.3.0.192: NOERROR',
      '128.3.0.192: REFUSED',
      '255.3.0.192: REFUSED',
      '1.4.0.192: REFUSED',
      '1.1.0.192: REFUSED',
      '0.192: REFUSED'
    ])
    expect((await asked.ask('example.org. A')).rcode).toBe('REFUSED')
  })

  test('to clients under no_rec, but to the server itself', async () => {
    const fake = await upstream()
    const services = { '/skydns/local/skydns/b': { host: 'www.example.org' } }
    const asked = await serverOf(`. {\netcd skydns.local {\nstore\napi off\n}\nforward . 127.0.0.1:${fake.port} {\nno_rec\nndots 2\n}\n}`, {
      services
    })
    open.push(asked)
    expect((await asked.ask('b.skydns.local. A')).answer.at(-1)).toBe('www.example.org. 60 A 192.0.2.1')
    expect((await asked.ask('www.example.org. A')).rcode).toBe('SERVFAIL')
  })
})

describe('the transport upstream', () => {
  const both: UpstreamActs = {
    udp: ({ octets }, answer) => answer(replyTo(octets)),
    tcp: ({ octets }, socket) => socket.write(prefixed(replyTo(octets)))
  }
  test.each<[string, 'udp' | 'tcp' | 'https', string]>([
    ['', 'udp', 'udp'],
    ['', 'tcp', 'tcp'],
    ['', 'https', 'tcp'],
    ['force_tcp', 'udp', 'tcp'],
    ['prefer_udp', 'tcp', 'udp'],
    ['prefer_udp\nforce_tcp', 'tcp', 'tcp']
  ])('with %j for a client over %s is %s', async (option, transport, expected) => {
    const fake = await upstream(both)
    expect((await (await before(fake, option)).ask('example.org. A', { client: { transport } })).answer).toHaveLength(1)
    expect(seen(fake)).toBe(expected)
  })
})

describe('a truncated reply', () => {
  const cut: NonNullable<UpstreamActs['udp']> = ({ octets }, answer) => answer(replyTo(octets, { flags: 0x8380, answer: [] }))
  const addresses = Array.from({ length: 80 }, (_, index) => addressRecord(`192.0.2.${index}`))

  test('is asked for again over TCP, and fitted to the client', async () => {
    const fake = await upstream({ udp: cut, tcp: ({ octets }, socket) => socket.write(prefixed(replyTo(octets, { answer: addresses }))) })
    const asked = await before(fake)
    const small = await asked.ask('example.org. A')
    expect([small.flags, small.octets.length <= 512]).toEqual(['tc rd ra', true])
    const large = await asked.ask('example.org. A', { edns: 4096, client: { transport: 'tcp' } })
    expect([large.flags, large.answer.length]).toEqual(['rd ra', 80])
    expect(seen(fake)).toBe('udp tcp tcp')
    expect(asked.counter('skein_forward_truncated_retries_total')).toBe(1)
  })

  test('that is cut within a record is asked for again too', async () => {
    const fake = await upstream({
      udp: ({ octets }, answer) => answer(replyTo(octets, { flags: 0x8380, answer: addresses }).subarray(0, 500)),
      tcp: ({ octets }, socket) => socket.write(prefixed(replyTo(octets)))
    })
    expect((await (await before(fake)).ask('example.org. A')).answer).toHaveLength(1)
  })

  test('goes to the client where nobody answers over TCP', async () => {
    const fake = await upstream({ udp: cut })
    const asked = await before(fake)
    expect(await told(asked, 'example.org. A')).toBe('NOERROR tc rd ra forwarded')
  })

  test('does not go to a client over TCP', async () => {
    const fake = await upstream({ udp: cut })
    const asked = await before(fake, 'prefer_udp')
    expect(await told(asked, 'example.org. A', { client: { transport: 'tcp' } })).toBe('SERVFAIL rd ra upstream-failed')
  })
})

test.each([60, 300, 4000])('a reply larger than was advertised is taken, and no failure: %d addresses', async (count) => {
  const answer = Array.from({ length: count }, (_, index) => addressRecord(`192.0.${index >> 8}.${index & 255}`))
  const fake = await upstream({ udp: ({ octets }, send) => send(replyTo(octets, { answer })) })
  const asked = await before(fake, 'prefer_udp')
  expect((await asked.ask('example.org. A', { edns: 512 })).flags).toBe('tc rd ra')
  const { flags, answer: told } = await asked.ask('example.org. A', { edns: 512, client: { transport: 'tcp' } })
  expect([flags, told.length]).toEqual(['rd ra', count])
  expect(seen(fake)).toBe('udp udp')
  expect(asked.counter('skein_forward_failures_total')).toBe(0)
})

describe('equal questions in flight', () => {
  const equal: [string, AskOptions][] = [
    ['example.org. A', {}],
    ['EXAMPLE.org. A', { id: 7 }],
    ['example.org. A', { id: 7 }]
  ]
  const different: [string, AskOptions][] = [
    ['example.org. AAAA', {}],
    ['a.example.org. A', {}],
    ['example.org. A', { rd: false }],
    ['example.org. A', { flags: 0x0010 }],
    ['example.org. A', { flags: 0x0020 }],
    ['example.org. A', { edns: 1232 }],
    ['example.org. A', { dnssecOk: true }]
  ]

  test('are asked once, and others each', async () => {
    const waiting: (() => void)[] = []
    const fake = await upstream({ udp: ({ octets }, answer) => waiting.push(() => answer(replyTo(octets))) })
    const asked = await before(fake)
    const replies = [...equal, ...different].map(([question, options]) => asked.ask(question, options))
    await expect.poll(() => waiting.length).toBe(1 + different.length)
    for (const release of waiting) release()
    const got: Answer[] = await Promise.all(replies)
    expect(got.slice(0, 3).map(({ qname, octets }) => `${qname} ${octets[1]}`)).toEqual([
      'example.org. 1',
      'EXAMPLE.org. 7',
      'example.org. 7'
    ])
    expect(fake.asked).toHaveLength(1 + different.length)
    await Promise.all([
      asked.ask('example.org. A'),
      expect
        .poll(() => waiting.length)
        .toBe(2 + different.length)
        .then(() => waiting.at(-1)!())
    ])
  })
})

test('an answer of a type that Skein does not know passes unchanged', async () => {
  const fake = await upstream({
    udp: ({ octets }, answer) => answer(replyTo(octets, { answer: [recordOctets(65280, Buffer.from('c00c01', 'hex'))] }))
  })
  expect((await (await before(fake)).ask('example.org. TYPE65280')).answer).toEqual(['example.org. 300 TYPE65280 \\# 3 c00c01'])
})
