import {
  type AskOptions,
  addressRecord,
  type FakeUpstream,
  fakeUpstream,
  MemoryStore,
  prefixed,
  replyTo,
  requestOctets,
  serverOf,
  TestClock,
  type TestOptions,
  type TestServer,
  type UpstreamActs
} from 'skein/testing'
import { afterEach, describe, expect, test, vi } from 'vitest'

const open: { stop(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.stop()
})

/** A server that says this address, or does something else. */
async function says(what: string | UpstreamActs): Promise<FakeUpstream> {
  const fake = await fakeUpstream(
    typeof what === 'string' ? { udp: ({ octets }, answer) => answer(replyTo(octets, { answer: [addressRecord(what)] })) } : what
  )
  open.push(fake)
  return fake
}

async function start(block: string, options: TestOptions = {}): Promise<TestServer> {
  const server = await serverOf(`. {\nlog "{common} {why}"\nerrors\n${block}\n}`, options)
  open.push(server)
  return server
}

/** The port of nobody. */
async function deadPort(): Promise<number> {
  const fake = await fakeUpstream({ udp() {} })
  await fake.stop()
  return fake.port
}

const at = ({ port }: FakeUpstream): string => `127.0.0.1:${port}`
const key = (...labels: string[]): string[] => ['skydns', 'local', 'skydns', 'dns', 'stub', ...labels]
const service = ({ port }: { port: number }): string => JSON.stringify({ host: '127.0.0.1', port })
const warnings = ({ log }: TestServer): string[] => log.lines.filter((line) => line.startsWith('[WARNING]'))
const logged = ({ log }: TestServer): string => log.lines.join('\n')

/** The rcode, the flags and the addresses. */
async function told(server: TestServer, question: string, options?: AskOptions): Promise<string> {
  const { rcode, flags, answer } = await server.ask(question, options)
  return [rcode, flags, ...answer.map((record) => record.split(' ').at(-1))].join(' ')
}

describe('the longest stub zone counts', () => {
  test.each<[string, string]>([
    ['a.example. A', 'NOERROR rd ra 192.0.2.1'],
    ['example. A', 'NOERROR rd ra 192.0.2.1'],
    ['xb.example. A', 'NOERROR rd ra 192.0.2.1'],
    ['b.example. A', 'NOERROR rd ra 192.0.2.2'],
    ['X.B.Example. A', 'NOERROR rd ra 192.0.2.2'],
    ['c.example. A', 'NOERROR rd ra 192.0.2.3'],
    ['org. A', 'REFUSED rd'],
    ['. A', 'REFUSED rd'],
    ['a.example. A CH', 'REFUSED rd']
  ])('%s', async (question, expected) => {
    const [one, two, three] = [await says('192.0.2.1'), await says('192.0.2.2'), await says('192.0.2.3')]
    const services = MemoryStore.of({ '/skydns/local/skydns/dns/stub/example/c/x': service(three) })
    const server = await start(`stub skydns.local {\nstore\nzone example ${at(one)}\nzone b.EXAMPLE ${at(two)}\n}`, { services })
    expect(await told(server, question)).toBe(expected)
  })

  test('a zone that stands twice has all its servers, and a network its reverse zone', async () => {
    const [one, two] = [await says('192.0.2.1'), await says('192.0.2.2')]
    const server = await start(`stub {\nzone example ${at(one)}\nzone example ${at(one)} ${at(two)}\nzone 10.0.0.0/8 ${at(two)}\n}`)
    expect(await told(server, 'a.example. A', { id: 0 })).toContain('192.0.2.1')
    expect(await told(server, 'a.example. A', { id: 1 })).toContain('192.0.2.2')
    expect(await told(server, '1.2.3.10.in-addr.arpa. A')).toContain('192.0.2.2')
  })

  test('a longer own domain counts more, a longer zone of the Corefile in a domain of the block too', async () => {
    const fake = await says('192.0.2.1')
    const zones = `stub {\nzone local ${at(fake)}\nzone corp.skydns.local ${at(fake)}\n}`
    const server = await serverOf(`skydns.local {\n${zones}\n}`)
    open.push(server)
    expect(await told(server, 'a.skydns.local. A')).toBe('REFUSED rd')
    expect(await told(server, 'a.corp.skydns.local. A')).toBe('NOERROR rd ra 192.0.2.1')
  })
})

