/** What a cache keeps over a reload, and what it must not. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { freePort } from './processes.js'
import { block, folder, install, put, read, started, stopServers } from './reloading.js'

afterEach(stopServers)

const bound = (addresses: string, ...[zone = '', ...lines]: string[]): string =>
  block(zone, ...lines).replace('bind 127.0.0.1', `bind ${addresses}`)

for (const word of ['one', 'two']) {
  const handle = `(query) => query.reply({ answer: [{ owner: query.qname, type: 'TXT', ttl: 60, rdata: ['${word}'] }] })`
  writeFileSync(join(folder.path, `${word}.js`), `export default { name: 'named', api: 1, setup: () => ({ handle: ${handle} }) }`)
}

// Answers with the folder that relative paths hang on.
install(
  'hangs-on',
  `setup(_config, host) {
    const word = host.resolvePath('.').replace(/.*\\//, '')
    return { handle: (query) => query.reply({ answer: [{ owner: query.qname, type: 'TXT', ttl: 60, rdata: [word] }] }) }
  }`
)

describe('a cache keeps its answers', () => {
  const base = ['cache', 'says one', 'log']

  test.each<[title: string, before: readonly string[], after: readonly string[], hits: boolean]>([
    ['where nothing changes', base, base, true],
    ['where something before it changes', base, ['cache', 'says one', 'errors'], true],
    ['where its own options change', base, ['cache 30', 'says one'], true],
    ['but not where what stands behind it does', base, ['cache', 'says two', 'log'], false],
    ['nor where something comes between', base, ['cache', 'says one', 'chaos', 'log'], false]
  ])('%s', async (_title, before, after, hits) => {
    const { server, services, ask } = await started(block('a', ...before), await freePort())
    await ask('x.a. TXT')
    await server.reload(read(block('a', ...after)))
    await ask('x.a. TXT')
    const text = await services.metrics.text()
    const sum = [...text.matchAll(/^coredns_cache_hits_total\{.*type="success".*\} (\d+)$/gm)].reduce(
      (all, [, value]) => all + Number(value),
      0
    )
    expect(sum).toBe(hits ? 1 : 0)
  })

  test('but not where a server block that its answers were looked up in changes, be it itself the same', async () => {
    const asking = block('a', 'cache', 'asks x.b.')
    const { server, ask } = await started(asking + block('b', 'says one') + block('c', 'says three'), await freePort())
    expect(await ask('x.a. TXT')).toBe('one')
    expect((await server.reload(read(asking + block('b', 'says one') + block('c', 'says four')))).kept).toHaveLength(2)
    expect((await server.reload(read(asking + block('b', 'says two') + block('c', 'says four')))).kept).toHaveLength(1)
    expect(await ask('x.a. TXT')).toBe('two')
    // A longer zone takes names away from the block that was asked.
    expect((await server.reload(read(asking + block('b', 'says two') + block('x.b', 'says five')))).kept).toHaveLength(1)
    expect(await ask('x.a. TXT')).toBe('five')
  })

  test.each<[title: string, before: (port: number, other: number) => string, after: (port: number, other: number) => string]>([
    [
      'its block is spelled otherwise while the one that was entered changes',
      (port) => block(`a:${port}`, 'cache', 'asks x.b.') + block('b', 'says one'),
      (port) => block(`dns://a:${port}`, 'cache', 'asks x.b.') + block('b', 'says two')
    ],
    [
      'its block loses a port while the one that was entered changes',
      (port, other) => block(`a:${port} a:${other}`, 'cache', 'asks x.b.') + block('b', 'says one'),
      (port) => block(`a:${port}`, 'cache', 'asks x.b.') + block('b', 'says two')
    ],
    [
      'its block is first on another port, where its look-ups go elsewhere',
      (port, other) => block(`a:${port} a:${other}`, 'cache', 'asks x.b.') + block('b', 'says one') + block(`b:${other}`, 'says two'),
      (port, other) => block(`a:${other} a:${port}`, 'cache', 'asks x.b.') + block('b', 'says one') + block(`b:${other}`, 'says two')
    ],
    [
      'its block is on another address, where its look-ups go elsewhere',
      (port) => block(`a:${port}`, 'cache', 'asks x.b.') + block(`b:${port}`, 'says one'),
      (port) => bound('127.0.0.1 127.0.0.2', `a:${port}`, 'cache', 'asks x.b.') + bound('127.0.0.1', `b:${port}`, 'says two')
    ],
    [
      'a zone that another port has comes to the port where it was looked up',
      (port, other) => block('a', 'cache', 'asks x.b.') + block(`.:${port}`, 'says one') + block(`b:${other}`, 'says three'),
      (port, other) =>
        block('a', 'cache', 'asks x.b.') + block(`.:${port}`, 'says one') + block(`b:${other}`, 'says three') + block('b', 'says two')
    ],
    [
      'a directive behind it is another plugin now',
      () => block('a', 'plugin ./one.js', 'cache', 'named'),
      () => block('a', 'plugin ./two.js', 'cache', 'named')
    ],
    [
      'relative paths behind it hang on another folder',
      () => block('a', 'root one', 'cache', 'hangs-on'),
      () => block('a', 'root two', 'cache', 'hangs-on')
    ]
  ])('nor where %s', async (_title, before, after) => {
    const [port, other] = [await freePort(), await freePort()]
    const { server, ask } = await started(before(port, other), port)
    expect(await ask('x.a. TXT')).toBe('one')
    await server.reload(read(after(port, other)))
    expect(await ask('x.a. TXT')).toBe('two')
  })

  test('of its own, also where another block says the same for the same zones on another port', async () => {
    const [port, other] = [await freePort(), await freePort()]
    const asking = block('.', 'cache', 'asks x.b.') + block(`.:${other}`, 'cache', 'asks x.b.')
    const { ask, askAt } = await started(asking + block('b', 'says one') + block(`b:${other}`, 'says two'), port)
    expect([await ask('x.a. TXT'), await askAt(other, 'x.a. TXT')]).toEqual(['one', 'two'])
  })

  test('and hears of the store that its answers come from, after a reload too', async () => {
    const port = await freePort()
    const api = await freePort()
    const etcd = (...more: string[]): string =>
      block('skydns.test', 'cache', ...more, `etcd {\n    store ./heard\n    api 127.0.0.1:${api}\n  }`)
    const { server, ask } = await started(etcd(), port)
    await put(api, 'skydns/test/skydns/a', '{"text":"one"}')
    expect(await ask('a.skydns.test. TXT')).toBe('one')
    await server.reload(read(etcd('errors')))
    await put(api, 'skydns/test/skydns/a', '{"text":"two"}')
    expect(await ask('a.skydns.test. TXT')).toBe('two')
    await server.reload(read(etcd('errors')))
    await put(api, 'skydns/test/skydns/a', '{"text":"three"}')
    expect(await ask('a.skydns.test. TXT')).toBe('three')
  })
})
