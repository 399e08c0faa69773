import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { EmbeddedStore } from '../embedded.js'
import { FollowingStore } from '../following.js'
import { keyOfPath, pathOfKey } from '../key.js'
import type { EtcdEntry, EtcdEvent } from './client.js'
import { ReplicaList } from './replica-list.js'
import { type Changed, ReplicaStore } from './replica-store.js'

const SCOPE = { version: 3, path: '/skydns' } as const
const STOP = new AbortController().signal
const AT = { cluster: 'c1', revision: 10 }

let folder: string
let store: ReplicaStore
let reader: FollowingStore
/** What was told of each path last: its value, or why it is no key; undefined where it has gone. */
let told: Map<string, string | undefined>

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'skein-replica-'))
  await open()
})

afterEach(async () => {
  await close()
  rmSync(folder, { recursive: true, force: true })
})

async function open(scope: { version: 2 | 3; path: string } = SCOPE): Promise<void> {
  told = new Map()
  store = await ReplicaStore.open(folder, scope, (path, value, problem) =>
    told.set(path.toString(), value && (problem ?? value.toString()))
  )
  reader = await FollowingStore.open(folder, () => {})
}

async function close(): Promise<void> {
  await reader.close()
  await store.close()
}

function entry(path: string, value: string, modified = 5, more: Partial<EtcdEntry> = {}): EtcdEntry {
  return { path: Buffer.from(path), value: Buffer.from(value), created: modified, modified, lease: undefined, expires: undefined, ...more }
}

function put(path: string, value: string, modified: number, more: Partial<EtcdEntry> = {}): EtcdEvent {
  return { op: 'put', ...entry(path, value, modified, more) }
}

const recently = (path: string, modified: number) => ({ path: Buffer.from(path).toString('base64'), modified })
const gone = (path: string): EtcdEvent => ({ op: 'delete', path: Buffer.from(path) })

async function list(entries: readonly EtcdEntry[], at = AT): Promise<Changed> {
  const all = new ReplicaList(store, STOP)
  for (let from = 0; from < entries.length; from += 2) await all.page(entries.slice(from, from + 2))
  return all.finish(at, 1000)
}

/** All that can be read, as `path=value`. */
function content(): string[] {
  reader.follow(undefined)
  return reader.subtree([]).map(({ key, value }) => `${pathOfKey(key)}=${value.toString()}`)
}

function paths(changed: Changed): string[] | 'all' {
  return changed === 'all' ? 'all' : changed.map(pathOfKey)
}

