import { MemoryStore, serverOf, TestClock, type TestOptions, type TestServer } from 'skein/testing'
import { afterEach, describe, expect, test } from 'vitest'

let server: TestServer | undefined
afterEach(async () => {
  await server?.stop()
  server = undefined
})

const block = (zones: string, options = '', rest = ''): string => `. {\n  etcd ${zones} {\n    store\n    ${options}\n  }\n  ${rest}\n}`

async function start(corefile: string, services: TestOptions['services'] = {}, more: TestOptions = {}): Promise<TestServer> {
  server = await serverOf(corefile, { ...more, services })
  return server
}

/** The rcode and the flags, then the answers. */
async function told(question: string): Promise<string> {
  const { rcode, flags, answer } = await server!.ask(question)
  return [`${rcode} ${flags}`, ...answer].join(' | ')
}

const key = (...labels: string[]): string[] => ['skydns', 'local', 'skydns', ...labels]

describe('TTLs', () => {
  test('are the lesser of what the value says and what is left of the key', async () => {
    const clock = new TestClock()
    const store = new MemoryStore()
    const lease = clock.now() + 60_000
    store.put(key('a'), '{"host":"192.0.2.1"}', lease)
    store.put(key('b'), '{"host":"192.0.2.1","ttl":10}', lease)
    store.put(key('c'), '{"host":"192.0.2.1"}')
    await start(block('skydns.local'), store, { clock })
    const ttls = async (): Promise<string[]> =>
      Promise.all(['a', 'b', 'c'].map(async (name) => (await server!.ask(`${name}.skydns.local. A`)).answer[0]!.split(' ')[1]!))
    expect(await ttls()).toEqual(['60', '10', '3600'])
    clock.advance(55_500)
    expect(await ttls()).toEqual(['5', '5', '3600'])
    clock.advance(4_500)
    expect(await ttls()).toEqual(['0', '0', '3600'])
    store.delete(key('a'))
    expect(await told('a.skydns.local. A')).toBe('NXDOMAIN aa rd ra')
  })

  test('are one in an answer, the lowest, and the configured one at most', async () => {
    await start(block('skydns.local', 'ttl 100'), {
      '/skydns/local/skydns/a/1': { host: '192.0.2.1', ttl: 900 },
      '/skydns/local/skydns/a/2': { host: '192.0.2.2', ttl: 800 },
      '/skydns/local/skydns/b/1': { host: '192.0.2.1', ttl: 30 },
      '/skydns/local/skydns/b/2': { host: '192.0.2.2' },
      '/skydns/local/skydns/c': { host: '192.0.2.1', ttl: 900 }
    })
    expect(await told('a.skydns.local. A')).toBe('NOERROR aa rd ra | a.skydns.local. 100 A 192.0.2.1 | a.skydns.local. 100 A 192.0.2.2')
    expect(await told('b.skydns.local. A')).toBe('NOERROR aa rd ra | b.skydns.local. 30 A 192.0.2.1 | b.skydns.local. 30 A 192.0.2.2')
    expect(await told('c.skydns.local. A')).toBe('NOERROR aa rd ra | c.skydns.local. 900 A 192.0.2.1')
  })
})

