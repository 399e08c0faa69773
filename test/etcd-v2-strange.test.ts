import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { startEtcd } from './etcd.js'
import { clientOf, eventually, failure, listed, watching } from './etcd-v2-scene.js'
import { needs } from './tools.js'

const headers = (index: number) => ({
  'content-type': 'application/json',
  'x-etcd-cluster-id': 'abcdef0123',
  'x-etcd-index': String(index)
})
const missing = JSON.stringify({ errorCode: 100, message: 'Key not found', cause: '/', index: 7 })

/** Serves what is no etcd, or one that does what real ones do too seldom for a test. */
async function pretend(answer: (url: string, reply: ServerResponse) => void) {
  const server = createServer((request, reply) => answer(request.url ?? '', reply)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop() {
      server.close()
      server.closeAllConnections()
    }
  }
}

test.each<[string, number, Record<string, string>, string, string]>([
  ['a page of HTML', 200, {}, '<html>\n\n  <b>hello', 'unreachable: what answers is not the v2 API of etcd: status 200, <html> <b>hello'],
  [
    'JSON of something else',
    200,
    headers(7),
    '{"answer":42}',
    'unreachable: what answers is not the v2 API of etcd: status 200, {"answer":42}'
  ],
  [
    'no JSON',
    200,
    headers(7),
    '{"action":"get","node":',
    'unreachable: what answers is not the v2 API of etcd: status 200, {"action":"get","node":'
  ],
  ['nothing', 200, headers(7), '', 'unreachable: what answers is not the v2 API of etcd: status 200'],
  ['no index', 404, { 'x-etcd-cluster-id': 'a' }, missing, 'failed: there is no v2 API here: etcd has it with --enable-v2'],
  ['a gateway without a server', 502, {}, 'Bad Gateway', 'unreachable: what answers is not the v2 API of etcd: status 502, Bad Gateway'],
  ['a login', 401, {}, 'who?', 'denied: the user and password are not taken'],
  [
    'an election',
    500,
    headers(0),
    '{"errorCode":301,"message":"During Leader Election","index":0}',
    'unreachable: etcd cannot answer now: During Leader Election'
  ],
  [
    'a message of many lines',
    400,
    headers(7),
    '{"errorCode":209,"message":"a\\u0000\\nb","cause":"c\\r\\n"}',
    'failed: etcd says: a b (c )'
  ],
  ['endless words', 200, {}, 'x'.repeat(1000), `unreachable: what answers is not the v2 API of etcd: status 200, ${'x'.repeat(200)}…`]
])('says on a line what it got in place of a position: %s', async (_, status, fields, body, expected) => {
  const server = await pretend((_, reply) => reply.writeHead(status, fields).end(body))
  const client = clientOf(server.endpoint, '/')
  expect(await failure(client.position())).toBe(expected)
  expect((await failure(listed(client))).split(':')[0]).toBe(expected.split(':')[0])
  client.close()
  server.stop()
})

test.each<[string, unknown]>([
  ['a number', 5],
  ['null', null],
  ['one whose key is a number', { key: 5 }],
  ['one whose value is an object', { key: '/a', value: {} }],
  ['one whose nodes are a number', { dir: true, nodes: 5 }],
  ['one in which is null', { dir: true, nodes: [null] }],
  ['one in which is one whose time to live is text', { dir: true, nodes: [{ key: '/a', ttl: 'long' }] }]
])('says that a node is none: %s', async (_, node) => {
  const server = await pretend((url, reply) => {
    if (url.includes('_skein')) reply.writeHead(404, headers(7)).end(missing)
    else reply.writeHead(200, headers(8)).end(JSON.stringify({ action: 'set', node }))
  })
  const client = clientOf(server.endpoint, '/')
  const words = 'what answers is not the v2 API of etcd: its nodes are none'
  expect(await failure(listed(client))).toBe(`unreachable: ${words}`)
  // An event has one node, and what is in it is nothing to a watch.
  if (!JSON.stringify(node).includes('nodes":[')) expect((await watching(client, 7).lost).message).toBe(words)
  client.close()
  server.stop()
})

test('asks again, and not without a pause, where a wait ends without an answer', async () => {
  const asked: string[] = []
  const server = await pretend((url, reply) => {
    if (!url.includes('wait=true')) return reply.writeHead(404, headers(7)).end(missing)
    asked.push(url)
    if (asked.length < 4) return reply.writeHead(200, headers(7)).end('')
    return reply
      .writeHead(200, headers(8))
      .end(JSON.stringify({ action: 'set', node: { key: '/a', value: '1', modifiedIndex: 8 + asked.length - 4 } }))
  })
  const client = clientOf(server.endpoint, '/')
  const before = performance.now()
  const watch = watching(client, 7)
  await eventually(() => watch.told[0]).toBe('put /a=1')
  expect(performance.now() - before).toBeGreaterThan(500)
  expect(asked.slice(0, 4)).toEqual(Array(4).fill('/v2/keys/?wait=true&recursive=true&waitIndex=8'))
  client.close()
  server.stop()
})

test('is lost where a change comes after it was told that there was none', async () => {
  let index = 7
  const late: ServerResponse[] = []
  const server = await pretend((url, reply) => {
    if (!url.includes('wait=true')) return reply.writeHead(404, headers(index)).end(missing)
    reply.writeHead(200, headers(index)).flushHeaders()
    return late.push(reply)
  })
  const client = clientOf(server.endpoint, '/', {}, { callMs: 1_000, quietMs: 1_000 })
  const watch = watching(client, 7)
  await eventually(() => late.length).toBe(1)
  index = 9
  await eventually(() => late.length).toBe(2)
  await eventually(() => watch.revisions).toEqual([9])
  late[1]!.end(JSON.stringify({ action: 'set', node: { key: '/a', value: '1', modifiedIndex: 8 } }))
  const { kind, message } = await watch.lost
  expect([kind, message]).toEqual(['compacted', 'the change 8 came after 9'])
  client.close()
  server.stop()
})

test('says that etcd serves v3 alone', needs('etcd'), async () => {
  const etcd = await startEtcd({ flags: ['--enable-v2=false'] })
  const client = clientOf(etcd.target.endpoint, '/')
  expect(await failure(client.position())).toBe('failed: there is no v2 API here: etcd has it with --enable-v2')
  client.close()
  await etcd.stop()
})

test('leaves nothing that keeps a process alive', needs('etcd'), async () => {
  const etcd = await startEtcd()
  const program = `
    import { etcd2 } from '${new URL('../src/store/etcd/v2.js', import.meta.url).href}'
    const client = etcd2({ version: 2, path: '/', expireMs: 0 }, '${etcd.target.endpoint}', { callMs: 20000, quietMs: 20000 })
    const { revision } = await client.position()
    const nothing = () => undefined
    client.watch(revision, { events: nothing, progress: nothing, lost: nothing })
    await new Promise((resolve) => setTimeout(resolve, 300))
    client.close()
    console.log('closed')`
  const before = performance.now()
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], { timeout: 10_000 })
  expect(stdout).toBe('closed\n')
  expect(performance.now() - before).toBeLessThan(5_000)
  await etcd.stop()
})
