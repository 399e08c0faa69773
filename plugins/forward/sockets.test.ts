import { Socket as UdpSocket } from 'node:dgram'
import { Socket as TcpSocket } from 'node:net'
import {
  type Answer,
  type FakeUpstream,
  fakeUpstream,
  prefixed,
  replyTo,
  serverOf,
  TestClock,
  type TestServer,
  type UpstreamActs
} from 'skein/testing'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { Turnstile } from './turnstile.js'

const open: { stop(): Promise<void> }[] = []
afterEach(async () => {
  vi.restoreAllMocks()
  for (const one of open.splice(0).reverse()) await one.stop()
})

const answering: UpstreamActs = {
  udp: ({ octets }, answer) => answer(replyTo(octets)),
  tcp: ({ octets }, socket) => socket.write(prefixed(replyTo(octets)))
}

async function upstream(acts: UpstreamActs = answering): Promise<FakeUpstream> {
  const fake = await fakeUpstream(acts)
  open.push(fake)
  return fake
}

async function start(block: string, clock = new TestClock()): Promise<TestServer> {
  const server = await serverOf(`. {\nlog\nerrors\n${block}\n}`, { clock })
  open.push(server)
  return server
}

const addressesOf = (fakes: readonly FakeUpstream[]): string => fakes.map(({ port }) => `127.0.0.1:${port}`).join(' ')
const moment = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 100))
const reasonsOf = ({ rcode, edns }: Answer): string =>
  [rcode, ...(edns?.options ?? []).map(([, payload]) => `${payload[1]} ${Buffer.from(payload.subarray(2)).toString()}`)].join(' ')

describe('a turnstile lets so many in', () => {
  const full = (): Turnstile => {
    const turnstile = new Turnstile(1)
    expect(turnstile.enter(new TestClock(), 0).entered).toBe(true)
    return turnstile
  }

  test('and the others in the order in which they came', async () => {
    const turnstile = full()
    const order: number[] = []
    const entering = [1, 2, 3].map(() => turnstile.enter(new TestClock(), 1000))
    for (const [index, { entered }] of entering.entries()) void (entered as Promise<boolean>).then(() => order.push(index))
    for (const count of [1, 2, 3]) {
      turnstile.leave()
      await moment()
      expect(order).toHaveLength(count)
    }
    expect(order).toEqual([0, 1, 2])
    turnstile.leave()
    expect(turnstile.enter(new TestClock(), 0).entered).toBe(true)
    expect(turnstile.enter(new TestClock(), 0).entered).not.toBe(true)
  })

  test('and forgets who waited too long or went away', async () => {
    const [turnstile, clock] = [full(), new TestClock()]
    const [late, gone, patient] = [turnstile.enter(clock, 10), turnstile.enter(clock, 1000), turnstile.enter(clock, 1000)]
    clock.advance(10)
    gone.cancel()
    turnstile.leave()
    expect(await Promise.all([late, gone, patient].map(async ({ entered }) => entered))).toEqual([false, false, true])
    // Whoever is in stays in.
    patient.cancel()
    expect(turnstile.enter(clock, 10).entered).not.toBe(true)
  })
})

describe('512 sockets are open at once', () => {
  const ask = (server: TestServer, count: number, zone = 'example.org'): Promise<Answer>[] =>
    Array.from({ length: count }, (_, index) => server.ask(`n${index}.${zone}. A`, { edns: 1232 }))

  test.each(['udp', 'tcp'] as const)('over %s, and the next question goes when one is answered', async (transport) => {
    const held: (() => void)[] = []
    const fake = await upstream({
      udp: ({ octets }, answer) => held.push(() => answer(replyTo(octets))),
      tcp: ({ octets }, socket) => held.push(() => socket.write(prefixed(replyTo(octets))))
    })
    const server = await start(`forward . ${addressesOf([fake])} {\n${transport === 'tcp' ? 'force_tcp' : ''}\n}`)
    const replies = ask(server, 514)
    const asked = (): number => server.counter('coredns_forward_requests_total')!
    await moment()
    await expect.poll(() => held.length).toBeGreaterThan(1)
    expect(asked()).toBe(512)
    held[0]!()
    await expect.poll(asked).toBe(513)
    held[1]!()
    await expect.poll(asked).toBe(514)
    await open.pop()!.stop()
    expect((await Promise.all(replies)).filter(({ rcode }) => rcode === 'NOERROR')).toHaveLength(2)
  })

  test('by all forwards of the process together', async () => {
    const fake = await upstream({ udp: () => {} })
    const to = addressesOf([fake])
    const server = await start(`forward example.org ${to}\nforward . ${to}`)
    const replies = [...ask(server, 300), ...ask(server, 300, 'example.net')]
    await moment()
    expect(server.counter('coredns_forward_requests_total')).toBe(512)
    await open.pop()!.stop()
    expect(new Set((await Promise.all(replies)).map(reasonsOf))).toEqual(new Set(['SERVFAIL 0 stopping']))
  })

  test('an upstream that was left too little time to answer is asked first again', async () => {
    const clock = new TestClock()
    let isSilent = true
    const [silent, second] = [await upstream({ udp: () => {} }), await upstream()]
    const first = await upstream({ udp: ({ octets }, answer) => isSilent || answer(replyTo(octets)) })
    const server = await start(
      `forward example.org ${addressesOf([silent])} {\nread_timeout 4500ms\n}\nforward . ${addressesOf([first, second])} {\npolicy sequential\n}`,
      clock
    )
    const held = ask(server, 512)
    const late = server.ask('late.example.net. A', { edns: 1232 })
    await moment()
    clock.advance(4500)
    await expect.poll(() => first.asked.length).toBe(1)
    clock.advance(500)
    expect(reasonsOf(await late)).toBe('SERVFAIL 0 upstream-failed: this server has no socket or time left to ask with')
    await Promise.all(held)
    isSilent = false
    expect((await server.ask('next.example.net. A')).rcode).toBe('NOERROR')
    expect([first.asked.length, second.asked.length]).toEqual([2, 0])
  })

  test('a question that waited in vain is SERVFAIL after 5 s', async () => {
    const clock = new TestClock()
    const server = await start(`forward . ${addressesOf([await upstream({ udp: () => {} })])}`, clock)
    const held = ask(server, 1600)
    for (let second = 0; second < 5; second++) {
      await moment()
      clock.advance(1000)
    }
    const told = (await Promise.all(held)).map(reasonsOf)
    expect(told.slice(0, 512).every((text) => text === 'SERVFAIL 22 upstream-failed: no upstream can be reached')).toBe(true)
    expect(told.at(-1)).toBe('SERVFAIL 0 upstream-failed: this server has no socket or time left to ask with')
    const lines = server.log.lines.filter((text) => /n1599\..*dial udp 127\.0\.0\.1:\d+: no socket was free in time$/.test(text))
    expect(lines).toHaveLength(1)
  })
})