describe('a value that is no service', () => {
  test('is left out, told of once with its path, counted, and told of again when it has changed', async () => {
    const store = new MemoryStore()
    store.put(key('web', '1'), '{"host":"192.0.2.1"}')
    const bad = ['{"host":192.0.2.2}', '', 'null', '{"port":"80"}', '{"priority":-1}']
    for (const [index, value] of bad.entries()) store.put(key('web', `x${index}`), value)
    await start(block('skydns.local'), store)
    for (let i = 0; i < 3; i++) expect(await told('web.skydns.local. A')).toBe('NOERROR aa rd ra | web.skydns.local. 3600 A 192.0.2.1')
    const problems = [
      'is no JSON',
      'is no JSON',
      'is no JSON object',
      'has port "80", expected a whole number from 0 to 65535',
      'has priority -1, expected a whole number from 0 to 65535'
    ]
    const lines = problems.map(
      (problem, index) => `[WARNING] plugin/etcd: the value of /skydns/local/skydns/web/x${index} ${problem}; it is left out`
    )
    expect(server!.log.lines).toEqual(lines)
    expect(server!.counter('skein_etcd_bad_values_total')).toBe(5)
    store.put(key('web', 'x0'), '{"port":-1}')
    await told('web.skydns.local. SRV')
    await told('x0.web.skydns.local. SRV')
    expect(server!.log.lines.slice(5)).toEqual([expect.stringContaining('/skydns/local/skydns/web/x0 has port -1')])
    expect(server!.counter('skein_etcd_bad_values_total')).toBe(6)
  })

  test('is told of on one line, whatever octets its key has', async () => {
    const store = new MemoryStore()
    store.put(key('a\n\0\xff b/c\\'), '{')
    await start(block('skydns.local'), store)
    await told('skydns.local. A')
    expect(server!.log.lines).toEqual([
      '[WARNING] plugin/etcd: the value of /skydns/local/skydns/a\\010\\000\\255\\032b\\047c\\092 is no JSON; it is left out'
    ])
  })

  test('is no PTR record either', async () => {
    await start(block('in-addr.arpa'), { '/skydns/arpa/in-addr/10/0/0/1': '{' })
    expect(await told('1.0.0.10.in-addr.arpa. PTR')).toBe('NOERROR aa rd ra')
    expect(server!.log.lines).toEqual([expect.stringContaining('/skydns/arpa/in-addr/10/0/0/1 is no JSON')])
  })

  test('and one under ns.dns that is no address is told of the same way', async () => {
    const store = MemoryStore.of({
      '/skydns/local/skydns/dns/ns/a': { host: '192.0.2.1' },
      '/skydns/local/skydns/dns/ns/b': { host: 'b.example' }
    })
    await start(block('skydns.local'), store)
    for (let i = 0; i < 2; i++)
      expect(await told('skydns.local. NS')).toBe('NOERROR aa rd ra | skydns.local. 3600 NS a.ns.dns.skydns.local.')
    store.put(key('dns', 'ns', 'b'), '{"host":"c.example"}')
    await told('skydns.local. NS')
    const line = '[WARNING] plugin/etcd: the value of /skydns/local/skydns/dns/ns/b stands under ns.dns and is no address; it is left out'
    expect(server!.log.lines).toEqual([line, line])
  })
})

describe('a label is a segment of a key, whatever octets it has', () => {
  const store = new MemoryStore()
  const keys = [['a', 'b'], ['b', 'a'], ['k'], ['x', 'y'], ['..'], ['a.c'], ['d/e'], ['\0'], ['\xff'], ['Ä'], ['*'], ['%61'], ['\x01']]
  for (const [index, labels] of keys.entries())
    store.put(
      key(...labels.map((label) => Buffer.from(label, label.length > 1 ? 'utf8' : 'latin1').toString('latin1'))),
      `{"host":"192.0.2.${index}"}`
    )

  test.each<[string, string]>([
    ['b.a', '192.0.2.0'],
    ['a.b', '192.0.2.1'],
    ['a/b', 'NXDOMAIN'],
    ['b/a', 'NXDOMAIN'],
    ['a\\.b', 'NXDOMAIN'],
    ['b\\.a', 'NXDOMAIN'],
    ['a\\000b', 'NXDOMAIN'],
    ['x\\000y', 'NXDOMAIN'],
    ['x\\001y', 'NXDOMAIN'],
    ['x/y', 'NXDOMAIN'],
    ['\\.\\.', '192.0.2.4'],
    ['\\.', 'NXDOMAIN'],
    ['a\\.c', '192.0.2.5'],
    ['c.a', 'NXDOMAIN'],
    ['d/e', '192.0.2.6'],
    ['e.d', 'NXDOMAIN'],
    ['%61', '192.0.2.11'],
    ['\\000', '192.0.2.7'],
    ['\\001', '192.0.2.12'],
    ['\\255', '192.0.2.8'],
    ['\\223', 'NXDOMAIN'],
    ['\\196', '192.0.2.9'],
    ['\\228', 'NXDOMAIN'],
    ['k', '192.0.2.2'],
    ['K', '192.0.2.2'],
    ['\\226\\132\\170', 'NXDOMAIN'],
    ['skydns', 'NXDOMAIN'],
    ['\\.\\.\\/\\.\\.', 'NXDOMAIN']
  ])('%s', async (label, address) => {
    await start(block('skydns.local'), store)
    const { rcode, answer } = await server!.ask(`${label}.skydns.local. A`)
    expect(answer[0]?.split(' ').at(-1) ?? rcode).toBe(address)
  })

  test('an asterisk in a question is a pattern, and one in a key is none', async () => {
    await start(block('skydns.local'), store)
    expect((await server!.ask('*.skydns.local. SRV', { edns: 4000 })).answer).toHaveLength(keys.length)
    expect(await told('unheard.skydns.local. A')).toBe('NXDOMAIN aa rd ra')
  })
})

