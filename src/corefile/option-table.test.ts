import { describe, expect, test } from 'vitest'
import { optionTable } from './option-table.js'
import type { Argument, Option, Schema } from './schema.js'

/** The rows of a table as their cells, without the head. */
function rowsOf(schema: Omit<Schema, 'about'>): string[][] {
  const lines = optionTable({ about: '', ...schema }).split('\n')
  return lines.slice(2).map((line) =>
    line
      .slice(2, -2)
      .split(/ \| /)
      .map((cell) => cell.trimEnd())
  )
}

const SECONDS = { name: 'SECONDS', type: 'integer', min: 0, max: 99 } as const

describe('an argument is a row', () => {
  test.each<[Argument, string[]]>([
    [{ name: 'FROM', type: 'zone', about: 'whence' }, ['`FROM`', 'required', 'whence']],
    [{ name: 'ZONES', type: 'zone', rest: true, optional: true }, ['`ZONES…`', '', '']],
    [{ ...SECONDS, optional: true, default: 5, about: 'how long' }, ['`SECONDS`', '`5`', 'how long; from 0 to 99']],
    [{ name: 'A|B', type: 'text', about: 'a|b' }, ['`A\\|B`', 'required', 'a\\|b']]
  ])('%j', (argument, row) => {
    expect(rowsOf({ args: [argument] })).toEqual([row])
  })
})

describe('an option is a row', () => {
  const time = { name: 'TIME', type: 'duration' } as const
  test.each<[Option, string[]]>([
    [{ about: 'a flag' }, ['`x`', 'off', 'a flag']],
    [{ about: 'a number', args: [SECONDS], default: 30 }, ['`x SECONDS`', '`30`', 'a number; from 0 to 99']],
    [{ about: 'a number', args: [{ ...SECONDS, optional: true }] }, ['`x [SECONDS]`', '', 'a number; from 0 to 99']],
    [{ about: 'a time', args: [time], default: 90_000 }, ['`x TIME`', '`90s`', 'a time']],
    [{ about: 'a time', args: [{ ...time, min: 1 }] }, ['`x TIME`', '', 'a time; at least 1ms']],
    [{ about: 'a time', args: [{ ...time, max: 60_000 }] }, ['`x TIME`', '', 'a time; at most 1m']],
    [{ about: 'a time', args: [{ ...time, min: 1000, max: 3_600_000 }] }, ['`x TIME`', '', 'a time; from 1s to 1h']],
    [{ about: 'a switch', args: [{ name: 'on|off', type: 'switch' }], default: true }, ['`x on\\|off`', '`on`', 'a switch']],
    [{ about: 'a word', args: [{ name: 'MODE', type: 'choice', of: ['a', 'b'] }] }, ['`x MODE`', '', 'a word; one of `a`, `b`']],
    [{ about: 'zones', args: [{ name: 'ZONES', type: 'zone', rest: true }], default: ['a.', 'b.'] }, ['`x ZONES…`', '`a. b.`', 'zones']],
    [{ about: 'each', args: [{ name: 'KEY', type: 'text' }], repeats: true }, ['`x KEY`', '', 'each; may stand several times']],
    [{ about: 'two', args: [{ name: 'KEY', type: 'text' }, SECONDS] }, ['`x KEY SECONDS`', '', 'two; `SECONDS` from 0 to 99']]
  ])('%j', (option, row) => {
    expect(rowsOf({ options: { x: option } })).toEqual([row])
  })
})

test('options of a block follow theirs, those without effect and those yet to come stand at the end', () => {
  const soon = { status: 'later', about: '' } as const
  const old = { status: 'ignored', about: '' } as const
  const inner: Option = { about: 'a block', options: { deep: { about: 'a flag' }, soon, old } }
  expect(rowsOf({ args: [{ name: 'FROM', type: 'zone' }], options: { soon, old, inner, last: { about: 'a flag' }, older: old } })).toEqual([
    ['`FROM`', 'required', ''],
    ['`inner`', '', 'a block'],
    ['`inner › deep`', 'off', 'a flag'],
    ['`last`', 'off', 'a flag'],
    ['', '', 'accepted without effect: `old`, `inner › old`, `older`'],
    ['', '', 'not supported yet: `soon`, `inner › soon`']
  ])
})

test('cells stand under each other', () => {
  expect(optionTable({ about: '', options: { a: { about: 'é' }, 'long-name': { about: 'longer than that' } } })).toBe(
    [
      '| option      | default | meaning          |',
      '| ----------- | ------- | ---------------- |',
      '| `a`         | off     | é                |',
      '| `long-name` | off     | longer than that |'
    ].join('\n')
  )
})

test.each<Schema>([{ about: '' }, { about: '', args: [], options: {} }])('nothing is none: %j', (schema) => {
  expect(optionTable(schema)).toBe('None.')
})
