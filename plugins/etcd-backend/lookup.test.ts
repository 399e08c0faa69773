import type { Key, Reading } from 'skein/plugin'
import { MemoryStore } from 'skein/testing'
import { describe, expect, test } from 'vitest'
import { keyOf, Lookup, labelsOfKey } from './lookup.js'

function lookupIn(store: MemoryStore, apex = 'skydns.local.', path: Key = ['skydns']): { lookup: Lookup; read: string[]; bad: string[] } {
  const read: string[] = []
  const bad: string[] = []
  const reading: Reading = {
    reads: [],
    revision: store.revision,
    subtree: (key) => {
      read.push(key.join('/'))
      return store.subtree(key)
    },
    at: (key) => store.at(key),
    has: (key) => store.has(key)
  }
  const source = { path, ttl: 3600, bad: ({ key }: { key: Key }, problem: string) => void bad.push(`${key.join('/')} ${problem}`) }
  return { lookup: new Lookup(reading, source, apex, 0), read, bad }
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
  const { exists, services } = lookupIn(store, apex).lookup.all(name)
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
    expect(lookupIn(new MemoryStore()).lookup.all('skydns.local.')).toEqual({ exists: true, services: [] })
    expect(lookupIn(new MemoryStore(), '.').lookup.all('.')).toEqual({ exists: true, services: [] })
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
        .services.map(({ key }) => key.join('/'))
    ).toEqual(['skydns/any/x'])
    expect(lookupIn(odd, '.').lookup.all('x.any.').services).toHaveLength(2)
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
          .services.map(({ key }) => key[2])
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
