import { describe, expect, test } from 'vitest'
import { ConfigError } from './directive.js'
import { readTokens } from './lexer.js'

const words = (text: string | Buffer) => readTokens(text, 'Corefile').map((token) => token.text)
const problem = (text: string | Buffer) => {
  try {
    readTokens(text, 'Corefile')
  } catch (error) {
    return error instanceof ConfigError ? error.message : error
  }
  return undefined
}

describe('splits words', () => {
  test.each([
    ['at white space', 'a b\tc\vd\fe\nf', ['a', 'b', 'c', 'd', 'e', 'f']],
    [
      'at every white space of Unicode',
      [...'\u0085\u00a0\u1680\u2000\u2005\u200a\u2028\u2029\u202f\u205f\u3000'].join('x'),
      Array(10).fill('x')
    ],
    ['not at U+180E, U+200B, U+2060 and U+FEFF', 'a\u180e\u200b\u2060\ufeffb', ['a\u180e\u200b\u2060\ufeffb']],
    ['not at NUL', 'a\0b', ['a\0b']],
    ['not at braces', '{} .{ {common} {{ }}', ['{}', '.{', '{common}', '{{', '}}']],
    ['after CRLF, whose CR vanishes', 'a\r\nb\r\r\nc', ['a', 'b', 'c']],
    ['without a byte order mark at the start', '\ufeff\ufeffa', ['a']],
    ['of an empty file', '', []],
    ['before a comment', 'a #b c\nd', ['a', 'd']],
    ['before a comment that holds a brace', 'a {#b\n"c"#d {\n# e {\nf', ['a', '{', 'c', 'f']],
    ['before a comment glued to them, which goes to the end of the line', 'foo#bar baz\nd', ['foo', 'd']],
    ['with a comment at the end of the file', 'a # b', ['a']],
    ['with a carriage return in a comment', 'a # b\rc', ['a']],
    ['with quotes', '"a b" "c#d" "{ }" ""', ['a b', 'c#d', '{ }', '']],
    ['with an escaped quote', String.raw`"c\"d"`, ['c"d']],
    ['with other backslashes in quotes, which stay', String.raw`"e\nf" "\\d" "\\"`, [String.raw`e\nf`, String.raw`\\d`, '\\\\']],
    ['with a line end in quotes', '"a\r\nb"', ['a\r\nb']],
    ['right after a closing quote', '"a"b"c""d"#e', ['a', 'b"c""d"']],
    ['with a quote in the middle', 'a"b c"', ['a"b', 'c"']],
    ['with backslashes outside quotes', String.raw`\"x C:\ \ `, [String.raw`\"x`, 'C:\\', '\\']],
    ['with other quotes', `'a b' \`c d\``, ["'a", "b'", '`c', 'd`']]
  ] as [string, string, string[]][])('%s', (_, text, expected) => {
    expect(words(text)).toEqual(expected)
    expect(words(Buffer.from(text))).toEqual(expected)
  })

  test('with the line and column on which they start and the line ends inside them', () => {
    expect(readTokens('a\n\n "b\nc\n" d # x\ne', 'F')).toEqual([
      { text: 'a', quoted: false, file: 'F', line: 1, column: 1, newlines: 0 },
      { text: 'b\nc\n', quoted: true, file: 'F', line: 3, column: 2, newlines: 2 },
      { text: 'd', quoted: false, file: 'F', line: 5, column: 3, newlines: 0 },
      { text: 'e', quoted: false, file: 'F', line: 6, column: 1, newlines: 0 }
    ])
  })
})

describe('refuses', () => {
  test.each([
    ['a quote that is never closed', 'a\n"b\nc', 'Corefile:2: a quote that is never closed, expected another "'],
    ['a quote as the last character', 'a\n"', 'Corefile:2: a quote that is never closed, expected another "'],
    ['a quote closed by an escaped one', 'a "b\\"', 'Corefile:1: a quote that is never closed, expected another "'],
    ['a lone carriage return', 'a\nb\rc', 'Corefile:2: a carriage return without line feed, expected lines to end in LF or CRLF'],
    [
      'a brace in a comment glued to a word, which CoreDNS lets open a block',
      'a\n.#main { \r\n',
      'Corefile:2: a { in a comment that is glued to a word, expected a space before the # or no {'
    ],
    ['a file in UTF-16', Buffer.from('\ufeff. {}', 'utf16le'), 'Corefile:1: the file is UTF-16, expected UTF-8'],
    [
      'an octet that is not UTF-8',
      Buffer.from('a\nb\xe9\nc', 'latin1'),
      'Corefile:2: an octet that is not UTF-8, expected a file in UTF-8'
    ],
    ['half a character at the end', Buffer.from([0x0a, 0xc3]), 'Corefile:2: an octet that is not UTF-8, expected a file in UTF-8']
  ])('%s', (_, text, expected) => {
    expect(problem(text)).toBe(expected)
  })
})
