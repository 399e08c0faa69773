import {
  type AskOptions,
  addressRecord,
  type FakeUpstream,
  fakeUpstream,
  MemoryStore,
  prefixed,
  questionOctets,
  replyTo,
  serverOf,
  TestClock,
  type TestServer,
  type UpstreamActs
} from 'skein/testing'
import { afterEach, describe, expect, test } from 'vitest'

const open: { stop(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.stop()
})

async function before(acts: UpstreamActs, more = 'cache'): Promise<{ fake: FakeUpstream; server: TestServer; clock: TestClock }> {
  const fake = await fakeUpstream(acts)
  const clock = new TestClock()
  // Each ID of ours is 7: a client's own, whatever it is, is then none of ours.
  const random = { below: (limit: number) => Math.min(7, limit - 1) }
  const server = await serverOf(`. {\nerrors\n${more}\nstub {\nzone example.org 127.0.0.1:${fake.port}\n}\n}`, { clock, random })
  open.push(fake, server)
  return { fake, server, clock }
}

const CLIENT_ID = 0x1234
const right = (octets: Buffer): Buffer => replyTo(octets, { answer: [addressRecord('192.0.2.99')] })
/** A reply to another question than the one asked. */
const other =
  (...asked: Parameters<typeof questionOctets>) =>
  (octets: Buffer) =>
    replyTo(octets, { question: questionOctets(...asked) })
/** What somebody who does not see the question may send, or a server that mixes questions up. */
const wrong: [string, (octets: Buffer) => Uint8Array][] = [
  ['the ID that the client has chosen', (octets) => replyTo(octets, { id: CLIENT_ID, answer: [addressRecord('192.0.2.66')] })],
  ['the ID 0', (octets) => replyTo(octets, { id: 0, answer: [addressRecord('192.0.2.66')] })],
  ['another name of the zone', other('victim.example.org')],
  ['the zone itself', other('example.org')],
  ['a name below', other('a.www.example.org')],
  ['the root', other('.')],
  ['another type', other('www.example.org', 28)],
  ['the type ANY', other('www.example.org', 255)],
  ['class CH', other('www.example.org', 1, 3)],
  ['class ANY', other('www.example.org', 1, 255)],
  ['a question instead of a reply', (octets) => replyTo(octets, { flags: 0x0100, answer: [addressRecord('192.0.2.66')] })],
  ['an update', (octets) => replyTo(octets, { flags: 0xa980, answer: [addressRecord('192.0.2.66')] })],
  [
    'a cut reply to another question',
    (octets) => replyTo(octets, { flags: 0x8380, question: questionOctets('victim.example.org'), answer: [] })
  ]
]

async function told(server: TestServer, name = 'www', transport: 'udp' | 'tcp' = 'udp'): Promise<string> {
  const { rcode, answer } = await server.ask(`${name}.example.org. A`, { id: CLIENT_ID, client: { transport } })
  return [rcode, ...answer.map((record) => record.split(' ').at(-1))].join(' ')
}

describe('a reply of a stub zone with another ID, to another question, or none at all', () => {
  test.each(wrong)('over UDP is passed over until the time is up: %s', async (_title, make) => {
    const { server, clock, fake } = await before({ udp: ({ octets }, answer) => answer(make(octets)) })
    const reply = told(server)
    await expect.poll(() => fake.asked.length).toBe(1)
    // The wrong reply is on its way for so long at most.
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(server.counter('skein_stub_failures_total')).toBe(0)
    clock.advance(2000)
    expect(await reply).toBe('SERVFAIL')
    expect(server.log.lines.join()).toContain('i/o timeout')
  })

  test.each(wrong)('and does not stand in the way of the right one: %s', async (_title, make) => {
    const { server, fake } = await before({
      udp: ({ octets }, answer) => {
        for (let i = 0; i < 50; i++) answer(make(octets))
        answer(right(octets))
      }
    })
    expect(await told(server)).toBe('NOERROR 192.0.2.99')
    expect(fake.asked).toHaveLength(1)
  })

  test.each(wrong)('over TCP fails the attempt: %s', async (_title, make) => {
    const { server, fake } = await before({ udp: () => {}, tcp: ({ octets }, socket) => socket.write(prefixed(make(octets))) })
    expect(await told(server, 'www', 'tcp')).toBe('SERVFAIL')
    expect(server.log.lines.join()).toContain('a reply to another question')
    expect([fake.asked.length, server.counter('skein_stub_failures_total')]).toEqual([1, 1])
  })

  test('never becomes known', async () => {
    const { server } = await before({
      udp: ({ octets, before: count }, answer) => {
        if (count === 0) answer(other('victim.example.org')(octets))
        answer(right(octets))
      }
    })
    for (const name of ['www', 'victim', 'www', 'victim']) expect(await told(server, name)).toBe('NOERROR 192.0.2.99')
  })
})

