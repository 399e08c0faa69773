import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { EtcdTls } from '../src/store/etcd/source.js'
import { type Certificates, makeCertificates } from './certificates.js'
import { type Etcd, startEtcd } from './etcd.js'
import { enableAuthV2, etcdV2 } from './etcd-calls.js'
import { type EtcdProxy, etcdProxy } from './etcd-proxy.js'
import { clientOf, eventually, failure, listed, watching } from './etcd-v2-scene.js'
import { freePort } from './processes.js'
import { needs } from './tools.js'

type Client = ReturnType<typeof clientOf>

/** All that a client is asked, each on a line of a table. */
const questions: [string, (client: Client) => Promise<unknown>][] = [
  ['position', (client) => client.position()],
  ['list', (client) => listed(client)],
  ['remaining', (client) => client.remaining('/a')],
  ['put', (client) => client.put(Buffer.from('/a'), Buffer.from('1'))],
  ['delete', (client) => client.delete(Buffer.from('/a'), true)],
  ['watch', (client) => watching(client, 1).lost.then((error) => Promise.reject(error))]
]

describe('where the network fails, a client of v2', needs('etcd'), () => {
  let etcd: Etcd
  let proxy: EtcdProxy
  let endpoint: string
  const quick = { callMs: 800, quietMs: 2_000 }

  beforeAll(async () => {
    etcd = await startEtcd()
    proxy = await etcdProxy(etcd.members[0]!.port)
    endpoint = `http://127.0.0.1:${proxy.port}`
  })

  afterAll(async () => {
    await proxy.stop()
    await etcd.stop()
  })

  test.each(questions)('ends a %s in time where the connection hangs', async (_, ask) => {
    const client = clientOf(endpoint, '/', {}, quick)
    proxy.hang()
    const before = performance.now()
    expect(await failure(ask(client))).toBe('unreachable: no answer within 800 ms')
    expect(performance.now() - before).toBeLessThan(2_000)
    client.close()
    proxy.cut()
    await proxy.pass()
  })

  test.each(questions)('says of a %s that it was refused', async (_, ask) => {
    const client = clientOf(`http://127.0.0.1:${await freePort()}`, '/')
    expect(await failure(ask(client))).toBe('unreachable: connection refused')
    client.close()
  })

  test.each(questions)('ends a %s at once where it is closed', async (_, ask) => {
    const client = clientOf(endpoint, '/')
    proxy.hang()
    const asked = failure(Promise.race([ask(client), sleep(200).then(() => Promise.reject(new Error('silent')))]))
    await sleep(50)
    client.close()
    // A watch says nothing where it was ended on purpose.
    expect(await asked).toMatch(/^failed: the client is closed$|^Error: silent$/)
    expect(await failure(client.position())).toBe('failed: the client is closed')
    proxy.cut()
    await proxy.pass()
  })

  test.each<['cut' | 'hang', string]>([
    ['cut', 'unreachable: the connection was lost'],
    ['hang', 'unreachable: no answer within 800 ms']
  ])('gives nothing of a list whose answer is %s in the midst', async (what, words) => {
    await etcdV2(etcd.target).put('/large', 'x'.repeat(500_000))
    const client = clientOf(endpoint, '/large', {}, quick)
    const spent = proxy.after(250_000, what)
    expect(await failure(listed(client))).toBe(words)
    await spent
    proxy.cut()
    await proxy.pass()
    expect((await listed(client)).entries).toHaveLength(1)
    client.close()
  })

  test('has a list that comes slowly, but comes', async () => {
    await etcdV2(etcd.target).put('/slow', 'x'.repeat(300_000))
    const client = clientOf(endpoint, '/slow', {}, quick)
    const asked = listed(client)
    for (let part = 0; part < 4; part++) {
      await proxy.after(70_000, 'hang')
      await sleep(300)
      await proxy.pass()
    }
    expect((await asked).entries).toHaveLength(1)
    client.close()
  })

  test.each<[string, (proxy: EtcdProxy, etcd: Etcd) => unknown, RegExp]>([
    ['is cut', (proxy) => proxy.cut(), /^the connection was (lost|closed without an answer)$/],
    ['hangs', (proxy) => proxy.hang(), /^no answer within 500 ms$/],
    ['leads to an etcd that is frozen', (_, etcd) => etcd.members[0]!.freeze(), /^no answer within 500 ms$/]
  ])('loses a watch whose connection %s', async (_, fail, words) => {
    const client = clientOf(endpoint, '/lost', {}, quick)
    const watch = watching(client, (await client.position()).revision)
    await sleep(300)
    await fail(proxy, etcd)
    const { kind, message } = await watch.lost
    expect(kind).toBe('unreachable')
    expect(message).toMatch(words)
    client.close()
    etcd.members[0]!.thaw()
    proxy.cut()
    await proxy.pass()
  })

  test('misses nothing where only the connection that waits is dead', async () => {
    const client = clientOf(endpoint, '/dead')
    const watch = watching(client, (await client.position()).revision)
    await sleep(100)
    proxy.hangWhere(/wait=true/)
    await etcdV2(etcd.target).put('/dead/a', '1')
    await eventually(() => watch.told).toEqual(['put /dead/a=1'])
    client.close()
    await eventually(() => proxy.connections()).toBe(0)
  })

  test('asks over a new connection, where one that it had was dead', async () => {
    const client = clientOf(endpoint, '/idle', {}, quick)
    await Promise.all([client.position(), client.position(), client.position()])
    expect(proxy.connections()).toBe(3)
    proxy.hangWhere(/GET/)
    expect(await failure(client.position())).toBe('unreachable: no answer within 800 ms')
    expect((await client.position()).revision).toBeGreaterThan(0)
    client.close()
    proxy.cut()
  })

  test('keeps one connection and no more of a watch where nothing changes', async () => {
    const client = clientOf(endpoint, '/quiet', {}, quick)
    const watch = watching(client, (await client.position()).revision)
    // Two checks.
    await sleep(3_000)
    expect(proxy.connections()).toBe(2)
    expect(watch.told).toEqual([])
    client.close()
    await eventually(() => proxy.connections()).toBe(0)
  })

  test('sees what a restart of etcd does, and reads on afterwards', async () => {
    const client = clientOf(etcd.target.endpoint, '/restart')
    await etcdV2(etcd.target).put('/restart/a', '1')
    const { revision, cluster } = await client.position()
    const watch = watching(client, revision)
    await sleep(100)
    await etcd.members[0]!.stop()
    expect((await watch.lost).kind).toBe('unreachable')
    expect(await failure(client.position())).toBe('unreachable: connection refused')
    await etcd.members[0]!.start()
    // Its coming back is a change of its own.
    const back = await client.position()
    expect(back.cluster).toBe(cluster)
    expect(back.revision).toBeGreaterThanOrEqual(revision)
    const again = watching(client, revision)
    await etcdV2(etcd.target).put('/restart/b', '1')
    await eventually(() => again.told).toEqual(['put /restart/b=1'])
    client.close()
  })

  test.each<['same cluster' | 'another cluster', RegExp]>([
    ['same cluster', /^the data of the cluster were put back: its index was \d+, and is \d+$/],
    ['another cluster', /^the cluster is another one, [0-9a-f]+ and not [0-9a-f]+$/]
  ])('loses a watch as compacted where the data are gone: the %s', async (wiped, words) => {
    await etcdV2(etcd.target).put('/wiped/a', '1')
    const client = clientOf(etcd.target.endpoint, '/wiped')
    const { position } = await listed(client)
    await etcd.wipe(wiped)
    await etcd.start()
    const { kind, message } = await watching(client, position.revision).lost
    expect(kind).toBe('compacted')
    expect(message).toMatch(words)
    client.close()
  })

  test('says that a cluster without a leader does not answer', async () => {
    const cluster = await startEtcd({ size: 3 })
    const leader = await cluster.leader()
    const client = clientOf(leader.endpoint, '/a', {}, { callMs: 2_000, quietMs: 2_000 })
    const watch = watching(client, (await client.position()).revision)
    await Promise.all(cluster.members.filter((member) => member !== leader).map((member) => member.kill()))
    expect((await watch.lost).kind).toBe('unreachable')
    expect(await failure(client.position())).toMatch(/^unreachable: (no answer within|etcd cannot answer now)/)
    client.close()
    await cluster.stop()
  })
})

