import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, test } from 'vitest'
import { type Etcd, startEtcd } from './etcd.js'
import { callEtcd, type EtcdTarget, etcdV2, etcdV3 } from './etcd-calls.js'
import { type EtcdProxy, etcdProxy } from './etcd-proxy.js'
import { type Following, follow, inStep, Witness } from './etcd-scene.js'
import { temporaryFolder } from './processes.js'
import { needs } from './tools.js'

const opened: { stop(): Promise<unknown> }[] = []

afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.stop()
})

function closing<T extends { stop(): Promise<unknown> }>(each: T): T {
  opened.push(each)
  return each
}

interface Scene {
  readonly etcd: Etcd
  readonly following: Following
  readonly witness: Witness
  /** Between the two, where there is one member. */
  readonly proxy: EtcdProxy
  /** Waits until the replica has what etcd has, and sees that this is what is answered. */
  readonly inStep: (target?: EtcdTarget) => Promise<void>
}

/** A cluster with content, a server with two threads that follows it, and somebody who asks. */
async function scene(size: 1 | 3, version: 2 | 3): Promise<Scene> {
  const etcd = closing(await startEtcd({ size }))
  const proxy = closing(await etcdProxy(etcd.members[0]!.port))
  const endpoints = size === 1 ? [`http://127.0.0.1:${proxy.port}`] : etcd.endpoints
  const following = closing(await follow({ lines: [`endpoint ${endpoints.join(' ')}`, `version ${version}`], threads: 2 }))
  const witness = await Witness.start(following.port, version)
  await witness.writeAll(etcd.target)
  await inStep(following, etcd.target, { version })
  witness.ask()
  const settled = async (target = etcd.target): Promise<void> => {
    await inStep(following, target, { version })
    // The news of the last change may still be on its way to the threads.
    await sleep(200)
    expect(await witness.isCurrent(target)).toEqual([])
  }
  return { etcd, following, witness, proxy, inStep: settled }
}

async function expectNoneFailed(witness: Witness): Promise<void> {
  const { asked, failed } = await witness.end()
  expect(failed).toEqual([])
  expect(asked).toBeGreaterThan(100)
}

