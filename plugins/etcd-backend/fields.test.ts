import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readFields } from './fields.js'

const NONE = { ttl: 0, host: '', port: 0, priority: 0, weight: 0, text: '', mail: false, targetstrip: 0, group: '' }

const read = (text: string): unknown => readFields(Buffer.from(text, 'utf8'))

/** What `JSON.parse` makes of it, or the kind of error. */
function expected(text: string): unknown {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return SyntaxError
  }
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return TypeError
  const known = Object.entries(value).filter(([field, content]) => content !== null && Object.hasOwn(NONE, field.toLowerCase()))
  return Object.assign({ ...NONE }, ...known.map(([field, content]) => ({ [field.toLowerCase()]: content as unknown })))
}

function outcome(text: string): unknown {
  try {
    return read(text)
  } catch (error) {
    return (error as Error).constructor
  }
}

describe('fields are read', () => {
  test.each<[string, string, object]>([
    ['of the plainest value', '{"host":"192.0.2.1"}', { host: '192.0.2.1' }],
    ['of an empty object', ' { } ', {}],
    ['between spaces', '\t{ "port" :\n80 ,\r"text": "a b" } ', { port: 80, text: 'a b' }],
    ['in any case', '{"HOST":"a","tArGeTsTrIp":1}', { host: 'a', targetstrip: 1 }],
    ['the last of two', '{"port":1,"port":2}', { port: 2 }],
    ['the last of two in different case', '{"port":1,"Port":2}', { port: 2 }],
    ['null as if it was left out', '{"port":null,"host":"a"}', { host: 'a' }],
    ['beside others', '{"name":"x","hots":"y","host":"a","cost":7}', { host: 'a' }],
    ['with escapes', '{"ho\\u0073t":"a\\n\\"b\\""}', { host: 'a\n"b"' }],
    ['outside of ASCII', '{"text":"größer","host":"a"}', { text: 'größer', host: 'a' }],
    ['of any kind', '{"host":1,"port":"x","text":[1],"group":{"a":1}}', { host: 1, port: 'x', text: [1], group: { a: 1 } }],
    ['true and false', '{"mail":true}', { mail: true }],
    [
      'no whole numbers',
      '{"port":80.5,"ttl":-1,"weight":1e2,"priority":18446744073709551616}',
      { port: 80.5, ttl: -1, weight: 100, priority: 2 ** 64 }
    ],
    ['a name that objects have', '{"__proto__":{"host":"x"},"constructor":1}', {}]
  ])('%s', (_what, text, fields) => {
    expect(read(text)).toEqual({ ...NONE, ...fields })
    expect(outcome(text)).toEqual(expected(text))
  })

  test.each([
    '',
    '{',
    '{"host"}',
    '{"host":}',
    '{"host":"a",}',
    '{"port":01}',
    '{"port":0x1}',
    '{"host":"a"}}',
    '{"host":"a\n"}',
    '{,}',
    '{"a":1 2}',
    '{"port":1'
  ])('not of %j, which is no JSON', (text) => expect(() => read(text)).toThrow(SyntaxError))

  test.each(['null', '[]', '1', '"host"', 'true'])('not of %j, which is no object', (text) => expect(() => read(text)).toThrow(TypeError))

  test('of any text as JSON.parse would, whatever is cut out of it or put in', () => {
    const name = fc
      .constantFrom(...Object.keys(NONE), 'Host', 'PORT', 'other', 'hosu', 'a b', '', 'h\\u006fst', 'ß')
      .map((each) => `"${each}"`)
    const number = fc.constantFrom('0', '7', '80', '00', '1.5', '-1', '1e3', '999999999999999', '9999999999999999')
    const text = fc.constantFrom('"a"', '""', '"192.0.2.1"', '"a\\"b"', '"ü"', '"\x7f"')
    const value = fc.oneof(number, text, fc.constantFrom('true', 'null', '[]', '{"a":"}"}', ''))
    const space = fc.constantFrom('', '', '', ' ', '\n\t', '\u00a0')
    const part = fc.tuple(space, name, space, value, space).map(([a, b, c, d, e]) => `${a}${b}${c}:${d}${e}`)
    const object = fc.array(part, { maxLength: 5 }).map((parts) => `{${parts.join(',')}}`)
    const noise = fc.constantFrom('', '', '"', ',', '{', '}', ':', ' ', '0', '\\', '\n', 'e')
    fc.assert(
      fc.property(object, noise, fc.nat(80), fc.nat(1), (whole, put, at, cut) => {
        const changed = put === '' ? whole : whole.slice(0, at) + put + whole.slice(at + cut)
        expect(outcome(changed)).toEqual(expected(changed))
      }),
      { numRuns: 5000 }
    )
  })
})
