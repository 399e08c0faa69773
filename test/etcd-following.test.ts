import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Certificates, makeCertificates } from './certificates.js'
import { block, MAIN } from './command.js'
import { type Etcd, startEtcd } from './etcd.js'
import { ask, following, host, key, said, says } from './etcd-asking.js'
import { callEtcd, enableAuthV3, etcdV3 } from './etcd-calls.js'
import { etcdProxy } from './etcd-proxy.js'
import { follow, inStep } from './etcd-scene.js'
import { freePort, startProcess, temporaryFolder } from './processes.js'
import { needs } from './tools.js'

let etcd: Etcd
let v3: ReturnType<typeof etcdV3>

beforeAll(async () => {
  etcd = await startEtcd()
  v3 = etcdV3(etcd.target)
}, 30_000)

afterAll(() => etcd?.stop())

describe('a server that follows etcd', needs('etcd'), () => {
  test('answers with what etcd has, and a change is in the answers of all threads, found and not found', async () => {
    await v3.put(key('web/a'), host('192.0.2.1'))
    await following(
      [`endpoint ${etcd.endpoints[0]}`],
      async (server) => {
        const asked = async (name: string): Promise<Set<string>> =>
          new Set(await Promise.all(Array.from({ length: 20 }, () => said(server, name))))
        expect(await asked('web')).toEqual(new Set(['NOERROR 192.0.2.1']))
        expect(await asked('new')).toEqual(new Set(['NXDOMAIN']))
        await v3.put(key('web/b'), host('192.0.2.2'))
        await v3.put(key('new'), host('192.0.2.3'))
        await sleep(300)
        expect(await asked('web')).toEqual(new Set(['NOERROR 192.0.2.1 192.0.2.2']))
        expect(await asked('new')).toEqual(new Set(['NOERROR 192.0.2.3']))
        await v3.delete(key('web/'), 'prefix')
        await sleep(300)
        expect(await asked('web')).toEqual(new Set(['NXDOMAIN']))
      },
      undefined,
      2
    )
  })

  test('refuses and is not ready before it was ever in step, and starts all the same; other zones are served', async () => {
    const port = await freePort()
    await following([`endpoint http://127.0.0.1:${port}`], async (server) => {
      const { rcode, flags, edns } = await ask(server, 'web.skydns.test A')
      expect(rcode).toBe('REFUSED')
      expect(flags).toBe('rd')
      const [error] = (edns?.options ?? []).filter(([code]) => code === 15)
      expect(Buffer.from(error![1]).readUInt16BE()).toBe(14)
      const api = /keys API (\S+)\/v2\/keys/.exec(server.server.output())?.[1]
      expect((await callEtcd({ endpoint: api! }, 'GET', '/v2/keys/skydns')).status).toBe(503)
      expect(await server.ready()).toEqual({ status: 503, text: expect.stringContaining('ECONNREFUSED') as string })
      const late = await startEtcd({ ports: [port] })
      try {
        await etcdV3(late.target).put(key('late'), host('192.0.2.4'))
        await says(server, 'late', 'NOERROR 192.0.2.4')
        expect((await server.ready()).status).toBe(200)
      } finally {
        await late.stop()
      }
    })
  })

  test('has what it had after a restart without etcd, for 30 s at most, and goes on from there when etcd is back', async () => {
    const own = await startEtcd()
    const folder = temporaryFolder()
    try {
      await etcdV3(own.target).put(key('web'), host('192.0.2.1', 300))
      const lines = [`endpoint ${own.endpoints[0]}`]
      await following(lines, (server) => says(server, 'web', 'NOERROR 192.0.2.1'), folder.path)
      await own.members[0]!.kill()
      await following(
        lines,
        async (server) => {
          expect((await ask(server, 'web.skydns.test A')).answer).toEqual(['web.skydns.test. 30 A 192.0.2.1'])
          expect((await ask(server, 'no.skydns.test A')).authority.join()).toMatch(/^skydns\.test\. 30 SOA/)
          expect(await server.metric('skein_etcd_stale')).toBe(1)
          await own.start()
          await etcdV3(own.target).put(key('web'), host('192.0.2.2', 300))
          await says(server, 'web', 'NOERROR 192.0.2.2')
          expect((await ask(server, 'web.skydns.test A')).answer).toEqual(['web.skydns.test. 300 A 192.0.2.2'])
          expect(await server.metric('skein_etcd_lists_total')).toBe(0)
          expect(await server.metric('skein_etcd_stale')).toBe(0)
        },
        folder.path
      )
    } finally {
      await own.stop()
      folder.remove()
    }
  })

  test('leaves out what is no service, tells of each once, and counts it', async () => {
    const bad = ['no', '', 'null', '[]', '7', '{"port":70000}', '{"priority":-1}', '{"ttl":"x"}', '{"host":1}']
    await v3.put(key('bad/good'), host('192.0.2.1'))
    for (const [index, value] of bad.entries()) await v3.put(key(`bad/x${index}`), value)
    await v3.put('/skydns/test/skydns/bad/', 'directory')
    await v3.put('/skydns/test/skydns//twice', host('192.0.2.8'))
    await v3.put('/skydnsx/test/skydns/bad/y', host('192.0.2.9'))
    await following([`endpoint ${etcd.endpoints[0]}`], async (server) => {
      await says(server, 'bad', 'NOERROR 192.0.2.1')
      expect(await server.metric('skein_etcd_bad_keys')).toBe(bad.length + 2)
      const lines = server.server.output().match(/.*it is left out/g) ?? []
      expect(lines).toHaveLength(bad.length + 2)
      expect(lines.join('\n')).toContain('the value of /skydns/test/skydns/bad/x0 is no JSON')
      expect(lines.join('\n')).toContain('the key /skydns/test/skydns//twice has an empty segment')
      await v3.put(key('bad/x0'), host('192.0.2.2'))
      await v3.delete('/skydns/test/skydns//twice')
      await says(server, 'bad', 'NOERROR 192.0.2.1 192.0.2.2')
      await expect.poll(() => server.metric('skein_etcd_bad_keys'), { timeout: 5000 }).toBe(bad.length)
    })
    await v3.delete('/skydns/test/skydns/', 'prefix')
  })

  test('refuses after a reload with another path until that is read, and does not say that nothing is there', async () => {
    await v3.put(key('web'), host('192.0.2.1'))
    await v3.put('/else/test/skydns/web', host('192.0.2.2'))
    const proxy = await etcdProxy(etcd.members[0]!.port)
    const endpoint = `endpoint http://127.0.0.1:${proxy.port}`
    try {
      await following([endpoint], async (server) => {
        await says(server, 'web', 'NOERROR 192.0.2.1')
        await proxy.refuse()
        await server.reload([endpoint, 'path /else'])
        expect(await said(server, 'web')).toBe('REFUSED')
        expect((await server.ready()).status).toBe(503)
        await proxy.pass()
        await says(server, 'web', 'NOERROR 192.0.2.2')
      })
    } finally {
      await proxy.stop()
    }
  })

  test('says what is wrong where its replica was deleted, and writes no other in its place that nobody reads', async () => {
    await v3.put(key('web'), host('192.0.2.1'))
    const endpoint = `endpoint ${etcd.endpoints[0]}`
    await following([endpoint], async (server) => {
      await says(server, 'web', 'NOERROR 192.0.2.1')
      const replica = join(server.cwd, 'replica')
      rmSync(replica, { recursive: true })
      // By the file that is open it goes on.
      await v3.put(key('web'), host('192.0.2.2'))
      await says(server, 'web', 'NOERROR 192.0.2.2')
      await server.reload([endpoint, 'expire 2h'])
      await server.server.prints(/the replica in \S+ was deleted or replaced, .*: restart the server/)
      expect(existsSync(replica)).toBe(false)
    })
  })

  test('takes no writes of its own', async () => {
    await following([`endpoint ${etcd.endpoints[0]}`], async (server) => {
      await inStep(server, etcd.target)
      const api = /keys API (\S+)\/v2\/keys/.exec(server.server.output())?.[1]
      const { status, text } = await callEtcd({ endpoint: api! }, 'PUT', `/v2/keys${key('own')}`, 'value=x', {
        'content-type': 'application/x-www-form-urlencoded'
      })
      expect([status, text]).toEqual([403, expect.stringContaining('replica') as string])
      expect(await said(server, 'own')).toBe('NXDOMAIN')
    })
  })

  test('ends within a second of SIGTERM, with etcd and without', async () => {
    for (const endpoint of [etcd.endpoints[0], `http://127.0.0.1:${await freePort()}`]) {
      const server = await follow({ lines: [`endpoint ${endpoint}`] })
      await sleep(500)
      const since = Date.now()
      process.kill(server.server.pid, 'SIGTERM')
      expect(await server.server.ended).toBe(0)
      expect(Date.now() - since).toBeLessThan(1000)
      await server.stop()
    }
  })
})

