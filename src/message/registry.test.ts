import { describe, expect, test } from 'vitest'
import { asksForRecords, className, classNumber, isMetaType, rcodeName, rcodeNumber, typeName, typeNumber } from './registry.js'

test('every type, class and rcode has one name, which leads back to it', () => {
  const numbers = Array.from({ length: 0x10000 }, (_, number) => number)
  expect(numbers.filter((number) => typeNumber(typeName(number)) !== number)).toEqual([])
  expect(numbers.filter((number) => classNumber(className(number)) !== number)).toEqual([])
  expect(numbers.slice(0, 0x1000).filter((number) => rcodeNumber(rcodeName(number)) !== number)).toEqual([])
})

describe('knows the type', () => {
  test.each([
    ['A', 1],
    ['HTTPS', 65],
    ['CAA', 257],
    ['TYPE1', 1],
    ['TYPE65535', 65535],
    ['TYPE65536', undefined],
    ['TYPE', undefined],
    ['TYPE-1', undefined],
    ['TYPE1x', undefined],
    ['a', undefined],
    ['', undefined],
    ['constructor', undefined],
    ['__proto__', undefined]
  ])('%s: %s', (name, number) => {
    expect(typeNumber(name)).toBe(number)
  })
})

test.each([
  ['IN', 1],
  ['CH', 3],
  ['CLASS42', 42],
  ['CLASS65536', undefined],
  ['TYPE1', undefined]
])('knows the class %s: %s', (name, number) => {
  expect(classNumber(name)).toBe(number)
})

test('a nonsense rcode of a plugin is a failure', () => {
  expect(rcodeNumber('oops' as never)).toBe(2)
  expect(rcodeNumber('RCODE4096')).toBe(2)
})

test.each([
  ['OPT', true],
  ['ANY', true],
  ['AXFR', true],
  ['TSIG', true],
  ['A', false],
  ['URI', false]
])('%s asks for something else than its records: %s', (name, expected) => {
  expect(isMetaType(typeNumber(name)!)).toBe(expected)
})

test.each<[number, boolean]>([
  [1, true],
  [65280, true],
  [255, true],
  [0, false],
  [41, false],
  [128, false],
  [252, false],
  [254, false],
  [256, true]
])('the type %d asks for the records of one message: %s', (number, expected) => {
  expect(asksForRecords(number)).toBe(expected)
})
