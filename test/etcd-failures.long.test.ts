import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, test } from 'vitest'
import { type Etcd, startEtcd } from './etcd.js'
import { etcdV3 } from './etcd-calls.js'
import { type EtcdProxy, etcdProxy } from './etcd-proxy.js'
import { type Following, follow, inStep, Witness } from './etcd-scene.js'
import { needs } from './tools.js'

const opened: { stop(): Promise<unknown> }[] = []

afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.stop()
})

function closing<T extends { stop(): Promise<unknown> }>(each: T): T {
  opened.push(each)
  return each
}

/** A cluster with content, a server with two threads that follows it, and somebody who asks. */
async function scene(size: 1 | 3): Promise<{ etcd: Etcd; following: Following; witness: Witness }> {
  const etcd = closing(await startEtcd({ size }))
  const following = closing(await follow({ lines: [`endpoint ${etcd.endpoints.join(' ')}`], threads: 2 }))
  const witness = await Witness.start(following.port)
  await witness.writeAll(etcd.target)
  await inStep(following, etcd.target)
  witness.ask()
  return { etcd, following, witness }
}

async function expectNoneFailed(witness: Witness): Promise<void> {
  const { asked, failed } = await witness.end()
  expect(failed).toEqual([])
  expect(asked).toBeGreaterThan(100)
}

