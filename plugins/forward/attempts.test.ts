import {
  type AskOptions,
  type FakeUpstream,
  fakeUpstream,
  prefixed,
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

async function upstream(acts: UpstreamActs): Promise<FakeUpstream> {
  const fake = await fakeUpstream(acts)
  open.push(fake)
  return fake
}

interface Started {
  readonly server: TestServer
  readonly clock: TestClock
}

async function start(fakes: readonly { port: number }[], options = ''): Promise<Started> {
  const clock = new TestClock()
  const to = fakes.map(({ port }) => `127.0.0.1:${port}`).join(' ')
  const server = await serverOf(`.:1053 {\nlog "{common} {why}"\nerrors\nforward . ${to} {\n${options}\n}\n}`, { clock })
  open.push(server)
  return { server, clock }
}

const right: NonNullable<UpstreamActs['udp']> = ({ octets }, answer) => answer(replyTo(octets))
const silent: NonNullable<UpstreamActs['udp']> = () => {}
/** A port where nobody listens. */
async function closedPort(): Promise<{ port: number }> {
  const fake = await fakeUpstream({ udp: silent })
  await fake.stop()
  return { port: fake.port }
}

/** Asks, and moves time on whenever nothing happens for a moment; gives the rcode, and the seconds that passed. */
async function askInTime({ server, clock }: Started, options: AskOptions = {}): Promise<string> {
  const from = clock.monotonic()
  const reply = server.ask('www.example.org. A', options)
  let isOver = false
  const end = reply.then(() => {
    isOver = true
  })
  while (!isOver) {
    await new Promise((resolve) => setTimeout(resolve, 100))
    if (!isOver) clock.advance(500)
  }
  await end
  return `${(await reply).rcode} ${(clock.monotonic() - from) / 1000}`
}

const problemOf = ({ server }: Started): string =>
  (server.log.lines.find((line) => line.startsWith('[ERROR]')) ?? '')
    .replace(/^.*www\.example\.org\. A: /, '')
    .replace(/127\.0\.0\.1:\d+/g, 'ADDRESS')

test.each<[string, (octets: Buffer) => Uint8Array]>([
  ['', (octets) => replyTo(octets).subarray(0, -2)],
  ['force_tcp', (octets) => replyTo(octets, { id: octets.readUInt16BE(0) ^ 1 })]
])('with %j the next is asked where one answers malformed, or with nothing to the question', async (option, make) => {
  const acts = (reply: typeof make): UpstreamActs => ({
    udp: ({ octets }, answer) => answer(reply(octets)),
    tcp: ({ octets }, socket) => socket.write(prefixed(reply(octets)))
  })
  const [bad, good] = [await upstream(acts(make)), await upstream(acts((octets) => replyTo(octets)))]
  expect(await askInTime(await start([bad, good], `policy sequential\n${option}`))).toBe('NOERROR 0')
  expect([bad.asked.length, good.asked.length]).toEqual([1, 1])
})

describe('when nobody answers the client is told SERVFAIL in time', () => {
  test.each<[string, () => Promise<{ port: number }>, string, string, string]>([
    ['silence over UDP', () => upstream({ udp: silent }), '', 'SERVFAIL 4', 'read udp ADDRESS->ADDRESS: i/o timeout'],
    [
      'silence, read_timeout 500ms',
      () => upstream({ udp: silent }),
      'read_timeout 500ms',
      'SERVFAIL 1',
      'read udp ADDRESS->ADDRESS: i/o timeout'
    ],
    [
      'silence, read_timeout 4s',
      () => upstream({ udp: silent }),
      'read_timeout 4s',
      'SERVFAIL 5',
      'read udp ADDRESS->ADDRESS: i/o timeout'
    ],
    ['silence over TCP', () => upstream({ tcp: () => {} }), 'force_tcp', 'SERVFAIL 4', 'read tcp ADDRESS->ADDRESS: i/o timeout'],
    ['a closed port over UDP', closedPort, '', 'SERVFAIL 0', 'read udp ADDRESS->ADDRESS: read: connection refused'],
    ['a closed port over TCP', closedPort, 'force_tcp', 'SERVFAIL 0', 'dial tcp ADDRESS: connect: connection refused']
  ])('%s', async (_title, fake, options, expected, problem) => {
    const started = await start([await fake()], options)
    expect(await askInTime(started)).toBe(expected)
    expect(problemOf(started)).toBe(problem)
    expect(started.server.log.lines.some((line) => line.includes(' upstream-failed'))).toBe(true)
  })

  test.each<[string, UpstreamActs, number]>([
    ['22 where none can be reached', { udp: silent }, 22],
    ['23 where one says nonsense', { udp: ({ octets }, answer) => answer(replyTo(octets).subarray(0, 30)) }, 23]
  ])('with the extended error %s', async (_title, acts, code) => {
    const started = await start([await upstream(acts)], 'read_timeout 500ms')
    const reply = started.server.ask('www.example.org. A', { edns: 1232 })
    for (let i = 0; i < 4; i++) {
      await new Promise((resolve) => setTimeout(resolve, 100))
      started.clock.advance(500)
    }
    const { flags, edns } = await reply
    expect([flags, edns?.options.map(([, payload]) => payload[1])]).toEqual(['rd ra', [code]])
  })

  test('a late reply is nobody’s, and a lost datagram is sent again', async () => {
    const fake = await upstream({ udp: (asked, answer) => asked.before === 1 && answer(replyTo(asked.octets)) })
    const started = await start([fake])
    expect(await askInTime(started)).toBe('NOERROR 2')
    const [first, second] = fake.asked
    expect(first!.port).not.toBe(second!.port)
  })
})

describe('several upstreams', () => {
  test('a dead first one costs its time once, not every query', async () => {
    const [dead, good] = [await upstream({ udp: silent }), await upstream({ udp: right })]
    const started = await start([dead, good], 'ns_rotate off')
    expect(await askInTime(started)).toBe('NOERROR 2')
    expect([await askInTime(started), await askInTime(started)]).toEqual(['NOERROR 0', 'NOERROR 0'])
    started.clock.advance(2000)
    const late = started.server.ask('a.example.org. A')
    await expect.poll(() => dead.asked.length).toBe(2)
    expect((await started.server.ask('b.example.org. A')).rcode).toBe('NOERROR')
    started.clock.advance(2000)
    expect((await late).rcode).toBe('NOERROR')
  })

  test('one that refuses is passed over at once', async () => {
    const started = await start([await closedPort(), await upstream({ udp: right })], 'policy sequential')
    expect(await askInTime(started)).toBe('NOERROR 0')
    expect(started.server.counter('skein_forward_failures_total')).toBe(1)
    expect(started.server.counter('coredns_forward_requests_total')).toBe(2)
  })

  test('one that is back is first again', async () => {
    let isBack = false
    const first = await upstream({ udp: ({ octets }, answer) => isBack && answer(replyTo(octets)) })
    const started = await start([first, await upstream({ udp: right })], 'policy sequential')
    await askInTime(started)
    isBack = true
    started.clock.advance(2000)
    for (const name of ['a', 'b', 'c']) await started.server.ask(`${name}.example.org. A`)
    expect(first.asked).toHaveLength(4)
  })

  test.each<[string, (counts: number[]) => boolean]>([
    ['policy random', (counts) => counts.every((count) => count > 5)],
    ['policy round_robin', (counts) => counts.every((count) => count === 25)],
    ['policy sequential', (counts) => counts[0] === 100],
    ['ns_rotate on', (counts) => counts.every((count) => count > 5)],
    ['ns_rotate off', (counts) => counts[0] === 100],
    ['', (counts) => counts.every((count) => count > 5)],
    ['force_tcp', (counts) => counts.every((count) => count > 5)],
    ['policy random\nforce_tcp', (counts) => counts.every((count) => count > 5)],
    ['policy round_robin\nforce_tcp', (counts) => counts.every((count) => count === 25)],
    ['policy sequential\nforce_tcp', (counts) => counts[0] === 100]
  ])('with %j share 100 queries as it says', async (option, isRight) => {
    const acts: UpstreamActs = { udp: right, tcp: ({ octets }, socket) => socket.write(prefixed(replyTo(octets))) }
    const fakes = await Promise.all([1, 2, 3, 4].map(() => upstream(acts)))
    const { server } = await start(fakes, option)
    for (let i = 0; i < 100; i++) await server.ask(`n${i}.example.org. A`)
    const counts = fakes.map(({ asked }) => asked.length)
    expect(isRight(counts), counts.join(' ')).toBe(true)
  })
})

describe('stopping', () => {
  test.each(['', 'force_tcp'])('with %j ends what is in flight with SERVFAIL', async (option) => {
    const fake = await upstream({ udp: silent, tcp: () => {} })
    const { server } = await start([fake], option)
    const replies = ['a', 'b'].map((name) => server.ask(`${name}.example.org. A`))
    await expect.poll(() => fake.asked.length).toBe(2)
    await open.pop()!.stop()
    expect((await Promise.all(replies)).map(({ rcode }) => rcode)).toEqual(['SERVFAIL', 'SERVFAIL'])
    expect((await server.ask('c.example.org. A')).rcode).toBe('SERVFAIL')
    expect(server.log.lines.filter((line) => line.includes(' stopping'))).toHaveLength(3)
  })
})