describe("with v2's users, a client", needs('etcd'), () => {
  let etcd: Etcd

  beforeAll(async () => {
    etcd = await startEtcd()
    await enableAuthV2(etcd.target, 'skein', 'päss:wörd', '/skydns')
  })

  afterAll(() => etcd.stop())

  test('may do with the right password what its user may', async () => {
    const client = clientOf(etcd.target.endpoint, '/skydns', { credentials: { user: 'skein', password: 'päss:wörd' } })
    const watch = watching(client, (await client.position()).revision)
    await client.put(Buffer.from('/skydns/a'), Buffer.from('1'), 50)
    expect((await listed(client)).entries).toHaveLength(1)
    expect(await client.remaining('/skydns/a')).toBeGreaterThan(40_000)
    await eventually(() => watch.told).toEqual(['put /skydns/a=1 on /skydns/a'])
    expect(await client.delete(Buffer.from('/skydns/a'), false)).toBe(true)
    client.close()
  })

  test.each(questions)('is denied a %s without, with a wrong one, and elsewhere', async (_, ask) => {
    for (const credentials of [undefined, { user: 'skein', password: 'wrong' }, { user: 'skein', password: 'päss:wörd' }]) {
      const client = clientOf(etcd.target.endpoint, '/elsewhere', { credentials })
      expect(await failure(ask(client))).toMatch(/^denied: etcd does not know the user and password, or they have no right to this path: /)
      client.close()
    }
  })
})

