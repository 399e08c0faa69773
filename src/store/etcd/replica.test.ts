import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { EtcdError } from './client.js'
import { SOURCE, unreachable } from './fake-cluster.testing.js'
import {
  changed,
  clock,
  close,
  cluster,
  content,
  entry,
  inStep,
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
  until,
  why
} from './replica-scene.testing.js'

beforeEach(setUp)
afterEach(tearDown)

describe('a replica', () => {
  test('lists, watches from the next revision, and applies what comes', async () => {
    cluster.entries = [entry('/skydns/a')]
    await inStep()
    expect(cluster.watchers[0]?.from).toBe(10)
    expect(content()).toEqual(['/skydns/a'])
    cluster.change(12, put('/skydns/b'), { op: 'delete', path: Buffer.from('/skydns/a') })
    await until(() => numbers.get('revision') === 12)
    expect(content()).toEqual(['/skydns/b'])
    expect(changed.at(-1)).toEqual([
      ['skydns', 'b'],
      ['skydns', 'a']
    ])
    expect(['keys', 'events', 'lists', 'stale'].map((name) => numbers.get(name as 'keys'))).toEqual([1, 2, 1, 0])
  })

  test('applies what comes after any number of notices that nothing has changed', async () => {
    await inStep()
    for (let round = 0; round < 3; round++) {
      cluster.watchers[0]!.listener.progress(10)
      await sleep(5)
    }
    cluster.change(12, put('/skydns/b'))
    await until(() => numbers.get('revision') === 12)
    cluster.watchers[0]!.listener.progress(20)
    await until(() => numbers.get('revision') === 20)
    cluster.watchers[0]!.listener.progress(20)
    cluster.change(21, put('/skydns/c'))
    await until(() => numbers.get('revision') === 21)
  })

  test('takes no answer of before for data that were put back', async () => {
    await inStep()
    let answer = (): void => {}
    cluster.position = new Promise((resolve) => {
      const { at } = cluster
      answer = () => resolve(at)
    })
    clock.pass(1000)
    await until(() => cluster.asked.at(-1)?.startsWith('position') === true)
    cluster.change(12, put('/skydns/b'))
    await until(() => numbers.get('revision') === 12)
    answer()
    cluster.position = undefined
    await pass(3)
    expect([cluster.lists, numbers.get('connections')]).toEqual([1, 1])
  })

  test('is stale until what was missed is made up for', async () => {
    await inStep()
    for (const endpoint of SOURCE.endpoints) cluster.down.set(endpoint, unreachable)
    cluster.lose(unreachable)
    await pass(6)
    await until(() => numbers.get('stale') === 1)
    cluster.at = { cluster: 'c1', revision: 14 }
    cluster.down.clear()
    await until(() => cluster.watchers.length > 0)
    await sleep(50)
    expect(numbers.get('stale')).toBe(1)
    cluster.watchers[0]!.listener.events([put('/skydns/b')], 14)
    await until(() => numbers.get('stale') === 0)
    expect(content()).toEqual(['/skydns/b'])
  })

  test('is in step a second after the watch began where what has changed is not below its path', async () => {
    await inStep()
    cluster.at = { cluster: 'c1', revision: 14 }
    cluster.lose(unreachable)
    await until(() => !replica.isInStep && cluster.watchers.length > 0)
    await pass(3)
    await until(() => replica.isInStep)
    expect(numbers.get('revision')).toBe(10)
  })

  test('lists no faster and faster where the watch is lost at once each time', async () => {
    cluster.isContinued = false
    cluster.isLosing = true
    run()
    await sleep(700)
    // With pauses of 0.05, 0.1, 0.2, 0.4 s between two at a time.
    expect(cluster.lists).toBeLessThan(12)
  })

  test('goes on from where it was after the watch is lost, on another endpoint, and lists nothing', async () => {
    await inStep()
    cluster.change(12, put('/skydns/b'))
    await until(() => numbers.get('revision') === 12)
    const { endpoint } = cluster.watchers[0]!
    cluster.lose(unreachable)
    await until(() => cluster.watchers.some((watcher) => watcher.endpoint !== endpoint))
    expect(cluster.watchers.map(({ from }) => from)).toEqual([12])
    expect(cluster.lists).toBe(1)
  })

  test.each<[string, () => void]>([
    ['the cluster is another one', () => (cluster.at = { cluster: 'c2', revision: 50 })],
    ['the revision is lower', () => (cluster.at = { cluster: 'c1', revision: 3 })],
    ['its data do not go on from what was there', () => (cluster.isContinued = false)]
  ])('lists anew where %s', async (_title, happens) => {
    cluster.entries = [entry('/skydns/a')]
    await inStep()
    cluster.entries = [entry('/skydns/b')]
    happens()
    cluster.lose(unreachable)
    await until(() => cluster.lists === 2 && cluster.watchers.length > 0)
    expect(content()).toEqual(['/skydns/b'])
    expect(store.mark).toMatchObject(cluster.at)
  })

  test.each<[string, () => void | Promise<void>]>([
    ['the watch says that history has been compacted', () => cluster.lose(new EtcdError('compacted', 'compacted'))],
    [
      'a lower revision is seen while all is quiet',
      async () => {
        cluster.at = { cluster: 'c1', revision: 3 }
        await pass(2)
      }
    ]
  ])('lists anew on the same connection where %s', async (_title, happens) => {
    cluster.entries = [entry('/skydns/a')]
    await inStep()
    cluster.entries = []
    await happens()
    await until(() => cluster.lists === 2 && cluster.watchers.length > 0)
    expect(content()).toEqual([])
    expect(numbers.get('connections')).toBe(1)
  })

  test('that is silent for more than three seconds is stale, says so once a minute, and is live again at once', async () => {
    cluster.entries = [entry('/skydns/a')]
    await inStep()
    for (const endpoint of SOURCE.endpoints) cluster.down.set(endpoint, unreachable)
    cluster.lose(unreachable)
    await pass(2)
    expect(numbers.get('stale')).toBe(0)
    await pass(4)
    await until(() => content().length === 1 && reader.feed?.state === 'stale')
    expect(numbers.get('stale')).toBe(1)
    expect(changed.at(-1)).toBe('all')
    expect(why).toMatch(/http:\/\/\w+:\d: connect ECONNREFUSED/)
    await pass(121)
    const minutes = lines.filter((line) => line.includes('has not been reached for'))
    expect(minutes).toEqual([
      'etcd has not been reached for 1 min: its 1 key of then is served, with a TTL of 30 s at most',
      'etcd has not been reached for 2 min: its 1 key of then is served, with a TTL of 30 s at most'
    ])
    expect(content()).toEqual(['/skydns/a'])
    cluster.down.clear()
    await until(() => numbers.get('stale') === 0)
    expect(why).toBeUndefined()
    expect(lines.at(-1)).toMatch(/^in step with etcd: 1 key, after \d+ s$/)
  })

  test('that loses the cluster again and again says why once a minute, and as often that it is back', async () => {
    await inStep()
    for (let times = 0; times < 90; times++) {
      cluster.lose(unreachable)
      await until(() => replica.isInStep && cluster.watchers.length > 0)
      clock.pass(1000)
    }
    expect(lines.filter((line) => line.includes('ECONNREFUSED')).length).toBeLessThanOrEqual(4)
    expect(lines.filter((line) => line.startsWith('in step')).length).toBeLessThanOrEqual(5)
  })

  test('that was never in step waits, and tells of each endpoint once, and of what is another problem', async () => {
    for (const endpoint of SOURCE.endpoints) cluster.down.set(endpoint, unreachable)
    run()
    await until(() => cluster.asked.length > 6)
    expect(lines.sort()).toEqual(['http://one:1: connect ECONNREFUSED', 'http://two:2: connect ECONNREFUSED'])
    expect(numbers.get('stale')).toBe(1)
    cluster.down.set('http://one:1', new EtcdError('denied', 'authentication failed'))
    await until(() => lines.includes('http://one:1: authentication failed'))
    cluster.down.clear()
    await until(() => replica.isInStep)
  })

  test('serves after a restart what it had, stale until the cluster is reached', async () => {
    cluster.entries = [entry('/skydns/a')]
    await inStep()
    await close()
    await open()
    expect(content()).toEqual(['/skydns/a'])
    expect(reader.feed?.state).toBe('stale')
    await inStep()
    content()
    expect(reader.feed?.state).toBe('live')
    expect(cluster.lists).toBe(1)
  })
})
