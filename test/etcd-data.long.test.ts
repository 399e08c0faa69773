/** Data of an etcd that go, or are put back, under a server that follows it. */
import { describe, expect, test } from 'vitest'
import { etcdV2, etcdV3 } from './etcd-calls.js'
import { expectNoneFailed, scene } from './etcd-outage-scene.js'
import { needs } from './tools.js'

describe.each([3, 2] as const)('v%d: no query fails, and the replica is what etcd has after', needs('etcd'), (version) => {
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