test('ends with 0 at SIGTERM while it waits for an etcd that does not answer, and leaves no folder behind', async () => {
  const folder = temporaryFolder()
  const port = await freePort()
  const silent = createServer().listen(port, '127.0.0.1')
  try {
    writeFileSync(join(folder.path, 'Corefile'), block('etcd skydns.test {', `  endpoint http://127.0.0.1:${port}`, '}'))
    const replicas = join(folder.path, `skein-replica-${process.getuid?.() ?? 'user'}`)
    const has = (): number => (existsSync(replicas) ? readdirSync(replicas).length : 0)
    const ready = (): boolean => has() > 0
    const server = await startProcess(process.execPath, [MAIN, 'run'], { cwd: folder.path, env: { TMPDIR: folder.path }, ready })
    const since = Date.now()
    process.kill(server.pid, 'SIGTERM')
    expect(await server.ended).toBe(0)
    expect(Date.now() - since).toBeLessThan(1000)
    expect(server.output()).toBe('[INFO] SIGTERM: shutting down before the start was over\n')
    expect(has()).toBe(0)
  } finally {
    silent.close()
    folder.remove()
  }
})

describe('what is wrong is said, and what is mended is taken up without a restart', needs('etcd'), () => {
  let certificates: Certificates

  beforeAll(async () => {
    certificates = await makeCertificates()
  }, 30_000)

  test('a password', async () => {
    const own = await startEtcd()
    try {
      await etcdV3(own.target).put(key('web'), host('192.0.2.1'))
      const root = await enableAuthV3(own.target, 'alice', 'secret', '/skydns/')
      const endpoint = `endpoint ${own.endpoints[0]}`
      await following([endpoint, 'credentials alice wrong'], async (server) => {
        expect(await said(server, 'web')).toBe('REFUSED')
        expect(server.server.output()).toMatch(/http:\/\/127\.0\.0\.1:\d+: authentication failed, invalid user ID or password/)
        const { call } = etcdV3({ ...own.target, credentials: root })
        await call('auth/user/changepw', { name: 'alice', password: 'wrong' })
        await says(server, 'web', 'NOERROR 192.0.2.1')
      })
    } finally {
      await own.stop()
    }
  }, 30_000)

  test('a certificate of nobody that is known, and one that the server asks for', async () => {
    const { authority, server: pair, client, wrongAuthority } = certificates
    const own = await startEtcd({ tls: { server: pair, authority, clients: authority } })
    const folder = temporaryFolder()
    try {
      await etcdV3(own.target).put(key('web'), host('192.0.2.1'))
      const endpoint = `endpoint ${own.endpoints[0]}`
      const ca = join(folder.path, 'ca.pem')
      writeFileSync(ca, wrongAuthority.certificate)
      const tls = `tls ${client.certificateFile} ${client.keyFile} ${ca}`
      await following([endpoint, tls], async (server) => {
        expect(await said(server, 'web')).toBe('REFUSED')
        expect(server.server.output()).toMatch(/certificate/)
        writeFileSync(ca, authority.certificate)
        await server.reload([endpoint, tls])
        await says(server, 'web', 'NOERROR 192.0.2.1')
      })
      await following([endpoint, `tls ${authority.certificateFile}`], async (server) => {
        expect(await said(server, 'web')).toBe('REFUSED')
        expect(server.server.output()).toMatch(/certificate|handshake/i)
      })
    } finally {
      await own.stop()
      folder.remove()
    }
  }, 60_000)

  test('endpoints that are dead among one that is good', async () => {
    await v3.put(key('web'), host('192.0.2.1'))
    const dead = `http://127.0.0.1:${await freePort()}`
    await following([`endpoint ${dead} ${etcd.endpoints[0]} http://[::1]:${await freePort('::1')}`], async (server) => {
      await says(server, 'web', 'NOERROR 192.0.2.1')
    })
  })

  test('an endpoint on IPv6', async () => {
    const own = await startEtcd({ ipv6: true })
    try {
      await etcdV3(own.target).put(key('web'), host('192.0.2.6'))
      await following([`endpoint ${own.endpoints[0]}`], (server) => says(server, 'web', 'NOERROR 192.0.2.6'))
    } finally {
      await own.stop()
    }
  }, 30_000)
})
