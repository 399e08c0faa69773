import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { EtcdTls } from '../src/store/etcd/source.js'
import { makeCertificates } from './certificates.js'
import { type Etcd, type EtcdOptions, startEtcd } from './etcd.js'
import { enableAuthV3, etcdV3 } from './etcd-calls.js'
import { askAll, clientOf, failureOf, line, listed, questions, watched } from './etcd-v3-scene.js'
import { needs } from './tools.js'

const credentials = { user: 'skein', password: 'secret' }
const key = Buffer.from('/skydns/a')

const start = async (options?: EtcdOptions): Promise<Etcd> => {
  const etcd = await startEtcd(options)
  onTestFinished(() => etcd.stop())
  return etcd
}

describe('a client of an etcd v3 with users', needs('etcd'), () => {
  const startWithUsers = async (flags: readonly string[] = []) => {
    const etcd = await start({ flags })
    const root = await enableAuthV3(etcd.target, credentials.user, credentials.password, '/skydns/')
    return { etcd, endpoint: etcd.endpoints[0]!, v3: etcdV3({ ...etcd.target, credentials: root }) }
  }

  test('does all that its user may, and says what it may not', async () => {
    const { endpoint, v3 } = await startWithUsers()
    const client = clientOf(endpoint, { credentials })
    const watch = watched(client, (await client.position()).revision)
    await client.put(key, Buffer.from('one'), 60)
    await expect.poll(() => watch.batches.flatMap(({ events }) => events.map(line))).toEqual(['put /skydns/a=one'])
    expect([...(await listed(client)).keys]).toEqual([['/skydns/a', 'one']])
    expect(await client.remaining((await v3.range('/skydns/a'))[0]!.lease)).toBeGreaterThan(0)
    expect(await failureOf(client.put(Buffer.from('/elsewhere'), key))).toBe(
      'denied: permission denied: expected a user with the right to write the keys below /skydns/'
    )
    expect(await client.delete(key, false)).toBe(true)
    await expect.poll(() => watch.batches.flatMap(({ events }) => events.map(line)).at(-1)).toBe('delete /skydns/a')
  })

  test.each([
    ['another password', { credentials: { ...credentials, password: 'wrong' } }, /authentication failed, invalid user ID or password$/],
    ['an unknown user', { credentials: { user: 'nobody', password: 'secret' } }, /authentication failed, invalid user ID or password$/],
    ['no user', {}, /user name is empty$|permission denied: expected a user with the right to read the keys below \/skydns\/$/],
    [
      'another path',
      { credentials, path: '/skydnsx' },
      /permission denied: expected a user with the right to read the keys below \/skydnsx\/$/
    ]
  ])('says that it is denied with %s', async (_, over, message) => {
    const { endpoint } = await startWithUsers()
    const client = clientOf(endpoint, over)
    const asked = questions.filter(([name]) => ['position', 'list', 'continues', 'watch'].includes(name))
    for (const [name, ask] of asked) {
      const said = await failureOf(ask(client))
      expect([name, said]).toEqual([name, expect.stringMatching(/^denied: /)])
      expect(said).toMatch(message)
    }
    expect((await askAll(client)).said.filter((said) => /unreachable|failed:/.test(said))).toEqual([])
  })

  test('authenticates again where its token has expired, and its watch goes on', { timeout: 30_000 }, async () => {
    const { endpoint, v3 } = await startWithUsers(['--auth-token-ttl=1'])
    const client = clientOf(endpoint, { credentials, quietMs: 60_000 })
    const watch = watched(client, (await client.position()).revision)
    await sleep(3000)
    // The first that is asked after the expiry: each in its turn.
    await v3.call('auth/user/list', {}).catch(() => undefined)
    const first = watched(client, 0)
    await client.put(key, Buffer.from('one'))
    await expect.poll(() => first.batches.length).toBe(1)
    await expect.poll(() => watch.batches.length).toBe(1)
    await sleep(3000)
    expect((await listed(client)).keys.size).toBe(1)
    expect(watch.losses() + first.losses()).toBe(0)
  })

  test.each(['position', 'watch'])('authenticates again where etcd was started again, and %s is asked first', async (first) => {
    const { etcd, endpoint } = await startWithUsers()
    const client = clientOf(endpoint, { credentials })
    const before = watched(client, 0)
    const { revision } = await client.position()
    await etcd.members[0]!.kill()
    expect((await before.lost).kind).toBe('unreachable')
    await etcd.start()
    if (first === 'position') expect((await client.position()).revision).toBe(revision)
    const watch = watched(client, revision)
    await client.put(key, Buffer.from('one'))
    await expect.poll(() => watch.batches.length).toBe(1)
    expect(watch.losses()).toBe(0)
  })

  test('may know a user before etcd asks for one', async () => {
    const etcd = await start()
    const client = clientOf(etcd.endpoints[0]!, { credentials })
    const { revision } = await client.position()
    await client.put(key, Buffer.from('one'))
    await enableAuthV3(etcd.target, credentials.user, credentials.password, '/skydns/')
    const watch = watched(client, revision)
    await client.put(key, Buffer.from('two'))
    await expect.poll(() => watch.batches.flatMap(({ events }) => events.map(line))).toEqual(['put /skydns/a=one', 'put /skydns/a=two'])
  })
})

