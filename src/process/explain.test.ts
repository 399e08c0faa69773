import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MemoryStore, serverOf, TestClock, type TestServer } from 'skein/testing'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import type { Pass } from '../chain/step.js'
import type { Message } from '../message/message.js'
import { drop, type Next } from '../plugin.js'
import type { Query } from '../query.js'
import { witnesses } from '../store/reading.js'
import { explain } from './explain.js'
import type { Asked } from './explain-question.js'
import { explainText } from './explain-text.js'

const COREFILE = `. {
  log . "{name}"
  loadbalance
  cache
  etcd skydns.test {
    store ./data
  }
  whoami
}
chaos.test {
  chaos
}`
const services = {
  '/skydns/test/skydns/web': { host: '10.0.0.1' },
  '/skydns/test/skydns/pool/1': { host: '10.0.0.1' },
  '/skydns/test/skydns/pool/2': { host: '10.0.0.2' },
  '/skydns/test/skydns/alias': { host: 'outside.example' }
}

const servers: TestServer[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop()
})

async function server(corefile = COREFILE, served: Record<string, unknown> = services): Promise<TestServer> {
  // Every second draw swaps.
  const started = await serverOf(corefile, {
    services: served,
    clock: new TestClock(),
    random: { below: (limit) => limit - 1 - (limit > 1 ? 1 : 0) }
  })
  servers.push(started)
  return started
}

/** `layer did why`, look-ups in brackets, then what was not asked. */
function outline({ steps, behind }: Pass): string {
  const shown = steps.map(({ layer, did, why, lookUps }) =>
    [layer || 'end', did, ...(why === undefined ? [] : [why]), ...lookUps.map((pass) => `[${pass.question}: ${outline(pass)}]`)].join(' ')
  )
  return [...shown, ...(behind.length === 0 ? [] : [`behind ${behind.join(' ')}`])].join('; ')
}