describe('with TLS, a client of v2', needs('etcd', 'openssl'), () => {
  let certificates: Certificates
  let etcd: Etcd
  let demanding: Etcd
  let elsewhere: Etcd
  let plain: Etcd

  beforeAll(async () => {
    certificates = await makeCertificates()
    const { authority, server } = certificates
    ;[etcd, demanding, elsewhere, plain] = await Promise.all([
      startEtcd({ tls: { authority, server }, ipv6: true }),
      startEtcd({ tls: { authority, server, clients: authority } }),
      startEtcd({ tls: { authority, server: certificates.elsewhere } }),
      startEtcd()
    ])
  })

  afterAll(() => Promise.all([etcd, demanding, elsewhere, plain].map((each) => each.stop())))

  const tlsOf = (by: keyof Certificates, client?: keyof Certificates): EtcdTls => ({
    authority: certificates[by].certificate,
    ...(client && { certificate: certificates[client].certificate, key: certificates[client].key })
  })

  test.each<[string, () => string, () => EtcdTls | undefined, RegExp]>([
    ['the right authority, at an IPv6 address', () => etcd.target.endpoint, () => tlsOf('authority'), /^resolved/],
    [
      'the right authority, at localhost',
      () => demanding.target.endpoint.replace('127.0.0.1', 'localhost'),
      () => tlsOf('authority', 'client'),
      /^resolved/
    ],
    ['a certificate that etcd asks for', () => demanding.target.endpoint, () => tlsOf('authority', 'client'), /^resolved/],
    [
      'the wrong authority',
      () => etcd.target.endpoint,
      () => tlsOf('wrongAuthority'),
      /^unreachable: its certificate is not signed by an authority that is trusted$/
    ],
    [
      'the authorities of the system',
      () => etcd.target.endpoint,
      () => undefined,
      /^unreachable: its certificate is not signed by an authority that is trusted$/
    ],
    [
      "a server's certificate for another host",
      () => elsewhere.target.endpoint,
      () => tlsOf('authority'),
      /^unreachable: its certificate is for another host$/
    ],
    [
      'no certificate where etcd asks for one',
      () => demanding.target.endpoint,
      () => tlsOf('authority'),
      /^unreachable: it does not take the client's certificate, or wants one: TLS alert ".+"$/
    ],
    [
      'a certificate by the wrong authority',
      () => demanding.target.endpoint,
      () => tlsOf('authority', 'wrongClient'),
      /^unreachable: it does not take the client's certificate, or wants one: TLS alert ".+"$/
    ],
    [
      'https where etcd has http',
      () => plain.target.endpoint.replace('http:', 'https:'),
      () => tlsOf('authority'),
      /^unreachable: the connection was closed without an answer$/
    ],
    [
      'http where etcd has https',
      () => demanding.target.endpoint.replace('https:', 'http:'),
      () => undefined,
      /^unreachable: the connection was closed without an answer$/
    ],
    [
      'a certificate that is none',
      () => etcd.target.endpoint,
      () => ({ authority: 'none', certificate: 'none', key: 'none' }),
      /^failed: the certificates for TLS cannot be used: [^\n]+$/
    ]
  ])('with %s', async (_, endpoint, tls, expected) => {
    const client = clientOf(endpoint(), '/a', { tls: tls() })
    expect(await failure(client.position())).toMatch(expected)
    if (!expected.source.startsWith('^resolved'))
      expect(await failure(watching(client, 1).lost.then((error) => Promise.reject(error)))).toMatch(expected)
    client.close()
  })

  test('watches', async () => {
    const client = clientOf(demanding.target.endpoint, '/a', { tls: tlsOf('authority', 'client') })
    const watch = watching(client, (await client.position()).revision)
    await client.put(Buffer.from('/a/b'), Buffer.from('1'))
    await eventually(() => watch.told).toEqual(['put /a/b=1'])
    client.close()
  })
})
