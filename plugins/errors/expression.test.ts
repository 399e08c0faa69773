import { describe, expect, test } from 'vitest'
import { Expression } from './expression.js'

describe('an expression of Go matches what it does there', () => {
  test.each<[pattern: string, matched: readonly string[], others: readonly string[]]>([
    ['.* i/o timeout$', ['read udp: i/o timeout'], ['read udp: i/o timeout!', 'i/o timeout']],
    ['^read (udp|tcp) ', ['read udp x', 'read tcp x'], ['read dot x', ' read udp x']],
    ['', ['', 'a'], []],
    ['(?i)TimeOut', ['timeout'], ['time out']],
    ['^[[:alpha:]]+$', ['abc'], ['ab1']],
    ['^\\pL\\z', ['é'], ['1']],
    ['(?P<who>a)', ['a'], ['b']],
    ['^a{1000}$', ['a'.repeat(1000)], ['a'.repeat(999)]]
  ])('%j', (pattern, matched, others) => {
    const expression = new Expression(pattern)
    expect([...matched, ...others].filter((text) => expression.matches(text))).toEqual(matched)
  })
})

describe('what Go refuses is refused, and it is said why', () => {
  test.each([
    ['(timeout', 'missing closing ): `(timeout`'],
    ['a**', 'invalid nested repetition operator: `**`'],
    ['(?=a)', 'invalid or unsupported Perl syntax: `(?=`'],
    ['(a)\\1', 'invalid escape sequence: `\\1`'],
    ['a{1001}', 'invalid repeat count: `{1001}`'],
    ['(.*){1,1000}', 'its counted repeats make it too large'],
    ['(a?b?c?){0,300}', 'its counted repeats make it too large'],
    ['a'.repeat(10_001), 'it has more than 10000 characters']
  ])('%j', (pattern, message) => {
    expect(() => new Expression(pattern)).toThrow(new SyntaxError(message))
  })
})

test('no text keeps an expression busy, whatever the expression', () => {
  const text = `${'a'.repeat(999)}!`
  for (const pattern of ['^(a+)+$', '^(a|a)*$', '(a?){30}a{30}$', '.*.*.*.*.*.*x', '^(a*)*b$']) {
    // JavaScript's own would take longer than there is time.
    expect(new Expression(pattern).matches(text), pattern).toBe(false)
  }
})
