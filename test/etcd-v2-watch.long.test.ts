import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Etcd, startEtcd } from './etcd.js'
import { callEtcd, etcdV2 } from './etcd-calls.js'
import { clientOf, eventually, listed, watching } from './etcd-v2-scene.js'
import { needs } from './tools.js'

type Calls = ReturnType<typeof etcdV2>
/** What is done in a directory, and what a watch of it tells; `/` stands for the directory. */
type Case = [
  title: string,
  before: (at: string, calls: Calls) => Promise<unknown>,
  what: (at: string, calls: Calls) => Promise<unknown>,
  told: string[]
]

const nothing = async (): Promise<void> => undefined

const cases: Case[] = [
  ['a key that is set', nothing, (at, { put }) => put(`${at}/a/b`, '1'), ['put /a/b=1']],
  ['a key that is set again', (at, { put }) => put(`${at}/a`, '1'), (at, { put }) => put(`${at}/a`, '2'), ['put /a=2']],
  ['a key that is made', nothing, (at, { putIf }) => putIf(`${at}/a`, '1', { prevExist: 'false' }), ['put /a=1']],
  [
    'a key that is updated',
    (at, { put }) => put(`${at}/a`, '1'),
    (at, { putIf }) => putIf(`${at}/a`, '2', { prevExist: 'true' }),
    ['put /a=2']
  ],
  [
    'a key that is swapped',
    (at, { put }) => put(`${at}/a`, '1'),
    (at, { putIf }) => putIf(`${at}/a`, '2', { prevValue: '1' }),
    ['put /a=2']
  ],
  ['a key that is deleted', (at, { put }) => put(`${at}/a`, '1'), (at, calls) => calls.delete(`${at}/a`), ['delete /a']],
  [
    'a key that is compared and deleted',
    (at, { put }) => put(`${at}/a`, '1'),
    (at, calls) => calls.delete(`${at}/a`, '?prevValue=1'),
    ['delete /a']
  ],
  ['a key that expires', nothing, (at, { put }) => put(`${at}/a`, '1', 1), ['put /a=1 on /a', 'delete /a']],
  [
    'a directory that is deleted',
    (at, { put }) => put(`${at}/d/a`, '1'),
    (at, calls) => calls.delete(`${at}/d`, '?recursive=true'),
    ['clear /d']
  ],
  [
    'an empty directory that is made and deleted',
    nothing,
    async (at, calls) => calls.delete((await calls.mkdir(`${at}/d`)).key, '?dir=true'),
    ['clear /d']
  ],
  [
    'a directory that expires, on which hangs what is in it',
    nothing,
    async (at, { mkdir, put }) => {
      await mkdir(`${at}/d`, 1)
      await put(`${at}/d/a`, '1')
      await put(`${at}/d/b/c`, '2', 50)
    },
    ['put /d/a=1 on /d', 'put /d/b/c=2 on /d', 'clear /d']
  ],
  [
    'a key that ends before the directory that it is in, and one in a directory that was deleted and made anew',
    (at, { mkdir }) => mkdir(`${at}/d`, 50),
    async (at, { put, delete: del }) => {
      await put(`${at}/d/a`, '1', 10)
      await del(`${at}/d`, '?recursive=true')
      await put(`${at}/d/a`, '2')
    },
    ['put /d/a=1 on /d/a', 'clear /d', 'put /d/a=2']
  ],
  [
    'a directory that lives on, of which the keys are not told again',
    async (at, { mkdir, put }) => {
      await mkdir(`${at}/d`, 50)
      await put(`${at}/d/a`, '1')
    },
    async (at, { renewDirectory, put }) => {
      await renewDirectory(`${at}/d`, 100)
      await put(`${at}/d/b`, '2')
    },
    ['put /d/b=2 on /d']
  ],
  [
    'a directory that gets a time to live, so that all is to be listed anew',
    (at, { put }) => put(`${at}/d/a`, '1'),
    (at, { renewDirectory }) => renewDirectory(`${at}/d`, 50),
    ['lost compacted']
  ],
  [
    'a directory that loses its time to live',
    (at, { mkdir }) => mkdir(`${at}/d`, 50),
    (at, { renewDirectory }) => renewDirectory(`${at}/d`, ''),
    ['lost compacted']
  ],
  [
    'a directory that takes the place of a key',
    (at, { put }) => put(`${at}/a`, '1'),
    async (at, { mkdir, put }) => {
      await mkdir(`${at}/a`)
      await put(`${at}/a/b`, '2')
    },
    ['delete /a', 'put /a/b=2']
  ],
  [
    'the whole directory that is watched',
    (at, { put }) => put(`${at}/a`, '1'),
    (at, calls) => calls.delete(at, '?recursive=true'),
    ['clear ']
  ],
  [
    'nothing hidden, and nothing elsewhere',
    (_, { mkdir }) => mkdir('/wat'),
    async (at, { put, delete: del }) => {
      await put(`${at}/_a`, '1')
      await put(`${at}/b/_c/d`, '1')
      await put(`${at}er/a`, '1')
      // etcd tells of it, for the beginning of its name.
      await del('/wat', '?recursive=true')
      await put(`${at}/e`, '1')
    },
    ['put /e=1']
  ],
  ['names with any letters', nothing, (at, { put }) => put(`${at}/a b%2f?#&ü"<>`, 'x\n%ü'), ['put /a b%2f?#&ü"<>=x\n%ü']],
  [
    'no life that is renewed',
    (at, { put }) => put(`${at}/a`, '1', 50),
    async (at, { refresh, put }) => {
      await refresh(`${at}/a`, 90)
      await put(`${at}/b`, '1')
    },
    ['put /b=1']
  ]
]

