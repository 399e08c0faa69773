import { zoneCuts } from 'skein/plugin'
import { addressRecord, type FakeUpstream, fakeUpstream, MemoryStore, replyTo, serverOf, TestClock, type TestServer } from 'skein/testing'
import { afterEach, describe, expect, test } from 'vitest'

const open: { stop(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.stop()
})

const STUB = 'stub skydns.local {\netcd\n}'
const ETCD = 'etcd skydns.local {\nstore\napi off\n}'
const REPLICA = 'etcd skydns.local'
const ASKED = 'NOERROR 192.0.2.1'

/** A server of a stub zone that says 192.0.2.1. */
async function stubServer(): Promise<FakeUpstream> {
  const fake = await fakeUpstream({ udp: ({ octets }, answer) => answer(replyTo(octets, { answer: [addressRecord('192.0.2.1')] })) })
  open.push(fake)
  return fake
}

async function start(lines: string, services: MemoryStore, clock = new TestClock()): Promise<TestServer> {
  const server = await serverOf(`. {\n${lines}\n}`, { services, clock })
  open.push(server)
  return server
}

const keyAt = (path: readonly string[], ...labels: string[]): string[] => [...path, 'local', 'skydns', 'dns', 'stub', ...labels]
const key = (...labels: string[]): string[] => keyAt(['skydns'], ...labels)
const serviceOf = ({ port }: FakeUpstream): string => JSON.stringify({ host: '127.0.0.1', port })

/** The rcode, and the addresses. */
async function told(server: TestServer, question: string): Promise<string> {
  const { rcode, answer } = await server.ask(question)
  return [rcode, ...answer.map((record) => record.split(' ').at(-1))].join(' ')
}