describe('a client of an etcd v3 with TLS', needs('etcd', 'openssl'), () => {
  test('trusts and is trusted by certificates alone', async () => {
    const { authority, server, client, wrongAuthority, wrongClient } = await makeCertificates()
    const etcd = await start({ tls: { server, authority, clients: authority } })
    const { port } = etcd.members[0]!
    const warnings: string[] = []
    const warn = ({ message }: Error): number => warnings.push(message)
    process.on('warning', warn)
    onTestFinished(() => void process.off('warning', warn))
    const right = { authority: authority.certificate, certificate: client.certificate, key: client.key }
    const untrusted = /^unreachable: the certificate of etcd is not trusted: unable to verify the first certificate$/
    const refused = /^unreachable: etcd refuses TLS, or this client's certificate: [a-z ]*certificate[a-z ]*$/
    const rows: [string, EtcdTls | undefined, RegExp][] = [
      [`https://127.0.0.1:${port}`, right, /^none: /],
      [`https://localhost:${port}`, right, /^none: /],
      [`https://127.0.0.1:${port}`, { ...right, authority: wrongAuthority.certificate }, untrusted],
      [`https://127.0.0.1:${port}`, { ...right, authority: undefined }, untrusted],
      [`https://127.0.0.1:${port}`, undefined, untrusted],
      [`https://127.0.0.1:${port}`, { authority: authority.certificate }, refused],
      [
        `https://127.0.0.1:${port}`,
        { ...right, certificate: wrongClient.certificate, key: wrongClient.key },
        /^unreachable: .*certificate/
      ],
      [`http://127.0.0.1:${port}`, right, /^unreachable: .*the endpoint may want https$/]
    ]
    for (const [endpoint, tls, said] of rows) {
      const asked = clientOf(endpoint, { tls })
      const failure = await failureOf(asked.position())
      expect([endpoint, failure]).toEqual([endpoint, expect.stringMatching(said)])
      const watch = watched(asked, 0)
      if (!failure.startsWith('none')) expect((await watch.lost).kind).toBe('unreachable')
    }
    const client1 = clientOf(`https://127.0.0.1:${port}`, { tls: right })
    const watch = watched(client1, 0)
    await client1.put(key, Buffer.from('one'))
    await expect.poll(() => watch.batches.length).toBe(1)
    expect(warnings).toEqual([])
  })

  test('says that certificates cannot be read, before it is asked', async () => {
    const { authority, client, wrongClient } = await makeCertificates()
    const rows: EtcdTls[] = [
      { authority: authority.certificate, certificate: 'nonsense', key: client.key },
      { authority: authority.certificate, certificate: client.certificate, key: wrongClient.key }
    ]
    for (const tls of rows) {
      expect(() => clientOf('https://127.0.0.1:1', { tls })).toThrow(/^cannot use TLS with the certificates or the key: [^\n]+$/)
    }
  })

  test('takes no certificate for another name', async () => {
    const { authority, elsewhere } = await makeCertificates()
    const etcd = await start({ tls: { server: elsewhere, authority } })
    const tls = { authority: authority.certificate }
    for (const host of ['127.0.0.1', 'localhost']) {
      const failure = await failureOf(clientOf(`https://${host}:${etcd.members[0]!.port}`, { tls }).position())
      expect(failure).toMatch(/^unreachable: .*(altnames|cert).*/i)
    }
  })

  test.each([true, false])('speaks IPv6, with TLS: %s', async (isSecure) => {
    const { authority, server } = await makeCertificates()
    const etcd = await start({ ipv6: true, ...(isSecure && { tls: { server, authority } }) })
    expect(etcd.endpoints[0]).toMatch(isSecure ? /^https:\/\/\[::1\]:/ : /^http:\/\/\[::1\]:/)
    const client = clientOf(etcd.endpoints[0]!, { tls: { authority: authority.certificate } })
    const watch = watched(client, 0)
    await client.put(key, Buffer.from('one'))
    await expect.poll(() => watch.batches.length).toBe(1)
  })
})
