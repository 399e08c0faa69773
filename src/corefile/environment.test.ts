import { describe, expect, test } from 'vitest'
import { ConfigError } from './directive.js'
import { Environment } from './environment.js'
import { memoryOutside } from './memory-outside.testing.js'
import { parseCorefile } from './parser.js'
import { Warnings } from './warnings.js'

const variables = {
  ZONE: 'example.org',
  A: 'a',
  WORDS: 'two words',
  LINES: 'a\nb',
  OPEN: '{',
  SELF: 'x{$SELF}',
  ROUND: '{%BACK%}',
  BACK: '{$ROUND}',
  NEST: '<{$A}{%A%}>',
  HALF: '{$',
  BOOM0: 'x'.repeat(100),
  ...Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`BOOM${i + 1}`, `{$BOOM${i}}`.repeat(9)])),
  DEEP0: 'x',
  ...Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`DEEP${i + 1}`, `{$DEEP${i}}`])),
  EMPTY: '',
  IMPORT: 'import',
  SNIPPET: '(a)'
}

function expand(text: string): { text: string; warnings: string[] } {
  const warnings = new Warnings()
  const token = { text, quoted: false, file: 'Corefile', line: 4, column: 1, newlines: 0 }
  return { text: new Environment(variables, warnings).expand(token).text, warnings: warnings.list.map((warning) => warning.text) }
}

const parse = (text: string) => parseCorefile(text.replaceAll('⏎', '\n'), 'Corefile', memoryOutside({}, variables))

function problem(read: () => unknown): unknown {
  try {
    read()
  } catch (error) {
    return error instanceof ConfigError ? error.message : error
  }
  return undefined
}

describe('replaces', () => {
  test.each([
    ['{$ZONE}', 'example.org'],
    ['{%ZONE%}', 'example.org'],
    ['x{$A}y{%A%}z', 'xayaz'],
    ['{{$ZONE}}', '{example.org}'],
    ['{$WORDS}', 'two words'],
    ['{$NEST}', '<aa>'],
    ['{$EMPTY}', ''],
    // A value and the text around it are never a reference together.
    ['{$HALF}A}', '{$A}']
  ])('%s', (text, expected) => {
    expect(expand(text)).toEqual({ text: expected, warnings: [] })
  })

  test.each(['{$}', '{%%}', '{$A', '{%A}', '{{ $A }}', '$A', `\${A}`, '%A%', '{A}', '{$} {$A}'])('nothing in %s', (text) => {
    expect(expand(text)).toEqual({ text, warnings: [] })
  })

  test.each([
    ['x{$NONE}y', 'xy', 'NONE'],
    ['{%none%}', '', 'none'],
    ['{$ZONE:-1}', '', 'ZONE:-1'],
    ['{$constructor}', '', 'constructor'],
    ['{$__proto__}', '', '__proto__']
  ])('%s by nothing, with a warning', (text, expected, name) => {
    expect(expand(text)).toEqual({
      text: expected,
      warnings: [`Corefile:4: the environment variable "${name}" is not set, and is read as an empty text`]
    })
  })
})

describe('refuses values', () => {
  test.each([
    ['{$SELF}', 'Corefile:4: environment variables that hold themselves: "SELF" → "SELF", expected values with an end'],
    ['{$ROUND}', 'Corefile:4: environment variables that hold themselves: "ROUND" → "BACK" → "ROUND", expected values with an end'],
    ['{$DEEP20}', 'Corefile:4: "{$DEEP20}": variables in variables, expected at most 16 one in another'],
    ['{$BOOM12}', 'Corefile:4: "{$BOOM12}" has more than 100000 characters, expected shorter values']
  ])('%s', (text, message) => {
    expect(problem(() => expand(text))).toBe(message)
  })
})

describe('a value is never syntax', () => {
  test('neither a brace, nor an import, nor a line end, nor several words', () => {
    const { blocks } = parse('. {⏎x {$OPEN} {$WORDS} {$LINES}⏎y {⏎{$IMPORT} f⏎}⏎}')
    const [x, y] = blocks[0]!.directives
    expect(x!.args).toEqual(['{', 'two words', 'a\nb'])
    expect(y!.options.map(({ name, args }) => [name, ...args])).toEqual([['import', 'f']])
  })

  test.each([
    ['{$ZONE} {$OPEN}⏎log', 'Corefile:1: "{" from "{$OPEN}": a brace in a zone, expected a space before it'],
    ['{$IMPORT} f', 'Corefile:1: "import" from "{$IMPORT}" is a word, expected import itself or a zone'],
    ['{$SNIPPET} {⏎}', 'Corefile:1: "(a)", expected a zone, or the name of a snippet alone in parentheses'],
    ['{$NONE} {⏎}', 'Corefile:1: an empty key from "{$NONE}", expected a zone such as example.org'],
    ['.:{$NONE} {⏎}', 'Corefile:1: ".:" from ".:{$NONE}": no port after the colon, expected a number'],
    ['. {⏎{$NONE}⏎}', 'Corefile:2: an empty name from "{$NONE}", expected a directive']
  ])('%s', (text, message) => {
    expect(problem(() => parse(text))).toBe(message)
  })
})

test('a snippet is read with its variables where it is imported, and warns once', () => {
  const { blocks, warnings } = parse('({$A}) {⏎x {$NONE}⏎}⏎. {⏎import a⏎import {%A%}⏎}')
  expect(blocks[0]!.directives.map(({ args }) => args)).toEqual([[''], ['']])
  expect(warnings).toEqual([
    {
      text: 'Corefile:2: the environment variable "NONE" is not set, and is read as an empty text',
      at: { file: 'Corefile', line: 2, column: 3 }
    }
  ])
})

test('a snippet that is not used needs no variables', () => {
  expect(parse('(x) {⏎y {$NONE} {$SELF}⏎}').warnings).toEqual([])
})
