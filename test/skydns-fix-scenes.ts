/** Of the marks in skydns-fix-list.ts those that take more than a question: time, other servers, the log, what others have asked before. */
import { addressRecord, type FakeUpstream, fakeUpstream, MemoryStore, replyTo, TestClock, type TestServer } from 'skein/testing'
import { expect, vi } from 'vitest'
import { systemClock } from '../src/process/clock.js'
import { kvVerb } from '../src/process/kv-verbs.js'
import { EmbeddedStore } from '../src/store/embedded.js'
import { keyOfPath } from '../src/store/key.js'
import { temporaryFolder } from './processes.js'
import { CACHED, type SkyDns, startSkyDns, told } from './skydns-like.js'

/** Runs a scene; whatever it starts by `start` and `says` is stopped behind it. */
export interface Stage {
  readonly start: (settings: SkyDns) => Promise<TestServer>
  /** A nameserver that says this address to every question, or nothing at all. */
  readonly says: (address?: string) => Promise<FakeUpstream & { readonly at: string }>
}

export type Scene = (stage: Stage) => Promise<void>

/** Plays one. */
export async function play(scene: Scene): Promise<void> {
  const open: { stop(): Promise<void> }[] = []
  const stage: Stage = {
    async start(settings) {
      const server = await startSkyDns(settings)
      open.push(server)
      return server
    },
    async says(address) {
      const fake = await fakeUpstream({
        udp: ({ octets }, answer) => address !== undefined && answer(replyTo(octets, { answer: [addressRecord(address)] }))
      })
      open.push(fake)
      return Object.assign(fake, { at: `127.0.0.1:${fake.port}` })
    }
  }
  try {
    await scene(stage)
  } finally {
    for (const one of open.reverse()) await one.stop()
  }
}

const MALFORMED = { 'app/1': { host: '10.0.0.1' }, 'app/2': 'no', 'app/3': { host: '10.0.0.3', port: 65_536 } }
const stubAt = ({ port }: FakeUpstream): object => ({ host: '127.0.0.1', port })
const codesOf = ({ edns }: Awaited<ReturnType<TestServer['ask']>>): number[] =>
  edns!.options.filter(([code]) => code === 15).map(([, octets]) => Buffer.from(octets).readUInt16BE(0))
const many = (count: number, name = 'many'): Record<string, object> =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`${name}/n${i + 10}`, { host: `10.1.${i >> 8}.${i & 255}`, port: 80 }]))
const tcp = { client: { transport: 'tcp' } } as const

