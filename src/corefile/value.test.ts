import { describe, expect, test } from 'vitest'
import { ConfigError, Directive } from './directive.js'
import type { ValueType } from './schema.js'
import { durationMs, expected, readValue, shownDuration } from './value.js'

const line = new Directive('option', [], { file: 'Corefile', line: 3, column: 3 }, ['.'])

const PORT = { type: 'integer', min: 1, max: 65535 } as const
const TIME = { type: 'duration', min: 1, max: 3_600_000 } as const
const POLICY = { type: 'choice', of: ['random', 'round_robin', 'sequential'] } as const
const PAIR = { type: 'text', pattern: /^\w+=\w+$/, expected: 'KEY=VALUE' } as const
const SECRET = { type: 'text', pattern: /^.{8,}$/, expected: 'at least 8 characters', secret: true } as const

describe('a word becomes a value of its type', () => {
  test.each<[ValueType, string, unknown]>([
    [PORT, '1', 1],
    [PORT, '65535', 65535],
    [PORT, '0080', 80],
    [{ type: 'integer', min: -5, max: 5 }, '-5', -5],
    [{ type: 'integer', min: 0, max: Number.MAX_SAFE_INTEGER }, '999999999999999', 999_999_999_999_999],
    [TIME, '2s', 2000],
    [TIME, '1ms', 1],
    [TIME, '1h', 3_600_000],
    [{ type: 'duration' }, '0', 0],
    [{ type: 'duration', bare: 's' }, '30', 30_000],
    [{ type: 'duration', bare: 's' }, '30ms', 30],
    [{ type: 'duration', bare: 'ms' }, '30', 30],
    [{ type: 'duration', bare: 's', max: 60_000 }, '60', 60_000],
    [{ type: 'duration', min: -1000 }, '-1s', -1000],
    [POLICY, 'round_robin', 'round_robin'],
    [{ type: 'switch' }, 'on', true],
    [{ type: 'switch' }, 'off', false],
    [{ type: 'name' }, 'WWW.Example.org', 'www.example.org.'],
    [{ type: 'name' }, '.', '.'],
    [{ type: 'name' }, '192.0.2.1', '192.0.2.1.'],
    [{ type: 'zone' }, 'Example.ORG.', ['example.org.']],
    [{ type: 'zone' }, '.', ['.']],
    [{ type: 'zone' }, '192.0.2.0/24', ['2.0.192.in-addr.arpa.']],
    [{ type: 'zone' }, '192.0.2.0/23', ['2.0.192.in-addr.arpa.', '3.0.192.in-addr.arpa.']],
    [{ type: 'zone' }, '2001:db8::/32', ['8.b.d.0.1.0.0.2.ip6.arpa.']],
    [{ type: 'zone' }, '0/25.2.0.192.in-addr.arpa', ['0/25.2.0.192.in-addr.arpa.']],
    [{ type: 'address' }, '192.0.2.1', '192.0.2.1'],
    [{ type: 'address' }, '[2001:db8::1]', '2001:db8::1'],
    [{ type: 'address' }, 'fe80::1%eth0', 'fe80::1%eth0'],
    [{ type: 'path' }, './a b/c', './a b/c'],
    [{ type: 'text' }, '', ''],
    [{ type: 'text' }, 'anything at all', 'anything at all'],
    [PAIR, 'a=b', 'a=b'],
    [SECRET, '12345678', '12345678']
  ])('%j: %j', (type, word, value) => {
    expect(readValue(type, word, line)).toEqual(value)
  })
})