describe('names have no case', () => {
  test('in keys and questions; what is asked comes back as it was spelled', async () => {
    await start(block('SkyDNS.Local'), {
      '/skydns/LOCAL/skydns/East/Web': { host: 'TARGET.skydns.local' },
      '/skydns/local/skydns/target': { host: '192.0.2.1' }
    })
    expect(await told('wEb.EAST.skydns.LOCAL. A')).toBe(
      'NOERROR aa rd ra | wEb.EAST.skydns.LOCAL. 3600 CNAME target.skydns.local. | target.skydns.local. 3600 A 192.0.2.1'
    )
  })

  test('so keys that differ in case alone are one name', async () => {
    await start(block('skydns.local'), {
      '/skydns/local/skydns/Web': { host: '192.0.2.1' },
      '/skydns/local/skydns/web': { host: '192.0.2.2' }
    })
    expect((await server!.ask('WEB.skydns.local. A')).answer).toHaveLength(2)
  })
})

test('a CNAME is given to those who ask for it only where one stands for the addresses too, or caches would use it for them', async () => {
  await start(block('skydns.local'), {
    '/skydns/local/skydns/alone': { host: 'target.skydns.local' },
    '/skydns/local/skydns/beside': { host: 'target.skydns.local' },
    '/skydns/local/skydns/beside/1': { host: '192.0.2.2' },
    '/skydns/local/skydns/target': { host: '192.0.2.1' }
  })
  expect(await told('alone.skydns.local. CNAME')).toBe('NOERROR aa rd ra | alone.skydns.local. 3600 CNAME target.skydns.local.')
  expect((await server!.ask('beside.skydns.local. CNAME')).answer).toEqual([])
  expect((await server!.ask('beside.skydns.local. A')).answer.toSorted()).toEqual([
    'beside.skydns.local. 3600 A 192.0.2.1',
    'beside.skydns.local. 3600 A 192.0.2.2'
  ])
})

describe('zones', () => {
  test('the root is one, with no empty labels', async () => {
    await start(block('.'), { '/skydns/dns/ns/a': { host: '192.0.2.1' }, '/skydns/org/x': { host: '192.0.2.2' } })
    expect(await told('. NS')).toBe('NOERROR aa rd ra | . 3600 NS a.ns.dns.')
    expect(await told('. SOA')).toBe('NOERROR aa rd ra | . 3600 SOA ns.dns. hostmaster. 1767225600 28800 7200 604800 60')
    expect(await told('x.org. A')).toBe('NOERROR aa rd ra | x.org. 3600 A 192.0.2.2')
    expect((await server!.ask('y.org. A')).authority).toEqual(['. 60 SOA ns.dns. hostmaster. 1767225600 28800 7200 604800 60'])
  })

  test('the longest has a name', async () => {
    await start(block('org example.org'), { '/skydns/org/example/x': { host: '192.0.2.1' } })
    const apexes = async (name: string): Promise<string | undefined> => (await server!.ask(`${name} AAAA`)).authority[0]?.split(' ')[0]
    expect(await apexes('x.example.org.')).toBe('example.org.')
    expect(await apexes('example.org.')).toBe('example.org.')
    expect(await apexes('xexample.org.')).toBe('org.')
    expect(await apexes('org.')).toBe('org.')
  })

  test('a name with the same end is not within', async () => {
    await start(block('ervices.example', '', 'whoami'))
    expect((await server!.ask('services.example. A')).additional).toHaveLength(2)
    expect((await server!.ask('s\\.ervices.example. A')).additional).toHaveLength(2)
    expect(await told('s.ervices.example. A')).toBe('NXDOMAIN aa rd ra')
  })

  test.each<[string, string, string]>([
    ['SOA', 'NOERROR', 'aa rd ra'],
    ['A', 'NOERROR', 'aa rd ra'],
    ['NS', 'NOERROR', 'aa rd ra'],
    ['DNSKEY', 'NOERROR', 'aa rd ra'],
    ['ANY', 'REFUSED', 'rd'],
    ['AXFR', 'REFUSED', 'rd'],
    ['IXFR', 'REFUSED', 'rd'],
    ['MAILB', 'REFUSED', 'rd'],
    ['TYPE128', 'REFUSED', 'rd'],
    ['TYPE0', 'REFUSED', 'rd'],
    ['OPT', 'REFUSED', 'rd'],
    ['TYPE65280', 'NOERROR', 'aa rd ra']
  ])('an empty one answers %s with %s', async (type, rcode, flags) => {
    await start(block('skydns.local'))
    expect(await server!.ask(`skydns.local. ${type}`)).toMatchObject({ rcode, flags })
  })

  test('a type that a name does not have is no data, with the SOA; NS below the apex too', async () => {
    await start(block('skydns.local'), { '/skydns/local/skydns/web': { host: '192.0.2.1' } })
    const soa = 'skydns.local. 60 SOA ns.dns.skydns.local. hostmaster.skydns.local. 1767225600 28800 7200 604800 60'
    for (const type of ['LOC', 'AAAA', 'NS', 'SOA', 'PTR', 'DS', 'TXT', 'MX', 'CNAME']) {
      expect(await server!.ask(`web.skydns.local. ${type}`)).toMatchObject({
        rcode: 'NOERROR',
        flags: 'aa rd ra',
        answer: [],
        authority: [soa]
      })
    }
    expect(await server!.ask('x.web.skydns.local. NS')).toMatchObject({ rcode: 'NXDOMAIN', flags: 'aa rd ra', authority: [soa] })
  })
})

