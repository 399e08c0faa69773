import { describe, expect, test } from 'vitest'
import { defaultServerBlocks } from './default.js'
import { ConfigError, type Directive } from './directive.js'
import { parseCorefile } from './parser.js'

/** Vectors are written with ⏎ for a line end. */
const parse = (text: string) => parseCorefile(text.replaceAll('⏎', '\n'), 'Corefile').blocks

const keysOf = (text: string) => parse(text).map((block) => block.keys.map((key) => key.text).join(' '))

const tree = (directive: Directive): unknown[] => [
  directive.name,
  ...directive.args,
  ...(directive.block === undefined ? [] : [directive.block.map(tree)])
]
const trees = (text: string) => parse(text).flatMap((block) => block.directives.map(tree))

function problem(text: string): unknown {
  try {
    parse(text)
  } catch (error) {
    return error instanceof ConfigError ? error.message : error
  }
  return undefined
}

describe('reads the keys', () => {
  test.each([
    ['of a block', '. {⏎ log⏎}', ['.']],
    ['of several blocks', 'a {⏎}⏎b c {⏎}', ['a', 'b c']],
    ['of a block on the line of a closing brace', 'a {⏎} b {⏎}', ['a', 'b']],
    ['of a block whose brace starts the next line', '.⏎{⏎ log⏎}', ['.']],
    ['of a block whose brace comes after a comment', 'a⏎⏎# here⏎{⏎}', ['a']],
    ['of a block without braces', '.:53⏎log⏎errors', ['.:53']],
    ['of a file that is just one key', 'example.org', ['example.org']],
    ['with commas, over lines', 'a, b c,⏎ d {⏎ log⏎}', ['a b c d']],
    ['with a comma inside a word, which separates', 'a,b {⏎log⏎}', ['a b']],
    ['with an escaped comma, which does not', 'a\\,b "c,d" {⏎log⏎}', ['a\\,b c,d']],
    ['with several schemes', '. tls://. https://. {⏎}', ['. tls://. https://.']],
    ['before empty braces', '. { }', ['.']],
    ['before braces glued together', '. {}⏎a⏎{}⏎', ['.', 'a']],
    ['with import among them, where it does not start the line', 'foo import d/s.zone {⏎log⏎}', ['foo import d/s.zone']],
    ['with a quoted import, which is a word', '"import" {⏎}', ['import']]
  ])('%s', (_, text, expected) => {
    expect(keysOf(text)).toEqual(expected)
  })

  test('with scheme, zone, port and place', () => {
    const [block] = parse('. tls://Example.ORG:0853,⏎ https://b {⏎}')
    expect(block!.keys).toEqual([
      { text: '.', scheme: 'dns', zone: '.', port: undefined, at: { file: 'Corefile', line: 1, column: 1 } },
      { text: 'tls://Example.ORG:0853', scheme: 'tls', zone: 'example.org.', port: 853, at: { file: 'Corefile', line: 1, column: 3 } },
      { text: 'https://b', scheme: 'https', zone: 'b.', port: undefined, at: { file: 'Corefile', line: 2, column: 2 } }
    ])
    expect(block!.at).toEqual({ file: 'Corefile', line: 1, column: 1 })
  })
})