describe.each([3, 2] as const)('v%d: no query fails, and the replica is what etcd has after', needs('etcd'), (version) => {
  test('the leader is killed, and comes back', { timeout: 90_000 }, async () => {
    const { etcd, witness, inStep } = await scene(3, version)
    for (let round = 0; round < 3; round++) {
      const leader = await etcd.leader()
      await leader.kill()
      const other = etcd.members.find((member) => member !== leader)!
      await etcd.leader()
      await witness.writeAll(other.target)
      await inStep(other.target)
      await leader.start()
    }
    await expectNoneFailed(witness)
  })

  test('all members are killed, and come back', { timeout: 60_000 }, async () => {
    const { etcd, following, witness, inStep } = await scene(3, version)
    await Promise.all(etcd.members.map((member) => member.kill()))
    await sleep(6000)
    expect(await following.metric('skein_etcd_stale')).toBe(1)
    expect(witness.ttlSince(Date.now() - 1000)).toBeLessThanOrEqual(30)
    await etcd.start()
    await witness.writeAll(etcd.target)
    await inStep()
    expect(await following.metric('skein_etcd_stale')).toBe(0)
    await expectNoneFailed(witness)
  })

  test('the leader is stopped for a minute', { timeout: 120_000 }, async () => {
    const { etcd, witness, inStep } = await scene(3, version)
    const leader = await etcd.leader()
    await leader.freeze()
    const other = etcd.members.find((member) => member !== leader)!
    const until = Date.now() + 60_000
    while (Date.now() < until) {
      await witness.write(other.target)
      await sleep(200)
    }
    await inStep(other.target)
    leader.thaw()
    await inStep(leader.target)
    await expectNoneFailed(witness)
  })

  test('the connection is cut or hangs at 200 random octets', { timeout: 900_000 }, async () => {
    const { etcd, proxy, witness, inStep } = await scene(1, version)
    for (let round = 0; round < 200; round++) {
      const isHanging = round % 8 === 0
      const spent = proxy.after(1 + Math.floor(Math.random() * 4000), isHanging ? 'hang' : 'cut').then(() => true)
      while (!(await Promise.race([spent, sleep(5, false)]))) await witness.write(etcd.target)
      await witness.write(etcd.target)
      // What hangs is given up, and what is connected after that has to pass.
      if (isHanging) {
        await sleep(Math.random() * 1000)
        await proxy.pass()
      }
      if (round % 10 === 9) await inStep()
    }
    await inStep()
    await expectNoneFailed(witness)
  })

  test('a connection hangs for good', { timeout: 60_000 }, async () => {
    const { etcd, proxy, witness, inStep } = await scene(1, version)
    for (let round = 0; round < 5; round++) {
      // Those that are open; new ones pass.
      proxy.hangWhere(/^/)
      await witness.writeAll(etcd.target)
      await inStep()
    }
    await expectNoneFailed(witness)
  })

  test('etcd forgets what the watch has not read', { timeout: 90_000 }, async () => {
    const { etcd, following, proxy, witness, inStep } = await scene(1, version)
    const gone = '/skydns/test/skydns/gone/a'
    if (version === 3) await etcdV3(etcd.target).put(gone, '{"host":"192.0.2.1"}')
    else await etcdV2(etcd.target).put(gone, '{"host":"192.0.2.1"}')
    await inStep()
    const before = (await following.metric('skein_etcd_lists_total'))!
    await proxy.refuse()
    await witness.writeAll(etcd.target)
    if (version === 3) {
      await etcdV3(etcd.target).delete(gone)
      await witness.writeAll(etcd.target)
      await etcdV3(etcd.target).compact(await etcdV3(etcd.target).revision())
    } else {
      await etcdV2(etcd.target).delete(gone)
      await witness.writeAll(etcd.target)
      // v2 remembers the last thousand changes.
      await etcdV2(etcd.target).putOften('/elsewhere', 1100)
    }
    await proxy.pass()
    await inStep()
    expect(await following.metric('skein_etcd_lists_total')).toBe(before + 1)
    await sleep(1000)
    await expectNoneFailed(witness)
  })

  test.each(['same cluster', 'another cluster'] as const)('the data are wiped, and put back: %s', { timeout: 90_000 }, async (which) => {
    const { etcd, witness, inStep } = await scene(1, version)
    const [member] = etcd.members
    await member!.stop()
    const saved = member!.saveData()
    witness.wiped()
    await etcd.wipe(which)
    await etcd.start()
    await inStep()
    expect(await witness.now('n0')).toBe(0)
    await member!.kill()
    witness.restored()
    member!.restoreData(saved)
    await member!.start()
    await witness.write(etcd.target, 'n1')
    await inStep()
    await expectNoneFailed(witness)
  })

  test('data that were put back have come to the same revision again', { timeout: 90_000 }, async () => {
    const { etcd, proxy, witness, inStep } = await scene(1, version)
    const [member] = etcd.members
    const revision = async (): Promise<number> =>
      version === 3 ? etcdV3(etcd.target).revision() : (await etcdV2(etcd.target).list('/skydns')).index
    await member!.stop()
    const saved = member!.saveData()
    await member!.start()
    await witness.writeAll(etcd.target)
    await inStep()
    const before = await revision()
    // Out of reach while its past is written anew.
    await proxy.refuse()
    await member!.kill()
    member!.restoreData(saved)
    await member!.start()
    witness.restored()
    while ((await revision()) < before + 5) await witness.write(etcd.target, 'n2')
    await proxy.pass()
    await inStep()
    await expectNoneFailed(witness)
  })
})

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
  await sleep(3000)
  expect([proxy.connections(), await watches()]).toEqual(before)
  await expectNoneFailed(witness)
})