describe('clients that ask for a stub zone at once', () => {
  test('with one ID get each their own answer, with that ID', async () => {
    const waiting: (() => void)[] = []
    const fake = await fakeUpstream({
      // The first label is the last octet of its address.
      udp: ({ octets }, answer) =>
        waiting.push(() =>
          answer(replyTo(octets, { answer: [addressRecord(`192.0.2.${octets.subarray(13, 13 + octets[12]!).toString()}`)] }))
        )
    })
    const server = await serverOf(`. {\nstub {\nzone example.org 127.0.0.1:${fake.port}\n}\n}`)
    open.push(fake, server)
    const names = Array.from({ length: 50 }, (_, index) => `${index + 1}`)
    const replies = names.map((name) => server.ask(`${name}.example.org. A`, { id: 0 }))
    await expect.poll(() => waiting.length).toBe(50)
    for (const release of waiting.reverse()) release()
    const told = (await Promise.all(replies)).map(({ answer, octets }) => `${answer[0]!.split(' ').at(-1)} ${octets[0]} ${octets[1]}`)
    expect(told).toEqual(names.map((name) => `192.0.2.${name} 0 0`))
    // Fifty of 65536.
    expect(new Set(fake.asked.map(({ octets }) => octets.readUInt16BE(0))).size).toBeGreaterThan(45)
    expect(new Set(fake.asked.map(({ port }) => port)).size).toBeGreaterThan(45)
  })

  const equal: [string, AskOptions][] = [
    ['www.example.org. A', { id: 0 }],
    ['WWW.example.ORG. A', { id: 7 }],
    ['www.example.org. A', { id: 7, edns: 4096 }],
    ['www.example.org. A', { id: 9, options: [[10, Buffer.from('cookie!!')]] }]
  ]
  const different: [string, AskOptions][] = [
    ['www.example.org. AAAA', {}],
    ['a.example.org. A', {}],
    ['www.example.org. A', { rd: false }],
    ['www.example.org. A', { flags: 0x0010 }],
    ['www.example.org. A', { flags: 0x0020 }],
    ['www.example.org. A', { dnssecOk: true }]
  ]

  test('the same have it asked once, and get each their own ID and spelling; others are asked for each', async () => {
    const waiting: (() => void)[] = []
    const { server, fake } = await before({ udp: ({ octets }, answer) => waiting.push(() => answer(right(octets))) }, '')
    const replies = [...equal, ...different].map(([question, options]) => server.ask(question, options))
    await expect.poll(() => waiting.length).toBe(1 + different.length)
    for (const release of waiting) release()
    const told = await Promise.all(replies)
    expect(told.slice(0, equal.length).map(({ qname, octets }) => `${qname} ${octets[1]}`)).toEqual([
      'www.example.org. 0',
      'WWW.example.ORG. 7',
      'www.example.org. 7',
      'www.example.org. 9'
    ])
    expect(told.every(({ rcode, answer }) => rcode === 'NOERROR' && answer.length === 1)).toBe(true)
    const later = server.ask('www.example.org. A')
    await expect.poll(() => waiting.length).toBe(2 + different.length)
    waiting.at(-1)!()
    expect((await later).rcode).toBe('NOERROR')
    expect(fake.asked).toHaveLength(2 + different.length)
  })

  test('the same are a thousand at most', async () => {
    const { server, fake } = await before({ udp: () => {} }, '')
    const replies = Array.from({ length: 1000 }, () => server.ask('www.example.org. A'))
    const { rcode, edns } = await server.ask('www.example.org. A', { edns: 1232 })
    expect([rcode, Buffer.from(edns!.options[0]![1].subarray(2)).toString()]).toEqual(['SERVFAIL', 'too-many'])
    await expect.poll(() => fake.asked.length).toBe(1)
    await open.pop()!.stop()
    expect(new Set((await Promise.all(replies)).map((reply) => reply.rcode))).toEqual(new Set(['SERVFAIL']))
  })

  test('while the servers of the zone change are asked for by the servers that there are then', async () => {
    const [silent, fake] = [
      await fakeUpstream({ udp: () => {} }),
      await fakeUpstream({ udp: ({ octets }, answer) => answer(right(octets)) })
    ]
    open.push(silent, fake)
    const services = new MemoryStore()
    const put = ({ port }: FakeUpstream): void =>
      services.put(['skydns', 'local', 'skydns', 'dns', 'stub', 'org', 'example', 'x'], JSON.stringify({ host: '127.0.0.1', port }))
    put(silent)
    const server = await serverOf('. {\nstub skydns.local {\nstore\n}\n}', { services })
    open.push(server)
    const first = server.ask('www.example.org. A')
    await expect.poll(() => silent.asked.length).toBe(1)
    put(fake)
    expect(await told(server)).toBe('NOERROR 192.0.2.99')
    await open.pop()!.stop()
    expect((await first).rcode).toBe('SERVFAIL')
  })
})