describe('what falls through', () => {
  const services = { '/skydns/local/skydns/web': { host: '192.0.2.1' } }

  test.each<[string, string, boolean]>([
    ['fallthrough', 'nowhere.skydns.local. A', true],
    ['fallthrough', 'web.skydns.local. AAAA', false],
    ['fallthrough', 'skydns.local. TXT', false],
    ['fallthrough', 'nowhere.skydns.local. ANY', false],
    ['fallthrough a.skydns.local', 'nowhere.skydns.local. A', false],
    ['fallthrough b.example A.skydns.local', 'nowhere.a.skydns.local. A', true],
    ['', 'nowhere.skydns.local. A', false]
  ])('%j: %s', async (option, question, goesOn) => {
    await start(block('skydns.local', option, 'whoami'), services)
    expect((await server!.ask(question)).additional).toHaveLength(goesOn ? 2 : 0)
  })
})

describe('local.dns of the zone', () => {
  const services = { '/skydns/local/skydns/me': { host: '192.0.2.1', port: 5 }, '/skydns/local/skydns/dns/local': { host: '192.0.2.2' } }

  test.each([
    ['local me.skydns.local', 'local.dns.skydns.local. A', 'NOERROR aa rd ra | local.dns.skydns.local. 3600 A 192.0.2.1'],
    [
      'local ME.skydns.local',
      'LOCAL.dns.skydns.local. SRV',
      'NOERROR aa rd ra | LOCAL.dns.skydns.local. 3600 SRV 10 100 5 me.skydns.local.'
    ],
    ['local me.skydns.local', 'x.local.dns.skydns.local. A', 'NXDOMAIN aa rd ra'],
    ['', 'local.dns.skydns.local. A', 'NOERROR aa rd ra | local.dns.skydns.local. 3600 A 192.0.2.2'],
    ['local gone.skydns.local', 'local.dns.skydns.local. A', 'NXDOMAIN aa rd ra'],
    ['local me.elsewhere', 'local.dns.skydns.local. A', 'NOERROR aa rd ra | local.dns.skydns.local. 3600 A 192.0.2.2']
  ])('%j: %s', async (option, question, expected) => {
    await start(block('skydns.local', option), services)
    expect(await told(question)).toBe(expected)
  })
})