describe('zones of the store', () => {
  test('change while the server runs, for what is cached too', async () => {
    const [one, two] = [await says('192.0.2.1'), await says('192.0.2.2')]
    const services = new MemoryStore()
    const server = await start('cache\nstub skydns.local {\nstore\n}\nwhoami', { services })
    const plain = 'NOERROR aa rd'
    expect(await told(server, 'a.example. A')).toBe(plain)
    services.put(key('example', 'x'), service(one))
    expect(await told(server, 'a.example. A')).toBe('NOERROR rd ra 192.0.2.1')
    services.put(key('example', 'x'), service(two))
    expect(await told(server, 'a.example. A')).toBe('NOERROR rd ra 192.0.2.2')
    services.delete(key('example', 'x'))
    expect(await told(server, 'a.example. A')).toBe(plain)
  })

  test('end with their key', async () => {
    const [fake, clock, services] = [await says('192.0.2.1'), new TestClock(), new MemoryStore()]
    services.put(key('example', 'x'), service(fake), clock.now() + 1000)
    const server = await start('stub skydns.local {\nstore\n}', { services, clock })
    expect(await told(server, 'a.example. A')).toBe('NOERROR rd ra 192.0.2.1')
    clock.advance(1000)
    expect(await told(server, 'a.example. A')).toBe('REFUSED rd')
  })

  test('of a replica are taken when all of it is there, and end when etcd says so and not with their time', async () => {
    const [fake, clock, services] = [await says('192.0.2.1'), new TestClock(), new MemoryStore()]
    services.feed = { state: 'waiting', path: undefined, why: undefined }
    services.put(key('example', 'x'), service(fake), clock.now() + 1000)
    const server = await start('stub skydns.local {\nstore\n}', { services, clock })
    expect(await told(server, 'a.example. A')).toBe('REFUSED rd')
    services.feed = { state: 'live', path: '/skydns', why: undefined }
    expect(await told(server, 'a.example. A')).toBe('NOERROR rd ra 192.0.2.1')
    clock.advance(5000)
    expect(await told(server, 'a.example. A')).toBe('NOERROR rd ra 192.0.2.1')
    services.delete(key('example', 'x'))
    expect(await told(server, 'a.example. A')).toBe('REFUSED rd')
  })

  test('stand at another path, and at each zone of the block', async () => {
    const fake = await says('192.0.2.1')
    const services = { '/x/org/b/dns/stub/example/1': service(fake), '/x/org/a/dns/stub/org/b/1': service(fake) }
    const server = await serverOf('a.org b.org . {\nstub {\nstore\npath /x\n}\n}', { services })
    open.push(server)
    expect(await told(server, 'a.example. A')).toBe('NOERROR rd ra 192.0.2.1')
    // One domain of the block is no stub zone of another.
    expect(await told(server, 'a.b.org. A')).toBe('REFUSED rd')
    expect(warnings(server)).toEqual([expect.stringContaining('is in the own domain "b.org."')])
  })

  test.each<[string, string[], string, string]>([
    ['a name', ['example', 'x'], '{"host":"ns.example"}', 'has host "ns.example", expected an address'],
    ['no host', ['example', 'x'], '{"port":53}', 'has host "", expected an address'],
    ['a host that is a number', ['example', 'x'], '{"host":1}', 'has a host that is no text'],
    ['a bad port', ['example', 'x'], '{"host":"127.0.0.1","port":65536}', 'has a port that is none'],
    ['no JSON', ['example', 'x'], 'x', 'is no JSON'],
    ['no object', ['example', 'x'], 'null', 'is no JSON object'],
    ['the own domain', ['local', 'skydns', 'x'], '{"host":"127.0.0.1"}', 'is in the own domain "skydns.local."'],
    ['what is within it', ['LOCAL', 'skydns', 'a', 'x'], '{"host":"127.0.0.1"}', 'is in the own domain "skydns.local."'],
    ['no leaf', [], '{"host":"127.0.0.1"}', 'is not below stub.dns'],
    ['a label that is too long', ['a'.repeat(64), 'x'], '{"host":"127.0.0.1"}', 'has a key that is no name']
  ])('leave out %s, with a line in the log', async (_title, labels, value, problem) => {
    const services = new MemoryStore()
    services.put(key(...labels), value)
    const server = await start('stub skydns.local {\nstore\n}', { services })
    expect(warnings(server)).toEqual([expect.stringContaining(`${problem}; it is left out`)])
    expect(await told(server, 'a.example. A')).toBe('REFUSED rd')
    expect(await told(server, 'a.skydns.local. A')).toBe('REFUSED rd')
    services.put(key('other', 'x'), '{"Host":"127.0.0.1"}')
    await server.ask('org. A')
    expect(warnings(server)).toHaveLength(1)
  })

  test('are told of a hundred lines at a time', async () => {
    const services = new MemoryStore()
    for (let i = 0; i < 103; i++) services.put(key('example', `${i}`), '{}')
    const lines = warnings(await start('stub skydns.local {\nstore\n}', { services }))
    expect([lines.length, lines.at(-1)]).toEqual([101, expect.stringContaining('3 more lines like these are left out')])
  })
})

