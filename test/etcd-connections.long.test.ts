/** Connections to an etcd that fail, of a server that follows it. */
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { etcdV2, etcdV3 } from './etcd-calls.js'
import { expectNoneFailed, scene } from './etcd-outage-scene.js'
import { needs } from './tools.js'

describe.each([3, 2] as const)('v%d: no query fails, and the replica is what etcd has after', needs('etcd'), (version) => {
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
})