describe('reads directives', () => {
  test.each([
    ['with a comment glued to a word', '. {⏎ log foo#bar baz⏎}', [['log', 'foo']]],
    ['with a comment', '. {⏎ log foo #bar baz⏎}', [['log', 'foo']]],
    ['with quoted words', '. {⏎ log "a b" "c\\"d" "e\\nf" "" end⏎}', [['log', 'a b', 'c"d', 'e\\nf', '', 'end']]],
    ['after a word that runs over lines', '. {⏎ log "a⏎b" c⏎ errors⏎}', [['log', 'a\nb', 'c'], ['errors']]],
    ['on the line of the opening brace', '. { whoami⏎ errors⏎}', [['whoami'], ['errors']]],
    ['without braces', '.:53⏎log⏎errors {⏎}', [['log'], ['errors', []]]],
    [
      'more than once',
      '. {⏎ log a⏎ log b⏎}',
      [
        ['log', 'a'],
        ['log', 'b']
      ]
    ],
    [
      'with options',
      '. {⏎ cache 30 {⏎  success 10 20⏎  denial 5⏎ }⏎ log⏎}',
      [
        [
          'cache',
          '30',
          [
            ['success', '10', '20'],
            ['denial', '5']
          ]
        ],
        ['log']
      ]
    ],
    ['with an option on the line of the brace', '. {⏎ cache { success 1⏎ }⏎}', [['cache', [['success', '1']]]]],
    [
      'with an empty block',
      '. {⏎ cache { }⏎ errors {⏎ }⏎}',
      [
        ['cache', []],
        ['errors', []]
      ]
    ],
    ['with blocks in blocks', '. {⏎ a {⏎ b c {⏎ d⏎ }⏎ }⏎}', [['a', [['b', 'c', [['d']]]]]]],
    ['with quoted braces as arguments', '. {⏎ log "{" "}"⏎}', [['log', '{', '}']]],
    ['with braces inside words', '. {⏎ log {common} {{ .Name }} x{y}⏎}', [['log', '{common}', '{{', '.Name', '}}', 'x{y}']]],
    [
      'with import as an argument',
      '. {⏎ log import⏎ x { import f⏎ }⏎}',
      [
        ['log', 'import'],
        ['x', [['import', 'f']]]
      ]
    ],
    ['with a quoted import, which is a word', '. {⏎ "import" f⏎}', [['import', 'f']]],
    ['with what is almost a variable', '. {⏎ log {$} {%%} {$X {{ $x }} $⏎}', [['log', '{$}', '{%%}', '{$X', '{{', '$x', '}}', '$']]],
    ['without line continuation', '. {⏎ log a \\⏎ b⏎}', [['log', 'a', '\\'], ['b']]],
    ['of any name', '. {⏎ foo bar⏎}', [['foo', 'bar']]]
  ])('%s', (_, text, expected) => {
    expect(trees(text)).toEqual(expected)
  })

  test('with their places, their zones and their parents', () => {
    const [block] = parse('a A:54 b {⏎⏎ cache {⏎  success 1⏎ }⏎}')
    const [cache] = block!.directives
    const [success] = cache!.options
    expect(cache!.at).toEqual({ file: 'Corefile', line: 3, column: 2 })
    expect(success!.at).toEqual({ file: 'Corefile', line: 4, column: 3 })
    expect(success!.zones).toEqual(['a.', 'b.'])
    expect(success!.parent).toBe(cache)
    expect(() => success!.fail('expected more')).toThrow('Corefile:4: cache: success: expected more')
  })
})