/** By what a mark says. */
export const SCENES: Readonly<Record<string, Scene>> = {
  async 'a malformed value is told of once in the log, with its path'({ start }) {
    const server = await start({ services: MALFORMED })
    for (const type of ['A', 'A', 'SRV', 'TXT']) await server.ask(`app.skydns.test. ${type}`)
    const lines = server.log.lines.filter((line) => line.includes('/skydns/test/skydns/app/'))
    expect(lines).toEqual([
      expect.stringMatching(/\/skydns\/test\/skydns\/app\/2 is no JSON; it is left out$/),
      expect.stringMatching(/\/skydns\/test\/skydns\/app\/3 has port 65536, expected .*; it is left out$/)
    ])
  },
  async 'a malformed value is counted once'({ start }) {
    const server = await start({ services: MALFORMED })
    for (const type of ['A', 'A', 'SRV', 'TXT']) await server.ask(`app.skydns.test. ${type}`)
    expect(server.counter('skein_etcd_bad_values_total')).toBe(2)
  },
  async 'malformed values are listed for the operator'() {
    const folder = temporaryFolder()
    const report = (error: unknown): never => {
      throw error
    }
    const store = await EmbeddedStore.open(folder.path, { clock: systemClock, report })
    try {
      for (const [path, value] of Object.entries(MALFORMED)) {
        const text = typeof value === 'string' ? value : JSON.stringify(value)
        await store.apply([{ op: 'put', key: keyOfPath(`/skydns/test/skydns/${path}`), value: Buffer.from(text), expires: undefined }])
      }
      const judge = new URL('../plugins/etcd-backend/judge.js', import.meta.url).href
      const listed: string[] = []
      for await (const line of kvVerb(store, 'bad', { judge }, (async function* () {})())) listed.push(String(line))
      expect(listed.filter((line) => line !== '')).toEqual([
        '/skydns/test/skydns/app/2: is no JSON\n',
        '/skydns/test/skydns/app/3: has port 65536, expected a whole number from 0 to 65535\n'
      ])
    } finally {
      await store.close()
      folder.remove()
    }
  },
  async 'the mailbox of the SOA is hostmaster at the domain where nobody says another'({ start }) {
    for (const domain of ['skydns.test.', 'other.example.', 'example.']) {
      const [soa] = (await (await start({ config: { domain } })).ask(`${domain} SOA`)).answer
      expect(soa).toMatch(new RegExp(` SOA ns.dns.${domain} hostmaster.${domain} \\d+ 28800 7200 604800 60$`))
    }
    const said = await start({ config: { hostmaster: 'first.last@mail.example' } })
    expect((await said.ask('skydns.test. SOA')).answer[0]).toContain(' first.last.mail.example. ')
  },
  async 'REFUSED has RD as the question has it'({ start }) {
    const services = MemoryStore.of({ '/skydns/test/skydns/web': { host: '10.0.0.1' } })
    services.feed = { state: 'waiting', path: undefined, why: undefined }
    const server = await start({ services, flags: ['-machines=http://127.0.0.1:2379'] })
    for (const question of ['web.skydns.test. ANY', 'www.example.org. ANY', 'web.skydns.test. A', 'web.skydns.test. SRV']) {
      expect(await told(server, question)).toEqual(['REFUSED rd'])
      expect(await told(server, question, { rd: false })).toEqual(['REFUSED '])
    }
    services.feed = { state: 'live', path: '/skydns', why: undefined }
    expect(await told(server, 'web.skydns.test. A', { rd: false })).toEqual(['NOERROR aa ra', 'web.skydns.test. 3600 A 10.0.0.1'])
  },
  async 'an answer has an OPT record where the question has one, and only there'({ start }) {
    const server = await start({ services: { web: { host: '10.0.0.1' } }, config: CACHED })
    const questions = ['web', 'no', 'web', 'no'].map((label) => `${label}.skydns.test. A`)
    for (const question of [...questions, 'web.skydns.test. ANY', 'www.example.org. A', 'version.bind. TXT CH', 'web.skydns.test. A HS']) {
      expect([question, (await server.ask(question)).edns]).toEqual([question, undefined])
      expect([question, (await server.ask(question, { edns: 1232 })).edns === undefined]).toEqual([question, false])
      expect([question, (await server.ask(question, { dnssecOk: true })).edns === undefined]).toEqual([question, false])
    }
  },
  async 'what is cached is told apart by class'({ start }) {
    const server = await start({ services: { '': { text: 'the apex' }, web: { host: '10.0.0.1' } }, config: CACHED })
    for (let times = 0; times < 2; times++) {
      expect((await server.ask('skydns.test. TXT', tcp)).answer).toEqual(['skydns.test. 3600 TXT "the apex"'])
      expect((await server.ask('skydns.test. TXT CH', tcp)).answer).toHaveLength(4)
      expect((await server.ask('web.skydns.test. A', tcp)).answer).toHaveLength(1)
      expect((await server.ask('web.skydns.test. A CH', tcp)).rcode).toBe('REFUSED')
    }
    expect(server.counter('coredns_cache_hits_total')).toBe(2)
  },
  async 'what is cached is found in any spelling'({ start }) {
    const server = await start({ services: { web: { host: '10.0.0.1' } }, config: CACHED })
    for (const question of ['web.skydns.test.', 'WEB.skydns.test.', 'wEb.SkyDNS.Test.'])
      expect(await told(server, `${question} A`)).toEqual(['NOERROR aa rd ra', `${question} 3600 A 10.0.0.1`])
    expect(server.counter('coredns_cache_hits_total')).toBe(2)
  },
  async 'what is cached counts down'({ start }) {
    const clock = new TestClock()
    const server = await start({ services: { web: { host: '10.0.0.1', ttl: 100 } }, config: CACHED, clock })
    const ttls: string[] = []
    for (const seconds of [0, 30, 69, 2]) {
      clock.advance(seconds * 1000)
      ttls.push((await server.ask('web.skydns.test. A')).answer[0]!.split(' ')[1]!)
    }
    expect([ttls, server.counter('coredns_cache_hits_total')]).toEqual([['100', '70', '1', '100'], 2])
    // How long it is kept is another thing than what its TTL says.
    const brief = await start({ services: { web: { host: '10.0.0.1' } }, config: { rcache: 1000, rcache_ttl: 60 }, clock })
    const told = async (): Promise<string> => (await brief.ask('web.skydns.test. A')).answer[0]!.split(' ')[1]!
    const both = [await told()]
    for (const seconds of [59, 1]) {
      clock.advance(seconds * 1000)
      both.push(await told())
    }
    expect([both, brief.counter('coredns_cache_hits_total')]).toEqual([['3600', '3541', '3600'], 1])
  },
  async 'the longest stub zone is asked'({ start, says }) {
    const [com, example, corp] = [await says('192.0.2.1'), await says('192.0.2.2'), await says('192.0.2.3')]
    const services = {
      'dns/stub/com/example/x': stubAt(example),
      'dns/stub/com/example/corp/x': stubAt(corp),
      'dns/stub/com/x': stubAt(com)
    }
    const server = await start({ services })
    const asked = [
      'a.com',
      'example.com',
      'a.example.com',
      'corp.example.com',
      'A.B.Corp.example.COM',
      'xcorp.example.com',
      'a.xexample.com'
    ]
    const said: string[] = []
    for (const name of asked) said.push((await server.ask(`${name}. A`)).answer[0]!.slice(-1))
    expect(said.join('')).toBe('1223321')
  },
  async 'only PTR is answered from the keys of addresses, under ip6.arpa too'({ start, says }) {
    const nibbles = '1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2'
    const key = `/skydns/arpa/ip6/${nibbles.split('.').reverse().join('/')}`
    const nameserver = await says('192.0.2.9')
    const services = {
      [key]: { host: 'web.skydns.test', port: 80, text: 'x' },
      '/skydns/arpa/in-addr/10/0/0/1': { host: '10.0.0.1', text: 'x' }
    }
    const server = await start({ services, config: { nameservers: [nameserver.at] } })
    expect(await told(server, `${nibbles}.ip6.arpa. PTR`)).toEqual(['NOERROR rd ra', `${nibbles}.ip6.arpa. 3600 PTR web.skydns.test.`])
    for (const type of ['A', 'AAAA', 'SRV', 'TXT', 'MX', 'CNAME', 'NS']) {
      for (const name of [`${nibbles}.ip6.arpa.`, '1.0.0.10.in-addr.arpa.']) {
        const before = nameserver.asked.length
        expect([(await server.ask(`${name} ${type}`)).flags, nameserver.asked.length]).toEqual(['rd ra', before + 1])
      }
    }
  },
  async 'SERVFAIL is the answer where every nameserver fails'({ start, says }) {
    const [clock, silent] = [new TestClock(), await says()]
    const unreachable = await (await start({ config: { nameservers: ['127.0.0.1:9', '127.0.0.2:9'] } })).ask('www.example.org. A', {
      edns: 1232
    })
    expect([unreachable.rcode, unreachable.flags, codesOf(unreachable)]).toEqual(['SERVFAIL', 'rd ra', [22]])
    const server = await start({ config: { nameservers: [silent.at] }, clock })
    const answer = server.ask('www.example.org. A', { edns: 1232 })
    for (const [before, milliseconds] of [2000, 2000].entries()) {
      await vi.waitFor(() => expect(silent.asked).toHaveLength(before + 1), { interval: 5 })
      clock.advance(milliseconds)
    }
    const { rcode, flags } = await answer
    expect([rcode, flags]).toEqual(['SERVFAIL', 'rd ra'])
  },
  async 'an error of the store is SERVFAIL with an extended error, for every type'({ start }) {
    const services = MemoryStore.of({ '/skydns/test/skydns/web': { host: '10.0.0.1' } })
    const server = await start({ services })
    const gone = (): never => {
      throw new Error('the disk is gone')
    }
    for (const read of ['subtree', 'at', 'has'] as const) services[read] = gone
    for (const type of ['A', 'AAAA', 'TXT', 'CNAME', 'MX', 'SRV', 'HINFO', 'NS', 'TYPE65280', 'DS']) {
      const answer = await server.ask(`web.skydns.test. ${type}`, { edns: 1232 })
      expect([type, answer.rcode, codesOf(answer)]).toEqual([type, 'SERVFAIL', [0]])
    }
    const { rcode, edns } = await server.ask('1.0.0.10.in-addr.arpa. PTR', { edns: 1232 })
    expect([rcode, Buffer.from(edns!.options[0]![1]).toString('latin1', 2)]).toEqual(['SERVFAIL', 'store-failed'])
  },
  async 'an answer that is cut for one client is cached whole'({ start }) {
    const server = await start({ services: many(40), config: CACHED })
    const cut = await server.ask('many.skydns.test. A')
    expect([cut.flags, cut.answer.length]).toEqual(['aa tc rd ra', 29])
    expect((await server.ask('many.skydns.test. A', { edns: 1232 })).answer).toHaveLength(40)
    const whole = await server.ask('many.skydns.test. A', tcp)
    expect([whole.flags, whole.answer.length, server.counter('coredns_cache_hits_total')]).toEqual(['aa rd ra', 40, 2])
  },
  async 'the size that a client advertises is capped by bufsize'({ start }) {
    const server = await start({ services: many(300) })
    const cut = await server.ask('many.skydns.test. A', { edns: 65_535 })
    expect([cut.flags, cut.octets.length > 4000, cut.octets.length <= 4096]).toEqual(['aa tc rd ra', true, true])
    expect((await server.ask('many.skydns.test. A', tcp)).answer).toHaveLength(300)
  },
  async 'additional data goes RRset by RRset, without TC'({ start }) {
    // Targets with two addresses each: both or none of them.
    const services: Record<string, object> = {}
    for (let i = 0; i < 8; i++) {
      services[`srv/${i}`] = { host: `t${i}.skydns.test`, port: 80 }
      for (const last of [1, 2]) services[`t${i}/${last}`] = { host: `10.0.${i}.${last}` }
    }
    const server = await start({ services })
    const { flags, answer, additional } = await server.ask('srv.skydns.test. SRV')
    const owners = additional.map((record) => record.split(' ')[0]!)
    const sets = new Set(owners)
    expect([flags, answer.length, sets.size > 0 && sets.size < 8]).toEqual(['aa rd ra', 8, true])
    for (const owner of sets) expect(owners.filter((other) => other === owner)).toHaveLength(2)
    expect((await server.ask('srv.skydns.test. SRV', tcp)).additional).toHaveLength(16)
  },
  async 'etcd v3 says NXDOMAIN too'({ start }) {
    const services = MemoryStore.of({
      '/skydns/test/skydns/web': { host: '10.0.0.1' },
      '/skydns/test/skydns/website': { host: '10.0.0.2' }
    })
    services.feed = { state: 'live', path: '/skydns', why: undefined }
    const server = await start({ services, flags: ['-machines=http://127.0.0.1:2379', '-etcd3'] })
    for (const question of ['no.skydns.test. A', 'webs.skydns.test. A', 'x.web.skydns.test. SRV', 'no.skydns.test. HINFO'])
      expect(await told(server, question)).toEqual(['NXDOMAIN aa rd ra', 'skydns.test. 60 SOA'])
  },
  async 'a service under ns.dns that is no address is skipped, and logged'({ start }) {
    const services = { 'dns/ns/a': { host: '10.0.0.53' }, 'dns/ns/b': { host: 'ns.example.org' }, 'dns/ns/c': { text: 'none' } }
    const server = await start({ services })
    for (let times = 0; times < 2; times++)
      expect(await told(server, 'skydns.test. NS')).toEqual([
        'NOERROR aa rd ra',
        'skydns.test. 3600 NS a.ns.dns.skydns.test.',
        '+ a.ns.dns.skydns.test. 3600 A 10.0.0.53'
      ])
    const lines = server.log.lines.filter((line) => line.includes('stands under ns.dns and is no address'))
    expect(lines.map((line) => /dns\/ns\/(.)/.exec(line)?.[1])).toEqual(['b', 'c'])
  },
  async 'a CNAME stands before what it points to, and only addresses are shuffled'({ start }) {
    const services = {
      one: { host: 'two.skydns.test' },
      two: { host: 'web.skydns.test' },
      ...many(4, 'web'),
      'mx/1': { host: 'a.example.org', mail: true },
      'mx/2': { host: 'b.example.org', mail: true }
    }
    const random = { below: (limit: number): number => Math.floor(Math.random() * limit) }
    const server = await start({ services, config: CACHED, random })
    const seen = { one: new Set<string>(), web: new Set<string>(), mx: new Set<string>() }
    for (let times = 0; times < 40; times++) {
      const { answer } = await server.ask('one.skydns.test. A')
      expect(answer.slice(0, 2)).toEqual(['one.skydns.test. 3600 CNAME two.skydns.test.', 'two.skydns.test. 3600 CNAME web.skydns.test.'])
      seen.one.add(answer.slice(2).join())
      seen.web.add((await server.ask('web.skydns.test. A')).answer.join())
      seen.mx.add((await server.ask('mx.skydns.test. MX')).answer.join())
    }
    expect([seen.web.size > 3, seen.mx.size]).toEqual([true, 1])
  },
  async 'the own domain is no stub zone, and nothing in it'({ start, says }) {
    const fake = await says('192.0.2.1')
    const zones = ['test/x', 'test/skydns/x', 'test/skydns/web/x', 'test/skydns/dns/local/x', 'TEST/SkyDNS/Corp/x', 'test/skydnsx/x']
    const services = { web: { host: '10.0.0.1' }, ...Object.fromEntries(zones.map((zone) => [`dns/stub/${zone}`, stubAt(fake)])) }
    const server = await start({ services, config: { local: 'web.skydns.test' } })
    expect(await told(server, 'web.skydns.test. A')).toEqual(['NOERROR aa rd ra', 'web.skydns.test. 3600 A 10.0.0.1'])
    expect((await server.ask('skydns.test. SOA')).flags).toBe('aa rd ra')
    expect((await server.ask('local.dns.skydns.test. A')).answer).toEqual(['local.dns.skydns.test. 3600 A 10.0.0.1'])
    expect((await server.ask('a.corp.skydns.test. A')).rcode).toBe('NXDOMAIN')
    expect(fake.asked).toHaveLength(0)
    for (const name of ['other.test.', 'a.skydnsx.test.']) expect((await server.ask(`${name} A`)).answer[0]).toContain('192.0.2.1')
    expect(server.log.lines.filter((line) => line.includes('is in the own domain'))).toHaveLength(4)
  }
}
