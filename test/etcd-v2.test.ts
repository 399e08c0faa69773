import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Etcd, startEtcd } from './etcd.js'
import { etcdV2 } from './etcd-calls.js'
import { clientOf, failure, listed, shown } from './etcd-v2-scene.js'
import { needs } from './tools.js'

type Calls = ReturnType<typeof etcdV2>

describe('the client of v2', needs('etcd'), () => {
  let etcd: Etcd
  let calls: Calls

  beforeAll(async () => {
    etcd = await startEtcd()
    calls = etcdV2(etcd.target)
  })

  afterAll(() => etcd.stop())

  test.each<[string, string, (calls: Calls) => Promise<unknown>, string[]]>([
    [
      'keys at all depths, and no directories',
      '/depths',
      async ({ put, mkdir }) => {
        await put('/depths/a', '1')
        await put('/depths/b/c/d', '2')
        await put('/depths/b/e', '')
        await mkdir('/depths/f')
      },
      ['/depths/a=1', '/depths/b/c/d=2', '/depths/b/e=']
    ],
    [
      'no keys whose names begin with _, nor what is below such',
      '/hidden',
      async ({ put }) => {
        await put('/hidden/a_', '1')
        await put('/hidden/_b', '2')
        await put('/hidden/_c/d', '3')
      },
      ['/hidden/a_=1']
    ],
    ['what is below a path that begins with _', '/_own', async ({ put }) => put('/_own/a', '1'), ['/_own/a=1']],
    ['nothing below a path that is not there', '/nothing', async () => undefined, []],
    ['nothing below a path that goes through a key', '/key/a/b', async ({ put }) => put('/key/a', '1'), []],
    ['nothing of a directory whose name is longer', '/long', async ({ put }) => put('/longer/a', '1'), []],
    ['the key at the path itself', '/alone', async ({ put }) => put('/alone', '1'), ['/alone=1']],
    [
      'names with any letters',
      '/letters/a b%2f?#&ü"<>',
      async ({ put }) => put('/letters/a b%2f?#&ü"<>/+%\\\u2028.é', 'x y\n%ü'),
      ['/letters/a b%2f?#&ü"<>/+%\\\u2028.é=x y\n%ü']
    ],
    [
      'what the life of a key hangs on: the time to live that ends first, of it or of a directory above',
      '/lives',
      async ({ put, mkdir }) => {
        await put('/lives/a', '1', 50)
        await mkdir('/lives/d', 100)
        await put('/lives/d/b', '2')
        await put('/lives/d/c', '3', 50)
        await put('/lives/d/e', '4', 150)
        await mkdir('/lives/d/f', 60)
        await put('/lives/d/f/g/h', '5', 80)
      },
      [
        '/lives/a=1 on /lives/a',
        '/lives/d/b=2 on /lives/d',
        '/lives/d/c=3 on /lives/d/c',
        '/lives/d/e=4 on /lives/d',
        '/lives/d/f/g/h=5 on /lives/d/f'
      ]
    ]
  ])('lists %s', async (_, path, prepare, expected) => {
    await prepare(calls)
    const client = clientOf(etcd.target.endpoint, path)
    const { entries, position } = await listed(client)
    expect(entries.map(shown).sort()).toEqual(expected)
    expect(position).toEqual(await client.position())
    client.close()
  })

  test('lists everything below the root', async () => {
    await calls.put('/at-the-root', '1')
    const client = clientOf(etcd.target.endpoint, '/')
    expect((await listed(client)).entries.map(shown)).toContain('/at-the-root=1')
    client.close()
  })

  test('lists when a key was made and set last, and when it ends', async () => {
    const { index: created } = await calls.put('/times/a', '1')
    const { index: modified } = await calls.putIf('/times/a', '2', { prevExist: 'true', ttl: '50' })
    const client = clientOf(etcd.target.endpoint, '/times')
    const { entries, position } = await listed(client)
    expect(entries[0]).toMatchObject({ created, modified })
    const left = (entries[0]!.expires ?? 0) - Date.now()
    expect(left).toBeGreaterThan(47_000)
    expect(left).toBeLessThanOrEqual(50_000)
    expect(position.revision).toBe(modified)
    expect(position.cluster).toMatch(/^[0-9a-f]{10,16}$/)
    client.close()
  })

  test('lists in pages of 1000, the next when the one before is taken', async () => {
    await Promise.all(Array.from({ length: 20 }, (_, part) => fill(calls, part)))
    const client = clientOf(etcd.target.endpoint, '/many')
    const { entries, pages } = await listed(client)
    expect(pages).toEqual([1000, 1000, 100])
    expect(new Set(entries.map(shown)).size).toBe(2100)
    await expect(client.list(() => Promise.reject(new Error('the disk is full')))).rejects.toThrow('the disk is full')
    client.close()
  })

  test('never takes what was kept for the beginning of what it reads', async () => {
    const client = clientOf(etcd.target.endpoint, '/kept')
    expect(await client.continues({ ...(await client.position()), keys: 0, recent: [] })).toBe(false)
    client.close()
  })

  test.each<[string, string, (calls: Calls) => Promise<unknown>, [from: number, to: number] | undefined]>([
    ['of a key', '/left/a', ({ put }) => put('/left/a', '1', 50), [48_000, 50_000]],
    [
      'of a key whose life was renewed',
      '/left/b',
      async ({ put, refresh }) => {
        await put('/left/b', '1', 50)
        await refresh('/left/b', 90)
      },
      [88_000, 90_000]
    ],
    ['of a directory', '/left/c', ({ mkdir }) => mkdir('/left/c', 50), [48_000, 50_000]],
    ['of what stays', '/left/d', ({ put }) => put('/left/d', '1'), [Infinity, Infinity]],
    ['of what is not there', '/left/e', async () => undefined, undefined],
    ['of what is below a key', '/left/f/g', ({ put }) => put('/left/f', '1'), undefined]
  ])('tells what is left of a life: %s', async (_, path, prepare, expected) => {
    await prepare(calls)
    const client = clientOf(etcd.target.endpoint, '/left')
    const left = await client.remaining(path)
    if (expected === undefined) expect(left).toBe(undefined)
    else {
      expect(left).toBeGreaterThanOrEqual(expected[0])
      expect(left).toBeLessThanOrEqual(expected[1])
    }
    client.close()
  })

  test('sets keys with any letters, and with a time to live', async () => {
    const client = clientOf(etcd.target.endpoint, '/')
    await client.put(Buffer.from('/set/a b%2f?#&ü"<>+'), Buffer.from('x y&ttl=1;%ü+'))
    await client.put(Buffer.from('/set/b'), Buffer.from('2'), 50)
    const { nodes = [] } = await calls.list('/set')
    expect(nodes.map(({ key, value, ttl }) => [key, value, ttl])).toEqual([
      ['/set/a b%2f?#&ü"<>+', 'x y&ttl=1;%ü+', undefined],
      ['/set/b', '2', 50]
    ])
    client.close()
  })

  test.each<[string, string, boolean, boolean, string[]]>([
    ['a key', '/del/a', false, true, ['/del/d']],
    ['a key that is not there', '/del/x', false, false, ['/del/a', '/del/d']],
    ['a key below a key', '/del/a/b', true, false, ['/del/a', '/del/d']],
    ['no directory unless recursively', '/del/d', false, false, ['/del/a', '/del/d']],
    ['a directory with all that is in it', '/del/d', true, true, ['/del/a']],
    ['a key recursively too', '/del/a', true, true, ['/del/d']]
  ])('deletes %s', async (_, path, recursive, expected, left) => {
    await calls.put('/del/a', '1')
    await calls.put('/del/d/b', '1')
    const client = clientOf(etcd.target.endpoint, '/')
    expect(await client.delete(Buffer.from(path), recursive)).toBe(expected)
    expect((await calls.list('/del')).nodes?.map(({ key }) => key)).toEqual(left)
    client.close()
  })

  test.each<[string, string, (client: ReturnType<typeof clientOf>) => Promise<unknown>, string]>([
    ['a key that is no UTF-8', '', (client) => client.put(Buffer.from([0x2f, 0xff]), Buffer.from('')), 'this key is not'],
    ['a value that is no UTF-8', '', (client) => client.put(Buffer.from('/a'), Buffer.from([0xff])), 'this value is not'],
    ['a segment ..', '', (client) => client.put(Buffer.from('/a/../b'), Buffer.from('')), 'no keys with a segment . or .., as in /a/../b'],
    ['a key where a directory is', '/no/a', (client) => client.put(Buffer.from('/no'), Buffer.from('')), 'etcd says: Not a file (/no)'],
    ['to delete the root', '', (client) => client.delete(Buffer.from('/'), true), 'etcd says: Root is read only (/)'],
    ['a broken time to live', '', (client) => client.put(Buffer.from('/a'), Buffer.from(''), 1.5), 'TTL in POST form is not a number']
  ])('refuses %s', async (_, before, what, words) => {
    if (before !== '') await calls.put(before, '1')
    const client = clientOf(etcd.target.endpoint, '/')
    const said = await failure(what(client))
    expect(said).toContain('failed: ')
    expect(said).toContain(words)
    client.close()
  })
})

async function fill({ put }: Calls, part: number): Promise<void> {
  for (let key = 0; key < 105; key++) await put(`/many/${part}/${key}`, 'x')
}
