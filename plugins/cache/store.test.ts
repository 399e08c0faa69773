import { keyOfPath, type Query, type Reply } from 'skein/plugin'
import { MemoryStore, serverOf, TestClock } from 'skein/testing'
import { afterEach, describe, expect, test } from 'vitest'
import { type Act, address, shown, soa, startScripted, upstream } from './scripted-upstream.js'

const open: { readonly stop: () => Promise<void> }[] = []
afterEach(async () => {
  for (const one of open.splice(0)) await one.stop()
})

const web = '/skydns/local/skydns/web'
const services = (): MemoryStore =>
  MemoryStore.of({
    [`${web}/1`]: { host: '10.0.0.1', ttl: 300 },
    [`${web}/2`]: { host: '10.0.0.2', ttl: 300 },
    '/skydns/local/skydns/other': { host: '10.0.0.9', ttl: 2 },
    '/skydns/local/skydns/out': { host: 'www.example.org', ttl: 300 },
    '/skydns/local/skydns/long': { host: '10.0.0.8', ttl: 86400 }
  })

async function stored(options = '', act: Act = address(60), cache?: string) {
  const store = services()
  const clock = new TestClock()
  const etcd = `log "{common} {why}"\netcd skydns.local {\nstore\nttl 86400\n${options}\n}`
  const running = await startScripted((corefile, file) => serverOf(corefile, { file, clock, services: store }), act, cache, etcd)
  open.push(running)
  const { server } = running
  return Object.assign(running, {
    store,
    clock,
    told: async (question: string) => shown(await server.ask(question)),
    /** Whether the question is answered from the cache. */
    isHit: async (question: string) => {
      await server.ask(question)
      return server.log.lines.findLast((line) => line.startsWith('[INFO] 192.0.2.1'))!.endsWith(' cached')
    }
  })
}

const put = (store: MemoryStore, path: string, value: object): void => store.put(keyOfPath(path), JSON.stringify(value))

describe('an answer of the store is kept', () => {
  test('with AA, as long as its TTL says', async () => {
    const { told, clock, isHit } = await stored()
    await told('web.skydns.local. A')
    clock.advance(10_000)
    expect(await told('web.skydns.local. A')).toMatch(/^NOERROR aa rd ra: web\.skydns\.local\. 290 A 10\.0\.0\.\d \+ /)
    clock.advance(290_000)
    expect(await isHit('web.skydns.local. A')).toBe(false)
  })

  test.each([
    ['no longer than its TTL', 'cache', 'other.skydns.local. A', 2],
    ['longer where a least TTL is written', 'cache {\nsuccess 100 3600 4\n}', 'other.skydns.local. A', 4],
    ['as long as its TTL', 'cache', 'long.skydns.local. A', 86400],
    ['no longer than the TTL that is written', 'cache 30', 'long.skydns.local. A', 30]
  ])('%s', async (_title, cache, question, seconds) => {
    const { clock, isHit } = await stored('', address(60), cache)
    expect(await isHit(question)).toBe(false)
    clock.advance(seconds * 1000 - 1)
    expect(await isHit(question)).toBe(true)
    clock.advance(1)
    expect(await isHit(question)).toBe(false)
  })
})