describe('an explanation tells, of the chain that answers', () => {
  test.each<[asked: Asked, outline: string, rcode: string]>([
    [{ name: 'web.skydns.test', type: 'A' }, 'loadbalance passed on; cache passed on; etcd answered found; behind whoami', 'NOERROR'],
    [
      { name: 'POOL.skydns.test.', type: 'a' },
      'loadbalance changed the answer; cache passed on; etcd answered found; behind whoami',
      'NOERROR'
    ],
    [
      { name: 'no.skydns.test', type: 'A' },
      'loadbalance passed on; cache passed on; etcd answered no-such-name; behind whoami',
      'NXDOMAIN'
    ],
    [
      { name: 'alias.skydns.test', type: 'A' },
      'loadbalance passed on; cache passed on; etcd answered found [outside.example. A: loadbalance passed on; cache passed on; etcd passed on; whoami answered whoami]; behind whoami',
      'NOERROR'
    ],
    [
      { name: 'elsewhere.example', type: 'AAAA' },
      'loadbalance passed on; cache passed on; etcd passed on; whoami answered whoami',
      'NOERROR'
    ],
    [{ name: 'version.bind', type: 'TXT', class: 'CH' }, 'end answered not-served', 'REFUSED'],
    [{ name: 'x.chaos.test', type: 'A' }, 'end answered not-served', 'REFUSED']
  ])('%j', async (asked, expected, rcode) => {
    const { pass, reply } = await explain((await server()).instance, asked)
    expect([outline(pass!), reply?.rcode]).toEqual([expected, rcode])
  })

  test('which keys of the store were read, at which revision, as the store itself saw it', async () => {
    const { instance } = await server()
    const { pass } = await explain(instance, { name: 'web.skydns.test', type: 'A' })
    expect(pass?.steps.at(-1)?.from).toEqual({ kind: 'store', keys: ['/skydns/test/skydns/web'], revision: 5 })
  })

  test('for how long a cache has had it, which keys that rests on, and what is behind it now', async () => {
    const started = await server()
    const clock = started.instance.serving.clock as TestClock
    await started.ask('web.skydns.test. A', { edns: 1232 })
    clock.advance(12_400)
    const explained = await explain(started.instance, { name: 'web.skydns.test', type: 'A' })
    const { pass, reply } = explained
    expect(outline(pass!)).toBe('loadbalance passed on; cache answered cached; behind etcd whoami')
    expect(pass?.steps.at(-1)?.from).toEqual({ kind: 'cache', keys: ['/skydns/test/skydns/web'], revision: 5, age: 12 })
    expect(outline(pass!.now!)).toBe('etcd answered found; behind whoami')
    expect(reply?.answer).toEqual(['web.skydns.test. 3588 A 10.0.0.1'])
    expect(explainText(explained, () => undefined)).toContain(`
  behind       not asked: etcd, whoami
  behind the cache, asked now:
    . in the server block Corefile:1
      etcd    answered: found, 0 ms
              from store, revision 5, read /skydns/test/skydns/web
      behind  not asked: whoami

NOERROR`)
  })

  test('the keys of a replica alone, and not what stands for all of them', async () => {
    const store = MemoryStore.of({ '/skydns/test/skydns/web': { host: '192.0.2.1' } })
    store.feed = { state: 'live', path: '/skydns', why: undefined }
    const started = await serverOf('. {\n  cache\n  etcd skydns.test\n}', { services: store })
    servers.push(started)
    const asked = { name: 'web.skydns.test', type: 'A' }
    const first = await explain(started.instance, asked)
    expect(explainText(first, () => undefined)).toMatch(/from store, revision \d+, read \/skydns\/test\/skydns\/web\n/)
    const cached = await explain(started.instance, asked)
    expect(explainText(cached, () => undefined)).not.toContain('key of the store')
  })

  test('which keys the answer of a cache inside of a look-up rests on', async () => {
    const [from, to] = [
      'skydns.test {\n  etcd skydns.test {\n    store ./data\n  }\n}',
      '. {\n  cache\n  etcd b.test {\n    store ./data\n  }\n}'
    ]
    const store = { '/skydns/test/skydns/out': { host: 'web.b.test' }, '/skydns/test/b/web': { host: '10.0.0.1' } }
    const started = await server(`${from}\n${to}`, store)
    await explain(started.instance, { name: 'web.b.test', type: 'A' })
    const { pass } = await explain(started.instance, { name: 'out.skydns.test', type: 'A' })
    expect(outline(pass!)).toBe('etcd answered found [web.b.test. A: cache answered cached; behind etcd]')
    const [step] = pass!.steps
    expect([step!.from?.keys, step!.from?.unnamedKeys]).toEqual([['/skydns/test/skydns/out', '/skydns/test/b/web'], undefined])
    expect(outline(step!.lookUps[0]!.now!)).toBe('etcd answered found')
  })

  test('what each layer took, without those behind it', async () => {
    const started = await server('. {\n  etcd skydns.test {\n    store ./data\n  }\n}')
    const clock = started.instance.serving.clock as TestClock
    const { layer } = started.instance.blocks[0]!.chain.configured[0]!
    const handle = layer.handle!.bind(layer)
    Object.assign(layer, {
      handle: async (...args: Parameters<typeof handle>) => {
        await Promise.resolve()
        clock.advance(7)
        return handle(...args)
      }
    })
    const { pass, took } = await explain(started.instance, { name: 'web.skydns.test', type: 'A' })
    expect([pass?.steps.map((step) => step.took), took]).toEqual([[7], 7])
  })

  test('what a look-up took, and not what came after it', async () => {
    const started = await server()
    const clock = started.instance.serving.clock as TestClock
    const { layer } = started.instance.blocks[0]!.chain.configured.find(({ directive }) => directive.name === 'cache')!
    const handle = layer.handle!.bind(layer)
    Object.assign(layer, {
      handle: async (...[query, next]: Parameters<typeof handle>) => {
        const reply = await handle(query, next)
        clock.advance(query.depth > 0 ? 3 : 5)
        return reply
      }
    })
    const { pass } = await explain(started.instance, { name: 'alias.skydns.test', type: 'A' })
    const lookUps = pass!.steps.flatMap((step) => step.lookUps)
    expect([pass!.took, ...lookUps.map(({ took }) => took)]).toEqual([8, 3])
  })

  test('the faults of a plugin, and what the client gets then', async () => {
    const started = await server()
    const { layer } = started.instance.blocks[0]!.chain.configured.find(({ directive }) => directive.name === 'etcd')!
    Object.assign(layer, {
      handle: () => {
        throw new Error('broken\nfor good')
      }
    })
    const { pass, reply } = await explain(started.instance, { name: 'web.skydns.test', type: 'A' })
    expect(pass?.steps.map(({ layer: name, did, notes }) => [name, did, ...notes])).toEqual([
      ['loadbalance', 'failed', 'broken for good'],
      ['cache', 'failed', 'broken for good'],
      ['etcd', 'failed', 'broken for good']
    ])
    expect(reply?.rcode).toBe('SERVFAIL')
    expect(started.log.lines).toEqual([])
  })
})

