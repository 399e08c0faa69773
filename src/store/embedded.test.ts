import { existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { EmbeddedStore } from './embedded.js'
import { type Key, keyOfPath, pathOfKey } from './key.js'
import { ManualClock } from './manual-clock.testing.js'

let folder: string
let clock: ManualClock
let store: EmbeddedStore
const errors: unknown[] = []

const open = (): Promise<EmbeddedStore> => EmbeddedStore.open(folder, { clock, report: (error) => errors.push(error) })
const put = (path: string, value = 'v', ms?: number): Promise<number> =>
  store.apply([{ op: 'put', key: keyOfPath(path), value: Buffer.from(value), expires: ms === undefined ? undefined : clock.now() + ms }])
const paths = (keys: readonly { key: Key }[]): string[] => keys.map(({ key }) => pathOfKey(key))
const below = (path: string): string[] => paths(store.subtree(keyOfPath(path)))

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'skein-store.x-'))
  clock = new ManualClock()
  errors.length = 0
  store = await open()
})

afterEach(async () => {
  await store.close()
  rmSync(folder, { recursive: true, force: true })
  expect(errors).toEqual([])
})

describe('the embedded store', () => {
  test('gives back what was put, with its revisions, at once and after it was opened again', async () => {
    expect(await put('/a/b', 'one')).toBe(1)
    expect(await put('/a/b', 'two')).toBe(2)
    expect(await put('/a/empty', '')).toBe(3)
    for (const round of [1, 2]) {
      const [entry, ...more] = store.at(['a', 'b'])
      expect(more).toEqual([])
      expect(entry).toMatchObject({ key: ['a', 'b'], value: Buffer.from('two'), created: 1, modified: 2, expires: undefined })
      expect(store.at(['a', 'empty'])[0]?.value).toEqual(Buffer.alloc(0))
      expect(store.revision).toBe(3)
      if (round === 1) {
        await store.close()
        store = await open()
      }
    }
    expect(existsSync(join(folder, 'data.mdb'))).toBe(true)
  })

  test('looks up by whole segments and without case, and gives every spelling', async () => {
    for (const path of ['/Web/x', '/web/x', '/web', '/Web', '/webs', '/we', '/web-a', '/WEB/x/y', '/v']) await put(path)
    expect(below('/wEb').sort()).toEqual(['/WEB/x/y', '/Web', '/Web/x', '/web', '/web/x'])
    expect(paths(store.at(['WEB'])).sort()).toEqual(['/Web', '/web'])
    expect(paths(store.at(['web', 'X'])).sort()).toEqual(['/Web/x', '/web/x'])
    expect(store.has(['WEB', 'X', 'Y'])).toBe(true)
    expect(store.has(['webx'])).toBe(false)
    expect(below('/')).toHaveLength(9)
    expect(store.at([])).toEqual([])
  })

  test('lets a key have a value and keys below it', async () => {
    await put('/a', 'top')
    await put('/a/b', 'under')
    expect(below('/a')).toEqual(['/a', '/a/b'])
  })

  test('keeps a directory out of every look-up', async () => {
    await store.apply([{ op: 'mkdir', key: ['d', 'e'] }])
    await put('/f/g')
    await store.apply([{ op: 'delete', key: ['f', 'g'] }])
    expect([store.has(['d']), store.has(['f']), store.has([])]).toEqual([false, false, false])
    expect([store.subtree([]), store.at(['d'])]).toEqual([[], []])
  })

  test('applies a list of changes as one, or not at all', async () => {
    await put('/a')
    const tooLong = 'x'.repeat(3000)
    const changes = [
      { op: 'put', key: ['b'], value: Buffer.from('v') } as const,
      { op: 'put', key: [tooLong], value: Buffer.from('v') } as const
    ]
    await expect(store.apply(changes)).rejects.toThrow(/takes 3000 octets: 1900 is the limit/)
    expect(below('/')).toEqual(['/a'])
    const before = store.revision
    await store.apply([
      { op: 'put', key: ['b', 'c'], value: Buffer.from('v') },
      { op: 'delete', key: ['a'] },
      { op: 'rmdir', key: ['b'] },
      { op: 'put', key: ['d'], value: Buffer.from('v') }
    ])
    expect(store.revision).toBe(before + 1)
    expect(below('/')).toEqual(['/d'])
  })

  test('removes with a directory what is below its spelling only', async () => {
    for (const path of ['/Dir/a', '/dir/a', '/dir/b/c', '/dirx']) await put(path)
    await store.apply([{ op: 'rmdir', key: ['dir'] }])
    expect(below('/')).toEqual(['/Dir/a', '/dirx'])
  })

  test('lets one of many plans win that ask for a key to be missing', async () => {
    const tries = Array.from({ length: 40 }, (_, number) =>
      store.transact((draft) => {
        if (draft.entry(['one']) !== undefined) return false
        draft.put(['one'], Buffer.from(String(number)))
        return true
      })
    )
    expect((await Promise.all(tries)).filter(Boolean)).toHaveLength(1)
    expect(store.at(['one'])[0]?.value.toString()).toBe('0')
    expect(store.revision).toBe(1)
  })

  test('takes back what a plan did before it threw, and nothing of its neighbours', async () => {
    const [one, two, three] = await Promise.allSettled([
      put('/a', 'before'),
      store.transact((draft) => {
        draft.put(['a'], Buffer.from('never'))
        draft.put(['b'], Buffer.from('never'))
        throw new Error('no')
      }),
      put('/c')
    ])
    expect([one?.status, two?.status, three?.status]).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(store.at(['a'])[0]?.value.toString()).toBe('before')
    expect(below('/')).toEqual(['/a', '/c'])
    expect(store.revision).toBe(2)
  })

  test('refuses values above one MiB and keys that are too long, and finds nothing under such keys', async () => {
    await store.apply([{ op: 'put', key: ['big'], value: Buffer.alloc(1 << 20, 1) }])
    expect(store.at(['big'])[0]?.value.length).toBe(1 << 20)
    await expect(store.apply([{ op: 'put', key: ['big'], value: Buffer.alloc((1 << 20) + 1) }])).rejects.toThrow('1048576 is the limit')
    const long = 'X'.repeat(3000)
    expect([store.has([long]), store.at([long]), store.subtree([long]), store.exact.entry([long])]).toEqual([false, [], [], undefined])
    await expect(store.apply([{ op: 'put', key: [], value: Buffer.alloc(1) }])).rejects.toThrow('the root holds no value')
  })

  test('refuses everything after its end, and writes what was asked before', async () => {
    const last = put('/last')
    await store.close()
    await last
    await expect(put('/later')).rejects.toThrow('is closed')
    store = await open()
    expect(below('/')).toEqual(['/last'])
  })
})

