import { describe, expect, test } from 'vitest'
import { ConfigError } from './directive.js'
import { memoryOutside } from './memory-outside.testing.js'
import { positional } from './positional.js'
import { readBySchema } from './read-schema.js'
import { treeOf } from './same-tree.js'
import type { Schema } from './schema.js'
import { parseToml } from './toml-blocks.js'

const SECONDS = { name: 'SECONDS', type: 'integer', min: 0, max: 99 } as const

const schema: Schema = {
  about: 'Says what a table can.',
  args: [
    { ...SECONDS, name: 'TTL', optional: true, when: /^\d/ },
    { name: 'FROM', type: 'zone' },
    { name: 'MODE', type: 'choice', of: ['fast', 'slow'], optional: true },
    { name: 'TO', type: 'text', rest: true, optional: true }
  ],
  options: {
    flag: { about: '' },
    spin: { args: [{ name: 'on|off', type: 'switch' }], about: '' },
    wait: { args: [{ ...SECONDS, optional: true }], about: '' },
    pair: { args: [{ name: 'KEY', type: 'text' }, { ...SECONDS }], about: '' },
    list: {
      args: [
        { name: 'WORDS', type: 'text', rest: true, optional: true },
        { name: 'LOOK', type: 'text', expected: 'a text with a {', optional: true, when: /\{/ }
      ],
      about: ''
    },
    keyed: {
      args: [
        { name: 'KEY', type: 'text' },
        { name: 'WORDS', type: 'text', rest: true, optional: true },
        { name: 'LOOK', type: 'text', expected: 'a text with a {', optional: true, when: /\{/ }
      ],
      about: ''
    },
    inner: { args: [SECONDS], options: { deep: { about: '' }, size: { args: [SECONDS], about: '' } }, about: '' },
    limit: { args: [SECONDS], about: '' }
  }
}

const directive = (lines: string) => parseToml(`[[server]]\nkeys = "."\n${lines}`, 'skein.toml').blocks[0]!.directives[0]!

/** The line as a list: name, words, block. */
function lineOf(lines: string): unknown {
  const block = { keyTexts: [], keys: [], directives: [positional(directive(lines), schema)], at: directive(lines).at }
  return (treeOf([block]) as [[unknown, [unknown]]])[0][1][0]
}

function problemOf(lines: string): string {
  try {
    readBySchema(directive(lines), schema)
  } catch (error) {
    if (error instanceof ConfigError) return error.message
    throw error
  }
  return 'nothing'
}

describe('arguments by name are words in their order', () => {
  test.each<[string, unknown]>([
    ['x = "."', ['x', ['.'], null]],
    ['[server.x]\nfrom = "."', ['x', ['.'], null]],
    ['[server.x]\nto = ["a", "b"]\nmode = "fast"\nfrom = "."', ['x', ['.', 'fast', 'a', 'b'], null]],
    ['[server.x]\nttl = 5\nfrom = "."', ['x', ['5', '.'], null]],
    ['[server.x]\nfrom = "."\nflag = true', ['x', ['.'], [['flag', [], null]]]],
    ['[server.x]\nargs = "."\nflag = true', ['x', ['.'], [['flag', [], null]]]],
    ['[server.x]\nfrom = "."\nflag = false', ['x', ['.'], []]],
    ['[server.x]\nfrom = "."\nspin = true', ['x', ['.'], [['spin', ['on'], null]]]],
    ['[server.x]\nfrom = "."\nspin = false', ['x', ['.'], [['spin', ['off'], null]]]],
    ['[server.x]\nfrom = "."\nwait = false', ['x', ['.'], []]],
    ['[server.x]\nfrom = "."\npair = { seconds = 1, key = "a" }', ['x', ['.'], [['pair', ['a', '1'], null]]]],
    ['[server.x]\nfrom = "."\n[server.x.inner]\nseconds = 1\ndeep = true', ['x', ['.'], [['inner', ['1'], [['deep', [], null]]]]]],
    ['[server.x]\nfrom = "."\nlist = { look = "{a}" }', ['x', ['.'], [['list', ['{a}'], null]]]],
    ['[server.x]\nfrom = "."\nlist = { look = "{a}", words = ["b", "c"] }', ['x', ['.'], [['list', ['b', 'c', '{a}'], null]]]],
    // One before the rest is never taken for the one behind it.
    ['[server.x]\nfrom = "."\nkeyed = { key = "{a}" }', ['x', ['.'], [['keyed', ['{a}'], null]]]],
    ['[server.x]\nfrom = "."\nkeyed = { key = "{a}", words = "b" }', ['x', ['.'], [['keyed', ['{a}', 'b'], null]]]],
    ['[server.x]\nlines = [["from", "."]]', ['x', [], [['from', ['.'], null]]]]
  ])('%j', (lines, line) => {
    expect(lineOf(lines)).toEqual(line)
  })
})

test('what came from a variable says so, at its own line', () => {
  const text = '[[server]]\nkeys = "."\n[server.x]\nfrom = "."\nmode = "{$MODE}"'
  const [line] = parseToml(text, 'skein.toml', memoryOutside({}, { MODE: 'fats' })).blocks[0]!.directives
  expect(() => readBySchema(line!, schema)).toThrow(
    'skein.toml:5: x: mode: expected one of fast, slow, not "fats": did you mean fast? (from {$MODE})'
  )
  expect(positional(line!, schema).spelled).toBe('x . {$MODE}')
})

describe('refuses', () => {
  test.each<[string, string]>([
    ['[server.x]\nfrom = [".", "a"]', '4: x: from: expected at most 1 argument, not "a"'],
    ['[server.x]\nfrom = true', '4: x: from: expected a value'],
    ['[server.x]\nfrom = { a = 1 }', '4: x: from: takes no options'],
    ['[server.x]\nfrom = [["."], ["a"]]', '4: x: from: stands several times, expected it once'],
    ['[server.x]\nfrom = "."\nto = "a"', '5: x: to: stands without mode, expected both'],
    ['[server.x]\nfrom = "."\nttl = "x"', '5: x: ttl: expected a whole number from 0 to 99, not "x"'],
    ['[server.x]\nfrom = "."\nlist = { look = "a" }', '5: x: list: look: expected a text with a {, not "a"'],
    ['[server.x]\nfrom = "."\nlimit = false', '5: x: limit: is false, expected a value'],
    ['[server.x]\nflag = true', '3: x: expected FROM: a zone such as . or example.org'],
    ['[server.x]\nargs = "."\nfrom = "a"', '5: x: from: stands beside args, expected one of the two'],
    ['[server.x]\nfrmo = "."\nmode = "fast"', '4: x: unknown option "frmo", did you mean from?'],
    ['[server.x]\nfrom = "."\nmode = "fats"', '5: x: mode: expected one of fast, slow, not "fats": did you mean fast?'],
    ['[server.x]\nttl = "ten"\nfrom = "."', '4: x: ttl: expected a whole number from 0 to 99, not "ten"'],
    ['[server.x]\nfrom = "30"', '4: x: from: "30" looks like TTL, which is a whole number from 0 to 99'],
    ['[server.x]\nfrom = "."\nflga = false', '5: x: unknown option "flga", did you mean flag?'],
    ['[server.x]\nfrmo = "."', '4: x: unknown option "frmo", did you mean from?'],
    ['[server.x]\nfrom = "."\npair = { key = "a" }', '5: x: pair: expected SECONDS after "a": a whole number from 0 to 99'],
    ['[server.x]\nfrom = "."\npair = { kye = "a" }', '5: x: pair: unknown option "kye", did you mean key?']
  ])('%j', (lines, problem) => {
    expect(problemOf(lines)).toBe(`skein.toml:${problem}`)
  })
})
