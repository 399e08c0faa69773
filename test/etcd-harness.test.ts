import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makeCertificates } from './certificates.js'
import { type Etcd, startEtcd } from './etcd.js'
import { callEtcd, enableAuthV2, enableAuthV3, etcdV2, etcdV3 } from './etcd-calls.js'
import { etcdProxy } from './etcd-proxy.js'
import { isReached } from './processes.js'
import { needs } from './tools.js'

describe('the etcd of tests', needs('etcd'), () => {
  let etcd: Etcd

  beforeAll(async () => {
    etcd = await startEtcd()
  })

  afterAll(() => etcd.stop())

  const clusterId = async () => (await callEtcd(etcd.target, 'GET', '/v2/keys')).headers['x-etcd-cluster-id']

  test('takes and gives keys of v3', async () => {
    const v3 = etcdV3(etcd.target)
    const revision = await v3.put('/three/a', 'one')
    const lease = await v3.grant(60)
    expect(await v3.put('/three/b', 'two', lease)).toBe(revision + 1)
    await v3.keepAlive(lease)
    expect(await v3.range('/three/', 'prefix')).toEqual([
      { key: '/three/a', value: 'one', createRevision: revision, modRevision: revision, lease: '0' },
      { key: '/three/b', value: 'two', createRevision: revision + 1, modRevision: revision + 1, lease }
    ])
    await v3.revoke(lease)
    expect((await v3.range('/three/', 'prefix')).map(({ key }) => key)).toEqual(['/three/a'])
    expect(await v3.delete('/three/a')).toBe(1)
    await v3.putAll([
      ['/three/c', '1'],
      ['/three/d', '2']
    ])
    expect(await v3.delete('/three/', 'prefix')).toBe(2)
    await v3.compact(await v3.revision())
  })

  test('takes and gives keys of v2', async () => {
    const v2 = etcdV2(etcd.target)
    await v2.put('/two/a b%ü', 'one')
    await v2.mkdir('/two/c', 60)
    await v2.renewDirectory('/two/c', 90)
    await v2.put('/two/d', 'two', 60)
    expect((await v2.refresh('/two/d', 120)).ttl).toBe(120)
    const { nodes = [] } = await v2.list('/two')
    expect(nodes.map(({ key, value, ttl }) => [key, value, ttl])).toEqual([
      ['/two/a b%ü', 'one', undefined],
      ['/two/c', undefined, 90],
      ['/two/d', 'two', 120]
    ])
    await v2.delete('/two', '?recursive=true')
    await expect(v2.list('/two')).rejects.toThrow('Key not found')
  })

  test('comes back from a crash with its data, and from a wipe without', async () => {
    const [member] = etcd.members
    const id = await clusterId()
    await etcdV3(etcd.target).put('/kept', 'one')
    await member!.kill()
    await member!.start()
    expect(await etcdV3(etcd.target).range('/kept')).toHaveLength(1)
    await member!.stop()
    const saved = member!.saveData()
    await etcd.wipe('same cluster')
    await etcd.start()
    expect(await etcdV3(etcd.target).range('/kept')).toHaveLength(0)
    expect(await clusterId()).toBe(id)
    await etcd.wipe('another cluster')
    await etcd.start()
    expect(await clusterId()).not.toBe(id)
    await member!.stop()
    member!.restoreData(saved)
    await member!.start()
    expect(await etcdV3(etcd.target).range('/kept')).toHaveLength(1)
    expect(await clusterId()).toBe(id)
  })

  test('answers nothing while it is frozen', async () => {
    const [member] = etcd.members
    await member!.freeze()
    let isAnswered = false
    const asked = callEtcd(etcd.target, 'GET', '/version').then(() => (isAnswered = true))
    await sleep(200)
    expect(isAnswered).toBe(false)
    member!.thaw()
    await asked
  })

  test('is reached through a proxy that passes, hangs, cuts, refuses and counts', async () => {
    const [member] = etcd.members
    const proxy = await etcdProxy(member!.port)
    const target = { endpoint: `http://127.0.0.1:${proxy.port}` }
    const ask = () =>
      callEtcd(target, 'GET', '/version').then(
        ({ text }) => text,
        (error: Error) => error.message
      )
    expect(await ask()).toContain('etcdserver')
    proxy.hang()
    let said: string | undefined
    const held = ask().then((text) => (said = text))
    await sleep(200)
    expect(said).toBe(undefined)
    await proxy.pass()
    expect(await held).toContain('etcdserver')
    await expect.poll(() => proxy.connections()).toBe(0)
    proxy.hang()
    const ended = ask()
    await expect.poll(() => proxy.connections()).toBe(1)
    proxy.cut()
    expect(await ended).toMatch(/hang up|ECONNRESET/)
    await proxy.refuse()
    expect(await isReached(proxy.port)).toBe(false)
    await proxy.pass()
    const spent = proxy.after(100, 'cut')
    expect(await octetsOf(proxy.port)).toBe(100)
    await spent
    const hung = proxy.after(100, 'hang')
    const rest = octetsOf(proxy.port)
    await hung
    await proxy.pass()
    expect(await rest).toBeGreaterThan(100)
    await proxy.stop()
  })
})

