import type { Key, Reading } from 'skein/plugin'
import { MemoryStore } from 'skein/testing'
import { describe, expect, test } from 'vitest'
import { keyOf, Lookup, labelsOfKey, MOST_KEYS, type Source } from './lookup.js'

interface Watched {
  readonly lookup: Lookup
  /** The subtrees of which values are read, and after `?` those that are only asked whether they are there. */
  readonly read: string[]
  readonly bad: string[]
  readonly cut: string[]
}

function lookupIn(
  store: Pick<MemoryStore, 'revision' | 'subtree' | 'at' | 'has'>,
  apex = 'skydns.local.',
  path: Key = ['skydns']
): Watched {
  const read: string[] = []
  const bad: string[] = []
  const cut: string[] = []
  const reading: Reading = {
    reads: [],
    revision: store.revision,
    subtree: (key, limit) => {
      read.push(key.join('/'))
      return store.subtree(key, limit)
    },
    at: (key) => store.at(key),
    has: (key) => {
      read.push(`?${key.join('/')}`)
      return store.has(key)
    }
  }
  const source: Source = {
    path,
    bad: ({ key }, problem) => void bad.push(`${key.join('/')} ${problem}`),
    cut: (key) => void cut.push(key.join('/'))
  }
  return { lookup: new Lookup(reading, source, apex, { ttl: 3600, now: 0, leaseTtl: () => 0 }), read, bad, cut }
}

const store = MemoryStore.of(
  Object.fromEntries(
    [
      'east/prod/web/1',
      'east/prod/web/2',
      'east/test/web/1',
      'west/prod/web/1',
      'west/prod/db',
      'any/odd',
      '*/star',
      'foobar/x',
      'foo/x',
      'Upper/Case'
    ].map((path, port) => [`/skydns/local/skydns/${path}`, { port }])
  )
)

/** What is found: the keys below the zone, `-` for nothing that exists, `nothing` for what does not. */
function found(name: string, apex = 'skydns.local.'): string {
  const { lookup } = lookupIn(store, apex)
  const services = lookup.all(name)
  const exists = lookup.exists(name)
  // One that has read no value knows the same.
  expect(lookupIn(store, apex).lookup.exists(name)).toBe(exists)
  if (!exists) return 'nothing'
  return services.length === 0 ? '-' : services.map(({ key }) => key.slice(3).join('/')).join(' ')
}

describe('a look-up finds a key and all below it, by whole labels', () => {
  test.each([
    ['web.prod.east.skydns.local.', 'east/prod/web/1 east/prod/web/2'],
    ['prod.east.skydns.local.', 'east/prod/web/1 east/prod/web/2'],
    ['1.web.prod.east.skydns.local.', 'east/prod/web/1'],
    ['x.1.web.prod.east.skydns.local.', 'nothing'],
    ['foo.skydns.local.', 'foo/x'],
    ['fo.skydns.local.', 'nothing'],
    ['upper.skydns.local.', 'Upper/Case'],
    ['nowhere.skydns.local.', 'nothing']
  ])('%s', (name, keys) => {
    expect(found(name)).toBe(keys)
  })

  test('the apex is there, whatever is stored', () => {
    for (const apex of ['skydns.local.', '.']) {
      const { lookup, read } = lookupIn(new MemoryStore(), apex)
      expect([lookup.exists(apex), [...read], lookup.all(apex)]).toEqual([true, [], []])
    }
  })
})

describe('`*` and `any` match one label each', () => {
  test.each([
    ['*.prod.east.skydns.local.', 'east/prod/web/1 east/prod/web/2'],
    ['web.*.east.skydns.local.', 'east/prod/web/1 east/prod/web/2 east/test/web/1'],
    ['web.prod.any.skydns.local.', 'east/prod/web/1 east/prod/web/2 west/prod/web/1'],
    ['1.*.any.*.skydns.local.', 'east/prod/web/1 east/test/web/1 west/prod/web/1'],
    ['*.*.*.*.skydns.local.', 'east/prod/web/1 east/prod/web/2 east/test/web/1 west/prod/web/1'],
    ['*.*.*.*.*.skydns.local.', '-'],
    ['*.db.prod.west.skydns.local.', '-'],
    ['*.nowhere.skydns.local.', 'nothing'],
    ['nowhere.*.skydns.local.', '-'],
    // A key of that spelling is a key like others.
    ['star.*.skydns.local.', '*/star'],
    ['star.any.skydns.local.', '*/star'],
    ['odd.any.skydns.local.', 'any/odd'],
    ['star.x.skydns.local.', 'nothing'],
    ['case.*.skydns.local.', 'Upper/Case'],
    // Parts of a label are none.
    ['*x.skydns.local.', 'nothing'],
    ['anyone.skydns.local.', 'nothing']
  ])('%s', (name, keys) => {
    expect(found(name)).toBe(keys)
  })

  test('reads what is right of the topmost one', () => {
    const { lookup, read } = lookupIn(store)
    lookup.all('1.*.prod.east.skydns.local.')
    lookup.all('1.*.prod.east.skydns.local.')
    lookup.services('1.*.prod.east.skydns.local.')
    expect(read).toEqual(['skydns/local/skydns/east/prod'])
  })

  test('but not in the zone', () => {
    const odd = MemoryStore.of({ '/skydns/any/x': {}, '/skydns/org/x': {} })
    expect(
      lookupIn(odd, 'any.')
        .lookup.all('x.any.')
        .map(({ key }) => key.join('/'))
    ).toEqual(['skydns/any/x'])
    expect(lookupIn(odd, '.').lookup.all('x.any.')).toHaveLength(2)
  })

  test('beside labels of any octets, whose case is that of ASCII alone', () => {
    const octets = new MemoryStore()
    const segments = ['m\xc3\xbcnchen', '\xc0', '\xe0', '\x00', 'k', '\xe2\x84\xaa']
    for (const segment of segments) octets.put(['skydns', 'east', segment, 'x'], '{}')
    const names = ['m\\195\\188nchen', '\\192', '\\224', '\\000', 'k', '\\226\\132\\170']
    for (const [index, label] of names.entries()) {
      expect(
        lookupIn(octets, '.')
          .lookup.all(`${label}.*.`)
          .map(({ key }) => key[2])
      ).toEqual([segments[index]])
    }
  })
})

