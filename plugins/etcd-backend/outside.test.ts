import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Message, Query } from 'skein/plugin'
import { serverOf, TestClock, type TestServer } from 'skein/testing'
import { afterAll, afterEach, describe, expect, test } from 'vitest'

const folder = mkdtempSync(join(tmpdir(), 'skein-etcd-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const file = join(folder, 'Corefile')

function install(name: string, more: string): void {
  const at = join(folder, 'node_modules', `skein-plugin-${name}`)
  mkdirSync(at, { recursive: true })
  writeFileSync(join(at, 'package.json'), JSON.stringify({ type: 'module', exports: './index.js' }))
  writeFileSync(join(at, 'index.js'), `export default { name: '${name}', api: 1, ${more} }`)
}

/** What the world outside says, by the first label of `….example.`; queries that reach it are kept. */
const world = {
  asked: [] as Query[],
  answers: {
    web: (query) => query.reply({ ra: true, answer: [address(query, '192.0.2.9')] }),
    two: (query) => query.reply({ ra: true, answer: [address(query, '192.0.2.8'), address(query, '192.0.2.7')] }),
    alias: (query) =>
      query.reply({ ra: true, answer: [cname('Alias.example.', 'web.example.'), address(query, '192.0.2.9', 'WEB.example.')] }),
    loop: (query) => query.reply({ answer: [cname('loop.example.', 'loop.example.')] }),
    mixed: (query) => query.reply({ answer: [address(query, '192.0.2.6', 'other.example.'), address(query, '192.0.2.9')] }),
    empty: (query) => query.reply({}),
    gone: (query) => query.fail('NXDOMAIN', 'forwarded'),
    servfail: (query) => query.fail('SERVFAIL', 'upstream-failed', { problem: 'timeout' }),
    refused: (query) => query.fail('REFUSED', 'forwarded'),
    ndots: (query) => query.fail('SERVFAIL', 'ndots', { ra: true, origin: { kind: 'none' } }),
    norec: (query) => query.fail('SERVFAIL', 'no-recursion', { origin: { kind: 'none' } }),
    drop: () => Symbol.for('skein.drop') as never,
    throw: () => {
      throw new Error('boom')
    }
  } as Record<string, (query: Query) => Message>
}

function address(query: Query, ipv4: string, owner = query.qname) {
  return query.qtype === 'AAAA'
    ? ({ owner, type: 'AAAA', ttl: 999, rdata: `::ffff:${ipv4}` } as const)
    : ({ owner, type: 'A', ttl: 999, rdata: ipv4 } as const)
}

function cname(owner: string, target: string) {
  return { owner, type: 'CNAME', ttl: 999, rdata: target } as const
}

Object.assign(globalThis, {
  etcdWorld: (query: Query) => {
    world.asked.push(query)
    return world.answers[query.qname.split('.')[0]!]!(query)
  },
  etcdReplies: [] as Message[]
})
const replies = (globalThis as unknown as { etcdReplies: Message[] }).etcdReplies
install('world', 'setup: () => ({ handle: async (query) => { await null; return globalThis.etcdWorld(query) } })')
install(
  'spy',
  `order: { before: 'etcd' }, setup: () => ({
    handle(query, next) {
      const reply = next(query)
      Promise.resolve(reply).then((late) => globalThis.etcdReplies.push(late), () => {})
      return reply
    }
  })`
)

let server: TestServer | undefined
afterEach(async () => {
  await server?.stop()
  server = undefined
  world.asked.length = 0
  replies.length = 0
})

/** Asks for `a.z.` where these hosts are under it. */
async function told(hosts: readonly string[], type = 'A', rest = 'world'): Promise<string> {
  const services = Object.fromEntries(hosts.map((host, index) => [`/skydns/z/a/${index}`, { host }]))
  server = await serverOf(`. {\n  etcd z {\n    store\n  }\n  ${rest}\n}`, { file, services })
  const { rcode, answer, additional } = await server.ask(`a.z. ${type}`)
  return [rcode, ...answer, ...additional].join(' | ')
}

describe('a name outside the zone is asked of the server itself', () => {
  test.each<[string, readonly string[], string]>([
    [
      'and its addresses follow, with the TTL of what is looked up',
      ['web.example'],
      'NOERROR | a.z. 60 CNAME web.example. | web.example. 60 A 192.0.2.9'
    ],
    [
      'so do its CNAMEs',
      ['alias.example'],
      'NOERROR | a.z. 60 CNAME alias.example. | alias.example. 60 CNAME web.example. | web.example. 60 A 192.0.2.9'
    ],
    [
      'records that it does not lead to do not',
      ['mixed.example'],
      'NOERROR | a.z. 60 CNAME mixed.example. | mixed.example. 60 A 192.0.2.9'
    ],
    ['one that has no address is a CNAME alone', ['empty.example'], 'NOERROR | a.z. 3600 CNAME empty.example.'],
    ['one that does not exist is left out', ['gone.example'], 'NOERROR'],
    ['one that is not asked is left out: ndots', ['ndots.example'], 'NOERROR'],
    ['one that is not asked is left out: no_rec', ['norec.example'], 'NOERROR'],
    ['one that fails is SERVFAIL where nothing else is left', ['servfail.example'], 'SERVFAIL'],
    ['one that is refused too', ['refused.example'], 'SERVFAIL'],
    ['one that is not answered too', ['drop.example'], 'SERVFAIL'],
    ['one whose plugin throws too', ['throw.example'], 'SERVFAIL'],
    ['one that leads to itself too', ['loop.example'], 'SERVFAIL'],
    [
      'several give their addresses',
      ['web.example', 'two.example'],
      'NOERROR | a.z. 60 A 192.0.2.9 | a.z. 60 A 192.0.2.8 | a.z. 60 A 192.0.2.7'
    ],
    ['others still answer: failed', ['servfail.example', 'web.example'], 'NOERROR | a.z. 60 A 192.0.2.9'],
    ['others still answer: thrown', ['throw.example', 'web.example', '192.0.2.1'], 'NOERROR | a.z. 60 A 192.0.2.9 | a.z. 60 A 192.0.2.1'],
    ['others still answer: gone', ['gone.example', '192.0.2.1'], 'NOERROR | a.z. 3600 A 192.0.2.1'],
    ['failed and gone is failed', ['gone.example', 'servfail.example'], 'SERVFAIL']
  ])('%s', async (_title, hosts, expected) => {
    expect(await told(hosts)).toBe(expected)
  })

  test('nobody serves it: it is left out', async () => {
    expect(await told(['web.example'], 'A', '')).toBe('NOERROR')
  })

  test('with SERVFAIL comes the reason, for the client and for the log', async () => {
    server = await serverOf('. {\n  errors\n  etcd z {\n    store\n  }\n  world\n}', {
      file,
      services: { '/skydns/z/a': { host: 'servfail.example' } }
    })
    const { edns, flags } = await server.ask('a.z. A', { edns: 1232 })
    expect([flags, edns?.options.map(([code, data]) => [code, Buffer.from(data).toString('latin1')])]).toEqual([
      'rd ra',
      [[15, '\0\x16target-failed']]
    ])
    expect(server.log.lines).toEqual([
      '[ERROR] plugin/errors: 2 servfail.example. A: timeout',
      '[ERROR] plugin/errors: 2 a.z. A: the name that a.z. leads to could not be looked up'
    ])
  })

  test('each once a query, all at once, one deeper and with RD', async () => {
    await told(['web.example', 'two.example', 'web.example'], 'SRV')
    expect(world.asked.map(({ qname, qtype, depth, rd }) => `${qname} ${qtype} ${depth} ${rd}`)).toEqual([
      'web.example. A 1 true',
      'web.example. AAAA 1 true',
      'two.example. A 1 true',
      'two.example. AAAA 1 true'
    ])
  })

  test.each<[string, string, string]>([
    [
      'SRV',
      'web.example',
      'NOERROR | a.z. 3600 SRV 10 100 0 web.example. | web.example. 60 A 192.0.2.9 | web.example. 60 AAAA ::ffff:192.0.2.9'
    ],
    ['SRV', 'servfail.example', 'NOERROR | a.z. 3600 SRV 10 100 0 servfail.example.'],
    ['SRV', 'throw.example', 'NOERROR | a.z. 3600 SRV 10 100 0 throw.example.'],
    ['SRV', 'gone.example', 'NOERROR | a.z. 3600 SRV 10 100 0 gone.example.'],
    ['CNAME', 'servfail.example', 'NOERROR']
  ])('%s has its target whatever became of it: %s', async (type, host, expected) => {
    expect(await told([host], type)).toBe(expected)
  })

  test('in another server block it is found there', async () => {
    server = await serverOf('z {\n  etcd {\n    store\n  }\n}\ny {\n  etcd {\n    store\n  }\n}', {
      services: {
        '/skydns/z/a': { host: 'b.y' },
        '/skydns/y/b': { host: 'c.z' },
        '/skydns/z/c': { host: '192.0.2.1' },
        '/skydns/z/l': { host: 'l.y' },
        '/skydns/y/l': { host: 'l.z' }
      }
    })
    expect((await server.ask('a.z. A')).answer).toEqual(['a.z. 60 CNAME b.y.', 'b.y. 60 CNAME c.z.', 'c.z. 60 A 192.0.2.1'])
    // Two zones that name each other end too.
    expect(await server.ask('l.z. A')).toMatchObject({ rcode: 'SERVFAIL', answer: [] })
  })
})

describe('addresses of targets outside', () => {
  test('are left out where they do not come within a second, and an answer that rests on them waits', async () => {
    let answerNow = (): void => {}
    const late = new Promise<void>((resolve) => {
      answerNow = resolve
    })
    world.answers.late = ((query: Query) => late.then(() => query.reply({ answer: [address(query, '192.0.2.9')] }))) as never
    const clock = new TestClock()
    server = await serverOf('. {\n  etcd z {\n    store\n  }\n  world\n}', {
      file,
      clock,
      services: { '/skydns/z/srv': { host: 'late.example', port: 1 } }
    })
    const srv = server.ask('srv.z. SRV')
    const a = server.ask('srv.z. A')
    await new Promise(setImmediate)
    clock.advance(1000)
    expect(await srv).toMatchObject({ answer: ['srv.z. 3600 SRV 10 100 1 late.example.'], additional: [] })
    answerNow()
    expect((await a).answer).toContain('late.example. 60 A 192.0.2.9')
  })
})

describe('what comes after the services', () => {
  test('fails for itself where they let a name fall through', async () => {
    install('boom', 'setup: () => ({ handle: () => { throw new Error("boom") } })')
    server = await serverOf('. {\n  etcd z {\n    store\n    fallthrough\n  }\n  boom\n}', { file })
    const { rcode, edns } = await server.ask('a.z. A', { edns: 1232 })
    // Not a word of the store.
    expect([rcode, edns?.options.map(([code, data]) => [code, Buffer.from(data).toString('latin1')])]).toEqual([
      'SERVFAIL',
      [[15, '\0\0fault']]
    ])
    expect(server.log.lines).toEqual(['[ERROR] a.z. A: the plugin boom failed: Error: boom (at index.js:1)'])
  })
})

describe('a reply says what of the store it rests on', () => {
  const services = {
    '/skydns/z/a': { host: '192.0.2.1' },
    '/skydns/z/b': { host: 'a.z' },
    '/skydns/z/Dns/ns/x': { host: '192.0.2.1' },
    '/skydns/arpa/in-addr/1': { host: 'a.z' }
  }

  /** FNV-1a over the folded segments, as the store hashes what changes. */
  function hashOf(path: string): number {
    let hash = 0x811c9dc5
    for (const segment of path.split('/')) {
      for (const octet of segment) hash = Math.imul(hash ^ octet.charCodeAt(0), 0x01000193)
      hash = Math.imul(hash ^ 0x100, 0x01000193)
    }
    return hash >>> 0
  }

  test.each<[string, readonly string[]]>([
    ['a.z. A', ['skydns/z/a']],
    ['A.Z. SRV', ['skydns/z/a']],
    ['b.z. A', ['skydns/z/b', 'skydns/z/a']],
    ['b.z. CNAME', ['skydns/z/b', 'skydns/z/b']],
    ['x.y.*.z. A', ['skydns/z']],
    ['x.*.a.z. A', ['skydns/z/a']],
    ['x.*.a.z. LOC', ['skydns/z/a']],
    ['x.y.*.z. LOC', []],
    ['a.z. LOC', ['skydns/z/a']],
    ['a.z. NS', ['skydns/z/a']],
    ['a.z. CNAME', ['skydns/z/a', 'skydns/z/a']],
    ['nowhere.z. TXT', ['skydns/z/nowhere']],
    ['nowhere.z. LOC', ['skydns/z/nowhere']],
    ['nowhere.z. CNAME', ['skydns/z/nowhere', 'skydns/z/nowhere']],
    ['z. TXT', ['skydns/z']],
    ['z. LOC', []],
    ['nowhere.z. A', ['skydns/z/nowhere']],
    ['a.z. AAAA', ['skydns/z/a']],
    ['z. NS', ['skydns/z/dns/ns']],
    ['z. SOA', []],
    ['1.in-addr.arpa. PTR', ['skydns/arpa/in-addr/1']],
    ['2.in-addr.arpa. PTR', ['skydns/arpa/in-addr/2', 'skydns/arpa/in-addr/2']]
  ])('%s', async (question, paths) => {
    server = await serverOf('. {\n  spy\n  etcd z in-addr.arpa {\n    store\n  }\n}', { file, services })
    await server.ask(question)
    expect(replies.map(({ origin }) => origin)).toEqual([{ kind: 'store', reads: paths.map(hashOf), revision: 5 }])
  })

  test('what look-ups in another zone have read included, and what was read before the query fell through', async () => {
    const corefile = '. {\n  spy\n  etcd z {\n    store\n    fallthrough\n  }\n  witness\n}\ny {\n  etcd {\n    store\n  }\n}'
    install(
      'witness',
      `setup: () => ({ handle: (query) => query.reply({ origin: { kind: 'witness', reads: query.get({ name: 'store/reads' }).reads } }) })`
    )
    server = await serverOf(corefile, { file, services: { '/skydns/z/a': { host: 'b.y' }, '/skydns/y/b': { host: '192.0.2.1' } } })
    expect((await server.ask('a.z. A')).answer).toEqual(['a.z. 60 CNAME b.y.', 'b.y. 60 A 192.0.2.1'])
    await server.ask('nowhere.z. A')
    expect(replies.map(({ origin }) => origin?.reads)).toEqual([[hashOf('skydns/z/a'), hashOf('skydns/y/b')], [hashOf('skydns/z/nowhere')]])
  })
})
