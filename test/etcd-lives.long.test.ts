import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Etcd, startEtcd } from './etcd.js'
import { ask, following, host, key, said, says } from './etcd-asking.js'
import { etcdV2, etcdV3 } from './etcd-calls.js'
import { needs } from './tools.js'

let etcd: Etcd
let v3: ReturnType<typeof etcdV3>
let v2: ReturnType<typeof etcdV2>

beforeAll(async () => {
  etcd = await startEtcd()
  v3 = etcdV3(etcd.target)
  v2 = etcdV2(etcd.target)
}, 30_000)

afterAll(() => etcd?.stop())

describe('a server that follows etcd', needs('etcd'), () => {
  test('gives a key on a lease the TTL that the lease leaves, and drops it when etcd does', async () => {
    await following([`endpoint ${etcd.endpoints[0]}`], async (server) => {
      const lease = await v3.grant(6)
      await v3.put(key('leased/a'), host('192.0.2.1'), lease)
      await v3.put(key('leased/b'), host('192.0.2.2', 2), lease)
      await says(server, 'leased', 'NOERROR 192.0.2.1 192.0.2.2')
      const { answer } = await ask(server, 'a.leased.skydns.test A')
      expect(Number(answer[0]!.split(' ')[1])).toBeGreaterThanOrEqual(4)
      expect(Number(answer[0]!.split(' ')[1])).toBeLessThanOrEqual(6)
      expect((await ask(server, 'b.leased.skydns.test A')).answer).toEqual(['b.leased.skydns.test. 2 A 192.0.2.2'])
      // Kept alive past its first end, of which etcd tells nobody.
      for (let i = 0; i < 8; i++) {
        await sleep(1000)
        await v3.keepAlive(lease)
        expect(await said(server, 'a.leased')).toBe('NOERROR 192.0.2.1')
      }
      const later = await ask(server, 'a.leased.skydns.test A')
      expect(Number(later.answer[0]!.split(' ')[1])).toBeLessThanOrEqual(6)
      await v3.revoke(lease)
      await says(server, 'leased', 'NXDOMAIN', 1000)
      expect(await server.metric('skein_etcd_leased_keys')).toBe(0)
    })
  }, 30_000)

  test('does the same with version 2, whose keys are refreshed', async () => {
    await following([`endpoint ${etcd.endpoints[0]}`, 'version 2'], async (server) => {
      await v2.put(key('two/a'), host('192.0.2.1'), 3)
      await v2.put(key('two/_hidden'), host('192.0.2.9'))
      await v2.put(key('two/b'), host('192.0.2.2'))
      await says(server, 'two', 'NOERROR 192.0.2.1 192.0.2.2')
      expect((await ask(server, 'b.two.skydns.test A')).answer).toEqual(['b.two.skydns.test. 3600 A 192.0.2.2'])
      for (let i = 0; i < 5; i++) {
        await sleep(1000)
        await v2.refresh(key('two/a'), 3)
        const { answer } = await ask(server, 'a.two.skydns.test A')
        expect(Number(answer[0]?.split(' ')[1])).toBeLessThanOrEqual(3)
      }
      const since = Date.now()
      await says(server, 'two', 'NOERROR 192.0.2.2')
      expect(Date.now() - since).toBeLessThan(5000)
      await v2.delete(key('two'), '?recursive=true')
      await says(server, 'two', 'NXDOMAIN', 2000)
    })
  }, 30_000)
})
