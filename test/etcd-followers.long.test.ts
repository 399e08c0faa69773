/** Servers that follow an etcd, many of them, ended amid it, and reloaded time and again. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { startEtcd } from './etcd.js'
import { callEtcd, etcdV3 } from './etcd-calls.js'
import { closing, expectNoneFailed, scene } from './etcd-outage-scene.js'
import { follow } from './etcd-scene.js'
import { temporaryFolder } from './processes.js'
import { needs } from './tools.js'

test('several servers on one cluster come to the same answers', { ...needs('etcd'), timeout: 60_000 }, async () => {
  const { etcd, witness, following } = await scene(3, 3)
  const others = [
    closing(await follow({ lines: [`endpoint ${etcd.endpoints.join(' ')}`] })),
    closing(await follow({ lines: [`endpoint ${etcd.endpoints[2]}`] }))
  ]
  for (let round = 0; round < 5; round++) {
    await witness.writeAll(etcd.members[round % 3]!.target)
    await sleep(500)
    const contents = await Promise.all([following, ...others].map((server) => server.content()))
    for (const content of contents) expect(content).toEqual(contents[0])
    expect(contents[0]?.size).toBe(16)
  }
  await expectNoneFailed(witness)
})

test('SIGTERM amid a list ends the server within a second, and the next start serves all keys', {
  ...needs('etcd'),
  timeout: 120_000
}, async () => {
  const etcd = closing(await startEtcd())
  const names = Array.from({ length: 50_000 }, (_, index) => `/skydns/test/skydns/n${index}`)
  await etcdV3(etcd.target).putAll(names.map((name) => [name, '{"host":"192.0.2.1"}'] as const))
  const folder = temporaryFolder()
  const lines = [`endpoint ${etcd.endpoints[0]}`]
  for (let round = 0; round < 8; round++) {
    const server = await follow({ lines, cwd: folder.path })
    await sleep(round * 60)
    const since = Date.now()
    process.kill(server.server.pid, 'SIGTERM')
    expect([await server.server.ended, Date.now() - since < 1500]).toEqual([0, true])
    await server.stop()
  }
  const server = closing(await follow({ lines, cwd: folder.path }))
  await expect.poll(() => server.metric('skein_etcd_keys'), { timeout: 30_000 }).toBe(names.length)
  await expect.poll(() => server.metric('skein_etcd_stale'), { timeout: 30_000 }).toBe(0)
  folder.remove()
})

test('a hundred reloads leave the connections and the watches as they were', { ...needs('etcd'), timeout: 300_000 }, async () => {
  const { etcd, following, proxy, witness } = await scene(1, 3)
  const watches = async (): Promise<number> => {
    const { text } = await callEtcd(etcd.target, 'GET', '/metrics')
    return Number(/^etcd_debugging_mvcc_watcher_total (\d+)/m.exec(text)?.[1])
  }
  await sleep(1000)
  const before = [proxy.connections(), await watches()]
  const endpoint = `endpoint http://127.0.0.1:${proxy.port}`
  // Half of them have the same cluster, half another way to it.
  for (let round = 0; round < 100; round++)
    await following.reload([endpoint, round % 2 === 0 ? `ttl ${round + 1}` : `expire ${round + 1}h`])
  // What is left open stays open.
  await expect.poll(async () => [proxy.connections(), await watches()], { timeout: 15_000, interval: 500 }).toEqual(before)
  await expectNoneFailed(witness)
})