describe('a name and its key', () => {
  test.each<[string, Key]>([
    ['.', []],
    ['a.b.', ['b', 'a']],
    ['a\\.b.c.', ['c', 'a.b']],
    ['a/b.c.', ['c', 'a/b']],
    ['\\.\\..', ['..']],
    ['\\000\\255.', ['\x00\xff']],
    ['\\*.', ['*']]
  ])('%s', (name, key) => {
    expect(keyOf(['skydns'], name)).toEqual(['skydns', ...key])
    expect(labelsOfKey(['skydns'], ['skydns', ...key])).toEqual([...key].reverse())
  })
})

test('a value that is none is told of and left out, and its siblings stay', () => {
  const values = MemoryStore.of({ '/skydns/a/1': '{"port":1}', '/skydns/a/2': '{', '/skydns/a/3': '{"port":3}' })
  const { lookup, bad } = lookupIn(values, '.')
  expect(lookup.services('a.').map(({ port }) => port)).toEqual([1, 3])
  expect(bad).toEqual(['skydns/a/2 is no JSON'])
})

describe('whether a name exists', () => {
  test.each<[string, boolean, readonly string[]]>([
    ['skydns.local.', true, []],
    ['web.prod.east.skydns.local.', true, ['?skydns/local/skydns/east/prod/web']],
    ['nowhere.skydns.local.', false, ['?skydns/local/skydns/nowhere']],
    ['x.*.prod.east.skydns.local.', true, ['?skydns/local/skydns/east/prod']],
    ['x.*.nowhere.skydns.local.', false, ['?skydns/local/skydns/nowhere']],
    ['x.y.*.skydns.local.', true, []]
  ])('is known without a value: %s', (name, exists, reads) => {
    const { lookup, read } = lookupIn(store)
    expect([lookup.exists(name), read]).toEqual([exists, reads])
  })

  test('is known without asking again where its services were read', () => {
    const { lookup, read } = lookupIn(store)
    for (const name of ['foo.skydns.local.', 'nowhere.skydns.local.', 'x.*.skydns.local.']) {
      lookup.all(name)
      read.length = 0
      lookup.exists(name)
      expect(read).toEqual([])
    }
  })
})

describe('of very many keys', () => {
  const entries = Array.from({ length: MOST_KEYS + 2 }, (_, i) => ({
    key: ['skydns', 'big', `p${i % 2}`, `n${i}`],
    value: Buffer.from(`{"port":${i}}`),
    created: 1,
    modified: 1,
    expires: undefined
  }))
  const full = (count: number): Pick<MemoryStore, 'revision' | 'subtree' | 'at' | 'has'> => ({
    revision: 1,
    subtree: (_key, limit) => entries.slice(0, count).slice(0, limit),
    at: () => [],
    has: () => true
  })

  test.each([
    [MOST_KEYS - 1, MOST_KEYS - 1, []],
    [MOST_KEYS, MOST_KEYS, []],
    [MOST_KEYS + 1, MOST_KEYS, ['skydns/big']],
    [MOST_KEYS + 2, MOST_KEYS, ['skydns/big']]
  ])('those first in order are taken, and it is told: of %d %d', (count, taken, told) => {
    const { lookup, cut } = lookupIn(full(count), '.')
    expect(lookup.all('big.').map(({ port }) => port)).toEqual(Array.from({ length: taken }, (_, i) => i))
    expect([cut, lookup.gaveUp('big.')]).toEqual([told, false])
  })

  test('a pattern looks at so many, and gives up where none of them matches', () => {
    const matching = lookupIn(full(MOST_KEYS + 1), '.')
    expect(matching.lookup.all('*.p1.*.')).toHaveLength(MOST_KEYS / 2)
    expect(matching.lookup.gaveUp('*.p1.*.')).toBe(false)
    for (const [count, gaveUp] of [
      [MOST_KEYS, false],
      [MOST_KEYS + 1, true]
    ] as const) {
      const { lookup } = lookupIn(full(count), '.')
      expect([lookup.all('*.p2.*.'), lookup.gaveUp('*.p2.*.')]).toEqual([[], gaveUp])
    }
  })

  test('a query looks no further once it has read many times so many, but at what it knows', () => {
    const { lookup } = lookupIn(full(MOST_KEYS), '.')
    for (const name of ['a.', 'b.', 'c.', 'd.']) {
      expect(lookup.mayLook(name)).toBe(true)
      lookup.all(name)
    }
    expect(['d.', 'a.', 'e.'].map((name) => lookup.mayLook(name))).toEqual([true, true, false])
  })
})