describe('a list', () => {
  test('is stopped amid a page', async () => {
    await expect(new ReplicaList(store, AbortSignal.abort()).page([entry('/skydns/a', '1')])).rejects.toThrow()
    expect(store.keys).toBe(0)
  })

  test('is read as a whole: before it is finished the replica waits, after that it is live', async () => {
    expect(reader.feed?.state).toBe('waiting')
    const all = new ReplicaList(store, STOP)
    await all.page([entry('/skydns/a', '1'), entry('/skydns/b', '2')])
    reader.follow(undefined)
    expect(reader.feed?.state).toBe('waiting')
    await all.finish(AT, 1000)
    expect(content()).toEqual(['/skydns/a=1', '/skydns/b=2'])
    expect(reader.feed?.state).toBe('live')
    expect(store.mark).toMatchObject({ cluster: 'c1', revision: 10, keys: 2, isStale: false, contact: 1000 })
  })

  test('after another is one change: what is read is the old or the new', async () => {
    await list([entry('/skydns/a', '1'), entry('/skydns/b', '2'), entry('/skydns/c', '3')])
    const all = new ReplicaList(store, STOP)
    await all.page([entry('/skydns/b', 'two', 11), entry('/skydns/d', '4', 12)])
    expect(content()).toEqual(['/skydns/a=1', '/skydns/b=2', '/skydns/c=3'])
    await all.page([entry('/skydns/c', '3')])
    expect(content()).toEqual(['/skydns/a=1', '/skydns/b=2', '/skydns/c=3'])
    const changed = await all.finish({ cluster: 'c1', revision: 12 }, 2000)
    expect(content()).toEqual(['/skydns/b=two', '/skydns/c=3', '/skydns/d=4'])
    expect(paths(changed)).toEqual(['/skydns/b', '/skydns/d', '/skydns/a'])
    expect(store.keys).toBe(3)
  })

  test('that has nothing empties the replica, which is live', async () => {
    await list([entry('/skydns/a', '1')])
    await list([], { cluster: 'c2', revision: 1 })
    expect(content()).toEqual([])
    expect(reader.has(keyOfPath('/skydns'))).toBe(false)
    expect(store.mark).toMatchObject({ cluster: 'c2', revision: 1, keys: 0, recent: [] })
    expect(reader.feed?.state).toBe('live')
  })

  test('of the same keys with other values at the same revision, as after data were put back, is the new', async () => {
    await list([entry('/skydns/a', 'old', 7)])
    await list([entry('/skydns/a', 'new', 7)])
    expect(content()).toEqual(['/skydns/a=new'])
  })

  test('that was broken off before the first was finished leaves nothing behind', async () => {
    await new ReplicaList(store, STOP).page([entry('/skydns/a', '1'), entry('/skydns/b', '2')])
    await close()
    await open()
    expect(reader.feed?.state).toBe('waiting')
    expect(store.keys).toBe(2)
    await list([entry('/skydns/b', '2'), entry('/skydns/c', '3')])
    expect(content()).toEqual(['/skydns/b=2', '/skydns/c=3'])
    expect(store.mark?.keys).toBe(2)
  })

  test('of more keys than can be told one by one has everything told', async () => {
    const many = Array.from({ length: 1001 }, (_, i) => entry(`/skydns/n${i}`, 'x'))
    await list([entry('/skydns/a', '1')])
    expect(await list(many)).toBe('all')
  })
})

describe('changes', () => {
  beforeEach(() => list([entry('/skydns/a', '1'), entry('/skydns/b', '2')]))

  test.each<[string, readonly EtcdEvent[], readonly string[], readonly string[]]>([
    ['a put', [put('/skydns/c', '3', 11)], ['/skydns/a=1', '/skydns/b=2', '/skydns/c=3'], ['/skydns/c']],
    ['a delete', [gone('/skydns/a')], ['/skydns/b=2'], ['/skydns/a']],
    ['a put and a delete of it', [put('/skydns/c', '3', 11), gone('/skydns/c')], ['/skydns/a=1', '/skydns/b=2'], ['/skydns/c']],
    ['a delete and a put', [gone('/skydns/a'), put('/skydns/a', '9', 12)], ['/skydns/a=9', '/skydns/b=2'], ['/skydns/a']],
    [
      'a directory that goes',
      [put('/skydns/d/x', '3', 11), put('/skydns/dx', '4', 12), { op: 'clear', path: Buffer.from('/skydns/d') }],
      ['/skydns/a=1', '/skydns/b=2', '/skydns/dx=4'],
      ['/skydns/d/x', '/skydns/dx']
    ],
    ['all that goes', [{ op: 'clear', path: Buffer.from('/skydns') }], [], ['/skydns/a', '/skydns/b']],
    ['keys that differ in case', [put('/skydns/A', 'x', 11)], ['/skydns/a=1', '/skydns/A=x', '/skydns/b=2'], ['/skydns/A']]
  ])('%s', async (_title, events, after, changed) => {
    expect(paths(await store.apply(events, 12))).toEqual(changed)
    expect(content()).toEqual(after)
    expect(store.mark).toMatchObject({ revision: 12, keys: after.length })
    expect(reader.has(keyOfPath('/skydns'))).toBe(after.length > 0)
  })

  test('are there after a restart, with how far they came', async () => {
    await store.apply([put('/skydns/c', '3', 11)], 11)
    await close()
    await open()
    expect(content()).toEqual(['/skydns/a=1', '/skydns/b=2', '/skydns/c=3'])
    expect(store.mark).toMatchObject({
      revision: 11,
      keys: 3,
      recent: [recently('/skydns/c', 11), recently('/skydns/a', 5), recently('/skydns/b', 5)]
    })
  })

  test('name four keys that were set last, and none that has gone', async () => {
    const names = (): string[] => store.mark!.recent.map(({ path, modified }) => `${Buffer.from(path, 'base64').toString()} ${modified}`)
    expect(names()).toEqual(['/skydns/a 5', '/skydns/b 5'])
    await store.apply([put('/skydns/c', '3', 11), put('/skydns/d', '4', 12), gone('/skydns/c')], 13)
    expect(names()).toEqual(['/skydns/d 12', '/skydns/a 5', '/skydns/b 5'])
    await store.apply([put('/skydns/a', '5', 14), put('/skydns/e', '6', 15), put('/skydns/f', '7', 16)], 16)
    expect(names()).toEqual(['/skydns/f 16', '/skydns/e 15', '/skydns/a 14', '/skydns/d 12'])
    await store.apply([{ op: 'clear', path: Buffer.from('/skydns') }], 17)
    expect(names()).toEqual([])
  })
})