describe('a cluster of etcd', needs('etcd'), () => {
  test('has another leader when the first is gone, and takes it back', async () => {
    const etcd = await startEtcd({ size: 3 })
    const first = await etcd.leader()
    await first.kill()
    const second = await etcd.leader()
    expect(second).not.toBe(first)
    await etcdV3(second.target).put('/a', 'one')
    await first.start()
    expect(await etcdV3(first.target).range('/a')).toHaveLength(1)
    await etcd.stop()
  })

  test('keeps users to their keys', async () => {
    const etcd = await startEtcd({ ipv6: true })
    const credentials = { user: 'skein', password: 'secret' }
    const root = await enableAuthV3(etcd.target, 'skein', 'secret', '/skydns/')
    await etcdV3({ ...etcd.target, credentials: root }).put('/elsewhere', 'one')
    await etcdV3({ ...etcd.target, credentials }).put('/skydns/a', 'one')
    await expect(etcdV3({ ...etcd.target, credentials }).put('/elsewhere', 'one')).rejects.toThrow('permission denied')
    await enableAuthV2(etcd.target, 'skein', 'secret', '/skydns')
    await etcdV2({ ...etcd.target, credentials: root }).put('/elsewhere', 'one')
    await etcdV2({ ...etcd.target, credentials }).put('/skydns/a', 'one')
    await expect(etcdV2({ ...etcd.target, credentials }).put('/elsewhere', 'one')).rejects.toThrow('Insufficient credentials')
    await expect(etcdV2(etcd.target).list('/skydns')).rejects.toThrow('Insufficient credentials')
    await etcd.stop()
  })

  test('speaks TLS, and asks for a certificate of its clients', needs('openssl'), async () => {
    const certificates = await makeCertificates()
    const { authority, server, client, wrongAuthority, wrongClient } = certificates
    const etcd = await startEtcd({ tls: { server, authority, clients: authority } })
    await etcdV3(etcd.target).put('/a', 'one')
    const { endpoint } = etcd.target
    const ask = (tls: { ca: string; cert?: string; key?: string }) =>
      callEtcd({ endpoint, tls }, 'GET', '/version').then(
        ({ status }) => status,
        (error: Error) => error.message
      )
    const ca = authority.certificate
    expect(await ask({ ca, cert: client.certificate, key: client.key })).toBe(200)
    expect(await ask({ ca })).toMatch(/alert|ECONNRESET|hang up/)
    expect(await ask({ ca, cert: wrongClient.certificate, key: wrongClient.key })).toMatch(/alert|ECONNRESET|hang up/)
    expect(await ask({ ca: wrongAuthority.certificate })).toMatch(/certificate/)
    await etcd.stop()
  })
})

/** How many octets come of an answer before the connection ends, if it has not after a whole one. */
function octetsOf(port: number): Promise<number> {
  return new Promise((resolve) => {
    let octets = 0
    const socket = connect(port, '127.0.0.1', () => socket.write('GET /version HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'))
    socket.on('data', (chunk) => (octets += chunk.length)).on('error', () => undefined)
    socket.on('close', () => resolve(octets))
  })
}