describe("SkyDNS's loop option", () => {
  test.each<[string, AskOptions, string]>([
    ['without EDNS', {}, '00002904d0000000000005fdf3000101'],
    ['with EDNS and options of the client', { edns: 4096, options: [[10, Buffer.from('cookie!!')]] }, '00002904d0000000000005fdf3000101'],
    ['with DO and a small size', { edns: 600, dnssecOk: true }, '0000290258000080000005fdf3000101']
  ])('goes along with each question: a client %s', async (_title, options, opt) => {
    const fake = await says('192.0.2.1')
    const { edns } = await (await start(`stub {\nzone example ${at(fake)}\n}`)).ask('a.example. A', options)
    const { octets } = fake.asked[0]!
    expect(octets.readUInt16BE(10)).toBe(1)
    expect(octets.subarray(12 + 15).toString('hex')).toBe(opt)
    expect(edns === undefined).toBe(options.edns === undefined)
  })

  test('drops a query that came with it, with one line a minute, and only for stub zones', async () => {
    const [fake, clock] = [await says('192.0.2.1'), new TestClock()]
    const server = await start(`stub {\nzone example ${at(fake)}\n}`, { clock })
    const looped: AskOptions = { options: [[65011, Uint8Array.of(1)]] }
    const send = (): Promise<Uint8Array | undefined> => server.exchange(requestOctets('a.example. A', looped))
    expect([await send(), await send(), warnings(server).length]).toEqual([undefined, undefined, 1])
    expect(warnings(server)[0]).toContain('a loop: 192.0.2.1 asks for "a.example."')
    clock.advance(60_000)
    await send()
    expect([warnings(server).length, server.counter('skein_stub_loops_total'), fake.asked.length]).toEqual([2, 3, 0])
    expect(await told(server, 'org. A', looped)).toBe('REFUSED rd')
    expect(await told(server, 'a.example. A', { options: [[65001, Uint8Array.of(1)]] })).toContain('192.0.2.1')
  })
})