describe('what a layer does with the layers behind it is told,', () => {
  const elsewhere = (query: Query): Query => query.with({ qname: 'else.test.' })

  test.each<[title: string, handle: (query: Query, next: Next) => unknown, step: string]>([
    ['it passes on', (query, next) => next(query), 'passed on'],
    ['it asks something else', (query, next) => next(elsewhere(query)), 'changed the question: asked else.test. A of the layers behind it'],
    [
      'it asks something else as well',
      async (query, next) => (await Promise.all([next(query), next(elsewhere(query))]))[0],
      'passed on: asked else.test. A of the layers behind it'
    ],
    [
      'it asks as another client',
      (query, next) => next(query.with({ client: { ...query.client, address: '192.0.2.9' } })),
      'passed on: asked of the layers behind it as 192.0.2.9'
    ],
    [
      'it answers without waiting for them',
      (query, next) => {
        void Promise.resolve().then(() => next(query))
        return query.fail('REFUSED', 'mine')
      },
      'answered mine: asked of the layers behind it, and did not wait'
    ],
    [
      'it asks them, and answers by itself before they do',
      async (query, next) => {
        void next(query.with({ qname: 'late.test.' }))
        return query.fail('REFUSED', 'mine')
      },
      'answered mine: asked late.test. A of the layers behind it, and did not wait'
    ],
    [
      'it answers where they have failed',
      async (query, next) => {
        try {
          return await next(query.with({ qname: 'fails.test.' }))
        } catch {
          return query.fail('REFUSED', 'mine')
        }
      },
      'changed the answer mine: asked fails.test. A of the layers behind it, which failed'
    ],
    [
      'it changes what they answer',
      async (query, next) => ((await next(query)) as Message).with({ rcode: 'NXDOMAIN', why: 'mine' }),
      'changed the answer mine: rcode: NOERROR, now NXDOMAIN'
    ],
    ['it drops what they answer', async (query, next) => (await next(query)) && drop, 'sent nothing']
  ])('%s', async (_title, handle, expected) => {
    const started = await server('. {\n  loadbalance\n  whoami\n}')
    const [first, last] = started.instance.blocks[0]!.chain.configured
    Object.assign(first!.layer, { handle })
    const answers = last!.layer.handle!.bind(last!.layer)
    const behind = async (query: Query, next: Next): Promise<unknown> => {
      if (query.qname === 'fails.test.') throw new Error('no')
      if (query.qname === 'late.test.') await new Promise((resolve) => setTimeout(resolve, 20))
      return answers(query, next)
    }
    Object.assign(last!.layer, { handle: behind })
    const { pass } = await explain(started.instance, { name: 'a.test', type: 'A' })
    const { did, why, notes } = pass!.steps[0]!
    expect(`${did}${why === undefined ? '' : ` ${why}`}${notes.length === 0 ? '' : `: ${notes.join('; ')}`}`).toBe(expected)
  })
})