describe('a reverse zone', () => {
  const services = {
    '/skydns/arpa/in-addr/10/0/0/1': { host: 'one.skydns.local', ttl: 7 },
    '/skydns/arpa/in-addr/10/0/0/10': { host: 'ten.skydns.local' },
    '/skydns/arpa/in-addr/10/0/0/2/x': { host: 'below.skydns.local' },
    '/skydns/arpa/in-addr/10/0/0/3': { host: '192.0.2.3' },
    '/skydns/arpa/ip6/1/A': { host: 'six.skydns.local', ttl: 5 },
    '/skydns/arpa/ip6/1/a': { host: 'Six.skydns.local' },
    '/skydns/arpa/ip6/1/b': { host: 'a.skydns.local', ttl: 5 },
    '/skydns/arpa/ip6/1/B': { host: 'b.skydns.local' }
  }

  test.each<[string, string, string]>([
    [
      '1.0.0.10.in-addr.arpa. PTR',
      'NOERROR rd ra | 1.0.0.10.in-addr.arpa. 7 PTR one.skydns.local.',
      'NOERROR rd ra | 1.0.0.10.in-addr.arpa. 7 PTR one.skydns.local.'
    ],
    ['2.0.0.10.in-addr.arpa. PTR', 'NOERROR aa rd ra', 'whoami'],
    ['0.0.10.in-addr.arpa. PTR', 'NOERROR aa rd ra', 'whoami'],
    ['3.0.0.10.in-addr.arpa. PTR', 'NOERROR aa rd ra', 'whoami'],
    ['4.0.0.10.in-addr.arpa. PTR', 'NXDOMAIN aa rd ra', 'whoami'],
    ['*.0.0.10.in-addr.arpa. PTR', 'NXDOMAIN aa rd ra', 'whoami'],
    ['1.0.0.10.in-addr.arpa. A', 'NOERROR aa rd ra', 'whoami'],
    ['1.0.0.10.in-addr.arpa. ANY', 'REFUSED rd', 'whoami'],
    [
      'in-addr.arpa. SOA',
      'NOERROR aa rd ra | in-addr.arpa. 3600 SOA ns.dns.in-addr.arpa. hostmaster.in-addr.arpa. 1798761600 28800 7200 604800 60',
      'whoami'
    ],
    ['in-addr.arpa. TXT', 'NOERROR aa rd ra', 'whoami'],
    ['10.in-addr.arpa. SOA', 'NOERROR aa rd ra', 'whoami'],
    ['a.1.ip6.arpa. PTR', 'NOERROR rd ra | a.1.ip6.arpa. 5 PTR six.skydns.local.', 'NOERROR rd ra | a.1.ip6.arpa. 5 PTR six.skydns.local.'],
    [
      'B.1.ip6.arpa. PTR',
      'NOERROR rd ra | B.1.ip6.arpa. 5 PTR a.skydns.local. | B.1.ip6.arpa. 5 PTR b.skydns.local.',
      'NOERROR rd ra | B.1.ip6.arpa. 5 PTR a.skydns.local. | B.1.ip6.arpa. 5 PTR b.skydns.local.'
    ]
  ])('%s', async (question, alone, withFallthrough) => {
    const clock = new TestClock(Date.UTC(2027, 0, 1))
    await start(block('in-addr.arpa ip6.arpa'), services, { clock })
    expect(await told(question)).toBe(alone)
    await server!.stop()
    await start(block('in-addr.arpa ip6.arpa', 'fallthrough', 'whoami'), services)
    const { additional } = await server!.ask(question)
    expect(additional.length === 2 ? 'whoami' : await told(question)).toBe(withFallthrough)
  })
})

describe('a store that cannot be read', () => {
  class Broken extends MemoryStore {
    override subtree(): never {
      throw new Error('MDB_CORRUPTED')
    }
  }

  test.each([
    'x.skydns.local. A',
    'x.skydns.local. SRV',
    'x.skydns.local. LOC',
    'skydns.local. NS',
    'x.skydns.local. CNAME',
    '1.in-addr.arpa. PTR'
  ])('is SERVFAIL with a reason: %s', async (question) => {
    await start(
      `. {\n  errors\n  log "{common} {why}"\n  etcd skydns.local in-addr.arpa {\n    store\n    fallthrough\n  }\n  whoami\n}`,
      new Broken()
    )
    const { rcode, flags, edns, answer, authority } = await server!.ask(question, { edns: 1232 })
    expect({ rcode, flags, answer, authority }).toEqual({ rcode: 'SERVFAIL', flags: 'rd', answer: [], authority: [] })
    expect(edns?.options.map(([code, text]) => [code, Buffer.from(text).toString('latin1')])).toEqual([[15, '\0\0store-failed']])
    const [name, type] = question.split(' ')
    expect(server!.log.lines).toEqual([
      `[ERROR] plugin/errors: 2 ${name} ${type}: MDB_CORRUPTED`,
      expect.stringMatching(/SERVFAIL qr,rd .*store-failed/)
    ])
  })
})
