import { describe, expect, test } from 'vitest'
import { ConfigError, type Directive } from './directive.js'
import { memoryOutside } from './memory-outside.testing.js'
import { type ParsedCorefile, parseCorefile } from './parser.js'

type Files = Readonly<Record<string, string>>

/** Vectors are written with ⏎ for a line end. */
const lines = (text: string): string => text.replaceAll('⏎', '\n')

function parse(text: string, files: Files = {}, file = 'Corefile'): ParsedCorefile {
  const all = Object.entries({ ...files, [file]: text }).map(([path, content]) => [path, lines(content)])
  return parseCorefile(lines(text), file, memoryOutside(Object.fromEntries(all) as Files))
}

const shape = ({ name, args, block }: Directive): unknown[] => [name, ...args, ...(block === undefined ? [] : [block.map(shape)])]

function problem(text: string, files: Files = {}, file = 'Corefile'): unknown {
  try {
    parse(text, files, file)
  } catch (error) {
    return error instanceof ConfigError ? error.message : error
  }
  return undefined
}

describe('puts in place', () => {
  test.each<[string, string, Files, unknown[]]>([
    ['a snippet in a block', '(a) {⏎log x⏎}⏎. {⏎errors⏎import a⏎whoami⏎}', {}, [['errors'], ['log', 'x'], ['whoami']]],
    ['a snippet as often as it is imported', '(a) {⏎log⏎}⏎. {⏎import a⏎import a⏎}', {}, [['log'], ['log']]],
    ['a snippet that starts on the line of its brace', '(a) { log⏎}⏎. { import a⏎}', {}, [['log']]],
    ['a snippet that ends on the line of a directive', '(a) {⏎log x }⏎. {⏎import a⏎}', {}, [['log', 'x']]],
    ['an empty snippet', '(a) {}⏎(b) { }⏎. {⏎import a⏎import b⏎}', {}, []],
    ['a snippet in a block without braces', '(a) {⏎log⏎}⏎.⏎import a⏎errors', {}, [['log'], ['errors']]],
    [
      'a snippet in the block of a directive',
      '(f) {⏎ except x⏎}⏎. {⏎forward . 8.8.8.8 {⏎import f⏎policy random⏎}⏎}',
      {},
      [
        [
          'forward',
          '.',
          '8.8.8.8',
          [
            ['except', 'x'],
            ['policy', 'random']
          ]
        ]
      ]
    ],
    [
      'equal lines of a snippet, which stay apart',
      '(t) {⏎ttl 5⏎}⏎. {⏎x {⏎import t⏎import t⏎}⏎}',
      {},
      [
        [
          'x',
          [
            ['ttl', '5'],
            ['ttl', '5']
          ]
        ]
      ]
    ],
    ['a file', '. {⏎import a⏎whoami⏎}', { a: 'log⏎errors' }, [['log'], ['errors'], ['whoami']]],
    ['an empty file', '. {⏎import a⏎whoami⏎}', { a: '# nothing' }, [['whoami']]],
    ['a file with a block in a block', '. {⏎import a⏎}', { a: 'x {⏎y⏎}' }, [['x', [['y']]]]],
    ['an absolute path', '. {⏎import /etc/a⏎}', { '/etc/a': 'log' }, [['log']]],
    [
      'files of a pattern in order',
      '. {⏎import d/?.x⏎}',
      { 'd/b.x': 'two', 'd/a.x': 'one', 'd/a.y': 'no', 'd/ab.x': 'no' },
      [['one'], ['two']]
    ],
    ['a name with an escaped star', '. {⏎import a\\*⏎}', { 'a*': 'star', ab: 'no' }, [['star']]],
    ['import as an argument, which is a word', '. {⏎log import⏎}', {}, [['log', 'import']]]
  ])('%s', (_, text, files, expected) => {
    expect(parse(text, files).blocks.flatMap((block) => block.directives.map(shape))).toEqual(expected)
  })

  test.each<[string, string, Files, string[]]>([
    ['blocks of a file between others', 'a {⏎}⏎import f⏎d {⏎}', { f: 'b {⏎}⏎c {⏎}' }, ['a', 'b', 'c', 'd']],
    ['keys after a comma', 'a,⏎import f⏎{⏎}', { f: 'b' }, ['a b']],
    ['snippets for the files after it', 'import *.x', { 'a.x': '(s) {⏎log⏎}', 'b.x': 'a {⏎import s⏎}' }, ['a']],
    ['nothing where a pattern matches nothing', 'import *.x', {}, []]
  ])('%s', (_, text, files, expected) => {
    expect(parse(text, files).blocks.map((block) => block.keys.map((key) => key.text).join(' '))).toEqual(expected)
  })
})