describe('a change of the store flushes what has read it, at once:', () => {
  test.each<[string, string, string, boolean]>([
    ['the key itself', 'web.skydns.local. A', `${web}/1`, false],
    ['a new key below', 'web.skydns.local. SRV', `${web}/3`, false],
    ['a key below that is answered for the name above', 'skydns.local. A', `${web}/3`, false],
    ['a name that did not exist', 'new.skydns.local. A', '/skydns/local/skydns/new', false],
    ['a name that had no such record', 'web.skydns.local. AAAA', `${web}/3`, false],
    ['a pattern', '*.skydns.local. A', `${web}/3`, false],
    ['a pattern that matched nothing', '1.*.new.skydns.local. A', '/skydns/local/skydns/new/a/1', false],
    ['but not a name beside', 'other.skydns.local. A', `${web}/1`, true],
    ['nor a name whose label only begins alike', 'web.skydns.local. A', `${web}2/1`, true],
    ['nor what is above a name that did not exist', 'new.skydns.local. A', '/skydns/local/skydns/newer', true]
  ])('%s', async (_title, question, path, stays) => {
    const { store, isHit } = await stored()
    expect(await isHit(question)).toBe(false)
    expect(await isHit(question)).toBe(true)
    put(store, path, { host: '10.1.1.1' })
    expect(await isHit(question)).toBe(stays)
  })

  test('a key that goes', async () => {
    const { store, told } = await stored()
    expect(await told('other.skydns.local. A')).toContain('10.0.0.9')
    store.delete(keyOfPath('/skydns/local/skydns/other'))
    expect(await told('other.skydns.local. A')).toMatch(/^NXDOMAIN/)
  })

  test('an answer of somebody else to a name that was not there', async () => {
    const { store, isHit, told } = await stored('fallthrough')
    expect(await told('new.skydns.local. A')).toBe('NOERROR rd ra: new.skydns.local. 60 A 192.0.2.1')
    expect(await isHit('new.skydns.local. A')).toBe(true)
    put(store, '/skydns/local/skydns/new', { host: '10.1.1.1' })
    expect(await told('new.skydns.local. A')).toContain('aa rd ra: new.skydns.local. 86400 A 10.1.1.1')
  })

  test('an answer that has come while it was changed', async () => {
    let answer = (): void => {}
    const { store, server, told, isHit } = await stored(
      'fallthrough',
      (query) => new Promise<Reply>((resolve) => (answer = () => resolve(address(60)(query))))
    )
    const slow = server.ask('new.skydns.local. A')
    put(store, '/skydns/local/skydns/new', { host: '10.1.1.1' })
    answer()
    expect((await slow).answer).toEqual(['new.skydns.local. 60 A 192.0.2.1'])
    expect(await told('new.skydns.local. A')).toContain('10.1.1.1')
    const other = server.ask('gone.skydns.local. A')
    put(store, '/skydns/local/skydns/other', { host: '10.1.1.1' })
    answer()
    await other
    expect(await isHit('gone.skydns.local. A')).toBe(true)
  })

  test('an answer made of look-ups of the server for itself, which are kept too', async () => {
    const act = (query: Query): Reply => (query.qtype === 'A' ? address(60)(query) : upstream(query, { authority: [soa(60, 60)] }))
    const { store, asked, told, isHit } = await stored('', act)
    expect(await told('out.skydns.local. A')).toContain('192.0.2.1')
    expect(await isHit('out.skydns.local. A')).toBe(true)
    put(store, '/skydns/local/skydns/out/1', { host: 'www.example.org', priority: 2 })
    expect(await isHit('out.skydns.local. A')).toBe(false)
    expect(asked).toEqual(['www.example.org. A'])
  })

  test.each(['skydns', 'elsewhere'])('an answer made of a look-up in another zone of the store, below /%s', async (path) => {
    const store = MemoryStore.of({
      '/skydns/local/one/a': { host: 'b.two.local' },
      [`/${path}/local/two/b`]: { host: '10.0.0.1' }
    })
    const block = (zone: string, where: string): string => `${zone} {\ncache\netcd {\nstore\npath /${where}\n}\n}`
    const server = await serverOf(`${block('one.local', 'skydns')}\n${block('two.local', path)}`, { services: store })
    open.push({ stop: () => server.stop() })
    const last = async (): Promise<string | undefined> => (await server.ask('a.one.local. A')).answer.at(-1)
    expect(await last()).toMatch(/ A 10\.0\.0\.1$/)
    put(store, `/${path}/local/two/b`, { host: '10.0.0.2' })
    expect(await last()).toMatch(/ A 10\.0\.0\.2$/)
  })
})

test('what the server looks up for itself is not told to clients who may not ask for it', async () => {
  const act = (query: Query): Reply =>
    query.depth === 0 ? query.fail('SERVFAIL', 'no-recursion', { origin: { kind: 'none' } }) : address(60)(query)
  const { server, told } = await stored('', act)
  expect(await told('out.skydns.local. A')).toContain('192.0.2.1')
  expect((await server.ask('www.example.org. A')).rcode).toBe('SERVFAIL')
})

test('what clients have asked for is known to the server itself', async () => {
  const { server, asked, told } = await stored()
  await server.ask('www.example.org. A')
  expect(await told('out.skydns.local. A')).toContain('192.0.2.1')
  expect(asked).toHaveLength(1)
})

test('a cache that stops hears of no change', async () => {
  const running = await stored()
  await running.server.ask('web.skydns.local. A')
  await running.server.stop()
  put(running.store, `${web}/1`, { host: '10.0.0.1' })
  expect(running.server.log.lines.filter((line) => line.startsWith('[ERROR]'))).toEqual([])
})