/** Has sockets fail to connect with this error, while told to. */
function failToConnect(code: string, isFailing: () => boolean): void {
  const error = Object.assign(new Error(`connect ${code}`), { code })
  const failing = [
    [UdpSocket.prototype, (_socket, [, , done]) => process.nextTick(done as () => void, error)],
    [TcpSocket.prototype, (socket) => (socket as TcpSocket).destroy(error)]
  ] satisfies [{ connect: unknown }, (socket: unknown, args: unknown[]) => unknown][]
  for (const [prototype, fail] of failing) {
    const connect = Reflect.get(prototype, 'connect') as (...args: unknown[]) => unknown
    vi.spyOn(prototype as { connect: typeof connect }, 'connect').mockImplementation(function (this: unknown, ...args: unknown[]) {
      return isFailing() ? fail(this, args) : connect.apply(this, args)
    })
  }
}

describe('an error of this machine', () => {
  const codes: [string, string][] = [
    ['EMFILE', 'socket: too many open files'],
    ['ENFILE', 'socket: too many open files in system'],
    ['ENOBUFS', 'connect: no buffer space available'],
    ['ENOMEM', 'connect: cannot allocate memory'],
    ['EADDRNOTAVAIL', 'connect: cannot assign requested address'],
    ['EADDRINUSE', 'connect: address already in use'],
    ['EAGAIN', 'connect: resource temporarily unavailable']
  ]
  const cases = codes.flatMap(([code, text]) => (['udp', 'tcp'] as const).map((transport) => [code, transport, text] as const))

  test.each(cases)('%s over %s is told in its own words, and is not the fault of the upstream', async (code, transport, text) => {
    const fakes = [await upstream(), await upstream()]
    const option = transport === 'tcp' ? 'force_tcp' : ''
    const server = await start(`forward . ${addressesOf(fakes)} {\npolicy sequential\n${option}\n}`)
    let failing = 4
    failToConnect(code, () => failing-- > 0)
    expect(reasonsOf(await server.ask('www.example.org. A', { edns: 1232 }))).toBe(
      'SERVFAIL 0 upstream-failed: this server has no socket or time left to ask with'
    )
    const line = server.log.lines.find((one) => one.startsWith('[ERROR]'))
    expect(line).toContain(`dial ${transport} 127.0.0.1:${fakes[1]!.port}: ${text}`)
    failing = 1
    for (const name of ['a', 'b']) expect((await server.ask(`${name}.example.org. A`)).rcode).toBe('NOERROR')
    expect(fakes.map(({ asked }) => asked.length)).toEqual([1, 1])
  })

  test.each(['udp', 'tcp'])('over %s, but an upstream that refuses stands behind the others', async (transport) => {
    const fakes = [await upstream(), await upstream()]
    const server = await start(`forward . ${addressesOf(fakes)} {\npolicy sequential\n${transport === 'tcp' ? 'force_tcp' : ''}\n}`)
    let failing = 1
    failToConnect('ECONNREFUSED', () => failing-- > 0)
    for (const name of ['a', 'b']) expect((await server.ask(`${name}.example.org. A`)).rcode).toBe('NOERROR')
    expect(fakes.map(({ asked }) => asked.length)).toEqual([0, 2])
  })
})