describe('refuses', () => {
  test.each<[string, string, string, Files?]>([
    ['a snippet that stands twice', '(a) {⏎}⏎(a) {⏎}', 'Corefile:3: the snippet (a) stands twice, expected another name'],
    ['a snippet without name', '() {⏎}', 'Corefile:1: "()": a snippet without a name, expected one in the parentheses'],
    ['a snippet without body', '(a)⏎log', 'Corefile:2: the snippet (a) has no body, expected { behind its name'],
    ['a snippet at the end', '(a)', 'Corefile:1: the snippet (a) has no body, expected { behind its name'],
    [
      'a snippet that is open',
      '(a) {⏎x {⏎}⏎',
      'Corefile:3: the file ends in the block that Corefile:1 opens, expected } on a line of its own'
    ],
    ['a snippet in a block', '. {⏎(a) {⏎}⏎}', 'Corefile:2: "(a)": a snippet in a block, expected it outside of all blocks'],
    ['a snippet that imports itself', '(a) {⏎import a⏎}', 'Corefile:3: the snippet (a) imports itself in line 2, expected an end'],
    [
      'snippets that import each other, when used',
      '(a) {⏎import b⏎}⏎(b) {⏎import a⏎}⏎import a',
      'Corefile:5: import goes round: (a) → (b) → (a), expected an end'
    ],
    ['a file that imports itself', 'import a', 'a:1: import goes round: a → a, expected an end', { a: 'import ./a' }],
    [
      'a file that imports the Corefile',
      'import d/a',
      'd/a:2: import goes round: Corefile → d/a → Corefile, expected an end',
      { 'd/a': '⏎import ../Corefile' }
    ],
    [
      'a name that nothing has',
      '(common) {⏎}⏎. {⏎import comon⏎}',
      'Corefile:4: "comon" is neither a snippet defined before this line nor a file, did you mean common?'
    ],
    [
      'a file that is missing in the folder of the importing one',
      'import d/a',
      'd/a:1: "part" is neither a snippet defined before this line nor a file at "d/part", expected one of them',
      { 'd/a': 'import part', part: '' }
    ],
    ['a folder', 'import d', 'Corefile:1: cannot import "d": it is a folder, expected a file to read', { 'd/a': '' }],
    ['no name', '. {⏎import⏎}', 'Corefile:2: import without a name, expected that of a snippet or a file'],
    ['a brace as name', '. {⏎import {⏎}', 'Corefile:2: import without a name, expected that of a snippet or a file'],
    [
      'a name beyond the end of a snippet',
      '(a) {⏎import⏎}⏎. {⏎import a⏎log⏎}',
      'Corefile:2: import without a name, expected that of a snippet or a file'
    ],
    ['an empty name', 'import ""', 'Corefile:1: import of an empty name, expected that of a snippet or a file'],
    ['an unset name', 'import {$X}', 'Corefile:1: import of an empty name from "{$X}", expected that of a snippet or a file'],
    ['import after a closing brace', 'a {⏎} import b {⏎}', 'Corefile:2: import after a }, expected it on a line of its own'],
    ['two names', 'import a b', 'Corefile:1: "b" after the name to import, expected that name alone', { a: '' }],
    ['a closing brace on its line', '(a) {⏎}⏎. { import a }', 'Corefile:3: "}" after the name to import, expected that name alone'],
    ['two stars', 'import */*', 'Corefile:1: "*/*": several wildcards, expected at most one * and one ?'],
    ['brackets', 'import [ab].x', 'Corefile:1: "[ab].x": a [, expected * or ? as wildcards'],
    ['a file that closes a block', '. {⏎import a⏎', 'a:1: a } that closes nothing, expected as many { before it', { a: '}' }],
    [
      'a file that leaves a block open',
      'import a⏎}',
      'a:2: the file ends in the block that a:1 opens, expected } on a line of its own',
      { a: '. {⏎log' }
    ],
    [
      'a mistake in a file, with its place',
      'import d/a',
      'd/a:2: ":53": no zone, expected one such as example.org, or . for all',
      { 'd/a': '⏎:53 {⏎}' }
    ],
    ['a comma before an import of nothing', 'a,⏎import f', 'Corefile:2: the file ends after a comma, expected another key', { f: '' }]
  ])('%s', (_, text, message, files) => {
    expect(problem(text, files)).toBe(message)
  })

  test('a file that cannot be read, whatever the reason', () => {
    for (const [code, reason] of Object.entries({ EACCES: 'no permission', EISDIR: 'it is a folder', EMFILE: 'of the system' })) {
      const readFile = (): never => {
        throw Object.assign(new Error('of the system'), { code })
      }
      expect(() => parseCorefile('import a', 'Corefile', { ...memoryOutside({}), readFile })).toThrow(
        `Corefile:1: cannot import "a": ${reason}, expected a file to read`
      )
      expect(() => parseCorefile('import d/*', 'Corefile', { ...memoryOutside({}), readFolder: readFile })).toThrow(
        `Corefile:1: "d/*": cannot read its folder: ${reason}, expected a folder of files`
      )
    }
  })

  test('snippets that grow by powers, in good time', () => {
    const snippets = Array.from({ length: 40 }, (_, i) => `(s${i + 1}) {⏎${`import s${i}⏎`.repeat(2)}}⏎`).join('')
    expect(problem(`(s0) {⏎log⏎}⏎${snippets}. {⏎import s40⏎}`)).toMatch(/^Corefile:\d+: expected at most 100000 imports$/)
    expect(problem(`(a) {⏎${'log⏎'.repeat(20_000)}}⏎. {⏎${'import a⏎'.repeat(99)}}`)).toMatch(
      /: expected imports to repeat at most 1000000 words$/
    )
  })

  test('imports in imports without end', () => {
    const files = Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`f${i}`, `import f${i + 1}`]))
    expect(problem('import f0', files)).toBe('f99:1: imports in imports, expected at most 100 levels')
  })
})

