import { describe, expect, test } from 'vitest'
import { namedThrownText, oneLine, stackOf, thrownText } from './one-line.js'

const unreadable = (key: string): Error =>
  Object.defineProperty(new Error('boom'), key, {
    get() {
      throw new Error('worse')
    }
  })

describe('a text of somebody else is one line without control characters', () => {
  test.each([
    ['as it  is', 'as it  is'],
    ['one\ntwo\r\n  three', 'one two three'],
    ['\u001b[31mred\u0000\u0085\u2028\u2029end\n', '[31mred end'],
    ['ein Umlaut: ü, 字', 'ein Umlaut: ü, 字'],
    ['\n', '']
  ])('%j', (text, line) => {
    expect(oneLine(text)).toBe(line)
  })
})

describe('whatever is thrown has a text', () => {
  test.each<[string, unknown, string, string]>([
    ['an error', new TypeError('one\ntwo'), 'one two', 'TypeError: one two'],
    ['an error without a message', new RangeError(), 'RangeError', 'RangeError'],
    ['a text', 'boom', 'boom', 'boom'],
    ['an empty text', '', 'something without a text', 'something without a text'],
    ['nothing', undefined, 'undefined', 'undefined'],
    ['a symbol', Symbol('odd'), 'Symbol(odd)', 'Symbol(odd)'],
    ['an object that has none', Object.create(null), 'something without a text', 'something without a text'],
    ['an error whose message cannot be read', unreadable('message'), 'something without a text', 'something without a text'],
    ['an error whose name cannot be read', unreadable('name'), 'boom', 'boom'],
    [
      'what cannot be told from an error',
      new Proxy(
        {},
        {
          getPrototypeOf() {
            throw new Error('worse')
          }
        }
      ),
      'something without a text',
      'something without a text'
    ]
  ])('%s', (_title, thrown, text, named) => {
    expect([thrownText(thrown), namedThrownText(thrown)]).toEqual([text, named])
  })

  test('and a stack where it can be read', () => {
    expect([unreadable('stack'), 'boom', undefined].map(stackOf)).toEqual([undefined, undefined, undefined])
    expect(stackOf(new Error('boom'))).toMatch(/^Error: boom\n/)
  })
})
