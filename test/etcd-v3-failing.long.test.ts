import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Etcd, type EtcdOptions, startEtcd } from './etcd.js'
import { etcdV3 } from './etcd-calls.js'
import { type EtcdProxy, etcdProxy } from './etcd-proxy.js'
import { askAll, clientOf, failureOf, line, questions, watched } from './etcd-v3-scene.js'
import { freePort, startProcess } from './processes.js'
import { needs } from './tools.js'

describe('a client of an etcd v3 that fails', needs('etcd'), () => {
  const start = async (options?: EtcdOptions): Promise<Etcd> => {
    const etcd = await startEtcd(options)
    onTestFinished(() => etcd.stop())
    return etcd
  }

  const proxied = async (etcd: Etcd): Promise<{ proxy: EtcdProxy; endpoint: string }> => {
    const proxy = await etcdProxy(etcd.members[0]!.port)
    onTestFinished(() => proxy.stop())
    return { proxy, endpoint: `http://127.0.0.1:${proxy.port}` }
  }

  test('says at once that nobody listens', async () => {
    const port = await freePort()
    const { said, ms } = await askAll(clientOf(`http://127.0.0.1:${port}`))
    expect(said).toEqual(questions.map(([name]) => `${name}: unreachable: connect ECONNREFUSED 127.0.0.1:${port}`))
    expect(ms).toBeLessThan(2000)
  })

  test('says that a name has no address', async () => {
    expect(await failureOf(clientOf('http://nothing.invalid:2379').position())).toMatch(/^unreachable: .*nothing\.invalid/)
  })

  test('ends each question within its time where the connection hangs', async () => {
    const { proxy, endpoint } = await proxied(await start())
    proxy.hang()
    const client = clientOf(endpoint, { callMs: 500 })
    const { said, ms } = await askAll(client)
    for (const each of said) expect(each).toMatch(/^\w+: unreachable: (no (answer|watch began) within 500 ms|the connection has failed)$/)
    expect(ms).toSatisfy((took: number) => took >= 450 && took < 1500)
    await proxy.pass()
    expect((await client.position()).revision).toBe(1)
    await expect.poll(() => proxy.connections()).toBe(1)
  })

  test.each([
    ['freezes', async (etcd: Etcd) => etcd.members[0]!.freeze()],
    ['is cut off', async (_etcd: Etcd, proxy: EtcdProxy) => proxy.hang()]
  ])('notices by itself that a member %s that it watches', async (_, fail) => {
    const etcd = await start()
    const { proxy, endpoint } = await proxied(etcd)
    const client = clientOf(endpoint, { quietMs: 1200 })
    const watch = watched(client, 0)
    // Time for two answers.
    await sleep(3000)
    expect(watch.losses()).toBe(0)
    const begun = performance.now()
    await fail(etcd, proxy)
    expect(await failureOf(watch.lost.then((error) => Promise.reject(error)))).toBe('unreachable: no answer within 300 ms')
    expect(performance.now() - begun).toBeLessThan(3000)
  })

  test('loses its watches as soon as a question is not answered, once, and connects anew', async () => {
    const etcd = await start()
    const client = clientOf(etcd.endpoints[0]!, { callMs: 800, quietMs: 60_000 })
    const watches = [watched(client, 0), watched(client, 0)]
    await client.position()
    await etcd.members[0]!.freeze()
    const said = await Promise.all([failureOf(client.position()), failureOf(client.position())])
    expect(said).toEqual(['unreachable: no answer within 800 ms', 'unreachable: no answer within 800 ms'])
    expect(watches.map((watch) => watch.losses())).toEqual([1, 1])
    etcd.members[0]!.thaw()
    await expect.poll(() => failureOf(client.position())).toMatch(/^none/)
    const again = watched(client, 0)
    await etcdV3(etcd.target).put('/skydns/a', 'x')
    await expect.poll(() => again.batches.length).toBe(1)
    expect(watches.map((watch) => watch.losses())).toEqual([1, 1])
  })

  test('lets a listener watch again as soon as it has lost a watch', async () => {
    const etcd = await start()
    const client = clientOf(etcd.endpoints[0]!, { callMs: 300, quietMs: 60_000 })
    let watches = 0
    const told: string[] = []
    const again = (): void => {
      if (watches++ > 100) return
      client.watch(0, { events: (events) => told.push(...events.map(line)), progress: () => undefined, lost: again })
    }
    again()
    await client.position()
    await etcd.members[0]!.freeze()
    await failureOf(client.position())
    expect(watches).toBe(2)
    etcd.members[0]!.thaw()
    await etcdV3(etcd.target).put('/skydns/a', 'x')
    await expect.poll(() => told).toEqual(['put /skydns/a=x'])
    expect(watches).toBeLessThan(5)
  })

  test('loses the watch with a member that is killed, and goes on after it has come back', async () => {
    const etcd = await start()
    const v3 = etcdV3(etcd.target)
    const client = clientOf(etcd.endpoints[0]!)
    const modified = await v3.put('/skydns/a', 'one')
    const watch = watched(client, modified - 1)
    await expect.poll(() => watch.batches.length).toBe(1)
    await etcd.members[0]!.kill()
    expect((await watch.lost).kind).toBe('unreachable')
    expect(await failureOf(client.position())).toMatch(/^unreachable: connect ECONNREFUSED/)
    await etcd.start()
    const { cluster } = await client.position()
    const recent = [{ path: Buffer.from('/skydns/a'), modified }]
    expect(await client.continues({ cluster, revision: modified, keys: 1, recent })).toBe(true)
    await v3.put('/skydns/b', 'two')
    const again = watched(client, modified)
    await expect.poll(() => again.batches.flatMap(({ events }) => events.map(line))).toEqual(['put /skydns/b=two'])
  })

  test('does not go on from data that are gone, or were put back', async () => {
    const etcd = await start()
    const member = etcd.members[0]!
    const v3 = etcdV3(etcd.target)
    const client = clientOf(member.endpoint)
    await v3.put('/skydns/a', 'one')
    await member.stop()
    const saved = member.saveData()
    await member.start()
    const modified = await v3.put('/skydns/b', 'two')
    const position = await client.position()
    const kept = { ...position, keys: 2, recent: [{ path: Buffer.from('/skydns/b'), modified }] }
    expect(await client.continues(kept)).toBe(true)
    await member.kill()
    member.restoreData(saved)
    await member.start()
    expect(await client.continues(kept)).toBe(false)
    const error = await watched(client, position.revision).lost
    expect(`${error.kind}: ${error.message}`).toBe('unreachable: etcd is at revision 2, which is before 3')
    await v3.put('/skydns/c', 'other')
    expect(await client.position()).toEqual(position)
    expect(await client.continues(kept)).toBe(false)
    await etcd.wipe('another cluster')
    await etcd.start()
    await v3.put('/skydns/a', 'one')
    await v3.put('/skydns/b', 'two')
    expect((await client.position()).cluster).not.toBe(position.cluster)
    expect(await client.continues(kept)).toBe(false)
  })

  test('loses the watch of a member that has no leader', async () => {
    const etcd = await start({ size: 3 })
    const [first, ...others] = etcd.members
    const client = clientOf(first!.endpoint, { callMs: 10_000, quietMs: 60_000 })
    const watch = watched(client, 0)
    await client.position()
    await Promise.all(others.map((member) => member.kill()))
    const error = await watch.lost
    expect(`${error.kind}: ${error.message}`).toBe('unreachable: no leader')
  })

  test('is not confused by a server that is no etcd', async () => {
    const { createServer } = await import('node:http')
    const server = createServer((_, response) => response.end('hello'))
    const port = await freePort()
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const { said, ms } = await askAll(clientOf(`http://127.0.0.1:${port}`, { callMs: 1000 }))
    for (const each of said) expect(each).toMatch(/^\w+: unreachable: \S.*$/)
    expect(ms).toBeLessThan(2000)
  })

  test.each(['at once', 'connecting', 'watching', 'amid a handshake', 'amid one of TLS'])(
    'lets the process end when closed %s',
    async (when) => {
      const etcd = await start()
      const { proxy, endpoint } = await proxied(etcd)
      if (when.includes('amid')) proxy.hang()
      const scheme = when.includes('TLS') ? 'https' : 'http'
      const script = `
      import { etcd3 } from ${JSON.stringify(new URL('../src/store/etcd/v3.js', import.meta.url).href)}
      const source = { version: 3, endpoints: [], path: '/skydns', expireMs: 0 }
      const client = etcd3(source, '${endpoint.replace('http', scheme)}', { callMs: 30_000, quietMs: 30_000 })
      const watch = client.watch(0, { events() {}, progress() {}, lost: () => console.log('LOST') })
      client.position().catch((error) => console.log('position', error.kind, error.message))
      const wait = ${JSON.stringify({ 'at once': -1, connecting: 4 }[when] ?? 800)}
      if (wait >= 0) await new Promise((resolve) => setTimeout(resolve, wait))
      client.list(() => {}).catch((error) => console.log('list', error.kind, error.message))
      const closed = performance.now()
      client.close()
      client.close()
      watch.cancel()
      client.position().catch((error) => console.log('later', error.kind, error.message))
      client.watch(0, { events() {}, progress() {}, lost: (error) => console.log('watch', error.kind, error.message) })
      process.on('exit', () => console.log(performance.now() - closed < 1000 ? 'DONE' : 'LATE'))`
      const child = await startProcess(process.execPath, ['--input-type=module', '-e', script])
      expect(await child.ended).toBe(0)
      expect(child.output()).toContain('list failed the client is closed\n')
      expect(child.output()).toContain('later failed the client is closed\n')
      expect(child.output()).toContain('watch failed the client is closed\n')
      expect(child.output()).toContain('DONE')
      expect(child.output()).not.toMatch(/LOST|[Ww]arning|Error/)
    }
  )
})