describe('what can be no key', () => {
  test.each([
    ['/skydns/a/', 'is the mark of a directory'],
    ['/skydns//a', 'has an empty segment'],
    ['/skydns', 'is not below /skydns/'],
    ['/skydnsx/a', 'is not below /skydns/'],
    [`/skydns/${'a'.repeat(2000)}`, 'is longer than the 1900 octets that a key may have']
  ])('%s is counted, told of, and hides nothing', async (path, problem) => {
    await list([entry('/skydns/a', '1'), entry(path, 'x')])
    expect(content()).toEqual(['/skydns/a=1'])
    expect(store.mark?.keys).toBe(2)
    expect(told.get(path)).toBe(problem)
    await store.apply([gone(path)], 11)
    expect(content()).toEqual(['/skydns/a=1'])
    expect([store.mark?.keys, told.get(path)]).toEqual([1, undefined])
  })

  test('octets that are no text are kept as they are', async () => {
    const path = Buffer.from([...Buffer.from('/skydns/'), 0xff, 0x00, 0x01])
    await list([{ ...entry('', 'x'), path }])
    expect(reader.at(['skydns', '\xff\x00\x01'])).toHaveLength(1)
    await store.apply([{ op: 'delete', path }], 11)
    expect(content()).toEqual([])
  })
})

describe('keys whose life hangs on something', () => {
  const leased = (path: string, lease: string, expires?: number): EtcdEntry => entry(path, 'x', 5, { lease, expires })

  test('are known by it after a restart, and are read when their time is over', async () => {
    await list([leased('/skydns/a', '77', 5000), leased('/skydns/b', '77', 5000), leased('/skydns/c', '78'), entry('/skydns/d', 'x')])
    await close()
    await open()
    expect([...store.lives()].map(({ lease, expires }) => [lease, expires])).toEqual([
      ['77', 5000],
      ['77', 5000],
      ['78', 1]
    ])
    expect(content()).toHaveLength(4)
    expect(reader.at(keyOfPath('/skydns/a'))[0]?.expires).toBe(5000)
    expect(reader.at(keyOfPath('/skydns/d'))[0]?.expires).toBeUndefined()
  })

  test('have another time when it is renewed, and none where it has no end', async () => {
    await list([leased('/skydns/a', '77', 5000), leased('/skydns/b', '78', 5000)])
    const [a, b] = [...store.lives()].map(({ name }) => name)
    expect(
      paths(
        await store.renew([
          { name: a!, lease: '77', expires: 9000 },
          { name: b!, lease: '78', expires: Infinity }
        ])
      )
    ).toEqual(['/skydns/a', '/skydns/b'])
    reader.follow(undefined)
    expect(reader.subtree([]).map(({ expires }) => expires)).toEqual([9000, undefined])
  })

  test('have no time of what they do not hang on any more', async () => {
    await list([leased('/skydns/a', '77', 5000), leased('/skydns/b', '77', 5000)])
    const [a, b] = [...store.lives()].map(({ name }) => name)
    await store.apply([put('/skydns/a', 'y', 11), put('/skydns/b', 'y', 12, { lease: '78', expires: 7000 })], 12)
    expect(await store.renew([a!, b!].map((name) => ({ name, lease: '77', expires: 9000 })))).toEqual([])
    reader.follow(undefined)
    expect(reader.subtree([]).map(({ expires }) => expires)).toEqual([undefined, 7000])
  })

  test('have the time that a list brings, where it brings another', async () => {
    await list([leased('/skydns/a', '/skydns', 90_000)])
    await list([leased('/skydns/a', '/skydns', 91_000)])
    reader.follow(undefined)
    expect(reader.subtree([])[0]?.expires).toBe(90_000)
    await list([leased('/skydns/a', '/skydns', 20_000)])
    reader.follow(undefined)
    expect(reader.subtree([])[0]?.expires).toBe(20_000)
  })

  test('go all together, and the others stay, which has to be listed anew after that', async () => {
    await list([leased('/skydns/a', '77', 5000), entry('/skydns/b', 'x')])
    expect(paths(await store.expireLives())).toEqual(['/skydns/a'])
    expect(content()).toEqual(['/skydns/b=x'])
    expect(store.mark).toMatchObject({ revision: 0, keys: 1 })
    expect([...store.lives()]).toEqual([])
  })

  test('hang on nothing any more when they are set without it', async () => {
    await list([leased('/skydns/a', '77', 5000)])
    await store.apply([put('/skydns/a', 'y', 11)], 11)
    expect([...store.lives()]).toEqual([])
    expect(reader.at(keyOfPath('/skydns/a'))).toHaveLength(1)
  })
})

