import { zoneCuts } from 'skein/plugin'
import { addressRecord, type FakeUpstream, fakeUpstream, MemoryStore, replyTo, serverOf, TestClock, type TestServer } from 'skein/testing'
import { afterEach, describe, expect, test } from 'vitest'

const open: { stop(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.stop()
})

/** A server that says this address, whatever it is asked. */
async function says(address: string): Promise<FakeUpstream> {
  const fake = await fakeUpstream({ udp: ({ octets }, answer) => answer(replyTo(octets, { answer: [addressRecord(address)] })) })
  open.push(fake)
  return fake
}

async function start(corefile: string, services = new MemoryStore(), clock = new TestClock()): Promise<TestServer> {
  const server = await serverOf(corefile, { services, clock })
  open.push(server)
  return server
}

const key = (...labels: string[]): string[] => ['skydns', 'local', 'skydns', 'dns', 'stub', ...labels]

describe('DS of the name of a stub zone is asked for above it', () => {
  test.each([
    ['example. DS', 'NXDOMAIN'],
    ['EXAMPLE. DS', 'NXDOMAIN'],
    ['a.example. DS', 'below example.'],
    ['sub.example. DS', 'below example.'],
    ['a.sub.example. DS', 'below sub.example.'],
    ['sub.example. A', 'below sub.example.'],
    ['sub.example. NS', 'below sub.example.'],
    ['corp.z. DS', 'NOERROR'],
    ['corp.z. A', 'below corp.z.'],
    ['stored.z. DS', 'NXDOMAIN'],
    ['stored.z. A', 'below stored.z.']
  ])('%s: %s', async (question, expected) => {
    const zones = ['example.', 'sub.example.', 'corp.z.']
    const servers = await Promise.all(zones.map((_, index) => says(`192.0.2.${index}`)))
    const stored = await says('192.0.2.3')
    const lines = zones.map((zone, index) => `zone ${zone} 127.0.0.1:${servers[index]!.port}`).join('\n')
    const services = MemoryStore.of({
      '/skydns/z/corp/x': { host: '192.0.2.9' },
      '/skydns/local/skydns/dns/stub/z/stored/x': { host: '127.0.0.1', port: stored.port }
    })
    const server = await start(`. {\nstub skydns.local {\nstore\n${lines}\n}\netcd . {\nstore\n}\n}`, services)
    const { rcode, answer } = await server.ask(question)
    const said = answer.map((record) => /192\.0\.2\.(\d)$/.exec(record)?.[1])
    expect(said.length === 0 ? rcode : `below ${[...zones, 'stored.z.'][Number(said[0])]}`).toBe(expected)
  })

  test('but that of the root, which nothing is above', async () => {
    const fake = await says('192.0.2.1')
    const server = await start(`. {\nstub {\nzone . 127.0.0.1:${fake.port}\n}\n}`)
    expect((await server.ask('. DS')).rcode).toBe('NOERROR')
    expect((await server.ask('com. DS')).rcode).toBe('NOERROR')
  })
})

describe('other plugins are told where the zones are cut', () => {
  const cutsOf = (server: TestServer, block: number): readonly string[] =>
    server.instance.blocks[block]!.scope.find(zoneCuts)
      .flatMap((cuts) => cuts())
      .map(({ apex, ds }) => `${apex} ${ds.length}`)
      .toSorted()

  test('in their server block, as they are now', async () => {
    const [services, clock] = [new MemoryStore(), new TestClock()]
    services.put(key('example', 'x'), '{"host":"192.0.2.1"}', clock.now() + 1000)
    const stub = 'stub skydns.local {\nstore\nzone corp.example 192.0.2.2\n}'
    const server = await start(`a {\n${stub}\n}\nb {\nwhoami\n}`, services, clock)
    expect([0, 1].map((block) => cutsOf(server, block))).toEqual([['corp.example. 0', 'example. 0'], []])
    services.put(key('org', 'x'), '{"host":"192.0.2.1"}')
    expect(cutsOf(server, 0)).toEqual(['corp.example. 0', 'example. 0', 'org. 0'])
    clock.advance(1000)
    expect(cutsOf(server, 0)).toEqual(['corp.example. 0', 'org. 0'])
    services.delete(key('org', 'x'))
    expect(cutsOf(server, 0)).toEqual(['corp.example. 0'])
  })

  test('in one list for as long as nothing changes', async () => {
    const services = new MemoryStore()
    const server = await start('. {\nstub skydns.local {\nstore\nzone corp.example 192.0.2.2\n}\n}', services)
    const [cuts] = server.instance.blocks[0]!.scope.find(zoneCuts)
    const before = cuts!()
    expect(cuts!()).toBe(before)
    services.put(key('org', 'x'), '{"host":"192.0.2.1"}')
    expect(cuts!()).not.toBe(before)
  })
})
