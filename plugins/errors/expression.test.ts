import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Expression } from './expression.js'

describe('an expression of Go matches what it does there', () => {
  test.each<[pattern: string, matched: readonly string[], others: readonly string[]]>([
    ['.* i/o timeout$', ['read udp: i/o timeout'], ['read udp: i/o timeout!', 'i/o timeout']],
    ['^read (udp|tcp) ', ['read udp x', 'read tcp x'], ['read dot x', ' read udp x']],
    ['', ['', 'a'], []],
    ['a*b+c?d', ['bd', 'abbcd'], ['ad', 'acd']],
    ['^a{2}b{1,2}c{2,}d{0}$', ['aabcc', 'aabbcccc'], ['abcc', 'aabbbcc', 'aabc', 'aabccd']],
    ['^(?:a|bc)*?$', ['', 'abca'], ['b']],
    ['a{,2}|x{', ['a{,2}', 'x{'], ['aa']],
    ['^a$|^$', ['a', ''], ['aa', 'a\n']],
    ['(?m)^b$', ['a\nb\nc', 'b'], ['ab\nc']],
    ['^.$', ['a', '😀', '\r', '\u2028'], ['\n', 'ab']],
    ['(?s)^.$', ['\n'], ['']],
    ['(?i)Straße k', ['STRAßE K'], ['strasse k']],
    ['(?i:a)b', ['Ab'], ['AB']],
    ['a(?i)b|c', ['aB', 'C'], ['AB']],
    ['(?i)a(?-i:b)', ['Ab'], ['AB']],
    ['(?i)^[^a]$', ['b'], ['a', 'A']],
    ['(?P<one>a)(?<two>b)', ['ab'], ['a']],
    ['\\Aa\\z', ['a'], ['ba', 'ab']],
    ['\\bfoo\\b', ['a foo b', 'foo'], ['food', 'é_foo']],
    ['o\\B', ['oo'], ['o']],
    ['^\\d\\D\\s\\S\\w\\W$', ['1a b_-'], ['a1 b_-']],
    ['^\\w$', ['_', '9'], ['é', 'ſ']],
    ['^\\s$', [' ', '\t', '\f'], ['\v', '\u00a0']],
    ['^\\pL\\p{Greek}\\PN\\p{^Lu}$', ['éαxx'], ['1αxx', 'aαxX']],
    ['^[[:alpha:][:^word:]\\d\\pN-]$', ['a', '-', '7', '½', '!'], ['_']],
    ['^[]a-c^\\]]$', [']', 'b', '^'], ['d', '\\']],
    ['^[^]a]$', ['b'], [']', 'a']],
    ['^[\\x41\\x{1F600}\\101\\n]$', ['A', '😀', '\n'], ['x']],
    ['^\\a\\f\\t\\n\\r\\v\\07\\.$', ['\u0007\f\t\n\r\v\u0007.'], ['']],
    ['^\\Qa.(\\E+$', ['a.(', 'a.(('], ['ab(', 'a.']],
    ['\\\\Q', ['\\Q'], ['Q']],
    ['\\Q*', ['*'], ['']],
    ['(a*)*(|b)+$', ['', 'aab'], []],
    ['(?U)a+(?)', ['a'], ['b']]
  ])('%j', (pattern, matched, others) => {
    const expression = new Expression(pattern)
    expect([...matched, ...others].filter((text) => expression.matches(text))).toEqual(matched)
  })

  /** Patterns that mean the same in JavaScript. */
  const { pattern } = fc.letrec<{ pattern: string }>((tie) => ({
    pattern: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom('a', 'b', '.', '[ab]', '[^a]', '^', '$', '\\b', '\\w', '-', ''),
      fc.tuple(tie('pattern'), tie('pattern')).map((two) => two.join('')),
      fc.tuple(tie('pattern'), tie('pattern')).map((two) => `(?:${two.join('|')})`),
      fc.tuple(tie('pattern'), fc.constantFrom('*', '+', '?', '*?', '{2}', '{1,2}', '{0,1}')).map(([one, sign]) => `(${one})${sign}`)
    )
  }))

  test('as JavaScript does where both have it', () => {
    fc.assert(
      fc.property(pattern, fc.array(fc.stringMatching(/^[ab-]{0,8}$/), { maxLength: 8 }), (text, inputs) => {
        const [ours, theirs] = [new Expression(text), new RegExp(text)]
        expect(inputs.map((input) => ours.matches(input))).toEqual(inputs.map((input) => theirs.test(input)))
      }),
      { numRuns: 500 }
    )
  })
})

describe('what Go refuses is refused, and it is said why', () => {
  test.each([
    ['(timeout', 'a ( is not closed'],
    ['a)', 'a ) is too much'],
    ['[a', 'a [ is not closed'],
    ['[]', 'a [ is not closed'],
    ['[b-a]', 'the range [b-a is backwards'],
    ['[a-\\d]', 'no such escape: \\d'],
    ['[[:letter:]]', 'there is no class [:letter:]'],
    ['[[:constructor:]]', 'there is no class [:constructor:]'],
    ['\\p{Klingon}', 'there is no class \\p{Klingon}'],
    ['\\x{110000}', 'there is no character \\x{110000}'],
    ['\\', 'no such escape: \\'],
    ['(a)\\1', 'no such escape: \\1'],
    ['\\y', 'no such escape: \\y'],
    ['\\é', 'no such escape: \\é'],
    ['*', '* has nothing to repeat'],
    ['a|+', '+ has nothing to repeat'],
    ['(?i)?', '? has nothing to repeat'],
    ['{2}', '{2} has nothing to repeat'],
    ['a**', '* is repeated itself'],
    ['a{2}{3}', '{2} is repeated itself'],
    ['a{2,1}', '{2,1} is no number of times, expected at most 1000'],
    ['a{1001}', '{1001} is no number of times, expected at most 1000'],
    ['(?=a)', 'Go has no such group: (?'],
    ['(?<!a)', 'Go has no such group: (?'],
    ['(?<a-b>x)', '(?<a-b> has no name of letters, digits and _'],
    ['(?P<a>x)(?P<a>y)', '(?P<a> stands twice'],
    ['(((){1000}){1000}){1000}', 'it is too large'],
    ['(a{1000}){1000}', 'it is too large']
  ])('%j', (pattern, message) => {
    expect(() => new Expression(pattern)).toThrow(new SyntaxError(message))
  })

  const nested = (depth: number): string => '('.repeat(depth) + ')'.repeat(depth)
  test.each<[string, (size: number) => string, number, string]>([
    ['groups that go too deep', nested, 1000, 'its groups go too deep'],
    ['what is too long', (length) => 'a'.repeat(length), 10_000, 'it has more than 10000 characters']
  ])('%s', (_title, pattern, most, message) => {
    expect(new Expression(pattern(most)).matches('b')).toBe(pattern === nested)
    expect(() => new Expression(pattern(most + 1))).toThrow(new SyntaxError(message))
  })
})

test('no text keeps an expression busy, whatever the expression', () => {
  const text = `${'a'.repeat(999)}!`
  const start = performance.now()
  for (const pattern of ['^(a+)+$', '^(a|a)*$', '(a?){30}a{30}$', '.*.*.*.*.*.*x', '^(a*)*b$', '(?:.{300}){9}x'])
    expect(new Expression(pattern).matches(text), pattern).toBe(false)
  // JavaScript's own would take longer than there is time.
  expect(performance.now() - start).toBeLessThan(5000)
})