describe('what a plugin does wrong is told of, and what the client gets then', () => {
  const reply = (parts: object) => (query: Query) => query.reply(parts)
  const hostile = 'one\n[ERROR] two\u001b[31m\u009b'

  test.each<[title: string, handle: (query: Query, next: Next) => unknown, steps: string[], fault: string | undefined]>([
    ['it throws nothing', () => Promise.reject(), ['failed: undefined'], undefined],
    [
      'it gives what is no reply',
      () => 5,
      ['failed: it returned no reply'],
      'a plugin returned no reply: did it forget to return next(query)?'
    ],
    [
      'it gives nothing, later',
      async () => undefined,
      ['failed: it returned no reply'],
      'a plugin returned no reply: did it forget to return next(query)?'
    ],
    [
      'it gives what cannot be written',
      reply({ answer: [{ owner: 'a.', type: 'A', ttl: 5, rdata: 'zz' }], why: 'found' }),
      ['answered found'],
      'the rdata of a. A must be an IPv4 address, not "zz"'
    ],
    [
      'its words are for several lines, and for a terminal',
      reply({ rcode: 'SERVFAIL', why: hostile, problem: hostile, extendedErrors: [{ code: 0, text: hostile }] }),
      ['answered one [ERROR] two [31m: one [ERROR] two [31m'],
      undefined
    ],
    ['it asks twice', (query, next) => next(query) && next(query), ['passed on', 'answered whoami', 'answered whoami'], undefined]
  ])('%s', async (_title, handle, expected, fault) => {
    const started = await server('. {\n  loadbalance\n  whoami\n}')
    const { layer } = started.instance.blocks[0]!.chain.configured[0]!
    Object.assign(layer, { handle })
    const explained = await explain(started.instance, { name: 'a.example', type: 'A' })
    const { pass, reply: got } = explained
    expect(
      pass?.steps.map(
        ({ did, why, notes }) => `${did}${why === undefined ? '' : ` ${why}`}${notes.length === 0 ? '' : `: ${notes.join('; ')}`}`
      )
    ).toEqual(expected)
    expect(pass?.fault).toBe(fault)
    expect(got?.rcode).toBe(fault !== undefined || !expected[0]!.startsWith('passed') ? 'SERVFAIL' : 'NOERROR')
    const text = explainText(explained, () => undefined)
    expect(text).not.toMatch(/^\[ERROR\]|[^\P{Cc}\n]/mu)
    if (fault !== undefined) expect(text).toContain(`fault   ${' '.repeat('loadbalance'.length - 'fault '.length)}${fault}`)
  })

  test('it never answers, which holds up the explanation for 20 s alone; keys are not noted any longer then', async () => {
    const started = await server()
    const clock = started.instance.serving.clock as TestClock
    const { layer } = started.instance.blocks[0]!.chain.configured.find(({ directive }) => directive.name === 'etcd')!
    Object.assign(layer, { handle: () => new Promise(() => {}) })
    const explaining = explain(started.instance, { name: 'web.skydns.test', type: 'A' })
    clock.advance(19_999)
    expect(witnesses.size).toBe(1)
    clock.advance(1)
    const explained = await explaining
    expect(outline(explained.pass!)).toBe('loadbalance is waiting; cache is waiting; etcd is waiting; behind whoami')
    expect([explained.reply, witnesses.size]).toEqual([undefined, 0])
    expect(explainText(explained, () => undefined)).toMatch(/\nnothing was sent within 20 s\n$/)
  })
})

test('nobody who counts or logs queries is told of one that is explained', async () => {
  const started = await server()
  await explain(started.instance, { name: 'web.skydns.test', type: 'A' })
  expect(started.log.lines).toEqual([])
  await started.ask('web.skydns.test. A')
  expect(started.log.lines).toHaveLength(1)
})

test('as text it is read from top to bottom', async () => {
  const started = await server()
  const explained = await explain(started.instance, { name: 'alias.skydns.test', type: 'A', do: true })
  expect(
    explainText(explained, (why) => (why === 'found' ? 'the store has it' : undefined))
  ).toBe(`alias.skydns.test. A of 127.0.0.1, with DO, asked at 0.0.0.0:53

. in the server block Corefile:1
  loadbalance  passed on, 0 ms
  cache        passed on, 0 ms
  etcd         answered: found (the store has it), 0 ms
               from store, revision 5, read /skydns/test/skydns/alias
               looked up outside.example. A:
                 . in the server block Corefile:1
                   loadbalance  passed on, 0 ms
                   cache        passed on, 0 ms
                   etcd         passed on, 0 ms
                                the name is in none of its zones
                   whoami       answered: whoami, 0 ms
  behind       not asked: whoami

NOERROR AA RA, 75 octets, in 0 ms
answer:
  alias.skydns.test. 3600 CNAME outside.example.
`)
})

describe('a plugin that returns what is no reply has failed', () => {
  const folder = mkdtempSync(join(tmpdir(), 'skein-explain-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  test.each([
    ['nothing, though the one behind it answered', 'next(query); return'],
    ['nothing, later', 'return Promise.resolve(next(query)).then(() => {})'],
    ['an object', 'next(query); return {}']
  ])('%s', async (_title, body) => {
    // Node imports a file once.
    const path = `odd-${body.length}.mjs`
    const source = `export default { name: 'odd', api: 1, setup: () => ({ handle(query, next) { ${body} } }) }`
    writeFileSync(join(folder, path), source)
    const file = join(folder, 'Corefile')
    const started = await serverOf(`. {\n  plugin ./${path}\n  odd\n  whoami\n  order odd before whoami\n}`, { file })
    servers.push(started)
    const { pass, reply } = await explain(started.instance, { name: 'a.test', type: 'A' })
    expect(pass!.steps.map(({ layer, did, notes }) => [layer, did, ...notes])).toEqual([
      ['odd', 'failed', 'it returned no reply'],
      ['whoami', 'answered']
    ])
    expect(reply!.rcode).toBe('SERVFAIL')
  })
})