describe('a watch by v2', needs('etcd'), () => {
  let etcd: Etcd
  let calls: Calls

  beforeAll(async () => {
    etcd = await startEtcd()
    calls = etcdV2(etcd.target)
  })

  afterAll(() => etcd.stop())

  // While it watches, and afterwards from the history of etcd, which has what the other way leaves out.
  describe.each([['while it happens'], ['afterwards']])('%s', (when) => {
    test.each(cases)('tells of %s', async (title, before, what, told) => {
      const at = `/watched${cases.findIndex(([each]) => each === title)}${when.slice(0, 1)}`
      await before(at, calls)
      const client = clientOf(etcd.target.endpoint, at)
      const { position } = await listed(client)
      if (when === 'afterwards') {
        await what(at, calls)
        if (/expires/.test(title)) await sleep(2_000)
      }
      const watch = watching(client, position.revision)
      if (when === 'while it happens') {
        await sleep(50)
        await what(at, calls)
      }
      await eventually(() => watch.told.map((line) => line.replaceAll(at, ''))).toEqual(told)
      expect(watch.revisions).toEqual([...new Set(watch.revisions)].sort((one, other) => one - other))
      client.close()
    })
  })

  test('tells when a key ends, by the clock here, also of one that was set before', async () => {
    const client = clientOf(etcd.target.endpoint, '/ending')
    const { position } = await listed(client)
    await calls.put('/ending/a', '1', 10)
    await sleep(2_500)
    const watch = watching(client, position.revision)
    await eventually(() => watch.events.length).toBe(1)
    await calls.put('/ending/b', '1', 10)
    await eventually(() => watch.events.length).toBe(2)
    const left = watch.events.map((event) => ('value' in event ? (event.expires ?? 0) - Date.now() : 0))
    expect(left[0]).toBeGreaterThan(6_000)
    expect(left[0]).toBeLessThan(8_600)
    expect(left[1]).toBeGreaterThan(9_000)
    expect(left[1]).toBeLessThanOrEqual(10_000)
    client.close()
  })

  test('tells of the end of a directory above the path', async () => {
    await calls.mkdir('/above', 1)
    await calls.put('/above/path/a', '1')
    const client = clientOf(etcd.target.endpoint, '/above/path')
    const watch = watching(client, (await listed(client)).position.revision)
    await eventually(() => watch.told).toEqual(['clear /above/path'])
    client.close()
  })

  test('says nothing when it was cancelled, or its client closed', async () => {
    const client = clientOf(etcd.target.endpoint, '/cancelled')
    const { revision } = await client.position()
    const [one, other] = [watching(client, revision), watching(client, revision)]
    await sleep(100)
    one.cancel()
    await calls.put('/cancelled/a', '1')
    await eventually(() => other.told).toEqual(['put /cancelled/a=1'])
    client.close()
    await calls.put('/cancelled/b', '1')
    await sleep(100)
    expect([one.told, other.told]).toEqual([[], ['put /cancelled/a=1']])
  })

  test('is told in order of all of many changes', async () => {
    const client = clientOf(etcd.target.endpoint, '/order')
    const watch = watching(client, (await client.position()).revision)
    for (let value = 0; value < 300; value++) await calls.put('/order/a', String(value))
    await eventually(() => watch.told.length).toBe(300)
    expect(watch.told).toEqual(Array.from({ length: 300 }, (_, value) => `put /order/a=${value}`))
    client.close()
  })

  test('goes on where changes elsewhere are many, and tells how far it is', async () => {
    const client = clientOf(etcd.target.endpoint, '/rare', {}, { callMs: 1500, quietMs: 8_000 })
    const { revision } = await client.position()
    const watch = watching(client, revision)
    const last = await calls.putOften('/often', 2500)
    await eventually(() => watch.revisions.at(-1)).toBeGreaterThanOrEqual(last)
    // A watch that had asked from its beginning would find its history gone.
    const said = await callEtcd(etcd.target, 'GET', `/v2/keys/rare?wait=true&waitIndex=${revision + 1}`)
    expect(said.text).toContain('"errorCode":401')
    await calls.put('/rare/a', '1')
    await eventually(() => watch.told).toEqual(['put /rare/a=1'])
    client.close()
  })

  test('is lost as compacted where more than 1000 changes were missed', async () => {
    const client = clientOf(etcd.target.endpoint, '/missed')
    const { position } = await listed(client)
    await calls.putOften('/others', 1001)
    const watch = watching(client, position.revision)
    expect((await watch.lost).message).toMatch(/^etcd does not have the changes any more: .*cleared/)
    client.close()
  })
})