describe('the folder', () => {
  test('of keys that were written here is no place for a replica, and that of a replica none for others', async () => {
    await list([entry('/skydns/a', '1')])
    await expect(EmbeddedStore.open(folder)).rejects.toThrow(/is a replica of an etcd cluster/)
    const other = mkdtempSync(join(tmpdir(), 'skein-embedded-'))
    try {
      const embedded = await EmbeddedStore.open(other)
      await embedded.apply([{ op: 'put', key: ['a'], value: Buffer.from('x') }])
      await embedded.close()
      await expect(ReplicaStore.open(other, SCOPE, () => {})).rejects.toThrow(/holds keys that were written to it/)
    } finally {
      rmSync(other, { recursive: true, force: true })
    }
  })

  test.each([
    { version: 3, path: '/other' },
    { version: 2, path: '/skydns' }
  ] as const)('of the keys of another path or API has those until it has listed its own: %j', async (scope) => {
    await list([entry('/skydns/a', '1')])
    await close()
    await open(scope)
    expect([store.isOfAnother, reader.feed?.path, ...content()]).toEqual([true, '/skydns', '/skydns/a=1'])
    await list([entry(`${scope.path}/b`, '2')])
    expect([store.isOfAnother, store.mark?.keys, ...content()]).toEqual([false, 1, `${scope.path}/b=2`])
    expect(reader.feed?.path).toBe(scope.path)
  })

  test('has nothing of the password and the private key that the cluster is read with', async () => {
    await close()
    const source = { ...SCOPE, credentials: { user: 'skein', password: 'secret-password' }, tls: { key: 'secret-key' } }
    await open(source)
    await list([entry('/skydns/a', 'plain-value')])
    await store.apply([put('/skydns/b', 'plain-value', 11)], 11)
    const octets = readFileSync(join(folder, 'data.mdb')).toString('latin1')
    expect(['plain-value', 'secret-password', 'secret-key'].filter((text) => octets.includes(text))).toEqual(['plain-value'])
  })

  test('has all told that it holds', async () => {
    await list([entry('/skydns/a', '1'), entry('/skydns/b/', 'x')])
    const found: string[] = []
    await store.tellFound((path, value, problem) => found.push(`${path.toString()} ${problem ?? value?.toString()}`), STOP)
    expect(found).toEqual(['/skydns/a 1', '/skydns/b/ is the mark of a directory'])
  })
})
