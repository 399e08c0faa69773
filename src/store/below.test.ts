import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import { countBelow } from './below.js'
import { type Change, EmbeddedStore } from './embedded.js'
import { foldedOctets, foldedPart, type Key, keyOfPath, parentOctets } from './key.js'
import { ManualClock } from './manual-clock.testing.js'
import { MemoryStore } from './memory.js'
import { openTables, type Tables } from './tables.js'

const top = mkdtempSync(join(tmpdir(), 'skein-below-'))
let folders = 0
const newFolder = (): string => join(top, String(folders++))

afterAll(() => rmSync(top, { recursive: true, force: true }))

// Few, so that keys meet, stand above each other, and differ in case alone.
const segment = fc.constantFrom('a', 'A', 'b', '\0', '\x01')
const key = fc.array(segment, { minLength: 1, maxLength: 4 })
const change = fc.oneof(
  { weight: 4, arbitrary: fc.record({ op: fc.constant('put' as const), key, isLeased: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ op: fc.constant('delete' as const), key }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constantFrom('mkdir' as const, 'rmdir' as const), key }) }
)
const commits = fc.array(fc.record({ changes: fc.array(change, { maxLength: 8 }), isLate: fc.boolean() }), { maxLength: 8 })

const hex = (octets: Buffer): string => octets.toString('hex')

/** Rows as they should be, of the entries that there are. */
function truthOf(tables: Tables): Map<string, number> {
  const children = new Map<string, Set<string>>()
  const note = (folded: Buffer, child: Buffer): void => {
    if (folded.length === 0) return
    children.set(hex(folded), (children.get(hex(folded)) ?? new Set()).add(hex(child)))
    note(parentOctets(folded), folded)
  }
  for (const spelled of tables.entries.getKeys()) {
    const folded = foldedPart(spelled)
    if (folded.length < spelled.length) note(folded, spelled)
    note(parentOctets(folded), folded)
  }
  return new Map([...children].map(([name, set]) => [name, set.size]))
}

function rowsOf(tables: Tables): Map<string, number> {
  return new Map(Array.from(tables.below.getRange(), ({ key: octets, value }) => [hex(octets), value.readUInt32BE()]))
}

async function read<T>(folder: string, what: (tables: Tables) => T | Promise<T>): Promise<T> {
  const tables = await openTables(folder)
  try {
    return await what(tables)
  } finally {
    await tables.root.close()
  }
}

describe('what is below each key', () => {
  test('is known after any changes, and look-ups give what a look at all entries gives', async () => {
    await fc.assert(
      fc.asyncProperty(commits, async (planned) => {
        const folder = newFolder()
        const clock = new ManualClock()
        const store = await EmbeddedStore.open(folder, { clock })
        const model = new MemoryStore()
        for (const { changes, isLate } of planned) {
          await store.apply(
            changes.map((each): Change => {
              if (each.op !== 'put') return each
              return { op: 'put', key: each.key, value: Buffer.from('v'), expires: each.isLeased ? clock.now() + 1000 : undefined }
            })
          )
          if (!isLate) continue
          clock.pass(2000)
          await store.transact(() => undefined)
        }
        for await (const { entries } of store.exact.below([])) for (const each of entries) model.put(each.key, each.value)
        const keys = model.subtree([]).map(({ key: each }) => each)
        const asked = [...keys.flatMap((each) => each.map((_, length) => each.slice(0, length + 1))), ['a', 'b'], ['b'], ['A', 'a', 'a']]
        for (const each of asked) {
          expect(shown(store.subtree(each))).toEqual(shown(model.subtree(each)))
          expect(shown(store.at(each))).toEqual(shown(model.at(each)))
          expect(store.has(each)).toBe(model.has(each))
        }
        await store.close()
        await read(folder, (tables) => expect(rowsOf(tables)).toEqual(truthOf(tables)))
      }),
      { numRuns: 60 }
    )
  })

  test('is counted once in the store of an older Skein, which is told', async () => {
    const folder = newFolder()
    const paths = ['/a', '/a/b', '/A/b/c', '/a/B', '/x/y/z', '/x/y/w']
    const first = await EmbeddedStore.open(folder)
    await first.apply(paths.map((path) => ({ op: 'put', key: keyOfPath(path), value: Buffer.from('v') })))
    await first.close()
    await read(folder, async ({ below, meta }) => {
      await below.clearAsync()
      await below.put(foldedOctets(['stale']), Buffer.alloc(4))
      await meta.put(Buffer.from('format'), Buffer.from('Skein store 1'))
    })
    const told: string[] = []
    for (const round of [1, 2]) {
      const store = await EmbeddedStore.open(folder, { tell: (what) => told.push(what) })
      expect(shown(store.subtree(['x'])), `round ${round}`).toEqual(['x/y/w', 'x/y/z'])
      await store.close()
    }
    expect(told).toEqual(['counted what is below each key: an older Skein cannot open it any more'])
    await read(folder, (tables) => expect(rowsOf(tables)).toEqual(truthOf(tables)))
  })

  test('is the same counted in several steps', async () => {
    const folder = newFolder()
    const store = await EmbeddedStore.open(folder)
    const keys = Array.from({ length: 50 }, (_, i) => [`${i % 7}`, `${i % 3}`, `${i}`])
    await store.apply(keys.flatMap((each) => [each, each.slice(0, 2)]).map((each) => ({ op: 'put', key: each, value: Buffer.from('v') })))
    await store.close()
    await read(folder, async (tables) => {
      const before = rowsOf(tables)
      await countBelow(tables, 7)
      expect(rowsOf(tables)).toEqual(before)
      expect(before).toEqual(truthOf(tables))
    })
  })
})

function shown(entries: readonly { readonly key: Key }[]): string[] {
  return entries.map(({ key: each }) => each.join('/')).sort()
}
