import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { request } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { EmbeddedStore } from './embedded.js'
import { keyOfPath, pathOfKey } from './key.js'
import { type KeysOptions, keysApi } from './keys-api.js'
import { type KeysServer, serveKeys } from './keys-listen.js'
import { nodeOf } from './keys-node.js'
import { call, type Reply, type Target } from './keys-replay.testing.js'

let top: string
let store: EmbeddedStore
const servers: KeysServer[] = []

beforeEach(async () => {
  top = mkdtempSync(join(tmpdir(), 'skein-api-'))
  store = await EmbeddedStore.open(join(top, 'store'))
})

afterEach(async () => {
  for (const server of servers.splice(0)) await server.close()
  await store.close()
  rmSync(top, { recursive: true, force: true })
})

async function serve(options: Partial<KeysOptions> = {}, address = '127.0.0.1:0'): Promise<Target> {
  const server = await serveKeys(address, keysApi(store, { writable: true, ...options }))
  servers.push(server)
  if (address.startsWith('unix:')) return { socketPath: address.slice(5) }
  const [, host = '', port] = /^(.*):(\d+)$/.exec(server.address)!
  return { host: host.replace(/[[\]]/g, ''), port: Number(port) }
}

const put = (target: Target, headers: Record<string, string> = {}, path = '/v2/keys/a', body = 'value=1'): Promise<Reply> =>
  call(target, 'PUT', path, body, headers)

const json = ({ text }: Reply): Record<string, unknown> => JSON.parse(text) as Record<string, unknown>

describe('the keys API and browsers', () => {
  test.each([
    ['another origin', { Origin: 'http://evil.example' }, /another origin/],
    ['no origin', { Origin: 'null' }, /another origin/],
    ['another port of the loopback', { Origin: 'http://localhost:3000' }, /another origin/],
    ['another site', { 'Sec-Fetch-Site': 'cross-site' }, /another site/],
    ['a sibling site', { 'Sec-Fetch-Site': 'same-site' }, /another site/],
    ['a name that was pointed here', { Host: 'evil.example' }, /Host header/],
    ['such a name with our port', { Host: 'evil.example:4001', Origin: 'http://evil.example:4001' }, /Host header/],
    ['a name that begins like the loopback', { Host: '127.0.0.1.evil.example' }, /Host header/],
    ['a name that ends like it', { Host: 'evil-localhost' }, /Host header/],
    ['no name in the Host', { Host: ':4001' }, /Host header/],
    ['a user in the Host', { Host: 'localhost@evil.example' }, /Host header/]
  ])('refuses what comes with %s, reads and writes alike', async (_, headers, reason) => {
    const target = await serve()
    for (const method of ['PUT', 'GET', 'DELETE']) {
      const reply = await call(target, method, '/v2/keys/a', method === 'PUT' ? 'value=1' : undefined, headers as Record<string, string>)
      expect(reply.status).toBe(403)
      expect(json(reply).cause).toMatch(reason)
    }
    expect(store.revision).toBe(0)
  })

  test.each([
    [{ Host: 'localhost' }],
    [{ Host: 'LOCALHOST:4001' }],
    [{ Host: '127.8.9.1:4001' }],
    [{ Host: '[::1]:4001' }],
    [{ Host: 'dns.internal:4001' }],
    [{ Host: '192.0.2.7' }],
    [{ Host: 'localhost:4001', Origin: 'http://localhost:4001', 'Sec-Fetch-Site': 'same-origin' }],
    [{ 'Sec-Fetch-Site': 'none' }]
  ])('takes what comes with %j', async (headers) => {
    const target = await serve({ allowedHosts: ['DNS.internal', '192.0.2.7'] })
    expect((await put(target, headers as Record<string, string>)).status).toBe(201)
  })
})

describe('the keys API and its token', () => {
  test('asks for it on every call but the health', async () => {
    const target = await serve({ token: 'secret' })
    for (const authorization of ['', 'Bearer', 'Bearer wrong', 'Bearer secret2', 'Basic secret', 'secret']) {
      const reply = await put(target, { Authorization: authorization })
      expect([reply.status, reply.headers['www-authenticate']]).toEqual([401, 'Bearer'])
    }
    expect((await call(target, 'GET', '/v2/keys/')).status).toBe(401)
    expect((await call(target, 'GET', '/version')).status).toBe(401)
    expect((await call(target, 'GET', '/health')).text).toBe('{"health":"true"}\n')
    expect((await put(target, { Authorization: 'Bearer secret' })).status).toBe(201)
  })
})