describe('the stub zones that stand in the store of `etcd`', () => {
  test('are found at its path, beside those of the Corefile, and change while the server runs, for what is cached too', async () => {
    const [fake, services] = [await stubServer(), new MemoryStore()]
    services.put(key('other', 'x'), serviceOf(fake))
    const stub = `stub skydns.local {\netcd\nzone corp.example 127.0.0.1:${fake.port}\n}`
    const server = await start(`cache\n${stub}\netcd skydns.local {\nstore\napi off\npath /a/b\n}\nwhoami`, services)
    const all = (): Promise<string[]> => Promise.all(['x.example. A', 'x.corp.example. A', 'x.other. A'].map((name) => told(server, name)))
    expect(await all()).toEqual(['NOERROR', ASKED, 'NOERROR'])
    services.put(keyAt(['a', 'b'], 'example', 'x'), serviceOf(fake))
    expect(await all()).toEqual([ASKED, ASKED, 'NOERROR'])
    services.delete(keyAt(['a', 'b'], 'example', 'x'))
    expect(await all()).toEqual(['NOERROR', ASKED, 'NOERROR'])
  })

  test('end with their key, and are told as cuts', async () => {
    const [fake, clock, services] = [await stubServer(), new TestClock(), new MemoryStore()]
    services.put(key('example', 'x'), serviceOf(fake), clock.now() + 1000)
    const server = await start(`${STUB}\n${ETCD}`, services, clock)
    const cuts = (): string[] => server.instance.blocks[0]!.scope.find(zoneCuts).flatMap((each) => each().map(({ apex }) => apex))
    expect([await told(server, 'a.example. A'), cuts()]).toEqual([ASKED, ['example.']])
    clock.advance(1000)
    expect([await told(server, 'a.example. A'), cuts()]).toEqual(['REFUSED', []])
  })

  test('are never the root, as a key without a leaf would have it', async () => {
    const [fake, services] = [await stubServer(), new MemoryStore()]
    services.put(key('example'), serviceOf(fake))
    const server = await start(`${STUB}\n${ETCD}\nwhoami`, services)
    expect(await Promise.all(['. A', 'a.example. A', 'a.test. A'].map((question) => told(server, question)))).toEqual([
      'NOERROR',
      'NOERROR',
      'NOERROR'
    ])
    services.put(key('example', 'x'), serviceOf(fake))
    expect(await told(server, 'a.example. A')).toBe(ASKED)
  })

  test('are never the own domain', async () => {
    const [fake, services] = [await stubServer(), new MemoryStore()]
    for (const labels of [
      ['local', 'skydns', 'x'],
      ['local', 'skydns', 'a', 'x']
    ])
      services.put(key(...labels), serviceOf(fake))
    const server = await start(`${STUB}\n${ETCD}`, services)
    expect(await told(server, 'a.skydns.local. A')).toBe('NXDOMAIN')
    expect(server.log.lines.filter((line) => line.includes('is in the own domain "skydns.local."'))).toHaveLength(2)
  })

  test('of a replica in no folder of its own are taken when all of it is there, and end when etcd says so', async () => {
    const [fake, clock, services] = [await stubServer(), new TestClock(), new MemoryStore()]
    services.feed = { state: 'waiting', path: undefined, why: undefined }
    services.put(key('example', 'x'), serviceOf(fake), clock.now() + 1000)
    const server = await start(`${STUB}\n${REPLICA}`, services, clock)
    expect(await told(server, 'a.example. A')).toBe('REFUSED')
    services.feed = { state: 'live', path: '/skydns', why: undefined }
    clock.advance(5000)
    expect(await told(server, 'a.example. A')).toBe(ASKED)
    services.feed = { state: 'stale', path: '/skydns', why: 'connect ECONNREFUSED' }
    expect(await told(server, 'a.example. A')).toBe(ASKED)
    services.delete(key('example', 'x'))
    expect(await told(server, 'a.example. A')).toBe('REFUSED')
  })

  test('of a replica of another path, as after a reload, are none yet', async () => {
    const [fake, services] = [await stubServer(), new MemoryStore()]
    services.put(key('example', 'x'), serviceOf(fake))
    services.feed = { state: 'live', path: '/other', why: undefined }
    const server = await start(`${STUB}\n${REPLICA}`, services)
    expect(await told(server, 'a.example. A')).toBe('REFUSED')
    services.feed = { state: 'live', path: '/skydns', why: undefined }
    expect(await told(server, 'a.example. A')).toBe(ASKED)
  })

  test('are not looked at where the Corefile has not said so', async () => {
    const [fake, services] = [await stubServer(), new MemoryStore()]
    services.put(key('example', 'x'), serviceOf(fake))
    const server = await start(`stub skydns.local {\nzone corp.example 127.0.0.1:${fake.port}\n}\n${ETCD}`, services)
    expect(await told(server, 'a.example. A')).toBe('REFUSED')
  })
})

describe('is an error with file and line', () => {
  const domain = 'stub skydns.local'
  test.each<[string, string, string]>([
    [
      'without an `etcd` in the server block',
      STUB,
      '3: stub: etcd: no `etcd` stands in this server block, expected one, or `store [DIR]` here'
    ],
    [
      'with `store` behind it',
      `${domain} {\netcd\nstore\n}\n${ETCD}`,
      '4: stub: store: etcd in line 3 says which store has zones, expected one of the two'
    ],
    [
      'with `store` before it',
      `${domain} {\nstore ./x\netcd\n}\n${ETCD}`,
      '4: stub: etcd: store in line 3 says which store has zones, expected one of the two'
    ],
    [
      'with `path`, be it the same',
      `${domain} {\netcd\npath /skydns\n}\n${ETCD}`,
      '4: stub: path: with `etcd` the zones stand below the path of that, expected this line left out'
    ],
    [
      'without a domain',
      `stub {\netcd\n}\n${ETCD}`,
      '2: stub: expected DOMAIN, such as skydns.local: the store’s zones stand at stub.dns in it'
    ],
    ['with a word behind it', `${domain} {\netcd ./data\n}\n${ETCD}`, '3: stub: etcd: expected no argument, not "./data"']
  ])('%s', async (_title, lines, problem) => {
    await expect(serverOf(`. {\n${lines}\n}`)).rejects.toThrow(`Corefile:${problem}`)
  })
})
