import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  fold,
  foldedOctets,
  type Key,
  keyOfOctets,
  keyOfPath,
  pathOfKey,
  sameKey,
  spelledOctets,
  spellingsOf,
  subtreeEnd,
  writtenOctets
} from './key.js'

// Short, and of few octets, so that keys meet: separators, escapes, both cases, what sorts around them, high octets.
const octet = fc.constantFrom('\0', '\x01', '\x02', '!', '*', '.', '/', 'A', 'a', 'K', 'k', 'Z', 'z', '[', '\x7f', '\xaa', '\xe1', '\xff')
const segment = fc.oneof(
  fc.array(octet, { minLength: 1, maxLength: 3 }).map((each) => each.join('')),
  fc.constantFrom('..', '.', 'pool/1', '*')
)
const key = fc.array(segment, { minLength: 1, maxLength: 4 })
const anyKey = fc.array(segment, { maxLength: 4 })

const folded = (of: Key): string[] => of.map(fold)
const begins = (of: Key, top: Key): boolean => top.length <= of.length && top.every((each, index) => fold(each) === fold(of[index]!))

function compareLists(one: readonly string[], other: readonly string[]): number {
  for (let i = 0; i < Math.min(one.length, other.length); i++) if (one[i] !== other[i]) return one[i]! < other[i]! ? -1 : 1
  return one.length - other.length
}

describe('keys', () => {
  test('come back from their octets as written', () => {
    fc.assert(
      fc.property(key, (each) => {
        expect(keyOfOctets(spelledOctets(each))).toEqual(each)
      })
    )
  })

  test('have the same octets only where they are spelled the same', () => {
    fc.assert(
      fc.property(key, key, (one, other) => {
        expect(spelledOctets(one).equals(spelledOctets(other))).toBe(sameKey(one, other))
        expect(writtenOctets(one).equals(writtenOctets(other))).toBe(sameKey(one, other))
      })
    )
  })

  test('are in a subtree exactly where their folded list begins with its folded list', () => {
    fc.assert(
      fc.property(key, anyKey, (each, top) => {
        const start = foldedOctets(top)
        const octets = spelledOctets(each)
        const isInside = Buffer.compare(octets, start) >= 0 && Buffer.compare(octets, subtreeEnd(start)) < 0
        expect(isInside).toBe(begins(each, top))
      }),
      { numRuns: 2000 }
    )
  })

  test('are among the spellings of a key exactly where they fold to it', () => {
    fc.assert(
      fc.property(key, key, (each, other) => {
        const { start, end } = spellingsOf(foldedOctets(other))
        const octets = spelledOctets(each)
        const isOne = octets.equals(foldedOctets(other)) || (Buffer.compare(octets, start) >= 0 && Buffer.compare(octets, end) < 0)
        expect(isOne).toBe(compareLists(folded(each), folded(other)) === 0)
      }),
      { numRuns: 2000 }
    )
  })

  test('stand in the order of their folded lists, by octets', () => {
    fc.assert(
      fc.property(key, key, (one, other) => {
        const order = compareLists(folded(one), folded(other))
        if (order !== 0) expect(Math.sign(Buffer.compare(foldedOctets(one), foldedOctets(other)))).toBe(Math.sign(order))
      }),
      { numRuns: 2000 }
    )
  })

  test('of a path show as that path', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.string({ unit: 'grapheme', minLength: 1 }).filter((each) => !each.includes('/')),
          { minLength: 1 }
        ),
        (segments) => {
          const path = `/${segments.map((each) => Buffer.from(each, 'utf8').toString('utf8')).join('/')}`
          expect(pathOfKey(keyOfPath(path))).toBe(path)
        }
      )
    )
  })

  test('fold no letter outside A to Z: the Kelvin sign is no k', () => {
    expect(keyOfPath('/\u212a')).toEqual(['\xe2\x84\xaa'])
    expect(fold('\xe2\x84\xaa')).toBe('\xe2\x84\xaa')
    expect(foldedOctets(keyOfPath('/\u212a')).equals(foldedOctets(['k']))).toBe(false)
    expect(() => spelledOctets(['\u212a'])).toThrow('octets')
  })

  test.each([
    [['pool/1'], ['pool', '1']],
    [['..', 'a'], ['a']],
    [['a', '..', 'b'], ['b']],
    [['a.b'], ['a', 'b']],
    [['a\0b'], ['a', 'b']],
    [['a\0\0b'], ['a', 'b']],
    [['*'], ['a']]
  ])('keep %j apart from %j', (one, other) => {
    expect(spelledOctets(one).equals(spelledOctets(other))).toBe(false)
    expect(begins(one, other)).toBe(false)
  })

  test('have no empty segment', () => {
    expect(() => foldedOctets(['a', '', 'b'])).toThrow('empty segment')
  })
})