describe('watching', () => {
  test('tells once a commit which keys changed at or below the key, whatever their case', async () => {
    const told: string[][] = []
    const all: string[][] = []
    const end = store.watch(['A'], (keys) => told.push(keys!.map(pathOfKey)))
    store.watch([], (keys) => all.push(keys!.map(pathOfKey)))
    await store.apply([
      { op: 'put', key: ['a', 'b'], value: Buffer.from('1') },
      { op: 'put', key: ['ab'], value: Buffer.from('1') },
      { op: 'put', key: ['a'], value: Buffer.from('1') }
    ])
    await store.apply([{ op: 'mkdir', key: ['a', 'd'] }])
    await store.apply([{ op: 'rmdir', key: ['a'] }])
    await store.apply([{ op: 'delete', key: ['nothing'] }])
    await put('/z')
    end()
    await put('/a/again')
    expect(told).toEqual([['/a/b', '/a'], ['/a/b']])
    expect(all).toEqual([['/a/b', '/ab', '/a'], ['/a/b'], ['/z'], ['/a/again']])
  })

  test('goes on where a watcher throws', async () => {
    const told: number[] = []
    store.watch([], () => {
      throw new Error('fault of a watcher')
    })
    store.watch([], (keys) => told.push(keys!.length))
    await put('/a')
    expect(told).toEqual([1])
    expect(errors.splice(0).map(String)).toEqual(['Error: fault of a watcher'])
  })

  test('sees the new state', async () => {
    const seen: string[] = []
    store.watch(['a'], () => seen.push(store.at(['a'])[0]?.value.toString() ?? 'gone'))
    await put('/a', '1')
    await put('/a', '2')
    await store.apply([{ op: 'delete', key: ['a'] }])
    expect(seen).toEqual(['1', '2', 'gone'])
  })
})

