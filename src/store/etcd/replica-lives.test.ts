import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { EtcdError } from './client.js'
import { SOURCE, unreachable } from './fake-cluster.testing.js'
import {
  clock,
  close,
  cluster,
  content,
  entry,
  inStep,
  left,
  lines,
  numbers,
  open,
  pass,
  put,
  reader,
  replica,
  run,
  setUp,
  store,
  tearDown,
  until
} from './replica-scene.testing.js'

beforeEach(setUp)
afterEach(tearDown)

describe('the life of a key', () => {
  test('is asked for once for all keys of a lease, and again when its time is over and they are there', async () => {
    cluster.leases.set('77', 20_000)
    await inStep()
    cluster.change(12, put('/skydns/a', '77'), put('/skydns/b', '77'), put('/skydns/c', '77'))
    await until(() => numbers.get('revision') === 12)
    expect(left()).toBe(20)
    await pass(19)
    const asked = (): number => cluster.asked.filter((what) => what === 'remaining 77').length
    expect(asked()).toBe(1)
    await pass(2)
    await until(() => left() > 15)
    expect(asked()).toBe(2)
    expect(content()).toHaveLength(3)
    expect(numbers.get('lives')).toBe(3)
  })

  test('is asked for after a list, no more than 50 leases in a quarter of a second', async () => {
    cluster.entries = Array.from({ length: 300 }, (_, i) => entry(`/skydns/n${i}`, String(i)))
    for (let i = 0; i < 300; i++) cluster.leases.set(String(i), 60_000)
    await inStep()
    const asked = (): number => cluster.asked.filter((what) => what.startsWith('remaining')).length
    expect(asked()).toBe(0)
    clock.pass(250)
    await sleep(50)
    expect(asked()).toBe(50)
    for (let i = 0; i < 100 && asked() < 300; i++) {
      clock.pass(250)
      await sleep(10)
    }
    expect(asked()).toBe(300)
    await sleep(100)
    clock.pass(250)
    await sleep(50)
    expect(asked()).toBe(300)
    expect(left()).toBeGreaterThan(40)
  })

  test('is not asked for again where a list has another key of a lease that is known', async () => {
    cluster.leases.set('77', 600_000)
    await inStep()
    cluster.change(12, put('/skydns/b', '77'))
    await until(() => numbers.get('revision') === 12)
    cluster.entries = [entry('/skydns/a', '77')]
    cluster.lose(new EtcdError('compacted', 'compacted'))
    await until(() => content().join() === '/skydns/a')
    expect(left()).toBe(600)
  })

  test('ends when etcd says so, and not when its time is over', async () => {
    cluster.leases.set('77', 5000)
    await inStep()
    cluster.change(12, put('/skydns/a', '77'))
    await until(() => numbers.get('revision') === 12)
    cluster.leases.delete('77')
    await pass(10)
    expect(content()).toEqual(['/skydns/a'])
    cluster.change(13, { op: 'delete', path: Buffer.from('/skydns/a') })
    await until(() => numbers.get('revision') === 13)
    expect(content()).toEqual([])
    expect(numbers.get('lives')).toBe(0)
  })

  test('does not end at once where it was away for longer than `expire`, and etcd takes a moment to answer', async () => {
    cluster.entries = [entry('/skydns/a', '77')]
    await inStep()
    await close()
    clock.set(clock.now() + 700_000)
    for (const endpoint of SOURCE.endpoints) cluster.down.set(endpoint, unreachable)
    await open()
    run()
    await pass(5)
    expect(content()).toEqual(['/skydns/a'])
    await pass(8)
    await until(() => content().length === 0)
  })

  test('does not end in a list that was broken off, of which nothing is served before it is whole', async () => {
    await store.fill([entry('/skydns/a', '77')])
    await close()
    for (const endpoint of SOURCE.endpoints) cluster.down.set(endpoint, unreachable)
    await open()
    run()
    await pass(15)
    reader.follow(undefined)
    expect(reader.feed?.state).toBe('waiting')
    expect(store.mark).toBeUndefined()
  })

  test('ends after `expire` where nobody can renew it; the others stay, and all is listed anew after that', async () => {
    cluster.entries = [entry('/skydns/a', '77'), entry('/skydns/b')]
    cluster.leases.set('77', 5000)
    await inStep()
    for (const endpoint of SOURCE.endpoints) cluster.down.set(endpoint, unreachable)
    cluster.lose(unreachable)
    await pass(595)
    expect(content()).toEqual(['/skydns/a', '/skydns/b'])
    await pass(10)
    await until(() => content().length === 1)
    expect(content()).toEqual(['/skydns/b'])
    await until(() =>
      lines.includes('etcd has not been reached for so long that 1 key with a lease is left out, which nobody can have renewed')
    )
    cluster.down.clear()
    await until(() => replica.isInStep)
    expect(cluster.lists).toBe(2)
    expect(content()).toEqual(['/skydns/a', '/skydns/b'])
  })

  test('does not end sooner for a restart while nobody can renew it', async () => {
    cluster.entries = [entry('/skydns/a', '77')]
    await inStep()
    await pass(130)
    await close()
    for (const endpoint of SOURCE.endpoints) cluster.down.set(endpoint, unreachable)
    await open()
    run()
    await pass(500)
    expect(content()).toEqual(['/skydns/a'])
    await pass(110)
    await until(() => content().length === 0)
  })
})
