import { describe, expect, test } from 'vitest'
import { ConfigError, type Directive, nearest, shown } from './directive.js'
import { parseCorefile } from './parser.js'

const directive = (text: string): Directive => parseCorefile(`. {\n${text}\n}`, 'Corefile').blocks[0]!.directives[0]!

describe('an argument that is wrong is told with its place', () => {
  test.each<[string, (directive: Directive) => unknown, string]>([
    ['ttl 1 2', (ttl) => ttl.noMoreThan(1), 'Corefile:2: ttl: expected at most 1 argument, not "2"'],
    ['whoami x', (whoami) => whoami.noMoreThan(0), 'Corefile:2: whoami: expected no argument, not "x"'],
    ['whoami { }', (whoami) => whoami.noBlock(), 'Corefile:2: whoami: takes no block in braces'],
    [
      'cache {\nsucces\n}',
      (cache) => cache.options[0]!.unknown(['success', 'denial']),
      'Corefile:3: cache: unknown option "succes", did you mean success?'
    ],
    [
      'cache {\nx\n}',
      (cache) => cache.options[0]!.unknown(['success', 'denial']),
      'Corefile:3: cache: unknown option "x", expected one of success, denial'
    ],
    ['a {\nb {\nc\n}\n}', (a) => a.options[0]!.options[0]!.fail('no'), 'Corefile:4: a: b: c: no']
  ])('%j', (text, read, message) => {
    let problem: unknown
    try {
      read(directive(text))
    } catch (error) {
      problem = error instanceof ConfigError ? error.message : error
    }
    expect(problem).toBe(message)
  })
})

test('has no options where it has no block', () => {
  expect(directive('whoami').options).toEqual([])
})

test.each([
  ['forwrad', 'forward'],
  ['LOG', 'log'],
  ['frobnicate', undefined],
  ['x', undefined],
  ['w'.repeat(100_000), undefined]
])('the name nearest to %.20s is %s', (word, expected) => {
  expect(nearest(word, ['log', 'forward', 'whoami'])).toBe(expected)
})

test('long words are cut in messages', () => {
  expect(shown('a"b')).toBe('"a\\"b"')
  expect(shown('w'.repeat(5000))).toBe(`"${'w'.repeat(60)}…"`)
})
