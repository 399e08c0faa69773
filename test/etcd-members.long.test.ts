/** Members of a cluster that fail, under a server that follows it. */
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { expectNoneFailed, scene } from './etcd-outage-scene.js'
import { needs } from './tools.js'

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
})
