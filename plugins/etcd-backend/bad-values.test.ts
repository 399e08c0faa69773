import type { Key } from 'skein/plugin'
import { TestClock, TestLog } from 'skein/testing'
import { expect, test } from 'vitest'
import { BadValues } from './bad-values.js'

function badValues() {
  const clock = new TestClock()
  const log = new TestLog()
  const count = { value: 0 }
  const bad = new BadValues({ clock, log, metrics: { counter: () => count, gauge() {}, collect: () => () => {}, text: async () => '' } })
  const tell = (from: number, to: number, modified = 1): void => {
    for (let i = from; i < to; i++) bad.tell({ key: ['a', String(i)], modified }, 'is no JSON')
  }
  return { clock, count, bad, tell, lines: log.lines }
}

const line = (i: number): string => `[WARNING] the value of /a/${i} is no JSON; it is left out`

test('of very many values each is counted, and a hundred a minute are told of until all are', () => {
  const { clock, count, tell, lines } = badValues()
  for (let round = 0; round < 3; round++) tell(0, 250)
  expect(count.value).toBe(250)
  expect(lines.slice(0, 100)).toEqual(Array.from({ length: 100 }, (_, i) => line(i)))
  expect(lines.slice(100)).toEqual(['[WARNING] 100 lines like these in a minute: what else is met until it ends is told of later'])
  clock.advance(59_999)
  tell(0, 250)
  expect(lines).toHaveLength(101)
  for (let minute = 0; minute < 3; minute++) {
    clock.advance(60_000)
    tell(0, 250)
  }
  expect([count.value, lines.filter((text) => text.includes('/a/'))]).toEqual([250, Array.from({ length: 250 }, (_, i) => line(i))])
})

test('one that is met after ten thousand others is counted and told of too, once', () => {
  const { clock, count, tell, lines } = badValues()
  tell(0, 10_000)
  clock.advance(60_000)
  for (let round = 0; round < 2; round++) tell(10_000, 10_002)
  expect(count.value).toBe(10_002)
  expect(lines.slice(101)).toEqual([line(10_000), line(10_001)])
  // Those after which they came are remembered still, but for the two oldest.
  tell(2, 10_000)
  expect(count.value).toBe(10_002)
})

test('one that has changed is counted and told of again', () => {
  const { count, tell, lines } = badValues()
  tell(0, 1, 1)
  tell(0, 1, 2)
  expect([count.value, lines]).toEqual([2, [line(0), line(0)]])
})

test('a name with too many keys is told of once and is no bad value', () => {
  const { count, bad, lines } = badValues()
  bad.tellCut(['a', 'b'], 10)
  bad.tellCut(['a', 'b'], 10)
  bad.tell({ key: ['a', 'b'], modified: 1 }, 'is no JSON')
  bad.tellCut(['a', 'b'], 10)
  expect([count.value, lines]).toEqual([
    1,
    [
      '[WARNING] more than 10 keys are at or below /a/b; those after the first 10 are left out',
      '[WARNING] the value of /a/b is no JSON; it is left out'
    ]
  ])
})

test.each<[string, Key, string]>([
  ['a line feed', ['a\nb'], '/a\\010b'],
  ['a space', ['a b'], '/a\\032b'],
  ['an escape', ['\x1b[2J'], '/\\027[2J'],
  ['U+2028 and U+0085', [Buffer.from('a\u2028\u0085').toString('latin1')], '/a\\226\\128\\168\\194\\133'],
  ['U+202E, which turns the line round', [Buffer.from('\u202ea').toString('latin1')], '/\\226\\128\\174a'],
  ['octets that are no text', ['\xff\n'], '/\\255\\010'],
  ['a slash', ['a/b'], '/a\\047b'],
  ['letters', [Buffer.from('ä').toString('latin1')], '/ä']
])('a key is shown on one line: %s', (_title, key, path) => {
  const { bad, lines } = badValues()
  bad.tell({ key, modified: 1 }, 'is no JSON')
  expect(lines).toEqual([`[WARNING] the value of ${path} is no JSON; it is left out`])
})