describe('expiry', () => {
  const settled = (): Promise<number> => store.transact(() => store.revision)

  test('removes keys in the order of time, and tells the watchers', async () => {
    const told: string[] = []
    await put('/c', 'v', 3000)
    await put('/a', 'v', 1000)
    await put('/b', 'v', 2000)
    await put('/stays')
    store.watch([], (keys) => told.push(...keys!.map(pathOfKey)))
    expect(clock.wait).toBe(1000)
    clock.pass(1000)
    await settled()
    expect([below('/'), told]).toEqual([['/b', '/c', '/stays'], ['/a']])
    clock.pass(5000)
    await settled()
    expect([below('/'), told]).toEqual([['/stays'], ['/a', '/b', '/c']])
    expect(clock.wait).toBeUndefined()
    expect(store.revision).toBe(7)
  })

  test('hides what has expired before the timer has fired', async () => {
    await put('/a', 'v', 1000)
    await store.apply([{ op: 'mkdir', key: ['d'], expires: clock.now() + 1000 }])
    await put('/d/x')
    await put('/D/x')
    clock.set(clock.now() + 1000)
    expect([below('/'), store.has(['a']), store.has(['d', 'x']), store.at(['a'])]).toEqual([['/D/x'], false, true, []])
    expect([store.exact.entry(['a']), store.exact.entry(['d', 'x']), store.exact.directory(['d'])]).toEqual([
      undefined,
      undefined,
      undefined
    ])
  })

  test('takes everything below a directory along, whenever it was put', async () => {
    await store.apply([{ op: 'mkdir', key: ['d'], expires: clock.now() + 1000 }])
    await put('/d/a/b')
    await put('/d/c', 'v', 500_000)
    await put('/D/a')
    clock.pass(1000)
    await settled()
    expect(below('/')).toEqual(['/D/a'])
    expect(store.exact.directory(['d', 'a'])).toBeUndefined()
    expect(clock.wait).toBeUndefined()
  })

  test('follows what was put last', async () => {
    await put('/a', 'v', 1000)
    await put('/a', 'v', 5000)
    await put('/b', 'v', 1000)
    await put('/b')
    await put('/c', 'v', 1000)
    await store.apply([{ op: 'delete', key: ['c'] }])
    await put('/c')
    clock.pass(4000)
    await settled()
    expect(below('/')).toEqual(['/a', '/b', '/c'])
    clock.pass(1000)
    await settled()
    expect(below('/')).toEqual(['/b', '/c'])
  })

  test('waits for a far time without firing at once', async () => {
    await put('/far', 'v', 2 ** 31 * 3)
    for (let minute = 0; minute < 20; minute++) {
      expect(clock.wait).toBe(60_000)
      clock.pass(60_000)
    }
    await settled()
    expect(below('/')).toEqual(['/far'])
    clock.set(clock.now() + 2 ** 31 * 3)
    clock.pass(60_000)
    await settled()
    expect(below('/')).toEqual([])
  })

  test('goes on across a restart, before anything is served', async () => {
    await put('/past', 'v', 1000)
    await put('/future', 'v', 10_000)
    await store.close()
    clock.set(clock.now() + 2000)
    store = await open()
    expect(below('/')).toEqual(['/future'])
    expect(store.exact.entry(['past'])).toBeUndefined()
    expect(clock.wait).toBe(8000)
    clock.pass(8000)
    await settled()
    expect(below('/')).toEqual([])
  })

  test('lets a key that has expired be missing for a plan, though no timer has fired', async () => {
    await put('/a', 'v', 1000)
    clock.set(clock.now() + 1500)
    expect(await store.transact((draft) => draft.entry(['a']))).toBeUndefined()
  })
})

test('a store whose folder was taken away refuses changes, which a restart would not find', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'skein-gone-'))
  const store = await EmbeddedStore.open(join(folder, 'data'))
  await store.apply([{ op: 'put', key: keyOfPath('/a'), value: Buffer.from('1') }])
  renameSync(join(folder, 'data'), join(folder, 'old'))
  await new Promise((resolve) => setTimeout(resolve, 600))
  await expect(store.apply([{ op: 'put', key: keyOfPath('/b'), value: Buffer.from('2') }])).rejects.toThrow(/no longer where it was opened/)
  expect(store.has(keyOfPath('/a'))).toBe(true)
  await store.close()
  rmSync(folder, { recursive: true, force: true })
})