describe('the servers of a zone', () => {
  test('begin with the one that the ID says, each question with a port and an ID of its own', async () => {
    const fakes = [await says('192.0.2.1'), await says('192.0.2.2'), await says('192.0.2.3')]
    const server = await start(`stub {\nzone example ${fakes.map(at).join(' ')}\n}`)
    const answers: string[] = []
    for (const id of [0, 1, 2, 3, 65535]) answers.push((await told(server, 'a.example. A', { id })).slice(-1))
    expect(answers.join('')).toBe('12311')
    const asked = fakes.flatMap((fake) => fake.asked)
    expect(new Set(asked.map(({ port, octets }) => `${port} ${octets.readUInt16BE(0)}`)).size).toBe(5)
  })

  test('take turns where some cannot be reached', async () => {
    const [dead, alive] = [await deadPort(), await says('192.0.2.1')]
    const server = await start(`stub {\nzone example 127.0.0.1:${dead} ${at(alive)}\n}`)
    expect(await told(server, 'a.example. A', { id: 0 })).toBe('NOERROR rd ra 192.0.2.1')
    expect([server.counter('skein_stub_requests_total'), server.counter('skein_stub_failures_total')]).toEqual([2, 1])
  })

  test('that cannot be reached at all come to SERVFAIL, with the reason', async () => {
    const dead = await deadPort()
    const server = await start(`stub {\nzone example 127.0.0.1:${dead}\n}`)
    const { rcode, flags, edns } = await server.ask('a.example. A', { edns: 1232 })
    expect([rcode, flags, edns!.options[0]![0], edns!.options[0]![1][1]]).toEqual(['SERVFAIL', 'rd ra', 15, 22])
    expect(logged(server)).toContain('stub-failed')
    expect(logged(server).replace(/127\.0\.0\.1:\d+/g, 'ADDRESS')).toContain(
      'stub zone example.: read udp ADDRESS->ADDRESS: read: connection refused'
    )
  })

  test('that are silent are left after 2 seconds each, all after 5', async () => {
    const clock = new TestClock()
    const fakes = [await says({ udp() {} }), await says({ udp() {} }), await says({ udp() {} }), await says('192.0.2.1')]
    const server = await start(`stub {\nzone example ${fakes.map(at).join(' ')}\n}`, { clock })
    const answer = told(server, 'a.example. A', { id: 0 })
    for (const [index, milliseconds] of [2000, 2000, 1000].entries()) {
      await vi.waitFor(() => expect(fakes[index]!.asked).toHaveLength(1))
      clock.advance(milliseconds)
    }
    expect(await answer).toBe('SERVFAIL rd ra')
    expect(fakes[3]!.asked).toHaveLength(0)
  })

  test('that are asked while the server stops are not waited for', async () => {
    const fake = await says({ udp() {} })
    const server = await serverOf(`. {\nstub {\nzone example ${at(fake)}\n}\n}`)
    const answer = told(server, 'a.example. A')
    await vi.waitFor(() => expect(fake.asked).toHaveLength(1))
    await server.stop()
    expect(await answer).toBe('SERVFAIL rd ra')
  })

  test.each<[string, number, string, number]>([
    ['once', 1, 'NOERROR rd ra 192.0.2.1', 2],
    ['twice', 2, 'SERVFAIL rd ra', 2]
  ])('that say SERVFAIL %s are asked once more, and no other is', async (_title, times, expected, asked) => {
    const other = await says('192.0.2.9')
    const fake = await says({
      udp: ({ octets, before }, answer) => answer(before < times ? replyTo(octets, { flags: 0x8182, answer: [] }) : replyTo(octets))
    })
    const server = await start(`stub {\nzone example ${at(fake)} ${at(other)}\n}`)
    expect(await told(server, 'a.example. A', { id: 0 })).toBe(expected)
    expect([fake.asked.length, other.asked.length]).toEqual([asked, 0])
  })

  test('that say SERVFAIL and then nothing are left for the next', async () => {
    const [clock, other] = [new TestClock(), await says('192.0.2.9')]
    const fake = await says({
      udp({ octets, before }, answer) {
        if (before === 0) answer(replyTo(octets, { flags: 0x8182, answer: [] }))
      }
    })
    const server = await start(`stub {\nzone example ${at(fake)} ${at(other)}\n}`, { clock })
    const answer = told(server, 'a.example. A', { id: 0 })
    await vi.waitFor(() => expect(fake.asked).toHaveLength(2))
    clock.advance(2000)
    expect(await answer).toBe('NOERROR rd ra 192.0.2.9')
  })

  test('are not asked more than 256 questions at once', async () => {
    const fake = await says({ udp() {} })
    const server = await serverOf(`. {\nlog "{common} {why}"\nerrors\nstub {\nzone example ${at(fake)}\n}\n}`)
    const waiting = Array.from({ length: 256 }, (_, i) => told(server, `a${i}.example. A`))
    expect(await told(server, 'a.example. A')).toBe('SERVFAIL rd ra')
    expect(logged(server)).toContain('too-many')
    await server.stop()
    expect(new Set(await Promise.all(waiting))).toEqual(new Set(['SERVFAIL rd ra']))
  })

  test.each<[string, number, string]>([
    ['AA, no RA', 0x8500, 'NOERROR aa rd'],
    ['NXDOMAIN', 0x8183, 'NXDOMAIN rd ra'],
    ['REFUSED', 0x8185, 'REFUSED rd ra']
  ])('are handed on as they say: %s', async (_title, flags, expected) => {
    const fake = await says({ udp: ({ octets }, answer) => answer(replyTo(octets, { flags, answer: [] })) })
    const server = await start(`stub {\nzone example ${at(fake)}\n}`)
    expect(await told(server, 'a.example. A')).toBe(expected)
    expect(logged(server)).toMatch(/\bstub\b/)
  })

  test('are not believed with another ID, another question, or no message', async () => {
    const fake = await says({
      udp({ octets }, answer) {
        answer(replyTo(octets, { id: octets.readUInt16BE(0) ^ 1, answer: [addressRecord('192.0.2.66')] }))
        const other = replyTo(octets, { answer: [addressRecord('192.0.2.66')] })
        other[13] = 0x7a
        answer(other)
        answer(octets)
        answer(Uint8Array.of(1))
        answer(replyTo(octets))
      }
    })
    expect(await told(await start(`stub {\nzone example ${at(fake)}\n}`), 'a.example. A')).toBe('NOERROR rd ra 192.0.2.1')
  })

  test('with a malformed reply count as failed', async () => {
    const [bad, good] = [await says({ udp: ({ octets }, answer) => answer(replyTo(octets).subarray(0, -1)) }), await says('192.0.2.2')]
    const server = await start(`stub {\nzone example ${at(bad)} ${at(good)}\n}`)
    expect(await told(server, 'a.example. A', { id: 0 })).toBe('NOERROR rd ra 192.0.2.2')
  })
})