describe('refuses', () => {
  test.each([
    ['a closing brace on the line of a directive', '. { log }', 'Corefile:1: a } after other words, expected it at the start of a line'],
    [
      'a closing brace on the line of an option',
      '. {⏎ cache {⏎ a 1 }⏎}',
      'Corefile:3: a } after other words, expected it at the start of a line'
    ],
    ['two closing braces on one line', '. {⏎ cache {⏎ } }', 'Corefile:3: "}" after a }, expected it on a line of its own'],
    [
      'a directive on the line of a closing brace',
      '. {⏎ log {⏎ } errors⏎}',
      'Corefile:3: "errors" after a }, expected it on a line of its own'
    ],
    [
      'words after the closing brace of a server block',
      '. {⏎} // end⏎a {⏎}',
      'Corefile:2: "//" after a }, expected a server block with braces or a new line'
    ],
    [
      'a block after one without braces',
      'a⏎whoami⏎example.net {⏎}',
      'Corefile:3: "example.net" in the block without braces of line 1, expected a directive; several blocks need braces'
    ],
    [
      'slashes that were meant as a comment',
      '// main⏎. {⏎}',
      'Corefile:2: "." in the block without braces of line 1, expected a directive; several blocks need braces'
    ],
    [
      'a key without block after a closing brace',
      '. {⏎} errors',
      'Corefile:2: "errors" after a }, expected a server block with braces or a new line'
    ],
    [
      'a server block that is not closed',
      '. {⏎ log',
      'Corefile:2: the file ends in the block that Corefile:1 opens, expected } on a line of its own'
    ],
    [
      'a plugin block that is not closed',
      '. {⏎ cache {⏎ a',
      'Corefile:3: the file ends in the block that Corefile:2 opens, expected } on a line of its own'
    ],
    [
      'a brace counted twice',
      '. {⏎ errors {⏎ }⏎',
      'Corefile:3: the file ends in the block that Corefile:1 opens, expected } on a line of its own'
    ],
    ['a stray closing brace', '. {⏎log⏎}⏎}⏎foo {⏎log⏎}', 'Corefile:4: a } that closes nothing, expected as many { before it'],
    ['a closing brace after a block without braces', 'a⏎whoami⏎}⏎', 'Corefile:3: a } that closes nothing, expected as many { before it'],
    [
      'the brace of a directive on the next line',
      '. {⏎ cache⏎ {⏎ a⏎ }⏎}',
      'Corefile:3: a { on a line of its own, expected it on the line of its directive'
    ],
    ['a second opening brace', '. {⏎{', 'Corefile:2: a { that nothing stands before, expected a directive'],
    ['an opening brace as option', '. {⏎ x { {⏎ }', 'Corefile:2: a { that nothing stands before, expected an option of "x"'],
    ['a quoted brace as directive', '. {⏎ "}"⏎}', 'Corefile:2: a brace in quotes is a word, expected a bare brace or a directive'],
    ['quoted braces', '. "{"⏎ whoami⏎"}"', 'Corefile:1: "{": a brace in quotes is a word, expected a bare brace or a zone'],
    ['a brace glued to a directive', '. {⏎ cache{⏎ a⏎ }⏎}', 'Corefile:2: "cache{", expected a space before the {'],
    ['a block without keys', '{⏎ log⏎}', 'Corefile:1: a block without keys, expected a zone before the {'],
    ['a comma before the brace', 'a, {⏎log⏎}', 'Corefile:1: a { after a comma, expected another key'],
    ['a comma before the brace of the next line', 'a,⏎{⏎log⏎}', 'Corefile:2: a { after a comma, expected another key'],
    ['a comma at the end of the file', 'example.org,', 'Corefile:1: the file ends after a comma, expected another key'],
    [
      'a comma at the start of a line',
      'a⏎, b {⏎log⏎}',
      'Corefile:2: a comma at the start of a line, expected it at the end of the line before'
    ],
    ['a lone comma', 'a , b {⏎}', 'Corefile:1: an empty key, expected a zone such as example.org'],
    ['two commas', 'a,, b {⏎}', 'Corefile:1: an empty key, expected a zone such as example.org'],
    ['an empty key', '"" a {⏎}', 'Corefile:1: an empty key, expected a zone such as example.org'],
    [
      'parentheses around one of two keys',
      '(a) b {⏎}',
      'Corefile:1: "(a)", expected a zone, or the name of a snippet alone in parentheses'
    ],
    ['parentheses with spaces', '( a ) {⏎}', 'Corefile:1: "(", expected a zone, or the name of a snippet alone in parentheses']
  ])('%s', (_, text, expected) => {
    expect(problem(text)).toBe(expected)
  })

  test('blocks nested without end', () => {
    expect(problem(`. {⏎${'a {⏎'.repeat(100_000)}`)).toMatch(/^Corefile:18: blocks inside blocks, expected at most 16 levels$/)
  })
})

test('an empty file has no server block, and the default is whoami and log on the root', () => {
  expect(parse('⏎  # only a comment')).toEqual([])
  const [block, ...more] = defaultServerBlocks()
  expect(more).toEqual([])
  expect(block!.keys.map(({ scheme, zone, port }) => ({ scheme, zone, port }))).toEqual([{ scheme: 'dns', zone: '.', port: undefined }])
  expect(block!.directives.map(tree)).toEqual([['whoami'], ['log']])
})
