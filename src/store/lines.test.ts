import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { EmbeddedStore } from './embedded.js'
import { exportLines, importLines } from './lines.js'
import { ManualClock } from './manual-clock.testing.js'

let folder: string
let clock: ManualClock
let store: EmbeddedStore

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'skein-lines-'))
  clock = new ManualClock()
  store = await EmbeddedStore.open(folder, { clock })
})

afterEach(async () => {
  await store.close()
  rmSync(folder, { recursive: true, force: true })
})

async function all(lines: AsyncIterable<string>): Promise<string[]> {
  const list: string[] = []
  for await (const line of lines) list.push(line)
  return list
}

describe('lines of JSON', () => {
  test('hold the keys below a key, with their values and what is left of their time', async () => {
    await store.apply([
      { op: 'put', key: ['skydns', 'local', 'a'], value: Buffer.from('{"host":"10.0.0.1"}') },
      { op: 'put', key: ['skydns', 'local', 'b'], value: Buffer.from([0xff, 0]), expires: clock.now() + 1500 },
      { op: 'put', key: ['skydns', 'x/y', '\xff'], value: Buffer.from('é') },
      { op: 'put', key: ['other'], value: Buffer.alloc(0) }
    ])
    expect(await all(exportLines(store))).toEqual([
      '{"key":"/other","value":""}',
      '{"key":"/skydns/local/a","value":"{\\"host\\":\\"10.0.0.1\\"}"}',
      '{"key":"/skydns/local/b","value64":"/wA=","ttl":2}',
      '{"segments64":["c2t5ZG5z","eC95","/w=="],"value":"é"}'
    ])
    expect(await all(exportLines(store, ['skydns', 'local', 'a']))).toHaveLength(1)
    expect(await all(exportLines(store, ['skydns']))).toHaveLength(3)
  })

  test('bring back every key and value that was stored', async () => {
    const segment = fc
      .string({ unit: 'binary', minLength: 1, maxLength: 3 })
      .map((text) => Buffer.from(text, 'utf8').toString('latin1').slice(0, 3))
    const pairs = fc.array(fc.tuple(fc.array(segment, { minLength: 1, maxLength: 3 }), fc.uint8Array({ maxLength: 5 })), { maxLength: 6 })
    await fc.assert(
      fc.asyncProperty(pairs, async (stored) => {
        await store.apply([
          { op: 'rmdir', key: [] },
          ...stored.map(([key, value]) => ({ op: 'put', key, value: Buffer.from(value) }) as const)
        ])
        const before = store.subtree([]).map(({ key, value }) => [key, value])
        const lines = await all(exportLines(store))
        await store.apply([{ op: 'rmdir', key: [] }])
        expect(store.has([])).toBe(false)
        expect(await importLines(store, lines)).toBe(before.length)
        expect(store.subtree([]).map(({ key, value }) => [key, value])).toEqual(before)
      }),
      { numRuns: 40 }
    )
  })

  test.each([
    ['no JSON', '{"key":', /line 3: expected an object of JSON/],
    ['a list', '["/a"]', /line 3: expected an object such as/],
    ['null', 'null', /line 3: expected an object such as/],
    ['no key', '{"value":"x"}', /line 3: expected "key"/],
    ['two keys', '{"key":"/a","segments64":["YQ=="],"value":"x"}', /line 3: expected "key"/],
    ['a key without a slash', '{"key":"a","value":"x"}', /line 3: expected "key"/],
    ['the root', '{"key":"/","value":"x"}', /line 3: the root holds no value/],
    ['an empty segment', '{"segments64":["YQ==",""],"value":"x"}', /line 3: expected "key"/],
    ['a segment that is no base64', '{"segments64":["%%"],"value":"x"}', /line 3: expected "key"/],
    ['no value', '{"key":"/a"}', /line 3: expected "value"/],
    ['a value that is no text', '{"key":"/a","value":{"host":"10.0.0.1"}}', /line 3: expected "value", a text/],
    ['two values', '{"key":"/a","value":"x","value64":"eA=="}', /line 3: expected "value"/],
    ['a ttl that is no whole number', '{"key":"/a","value":"x","ttl":1.5}', /line 3: expected "ttl" in whole seconds/],
    ['a ttl of nothing', '{"key":"/a","value":"x","ttl":0}', /line 3: expected "ttl"/],
    ['a field that is unknown', '{"key":"/a","value":"x","tll":5}', /line 3: expected the fields .*, not "tll"/],
    ['a key that is too long', `{"key":"/${'a'.repeat(2000)}","value":"x"}`, /line 3: the key .* 1900 is the limit/]
  ])('are refused with %s, and nothing is imported', async (_, bad, message) => {
    await expect(importLines(store, ['{"key":"/good","value":"x"}', '', bad])).rejects.toThrow(message)
    expect(store.subtree([])).toEqual([])
  })

  test('go in by a hundred thousand in seconds, without holding up what else there is to do', async () => {
    const lines = Array.from(
      { length: 100_000 },
      (_, n) => `{"key":"/skydns/local/skydns/s${n % 1000}/h${n}","value":"{\\"host\\":\\"10.0.0.1\\"}"}`
    )
    const begun = performance.now()
    expect(await importLines(store, lines)).toBe(100_000)
    expect(performance.now() - begun).toBeLessThan(15_000)
    expect(store.subtree(['skydns', 'local', 'skydns', 's7'])).toHaveLength(100)
    expect((await all(exportLines(store))).length).toBe(100_000)
  })
})