describe('a word of another type is told with its place, with what was found and what was expected', () => {
  const whole = 'expected a whole number from 1 to 65535'
  const time = 'expected a duration such as 30s or 5m, at least 1ms, at most 1h'
  test.each<[ValueType, string, string]>([
    [PORT, '0', `${whole}, not "0"`],
    [PORT, '65536', `${whole}, not "65536"`],
    [PORT, '-1', `${whole}, not "-1"`],
    [PORT, '1e3', `${whole}, not "1e3"`],
    [PORT, '1.0', `${whole}, not "1.0"`],
    [PORT, '', `${whole}, not ""`],
    [PORT, '1'.repeat(16), `${whole}, not "1111111111111111"`],
    [PORT, '9'.repeat(70), `${whole}, not "${'9'.repeat(60)}…"`],
    [TIME, '0s', `${time}, not "0s"`],
    [TIME, '1h1ms', `${time}, not "1h1ms"`],
    [TIME, '2', `${time}, not "2"`],
    [TIME, '-1s', `${time}, not "-1s"`],
    [{ type: 'duration' }, '-1s', 'expected a duration such as 30s or 5m, not "-1s"'],
    [{ type: 'duration', bare: 's', max: 60_000 }, '61', 'expected a duration such as 30s or 5m, at most 1m, not "61"'],
    [POLICY, 'fastest', 'expected one of random, round_robin, sequential, not "fastest"'],
    [POLICY, 'roundrobin', 'expected one of random, round_robin, sequential, not "roundrobin": did you mean round_robin?'],
    [POLICY, 'Random', 'expected one of random, round_robin, sequential, not "Random": did you mean random?'],
    [{ type: 'choice', of: ['stdout'] }, 'x', 'expected stdout, not "x"'],
    [{ type: 'switch' }, 'yes', 'expected on or off, not "yes"'],
    [{ type: 'name' }, 'a..b', '"a..b": no domain name: an empty label in the name "a..b", expected one such as example.org'],
    [{ type: 'zone' }, 'a..b', '"a..b": no domain name: an empty label in the name "a..b", expected one such as example.org'],
    [{ type: 'zone' }, '', '"": no zone, expected one such as example.org, or . for all'],
    [{ type: 'zone' }, '192.0.2.1', 'expected a zone such as . or example.org, not the address "192.0.2.1"'],
    [{ type: 'zone' }, '[::1]', 'expected a zone such as . or example.org, not the address "[::1]"'],
    [
      { type: 'zone' },
      '192.0.2.0/33',
      '"192.0.2.0/33": looks like a network but is none, expected one such as 192.0.2.0/24 or 2001:db8::/32'
    ],
    [{ type: 'zone' }, 'example.org:53', '"example.org:53": expected a number after the colon, its port'],
    [{ type: 'address' }, 'localhost', 'expected an IP address, not "localhost"'],
    [{ type: 'address' }, '192.0.2.1:53', 'expected an IP address, not "192.0.2.1:53"'],
    [{ type: 'path' }, '', 'expected a path, not ""'],
    [PAIR, 'a', 'expected KEY=VALUE, not "a"'],
    [{ type: 'text', pattern: /^a$/ }, 'b', 'expected a text, not "b"'],
    [SECRET, 'hush', 'expected at least 8 characters']
  ])('%j: %.20j', (type, word, problem) => {
    let message: unknown
    try {
      readValue(type, word, line)
    } catch (error) {
      message = error instanceof ConfigError ? error.message : error
    }
    expect(message).toBe(`Corefile:3: option: ${problem}`)
  })
})

test('what was expected is said in the words of its caller, where it has some', () => {
  expect(() => readValue({ type: 'switch' }, 'yes', line, 'no argument or on')).toThrow('option: expected no argument or on, not "yes"')
})

test('every type has a name for messages', () => {
  const types: ValueType['type'][] = ['integer', 'duration', 'choice', 'switch', 'name', 'zone', 'address', 'path', 'text']
  const named = types.map((type) => expected({ type, min: 1, max: 2, of: ['a'] } as unknown as ValueType))
  expect(named).toEqual([
    'a whole number from 1 to 2',
    'a duration such as 30s or 5m, at least 1ms, at most 2ms',
    'a',
    'on or off',
    'a domain name such as www.example.org',
    'a zone such as . or example.org',
    'an IP address',
    'a path',
    'a text'
  ])
})

test.each([
  ['2s', 2000],
  ['1m30s', 90_000],
  ['1.5s', 1500],
  ['1.s', 1000],
  ['.5s', 500],
  ['250ms', 250],
  ['2000us', 2],
  ['2000µs', 2],
  ['2000μs', 2],
  ['2000000ns', 2],
  ['1h', 3_600_000],
  ['+1s', 1000],
  ['-1s', -1000],
  ['0', 0],
  ['00', undefined],
  ['2', undefined],
  ['s', undefined],
  ['.s', undefined],
  ['1s ', undefined],
  ['1S', undefined],
  ['1d', undefined],
  ['-', undefined],
  ['', undefined]
])('the duration %j is %s ms', (text, milliseconds) => {
  expect(durationMs(text)).toBe(milliseconds)
})

test('a word of any length is soon told from a duration', () => {
  const begun = performance.now()
  expect(durationMs('1'.repeat(1_000_000))).toBeUndefined()
  expect(performance.now() - begun).toBeLessThan(1000)
})

test.each([
  [1, '1ms'],
  [999, '999ms'],
  [1500, '1.5s'],
  [2000, '2s'],
  [60_000, '1m'],
  [90_000, '90s'],
  [3_600_000, '1h'],
  [5_400_000, '90m'],
  [0, '0s']
])('%s ms are shown as %s, and read again as the same', (milliseconds, text) => {
  expect(shownDuration(milliseconds)).toBe(text)
  expect(durationMs(text)).toBe(milliseconds)
})