test('remembers every file once, with its octets, and the place of every word', () => {
  const text = 'import d/a⏎import d/a⏎b {⏎import d/b⏎}'
  const parts = { '/etc/skein/d/a': '', '/etc/skein/d/b': '\ufefflog⏎x' }
  const { files, blocks } = parse(text, parts, '/etc/skein/Corefile')
  expect(files).toEqual([
    { path: '/etc/skein/Corefile', octets: Buffer.from(lines(text)) },
    { path: '/etc/skein/d/a', octets: Buffer.from('') },
    { path: '/etc/skein/d/b', octets: Buffer.from('\ufefflog\nx') }
  ])
  expect(blocks[0]!.at).toEqual({ file: '/etc/skein/Corefile', line: 3, column: 1 })
  expect(blocks[0]!.directives.map(({ at }) => at)).toEqual([
    { file: '/etc/skein/d/b', line: 1, column: 1 },
    { file: '/etc/skein/d/b', line: 2, column: 1 }
  ])
})

test('what standard input imports hangs on the working directory', () => {
  expect(parse('import d/a', { 'd/a': 'b {⏎}' }, '/dev/stdin').blocks[0]!.at).toEqual({ file: 'd/a', line: 1, column: 1 })
})

describe('warns of', () => {
  test.each<[string, string, Files, string[]]>([
    [
      'a pattern that matches nothing',
      '. {⏎import d/*.x⏎}',
      { 'd/a.y': '' },
      ['Corefile:2: no file matches "d/*.x", so nothing is imported']
    ],
    [
      'a folder that a pattern matches',
      'import d/*',
      { 'd/e/f': '' },
      ['Corefile:1: "d/e" matches "d/*" and is a folder, so it is not imported']
    ]
  ])('%s', (_, text, files, expected) => {
    expect(parse(text, files).warnings.map((warning) => warning.text)).toEqual(expected)
  })
})
