import {
  type Answer,
  addressRecord,
  type FakeUpstream,
  fakeUpstream,
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

async function before(acts: UpstreamActs, options: string): Promise<{ fake: FakeUpstream; server: TestServer; clock: TestClock }> {
  const fake = await fakeUpstream(acts)
  const clock = new TestClock()
  // Each ID of ours is 7: a client's own, whatever it is, is then none of ours.
  const random = { below: (limit: number) => Math.min(7, limit - 1) }
  const server = await serverOf(`. {\nerrors\ncache\nforward . 127.0.0.1:${fake.port} {\n${options}\n}\n}`, { clock, random })
  open.push(fake, server)
  return { fake, server, clock }
}

const CLIENT_ID = 0x1234
const other =
  (...asked: Parameters<typeof questionOctets>) =>
  (octets: Buffer) =>
    replyTo(octets, { question: questionOctets(...asked) })
const right = (octets: Buffer): Buffer => replyTo(octets, { answer: [addressRecord('192.0.2.99')] })
/** What somebody who does not see the question may send, or an upstream that mixes questions up. */
const wrong: [string, (octets: Buffer) => Uint8Array][] = [
  ['the ID that the client has chosen', (octets) => replyTo(octets, { id: CLIENT_ID })],
  ['the ID 0', (octets) => replyTo(octets, { id: 0 })],
  ['the next ID', (octets) => replyTo(octets, { id: 8 })],
  ['another name', other('victim.example.org')],
  ['a name above', other('example.org')],
  ['a name below', other('a.www.example.org')],
  [
    'a name with a dot within a label',
    (octets) => replyTo(octets, { question: Buffer.from('\x0bwww.example\x03org\x00\x00\x01\x00\x01', 'latin1') })
  ],
  ['the root', other('.')],
  ['another type', other('www.example.org', 28)],
  ['the type ANY', other('www.example.org', 255)],
  ['class CH', other('www.example.org', 1, 3)],
  ['class ANY', other('www.example.org', 1, 255)],
  ['a question instead of a reply', (octets) => replyTo(octets, { flags: 0x0100 })],
  ['an update', (octets) => replyTo(octets, { flags: 0xa980 })]
]

const addressOf = ({ answer }: Answer): string | undefined => answer[0]?.split(' ').at(-1)

describe('a reply of an upstream with another ID, to another question, or none at all', () => {
  test.each(wrong)('over UDP is passed over until the time is up: %s', async (_title, make) => {
    const acts: UpstreamActs = { udp: ({ octets }, answer) => answer(make(octets)) }
    const { server, clock, fake } = await before(acts, 'read_timeout 500ms')
    const reply = server.ask('www.example.org. A', { id: CLIENT_ID })
    for (const times of [1, 2]) {
      await expect.poll(() => server.counter('skein_forward_ignored_replies_total')).toBe(times)
      expect(fake.asked).toHaveLength(times)
      clock.advance(500)
    }
    expect((await reply).rcode).toBe('SERVFAIL')
  })

  test.each(wrong)('and does not stand in the way of the right one: %s', async (_title, make) => {
    const acts: UpstreamActs = {
      udp: ({ octets }, answer) => {
        for (let i = 0; i < 50; i++) answer(make(octets))
        answer(right(octets))
      }
    }
    const { server, fake } = await before(acts, '')
    expect(addressOf(await server.ask('www.example.org. A', { id: CLIENT_ID }))).toBe('192.0.2.99')
    expect(fake.asked).toHaveLength(1)
  })

  test.each(wrong)('over TCP fails the attempt: %s', async (_title, make) => {
    const acts: UpstreamActs = { tcp: ({ octets, before: count }, socket) => socket.write(prefixed((count === 0 ? make : right)(octets))) }
    const { server, fake } = await before(acts, 'force_tcp')
    expect(addressOf(await server.ask('www.example.org. A', { id: CLIENT_ID }))).toBe('192.0.2.99')
    expect([fake.asked.length, server.counter('skein_forward_failures_total')]).toEqual([2, 1])
  })

  test.each(['udp', 'tcp'] as const)('never becomes known, over %s', async (transport) => {
    const spoof = other('victim.example.org')
    const acts: UpstreamActs = {
      udp: ({ octets, before: count }, answer) => {
        if (count === 0) answer(spoof(octets))
        answer(right(octets))
      },
      tcp: ({ octets, before: count }, socket) => socket.write(prefixed((count === 0 ? spoof : right)(octets)))
    }
    const { server } = await before(acts, transport === 'tcp' ? 'force_tcp' : '')
    for (const name of ['www', 'victim', 'www', 'victim']) {
      expect(addressOf(await server.ask(`${name}.example.org. A`))).toBe('192.0.2.99')
    }
  })
})

describe('clients that have upstreams asked at once', () => {
  test('with one ID get each its own answer, with that ID', async () => {
    const waiting: (() => void)[] = []
    const fake = await fakeUpstream({
      udp: ({ octets }, answer) => {
        // The first label is the last octet of its address.
        const last = octets.subarray(13, 13 + octets[12]!).toString()
        waiting.push(() => answer(replyTo(octets, { answer: [addressRecord(`192.0.2.${last}`)] })))
      }
    })
    const server = await serverOf(`. {\nforward . 127.0.0.1:${fake.port}\n}`)
    open.push(fake, server)
    const names = Array.from({ length: 50 }, (_, index) => `${index + 1}`)
    const replies = names.map((name) => server.ask(`${name}.example.org. A`, { id: 0 }))
    await expect.poll(() => waiting.length).toBe(50)
    for (const release of waiting.reverse()) release()
    const told = (await Promise.all(replies)).map((reply) => `${addressOf(reply)} ${reply.octets[0]} ${reply.octets[1]}`)
    expect(told).toEqual(names.map((name) => `192.0.2.${name} 0 0`))
    const ids = fake.asked.map(({ octets }) => octets.readUInt16BE(0))
    // Fifty of 65536, and no order in them.
    expect(new Set(ids).size).toBeGreaterThan(45)
    expect(ids).not.toEqual(ids.toSorted((one, another) => one - another))
    expect(new Set(fake.asked.map(({ port }) => port)).size).toBeGreaterThan(45)
  })
})
