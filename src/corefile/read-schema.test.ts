import { describe, expect, test } from 'vitest'
import { ConfigError, Directive } from './directive.js'
import { parseCorefile } from './parser.js'
import { readBySchema } from './read-schema.js'
import type { Config, Schema } from './schema.js'

const directive = (text: string): Directive => parseCorefile(`. {\n${text}\n}`, 'Corefile').blocks[0]!.directives[0]!

function read<S extends Schema>(text: string, schema: S): Config<S> {
  return readBySchema(directive(text), schema)
}

function problemOf(use: () => unknown): unknown {
  try {
    use()
  } catch (error) {
    return error instanceof ConfigError ? error.message : error
  }
  return undefined
}

const SECONDS = { name: 'SECONDS', type: 'integer', min: 0, max: 99 } as const
const ZONES = { name: 'ZONES', type: 'zone', rest: true } as const

/** One of everything. */
const schema = {
  about: 'Says what a schema can.',
  args: [
    { name: 'FROM', type: 'zone' },
    { name: 'MODE', type: 'choice', of: ['fast', 'slow'], optional: true, default: 'slow' },
    { name: 'WORDS', type: 'text', rest: true, optional: true }
  ],
  options: {
    flag: { about: 'a flag' },
    ttl: { args: [SECONDS], default: 30, about: 'one value' },
    wait: { args: [{ name: 'TIME', type: 'duration', optional: true, default: 5000 }], about: 'one that may be left out' },
    pair: { args: [{ name: 'KEY', type: 'text' }, SECONDS], about: 'two values' },
    zones: { args: [ZONES], about: 'a list' },
    fall: { args: [{ ...ZONES, optional: true, default: ['.'] }], about: 'a list with a default' },
    except: { args: [ZONES], repeats: true, about: 'lists, line by line' },
    tag: { args: [{ name: 'TAG', type: 'text' }], repeats: true, about: 'values, line by line' },
    inner: {
      args: [{ name: 'SIZE', type: 'integer', min: 1, max: 9, optional: true }],
      options: {
        deep: { about: 'a flag' },
        ttl: { args: [SECONDS], default: 7, about: 'as outside' },
        soon: { status: 'later', about: '' }
      },
      about: 'a block'
    },
    key: { args: [{ name: 'KEY', type: 'text', secret: true }], about: 'a secret' },
    old: { status: 'ignored', about: 'nothing' },
    soon: { status: 'later', about: 'yet to come' },
    sooner: { status: 'later', instead: 'ttl', about: 'yet to come' }
  }
} as const satisfies Schema

const DEFAULTS = {
  flag: false,
  ttl: 30,
  wait: undefined,
  pair: undefined,
  zones: undefined,
  fall: undefined,
  except: [],
  tag: [],
  inner: undefined,
  key: undefined
}

describe('arguments', () => {
  test.each<[string, unknown[]]>([
    ['x .', [['.'], 'slow', []]],
    ['x 192.0.2.0/23', [['2.0.192.in-addr.arpa.', '3.0.192.in-addr.arpa.'], 'slow', []]],
    ['x . fast', [['.'], 'fast', []]],
    ['x . fast a "b c"', [['.'], 'fast', ['a', 'b c']]]
  ])('%j', (text, args) => {
    expect(read(text, schema).args).toEqual(args)
  })

  test.each<[string, string]>([
    ['x', 'x: expected FROM: a zone such as . or example.org'],
    ['x a..b', 'x: "a..b": no domain name: an empty label in the name "a..b", expected one such as example.org'],
    ['x . fats', 'x: expected one of fast, slow, not "fats": did you mean fast?']
  ])('%j is wrong', (text, problem) => {
    expect(problemOf(() => read(text, schema))).toBe(`Corefile:2: ${problem}`)
  })
})

test('an argument that may be left out is so where the word does not fit it', () => {
  const times: Schema = {
    about: '',
    args: [
      { ...SECONDS, optional: true, when: /^[+-]?\d/, default: 7 },
      { ...ZONES, optional: true }
    ]
  }
  expect(['x', 'x 5', 'x a', 'x 5 a b'].map((text) => read(text, times).args)).toEqual([
    [7, []],
    [5, []],
    [7, ['a.']],
    [5, ['a.', 'b.']]
  ])
  expect(problemOf(() => read('x -1 a', times))).toBe('Corefile:2: x: expected a whole number from 0 to 99, not "-1"')
})