describe('the keys API', () => {
  test('serves a Unix socket of mode 0600, with any Host, after one was left behind as well', async () => {
    const path = join(top, 'keys.sock')
    const target = await serve({ allowedHosts: 'any' }, `unix:${path}`)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect((await put(target, { Host: 'whatever' })).status).toBe(201)
    await expect(serve({}, `unix:${path}`)).rejects.toThrow('is in use')
    await expect(serve({}, `unix:${top}`)).rejects.toThrow(`${top} is not a socket: move what is there away`)
    await expect(serve({}, `unix:${join(top, 'x'.repeat(100))}`)).rejects.toThrow('longer than 100 octets')
  })

  test.each(['127.0.0.1', 'localhost', '127.0.0.1:', '::1:80', ':80', 'tcp:127.0.0.1:80'])('does not listen on %s', async (address) => {
    await expect(serve({}, address)).rejects.toThrow('is no address to listen on')
  })

  test('says which address is taken', async () => {
    const { port } = (await serve()) as { port: number }
    await expect(serve({}, `127.0.0.1:${port}`)).rejects.toThrow(`cannot listen on 127.0.0.1:${port} (EADDRINUSE)`)
  })

  test.each([
    ['GET', '/v2/keys/a?wait=true', '"wait" is not supported'],
    ['POST', '/v2/keys/a', 'POST (keys in order) is not supported'],
    ['PUT', '/v2/keys/a?prevIndex=7', '"prevIndex" is not supported'],
    ['DELETE', '/v2/keys/a?prevIndex=7', '"prevIndex" is not supported']
  ])('says plainly that %s %s is not supported', async (method, path, cause) => {
    const reply = await call(await serve(), method, path, method === 'PUT' || method === 'POST' ? 'value=1' : undefined)
    expect(reply.status).toBe(400)
    expect(json(reply)).toMatchObject({ errorCode: 209, message: 'Invalid field' })
    expect(json(reply).cause).toContain(cause)
  })

  test('writes nothing into a replica', async () => {
    const target = await serve({ writable: false })
    expect([(await put(target)).status, (await call(target, 'DELETE', '/v2/keys/a')).status]).toEqual([403, 403])
    expect((await call(target, 'GET', '/v2/keys/')).status).toBe(200)
  })

  test.each([
    ['/v2/keys/pool%2F1', '/pool\\0471'],
    ['/v2/keys/a/../b', '/a/../b'],
    ['/v2/keys/%2e%2e/x', '/../x'],
    ['/v2/keys//a///b/', '/a/b'],
    ['/v2/keys/.', '/.'],
    ['/v2/keys/a+b', '/a+b'],
    ['/v2/keys/%E2%84%AA', '/\u212a'],
    ['/v2/keys/a%00b', '/a\0b'],
    ['/v2/keys/%ff', '/\\255']
  ])('takes %s for one key, which never walks', async (path, shown) => {
    const target = await serve()
    expect((await put(target, {}, path)).status).toBe(201)
    expect(json(await call(target, 'GET', path))).toMatchObject({ node: { key: shown, value: '1' } })
    expect(store.subtree([])).toHaveLength(1)
    expect(pathOfKey(store.subtree([])[0]!.key)).toBe(shown)
    expect((await call(target, 'GET', '/v2/keys/?recursive=true')).text).toContain(JSON.stringify(shown))
  })

  test('keeps the Kelvin sign and k apart', async () => {
    const target = await serve()
    await put(target, {}, '/v2/keys/%E2%84%AA')
    expect((await call(target, 'GET', '/v2/keys/k')).status).toBe(404)
    expect(store.has(keyOfPath('/k'))).toBe(false)
  })

  test('shows a key that has a value and keys below it as a file', async () => {
    const target = await serve()
    await store.apply([
      { op: 'put', key: ['a'], value: Buffer.from('1') },
      { op: 'put', key: ['a', 'b'], value: Buffer.from('2') }
    ])
    expect(json(await call(target, 'GET', '/v2/keys/a'))).toMatchObject({ node: { value: '1' } })
    expect(json(await call(target, 'GET', '/v2/keys/a/b'))).toMatchObject({ node: { value: '2' } })
    expect((await put(target, {}, '/v2/keys/a/c')).status).toBe(400)
    expect((await call(target, 'DELETE', '/v2/keys/a')).status).toBe(200)
    expect(json(await call(target, 'GET', '/v2/keys/a'))).toMatchObject({ node: { dir: true } })
  })

  test('refuses keys that are too long and values above 64 KiB, and takes those below', async () => {
    const target = await serve()
    const long = await put(target, {}, `/v2/keys/${'a'.repeat(1901)}`)
    expect([long.status, json(long).errorCode]).toEqual([400, 209])
    expect(json(long).cause).toContain('1900 is the limit')
    expect((await call(target, 'GET', `/v2/keys/${'A'.repeat(960)}`)).status).toBe(400)
    expect((await put(target, {}, `/v2/keys/${'a'.repeat(1900)}`)).status).toBe(201)
    expect((await put(target, {}, '/v2/keys/b', `value=${'%41'.repeat(65536)}`)).status).toBe(201)
    expect(store.at(['b'])[0]?.value.length).toBe(65536)
    for (const value of ['x'.repeat(65537), 'x'.repeat(1 << 20)]) {
      const reply = await put(target, {}, '/v2/keys/c', `value=${value}`)
      expect([reply.status, json(reply).errorCode !== undefined]).toEqual([413, true])
    }
    expect(store.has(['c'])).toBe(false)
  })

  test.each([
    ['application/json', '{"value":"1"}'],
    ['text/plain', 'value=1'],
    ['multipart/form-data; boundary=x', 'value=1']
  ])('does not take a body of %s for an empty value', async (type, body) => {
    const reply = await put(await serve(), { 'Content-Type': type }, '/v2/keys/a', body)
    expect(reply.status).toBe(400)
    expect(json(reply).cause).toContain('application/x-www-form-urlencoded')
  })

  test('waits for a slow body no longer than it said', async () => {
    const target = await serve({ bodyTimeoutMs: 100 })
    const reply = await new Promise<number | undefined>((resolve, reject) => {
      const headers = { 'Content-Type': 'application/x-www-form-urlencoded', 'Content-Length': 100 }
      const sent = request({ ...target, method: 'PUT', path: '/v2/keys/a', headers }, (response) => resolve(response.resume().statusCode))
      sent.on('error', reject)
      sent.write('value=')
    })
    expect(reply).toBe(408)
    expect(store.revision).toBe(0)
  })

  test('answers elsewhere with what there is', async () => {
    const target = await serve()
    expect([(await call(target, 'GET', '/version')).status, (await call(target, 'GET', '/')).status]).toEqual([200, 404])
    expect([(await call(target, 'GET', '/v2/keysx')).status, (await call(target, 'GET', '/v2/keys/%zz')).status]).toEqual([404, 400])
  })

  test('lets one of many win that create the same key', async () => {
    const target = await serve()
    const replies = await Promise.all(Array.from({ length: 12 }, (_, n) => put(target, {}, '/v2/keys/a', `value=${n}&prevExist=false`)))
    expect(replies.map(({ status }) => status).sort()).toEqual([201, ...Array.from({ length: 11 }, () => 412)])
  })

  test('lists a large directory without holding up what else there is to do', async () => {
    const target = await serve()
    await store.apply(Array.from({ length: 5000 }, (_, n) => ({ op: 'put', key: ['many', `${n}`], value: Buffer.from('1') }) as const))
    let longest = 0
    let last = performance.now()
    const beat = setInterval(() => {
      longest = Math.max(longest, performance.now() - last)
      last = performance.now()
    }, 1)
    const reply = await call(target, 'GET', '/v2/keys/many?recursive=true')
    clearInterval(beat)
    expect((json(reply).node as { nodes: unknown[] }).nodes).toHaveLength(5000)
    expect(longest).toBeLessThan(500)
  })

  test('ends promptly, with a connection open and idle', async () => {
    const target = (await serve()) as { host: string; port: number }
    const socket = connect(target.port, target.host)
    await new Promise((resolve) => socket.once('connect', resolve))
    socket.on('error', () => undefined)
    const begun = performance.now()
    await servers.pop()!.close()
    expect(performance.now() - begun).toBeLessThan(1500)
    socket.destroy()
  })
})

test.each([
  ['later', 7_500, { expiration: '1970-01-01T00:00:07.500Z', ttl: 3 }],
  ['now', 5_000, { expiration: '1970-01-01T00:00:05.000Z' }],
  // Of a replica, whose key may stay: until when nobody knows.
  ['before', 1, {}]
])('the end of a key that is %s is never shown as one in the past', (_when, expires, shown) => {
  expect(nodeOf({ key: ['a'], value: Buffer.from('1'), created: 1, modified: 1, expires }, 5_000)).toEqual({
    key: '/a',
    value: '1',
    createdIndex: 1,
    modifiedIndex: 1,
    ...shown
  })
})