describe('over TCP', () => {
  const cut: UpstreamActs['udp'] = ({ octets }, answer) => answer(replyTo(octets, { flags: 0x8380, answer: [] }))

  test('what was cut is asked again, also where it comes in pieces', async () => {
    const fake = await says({
      udp: cut,
      tcp({ octets }, socket) {
        const reply = prefixed(replyTo(octets))
        socket.write(reply.subarray(0, 1))
        setTimeout(() => socket.write(reply.subarray(1, 9)), 5)
        setTimeout(() => socket.write(reply.subarray(9)), 10)
      }
    })
    expect(await told(await start(`stub {\nzone example ${at(fake)}\n}`), 'a.example. A')).toBe('NOERROR rd ra 192.0.2.1')
    expect(fake.asked.map(({ transport }) => transport)).toEqual(['udp', 'tcp'])
    expect(fake.asked[1]!.octets.subarray(-5).toString('hex')).toBe('fdf3000101')
  })

  test('a client over TCP is asked for at once', async () => {
    const fake = await says({ udp: cut, tcp: ({ octets }, socket) => socket.write(prefixed(replyTo(octets))) })
    const server = await start(`stub {\nzone example ${at(fake)}\n}`)
    expect(await told(server, 'a.example. A', { client: { transport: 'tcp' } })).toBe('NOERROR rd ra 192.0.2.1')
    expect(fake.asked.map(({ transport }) => transport)).toEqual(['tcp'])
  })

  test.each<[string, UpstreamActs['tcp']]>([
    ['nobody listens', undefined],
    ['it ends early', (_asked, socket) => socket.end()],
    ['another question is answered', ({ octets }, socket) => socket.write(prefixed(replyTo(octets, { id: 1 ^ octets.readUInt16BE(0) })))]
  ])('a client over UDP is told that the reply was cut where %s', async (_title, tcp) => {
    const fake = await says({ udp: cut, ...(tcp && { tcp }) })
    expect(await told(await start(`stub {\nzone example ${at(fake)}\n}`), 'a.example. A')).toBe('NOERROR tc rd ra')
  })
})

test.each(['AXFR', 'IXFR'])('%s of a stub zone is refused', async (type) => {
  const fake = await says('192.0.2.1')
  expect(await told(await start(`stub {\nzone example ${at(fake)}\n}`), `example. ${type}`)).toBe('REFUSED rd')
  expect(fake.asked).toHaveLength(0)
})
