import { describe, expect, test } from 'vitest'
import { Message, type MessageParts } from './message.js'
import { errorOptions, reasonsOf, toldAs } from './reasons.js'

const told = (parts: Partial<MessageParts>): string[] =>
  reasonsOf(Message.of({ flags: 0, rcode: 'SERVFAIL', ...parts })).map(({ code, text }) => `${code} ${text ?? '-'}`)
const upstream = { kind: 'upstream' }
const old = { code: 7, text: 'old' }

describe('a client is told', () => {
  test.each<[string, Partial<MessageParts>, string[]]>([
    ['the reason of a reply, with its code', { why: 'not-served' }, ['20 not-served']],
    ['that there is no such name', { rcode: 'NXDOMAIN', why: 'no-such-name' }, ['0 no-such-name']],
    ['the reason of a plugin that nobody knows', { why: 'a-1' }, ['0 a-1']],
    ['one of 32 characters', { why: 'x'.repeat(32) }, [`0 ${'x'.repeat(32)}`]],
    ['no longer one', { why: 'x'.repeat(33) }, []],
    ['no empty one', { why: '' }, []],
    ['none of several lines', { why: 'a\nb' }, []],
    ['none with capitals', { why: 'Failed' }, []],
    ['none that is no text', { why: 5 as never }, []],
    ['one that is a word of JavaScript', { why: 'constructor' }, ['0 constructor']],
    ['nothing where a plugin gives no reason', {}, []],
    ['no reason that is for the log alone', { why: 'cached' }, []],
    ['nothing with NOERROR', { rcode: 'NOERROR', why: 'not-served' }, []],
    ['what a plugin says with NOERROR', { rcode: 'NOERROR', why: 'x', extendedErrors: [old] }, ['7 old']],
    ['the reason before what a plugin says', { why: 'ndots', extendedErrors: [old, old] }, ['7 ndots: old', '7 old']],
    ['the reason with the code that a plugin says', { why: 'upstream-failed', extendedErrors: [{ code: 23 }] }, ['23 upstream-failed']],
    ['what a plugin says that gives no reason', { extendedErrors: [old] }, ['7 old']],
    ['what a plugin says whose reason cannot be sent', { why: 'A B', extendedErrors: [old] }, ['7 old']],
    ['what an upstream says', { why: 'forwarded', origin: upstream, extendedErrors: [old] }, ['7 old']],
    ['that an upstream says so, where it says no more', { why: 'forwarded', origin: upstream }, ['0 forwarded']],
    ['what the cache has kept', { why: 'cached', origin: { kind: 'cache' }, extendedErrors: [old] }, ['7 old']]
  ])('%s', (_title, parts, expected) => {
    expect(told(parts)).toEqual(expected)
  })
})

test('an option is a code and a text', () => {
  expect(errorOptions([{ code: 0x1234, text: 'ü' }, { code: 3 }])).toEqual([
    [15, Buffer.from('\x12\x34ü')],
    [15, Buffer.from('\0\x03')]
  ])
  expect(errorOptions([])).toEqual([])
})

test('the option of a reason is made once', () => {
  expect(errorOptions(toldAs('not-served'))).toBe(errorOptions(toldAs('not-served')))
  expect(errorOptions(toldAs('not-served'))).toEqual([[15, Buffer.from('\0\x14not-served')]])
})