describe('no query fails, and the replica is what etcd has after', needs('etcd'), () => {
  test('the leader is killed, and comes back', { timeout: 60_000 }, async () => {
    const { etcd, following, witness } = await scene(3)
    for (let round = 0; round < 3; round++) {
      const leader = await etcd.leader()
      await leader.kill()
      const other = etcd.members.find((member) => member !== leader)!
      await etcd.leader()
      await witness.writeAll(other.target)
      await inStep(following, other.target)
      await leader.start()
    }
    await expectNoneFailed(witness)
  })

  test('all members are killed, and come back', { timeout: 60_000 }, async () => {
    const { etcd, following, witness } = await scene(3)
    await Promise.all(etcd.members.map((member) => member.kill()))
    await sleep(5000)
    expect(await following.metric('skein_etcd_stale')).toBe(1)
    expect(witness.ttlSince(Date.now() - 1000)).toBeLessThanOrEqual(30)
    await etcd.start()
    await witness.writeAll(etcd.target)
    await inStep(following, etcd.target)
    expect(await following.metric('skein_etcd_stale')).toBe(0)
    await expectNoneFailed(witness)
  })

  test('the member that is followed is stopped for a minute', { timeout: 120_000 }, async () => {
    const { etcd, following, witness } = await scene(3)
    const leader = await etcd.leader()
    await leader.freeze()
    const other = etcd.members.find((member) => member !== leader)!
    await etcd.leader().catch(() => undefined)
    const until = Date.now() + 60_000
    while (Date.now() < until) {
      await witness.write(other.target)
      await sleep(200)
    }
    await inStep(following, other.target)
    await leader.thaw()
    await inStep(following, leader.target)
    await expectNoneFailed(witness)
  })

  test('the connection is cut or hangs at 200 random octets', { timeout: 900_000 }, async () => {
    const etcd = closing(await startEtcd())
    const proxy: EtcdProxy = closing(await etcdProxy(etcd.members[0]!.port))
    const following = closing(await follow({ lines: [`endpoint http://127.0.0.1:${proxy.port}`], threads: 2 }))
    const witness = await Witness.start(following.port)
    await witness.writeAll(etcd.target)
    await inStep(following, etcd.target)
    witness.ask()
    for (let round = 0; round < 200; round++) {
      const spent = proxy.after(1 + Math.floor(Math.random() * 4000), round % 4 === 0 ? 'hang' : 'cut')
      const isSpent = spent.then(() => true)
      while (!(await Promise.race([isSpent, sleep(5, false)]))) await witness.write(etcd.target)
      await witness.write(etcd.target)
      // What hangs is given up, and what is connected after that has to pass.
      if (round % 4 === 0) {
        await sleep(Math.random() * 1000)
        await proxy.pass()
      }
      if (round % 10 === 9) await inStep(following, etcd.target)
    }
    await inStep(following, etcd.target)
    await expectNoneFailed(witness)
  })

  test('a connection that hangs for good is given up for another', { timeout: 60_000 }, async () => {
    const etcd = closing(await startEtcd())
    const proxy = closing(await etcdProxy(etcd.members[0]!.port))
    const following = closing(await follow({ lines: [`endpoint http://127.0.0.1:${proxy.port}`] }))
    const witness = await Witness.start(following.port)
    await witness.writeAll(etcd.target)
    await inStep(following, etcd.target)
    witness.ask()
    for (let round = 0; round < 5; round++) {
      // Those that are open hang for ever; new ones pass.
      proxy.hangWhere(/^/)
      await witness.writeAll(etcd.target)
      await inStep(following, etcd.target)
    }
    await expectNoneFailed(witness)
  })

  test('etcd compacts what the watch has not read', { timeout: 60_000 }, async () => {
    const etcd = closing(await startEtcd())
    const proxy = closing(await etcdProxy(etcd.members[0]!.port))
    const following = closing(await follow({ lines: [`endpoint http://127.0.0.1:${proxy.port}`], threads: 2 }))
    const witness = await Witness.start(following.port)
    await witness.writeAll(etcd.target)
    await etcdV3(etcd.target).put('/skydns/test/skydns/gone/a', '{"host":"192.0.2.1"}')
    await inStep(following, etcd.target)
    witness.ask()
    const before = (await following.metric('skein_etcd_lists_total'))!
    await proxy.refuse()
    await witness.writeAll(etcd.target)
    await etcdV3(etcd.target).delete('/skydns/test/skydns/gone/a')
    await witness.writeAll(etcd.target)
    await etcdV3(etcd.target).compact(await etcdV3(etcd.target).revision())
    await proxy.pass()
    await inStep(following, etcd.target)
    expect(await following.metric('skein_etcd_lists_total')).toBe(before + 1)
    await sleep(1000)
    await expectNoneFailed(witness)
  })

  test.each(['same cluster', 'another cluster'] as const)('the data are wiped, and put back: %s', { timeout: 90_000 }, async (which) => {
    const { etcd, following, witness } = await scene(1)
    const [member] = etcd.members
    await member!.stop()
    const saved = member!.saveData()
    witness.wiped()
    await etcd.wipe(which)
    await etcd.start()
    await inStep(following, etcd.target)
    expect(await witness.now('n0')).toBe(0)
    await member!.kill()
    witness.restored()
    member!.restoreData(saved)
    await member!.start()
    await witness.write(etcd.target, 'n1')
    await inStep(following, etcd.target)
    await expectNoneFailed(witness)
  })

  test('data that were put back have come to the same revision again', { timeout: 90_000 }, async () => {
    const etcd = closing(await startEtcd())
    const proxy = closing(await etcdProxy(etcd.members[0]!.port))
    const following = closing(await follow({ lines: [`endpoint http://127.0.0.1:${proxy.port}`], threads: 2 }))
    const witness = await Witness.start(following.port)
    const [member] = etcd.members
    await witness.writeAll(etcd.target)
    await member!.stop()
    const saved = member!.saveData()
    await member!.start()
    await witness.writeAll(etcd.target)
    await inStep(following, etcd.target)
    witness.ask()
    const revision = await etcdV3(etcd.target).revision()
    // Out of reach while its past is written anew.
    await proxy.refuse()
    await member!.kill()
    member!.restoreData(saved)
    await member!.start()
    witness.restored()
    while ((await etcdV3(etcd.target).revision()) < revision + 5) await witness.write(etcd.target, 'n2')
    await proxy.pass()
    await inStep(following, etcd.target)
    await expectNoneFailed(witness)
  })
})