test('the last word is not of the rest where an argument after that knows it', () => {
  const looks = {
    about: '',
    args: [
      { name: 'WORDS', type: 'text', rest: true, optional: true },
      { name: 'LOOK', type: 'text', optional: true, when: /\{/, default: '{}' }
    ]
  } as const satisfies Schema
  expect(['x', 'x a', 'x "{b}"', 'x a "{b}"', 'x "{a}" "{b}"', 'x "{a}" b'].map((text) => read(text, looks).args)).toEqual([
    [[], '{}'],
    [['a'], '{}'],
    [[], '{b}'],
    [['a'], '{b}'],
    [['{a}'], '{b}'],
    [['{a}', 'b'], '{}']
  ])
})

test('what is ignored may still be wrong, where it says what it takes', () => {
  const old: Schema = { about: '', options: { old: { status: 'ignored', args: [], about: '' } } }
  expect(read('x {\nold\n}', old).options).toEqual({})
  expect(problemOf(() => read('x {\nold 1\n}', old))).toBe('Corefile:3: x: old: expected no argument, not "1"')
})

describe('options', () => {
  test.each<[string, Partial<Record<keyof typeof DEFAULTS, unknown>>]>([
    ['', {}],
    ['flag', { flag: true }],
    ['ttl 5', { ttl: 5 }],
    ['wait', { wait: 5000 }],
    ['wait 2s', { wait: 2000 }],
    ['pair a 1', { pair: ['a', 1] }],
    ['zones a 192.0.2.0/24', { zones: ['a.', '2.0.192.in-addr.arpa.'] }],
    ['fall', { fall: ['.'] }],
    ['fall a', { fall: ['a.'] }],
    ['except a b\nexcept c', { except: [['a.', 'b.'], ['c.']] }],
    ['tag a\nttl 1\ntag b', { tag: ['a', 'b'], ttl: 1 }],
    ['inner', { inner: { args: [undefined], options: { deep: false, ttl: 7 } } }],
    ['inner 3 {\ndeep\n}', { inner: { args: [3], options: { deep: true, ttl: 7 } } }],
    ['inner {\nttl 9\n}\nttl 8', { inner: { args: [undefined], options: { deep: false, ttl: 9 } }, ttl: 8 }],
    ['old\nold whatever it says {\nand more\n}', {}]
  ])('%j', (lines, values) => {
    expect(read(`x . {\n${lines}\n}`, schema).options).toEqual({ ...DEFAULTS, ...values })
  })

  test('that nobody wrote have their defaults without a block too', () => {
    expect(read('x .', schema).options).toEqual(DEFAULTS)
  })

  const known = 'flag, ttl, wait, pair, zones, fall, except, tag, inner, key'
  test.each<[string, string]>([
    ['flag on', '3: x: flag: expected no argument, not "on"'],
    ['flag {\n}', '3: x: flag: takes no block in braces'],
    ['flag\nflag', '4: x: flag: stands in line 3 already, expected it once'],
    ['ttl', '3: x: ttl: expected SECONDS: a whole number from 0 to 99'],
    ['ttl x', '3: x: ttl: expected a whole number from 0 to 99, not "x"'],
    ['ttl 1 2', '3: x: ttl: expected at most 1 argument, not "2"'],
    ['ttl 1\nflag\nttl 2', '5: x: ttl: stands in line 3 already, expected it once'],
    ['pair', '3: x: pair: expected KEY SECONDS: a text, then a whole number from 0 to 99'],
    ['pair a', '3: x: pair: expected SECONDS after "a": a whole number from 0 to 99'],
    ['pair a 1 2', '3: x: pair: expected at most 2 arguments, not "2"'],
    ['zones', '3: x: zones: expected ZONES…: a zone such as . or example.org'],
    ['zones a ..', '3: x: zones: "..": no domain name: an empty label in the name "..", expected one such as example.org'],
    ['inner 3 4', '3: x: inner: expected at most 1 argument, not "4"'],
    ['inner {\ndeep no\n}', '4: x: inner: deep: expected no argument, not "no"'],
    ['inner {\ndeep\ndeep\n}', '5: x: inner: deep: stands in line 4 already, expected it once'],
    ['inner {\ndep\n}', '4: x: inner: unknown option "dep", did you mean deep?'],
    ['inner {\nsoon\n}', '4: x: inner: soon: is not supported yet, expected the line left out'],
    ['key hush hush', '3: x: key: expected at most 1 argument, and quotes around what has spaces'],
    ['soon', '3: x: soon: is not supported yet, expected the line left out'],
    ['soon at once {\n}', '3: x: soon: is not supported yet, expected the line left out'],
    ['sooner', '3: x: sooner: is not supported yet, expected ttl'],
    ['excpet a', '3: x: unknown option "excpet", did you mean except?'],
    ['soooner', '3: x: unknown option "soooner", did you mean sooner?'],
    ['frobnicate', `3: x: unknown option "frobnicate", expected one of ${known}`],
    ['constructor', `3: x: unknown option "constructor", expected one of ${known}`],
    ['__proto__', `3: x: unknown option "__proto__", expected one of ${known}`]
  ])('%j is wrong', (lines, problem) => {
    expect(problemOf(() => read(`x . {\n${lines}\n}`, schema))).toBe(`Corefile:${problem}`)
  })
})

describe('a directive that takes nothing', () => {
  test.each<[string, Schema, string | undefined]>([
    ['x', { about: '' }, undefined],
    ['x y', { about: '' }, 'x: expected no argument, not "y"'],
    ['x {\n}', { about: '' }, 'x: takes no block in braces'],
    ['x {\n}', { about: '', options: {} }, undefined],
    ['x y', { about: '', args: [{ name: 'ON', type: 'choice', of: ['on'], optional: true }] }, 'x: expected no argument or on, not "y"']
  ])('%j', (text, nothing, problem) => {
    expect(problemOf(() => read(text, nothing))).toBe(problem === undefined ? undefined : `Corefile:2: ${problem}`)
  })

  test('or nothing yet says so', () => {
    const later: Schema = { about: '', options: { soon: { status: 'later', about: '' } } }
    expect(problemOf(() => read('x {\nfrobnicate\n}', later))).toBe('Corefile:3: x: unknown option "frobnicate", expected none')
    expect(problemOf(() => read('x {\nsooon\n}', later))).toBe('Corefile:3: x: unknown option "sooon", did you mean soon?')
  })
})

test('an option that stands twice names the file of the other line, where that is another', () => {
  const outer = { file: 'Corefile', line: 2, column: 3 }
  const line = (file: string, at: number) => (parent: Directive) =>
    new Directive('flag', [], { file, line: at, column: 3 }, ['.'], { parent })
  const x = new Directive('x', ['.'], outer, ['.'], { block: (parent) => [line('a.conf', 3)(parent), line('b.conf', 3)(parent)] })
  expect(problemOf(() => readBySchema(x, schema))).toBe('b.conf:3: x: flag: stands in a.conf:3 already, expected it once')
})

describe('a plugin that looks closer fails', () => {
  const config = read('x . {\ntag a\ntag b\n}', schema)

  test.each<[string, () => unknown, string]>([
    ['at the directive', () => config.fail('no'), 'Corefile:2: x: no'],
    ['at an option', () => config.fail('no', 'tag'), 'Corefile:4: x: tag: no'],
    ['at the directive, of an option that is missing', () => config.fail('no', 'ttl'), 'Corefile:2: x: no'],
    ['at the line of an option', () => config.line('tag').fail('no'), 'Corefile:4: x: tag: no'],
    ['for want of a line', () => config.line('ttl'), 'Corefile:2: x: ttl: is not set']
  ])('%s', (_title, use, problem) => {
    expect(problemOf(use)).toBe(problem)
  })

  test('with the directive at hand', () => {
    expect([config.directive.name, config.directive.zones]).toEqual(['x', ['.']])
  })
})
