import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { WatchListener } from '../src/store/etcd/client.js'
import { type Etcd, startEtcd } from './etcd.js'
import { etcdV3 } from './etcd-calls.js'
import { etcdProxy } from './etcd-proxy.js'
import { clientOf, failureOf, line, listed, watched } from './etcd-v3-scene.js'
import { needs } from './tools.js'

const octets = (text: string): Buffer => Buffer.from(text)

describe('a client of etcd v3', needs('etcd'), () => {
  let etcd: Etcd
  let v3: ReturnType<typeof etcdV3>
  const at = (path: string, endpoint = etcd.endpoints[0]!) => clientOf(endpoint, { path })

  beforeAll(async () => {
    etcd = await startEtcd({ flags: ['--experimental-watch-progress-notify-interval=300ms'] })
    v3 = etcdV3(etcd.target)
  })

  afterAll(() => etcd.stop())

  test('lists all keys as they were at one revision, in pages, while they change', async () => {
    const names = Array.from({ length: 5000 }, (_, index) => `/list/${String(index).padStart(5, '0')}`)
    const revision = await v3.putAll(names.map((name) => [name, 'before']))
    const pages: number[] = []
    const paths: string[] = []
    const values = new Set<string>()
    const position = await at('/list').list(async (entries) => {
      pages.push(entries.length)
      for (const { path, value, created, modified } of entries) {
        paths.push(path.toString())
        values.add(value.toString())
        expect(created).toBe(modified)
        expect(modified).toBeLessThanOrEqual(revision)
      }
      await v3.put(names.at(-1)!, 'after')
      await v3.delete(names.at(-2)!)
      await v3.put('/list/99999', 'after')
    })
    expect(paths).toEqual(names)
    expect([...values]).toEqual(['before'])
    expect(position.revision).toBe(revision)
    expect(pages).toEqual([1000, 4000])
  })

  test.each([
    ['/beside', ['/beside//c', '/beside/a', '/beside/b/c']],
    ['/beside/', ['/beside//c', '/beside/a', '/beside/b/c']],
    ['/beside/b', ['/beside/b/c']],
    ['/beside/a', []],
    ['/nothing', []]
  ])('lists what is below %s and nothing beside it', async (path, keys) => {
    for (const key of ['/beside', '/beside/a', '/beside/b/c', '/beside//c', '/besidex', '/beside0', '/beside.', '/besid']) {
      await v3.put(key, 'x')
    }
    const list = await listed(at(path))
    expect([...list.keys.keys()]).toEqual(keys)
    expect(list.position).toEqual(await at(path).position())
  })

  test.each(['', '/'])('lists all keys below the path "%s"', async (path) => {
    await v3.put('no slash', 'x')
    await v3.put(Buffer.of(255, 255), 'x')
    const { keys } = await listed(at(path))
    expect(keys.has('no slash')).toBe(true)
    expect(keys.has(Buffer.of(255, 255).toString())).toBe(true)
  })

  test('asks for smaller pages where the values are large', async () => {
    await v3.putAll(Array.from({ length: 40 }, (_, index) => [`/large/a${index}`, 'x'.repeat(10_000)] as const))
    const client = at('/large')
    for (let index = 0; index < 300; index++) await client.put(octets(`/large/b${index}`), Buffer.alloc(30_000))
    const { pages, keys } = await listed(client)
    expect(keys.size).toBe(340)
    expect(pages.slice(1, -1).every((size) => size < 60)).toBe(true)
  })

  test('tells of puts, deletes, leases and transactions below the path, each once and in order', async () => {
    const client = at('/watch')
    const { revision } = await client.position()
    // The store has come further than the events of the first response.
    await v3.put('/watch/a', 'one')
    await v3.put('/watchx', 'beside')
    const watch = watched(client, revision)
    await expect.poll(() => watch.batches.length).toBe(1)
    const lease = await v3.grant(60)
    await v3.put('/watch/b', 'leased', lease)
    const put = (key: string) => ({ requestPut: { key: octets(key).toString('base64'), value: '' } })
    const remove = { requestDeleteRange: { key: octets('/watch/a').toString('base64') } }
    await v3.call('kv/txn', { success: [put('/watch/c'), put('/elsewhere'), remove, put('/watch/d')] })
    await v3.revoke(lease)
    await expect.poll(() => watch.batches.length).toBe(4)
    expect(watch.batches.map(({ events, revision: to }) => [to - revision, ...events.map(line)])).toEqual([
      [1, 'put /watch/a=one'],
      [3, 'put /watch/b=leased'],
      [4, 'put /watch/c=', 'delete /watch/a', 'put /watch/d='],
      [5, 'delete /watch/b']
    ])
    const put1 = watch.batches[1]!.events[0]
    expect(put1).toMatchObject({ lease, created: revision + 3, modified: revision + 3, expires: undefined })
    expect(watch.batches[0]!.events[0]).toMatchObject({ lease: undefined })
  })

  test('tells how far there was nothing, and nothing after it is cancelled', async () => {
    const client = at('/quiet')
    const { revision } = await client.position()
    const watch = watched(client, revision)
    await v3.put('/loud', 'x')
    await expect.poll(() => watch.progress.at(-1)).toBe(revision + 1)
    watch.cancel()
    watch.cancel()
    await v3.put('/quiet/a', 'x')
    await sleep(400)
    expect(watch.batches).toEqual([])
    expect(watch.losses()).toBe(0)
  })

  test('loses nothing and doubles nothing where the connection is cut 20 times', { timeout: 30_000 }, async () => {
    const proxy = await etcdProxy(etcd.members[0]!.port)
    const replica = new Map<string, string>()
    const told: string[] = []
    let isWriting = true
    const write = async (): Promise<void> => {
      for (let round = 0; isWriting; round++) {
        const key = `/cut/${round % 50}`
        if (round % 7 === 3) await v3.delete(`${key}/1`)
        else await v3.putAll([0, 1, 2].map((part) => [`${key}/${part}`, `${round} ${'x'.repeat(round % 900)}`] as const))
      }
    }
    const list = await listed(at('/cut'))
    let { revision } = list.position
    const listener = (lost: () => void): WatchListener => ({
      events(events, to) {
        expect(to).toBeGreaterThan(revision)
        for (const event of events) {
          if (event.op === 'put') {
            expect(event.modified).toSatisfy((modified: number) => modified > revision && modified <= to)
            replica.set(event.path.toString(), event.value.toString())
            told.push(`${event.path.toString()} ${event.modified}`)
          } else replica.delete(event.path.toString())
        }
        revision = to
      },
      progress: (to) => expect(to).toBeGreaterThanOrEqual(revision),
      lost
    })

    const writing = write()
    for (let cuts = 0; cuts < 20; cuts++) {
      const client = at('/cut', `http://127.0.0.1:${proxy.port}`)
      // Amid the first messages of HTTP/2, those of gRPC, the events of the past, and those that come.
      void proxy.after([20, 150, 500, 3000, 20_000][cuts % 5]! + Math.floor(Math.random() * 400), 'cut')
      await new Promise<void>((resolve) => client.watch(revision, listener(resolve)))
      client.close()
    }
    isWriting = false
    await writing
    const last = await v3.put('/cut/last', 'x')
    at('/cut').watch(
      revision,
      listener(() => undefined)
    )
    await expect.poll(() => revision).toBe(last)
    expect(new Set(told).size).toBe(told.length)
    expect(told.length).toBeGreaterThan(100)
    expect([...replica].sort()).toEqual([...(await listed(at('/cut'))).keys].sort())
    await proxy.stop()
  })

  test('says that changes are compacted', async () => {
    const client = at('/old')
    const { revision } = await client.position()
    await v3.putAll(Array.from({ length: 1200 }, (_, index) => [`/old/many/${index}`, 'x'] as const))
    for (let round = 0; round < 300; round++) await v3.put(`/old/${round}`, 'x')
    await v3.compact(revision + 200)
    const error = await watched(client, revision).lost
    expect(`${error.kind}: ${error.message}`).toBe(`compacted: the changes up to revision ${revision + 200} have been compacted`)
    const listing = client.list(async () => {
      await v3.put('/old/again', 'x')
      await v3.compact(await v3.revision())
    })
    expect(await failureOf(listing)).toBe('compacted: required revision has been compacted')
    const watch = watched(client, (await client.position()).revision)
    await v3.put('/old/new', 'x')
    await expect.poll(() => watch.batches.length).toBe(1)
  })

  test('knows whether what it reads goes on from what was kept', async () => {
    const client = at('/kept')
    const first = { path: octets('/kept/a'), modified: await v3.put('/kept/a', 'one') }
    const modified = await v3.put('/kept/b', 'two')
    const position = await client.position()
    const kept = { ...position, keys: 2, recent: [{ path: octets('/kept/b'), modified }, first] }
    const rows: [string, Partial<typeof kept>, boolean][] = [
      ['the same', {}, true],
      ['none that is known', { recent: [] }, false],
      ['an earlier revision', { revision: modified }, true],
      ['from before the key', { revision: modified - 1 }, false],
      ['another cluster', { cluster: 'abc' }, false],
      ['another number of keys', { keys: 3 }, false],
      ['another change of the last', { recent: [{ path: octets('/kept/b'), modified: modified - 1 }] }, false],
      [
        'another change of one before',
        {
          recent: [
            { path: octets('/kept/b'), modified },
            { ...first, modified: 1 }
          ]
        },
        false
      ],
      ['one that is not there', { recent: [{ path: octets('/kept/c'), modified }] }, false],
      ['a revision to come', { revision: position.revision + 1 }, false],
      ['no revision', { revision: 0 }, false]
    ]
    for (const [name, over, goesOn] of rows) expect([name, await client.continues({ ...kept, ...over })]).toEqual([name, goesOn])
    await v3.put('/kept/c', 'later')
    expect(await client.continues(kept)).toBe(true)
    await v3.compact(await v3.revision())
    expect(await client.continues(kept)).toBe(false)
  })

  test('sets and deletes keys, with a time to live, and says what is left of it', async () => {
    const client = at('/set')
    await client.put(octets('/set/a'), octets('one'))
    await client.put(octets('/set/b'), octets('two'), 60)
    const [kept, leased] = await v3.range('/set/', 'prefix')
    expect(kept).toMatchObject({ value: 'one', lease: '0' })
    expect(await client.remaining(leased!.lease)).toSatisfy((left: number) => left > 50_000 && left <= 60_000)
    expect(await client.remaining('4711')).toBe(undefined)
    for (const key of ['/set/tree', '/set/tree/a', '/set/tree/b/c', '/set/treex']) await v3.put(key, 'x')
    expect(await client.delete(octets('/set/tree/b'), false)).toBe(false)
    expect(await client.delete(octets('/set/tree'), true)).toBe(true)
    expect(await client.delete(octets('/set/tree'), true)).toBe(false)
    expect(await client.delete(octets('/set/a'), false)).toBe(true)
    expect((await v3.range('/set/', 'prefix')).map(({ key }) => key)).toEqual(['/set/b', '/set/treex'])
  })
})
