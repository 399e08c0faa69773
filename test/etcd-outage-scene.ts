/** An etcd that fails, a server with two threads that follows it, and somebody who asks all the time. */
import { expect, onTestFinished } from 'vitest'
import { type Etcd, startEtcd } from './etcd.js'
import type { EtcdTarget } from './etcd-calls.js'
import { type EtcdProxy, etcdProxy } from './etcd-proxy.js'
import { type Following, follow, inStep, Witness } from './etcd-scene.js'

/** Stops it when the test is over, before what was opened earlier. */
export function closing<T extends { stop(): Promise<unknown> }>(each: T): T {
  onTestFinished(async () => void (await each.stop()))
  return each
}

/** What a test does something to. */
export interface Scene {
  readonly etcd: Etcd
  readonly following: Following
  readonly witness: Witness
  /** Between the two, where there is one member. */
  readonly proxy: EtcdProxy
  /** Waits until the replica has what etcd has, and sees that this is what is answered. */
  readonly inStep: (target?: EtcdTarget) => Promise<void>
}

/** A cluster with content, and the others. */
export async function scene(size: 1 | 3, version: 2 | 3): Promise<Scene> {
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
    // The news of the last change may still be on its way to the threads, and on a busy machine takes its time.
    await expect.poll(() => witness.isCurrent(target), { timeout: 10_000, interval: 200 }).toEqual([])
  }
  return { etcd, following, witness, proxy, inStep: settled }
}

/** Sees that all that was asked was answered, with what etcd had. */
export async function expectNoneFailed(witness: Witness): Promise<void> {
  const { asked, failed } = await witness.end()
  expect(failed).toEqual([])
  expect(asked).toBeGreaterThan(100)
}
