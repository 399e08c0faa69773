import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  canonicalName,
  copyName,
  countLabels,
  FormatError,
  isWithin,
  labelsOf,
  nameEnd,
  nameOctets,
  nameOfLabels,
  parentName,
  RecordError,
  readName,
  sameName,
  skipName,
  spelledName
} from './name.js'

const hex = (text: string): Uint8Array => Buffer.from(text.replaceAll(' ', ''), 'hex')
const header = '00'.repeat(12)
const label = (length: number): string => 'x'.repeat(length)

describe('writes the name, and reads it back in the one spelling', () => {
  test.each([
    ['.', '00', '.'],
    ['a', '0161 00', 'a.'],
    ['a.', '0161 00', 'a.'],
    ['A.b.', '0141 0162 00', 'A.b.'],
    ['a\\.b.', '03612e62 00', 'a\\.b.'],
    ['a\\046b.', '03612e62 00', 'a\\.b.'],
    ['\\097.', '0161 00', 'a.'],
    ['\\a\\b.', '026162 00', 'ab.'],
    ['a\\\\b.', '03615c62 00', 'a\\\\b.'],
    ['a\\..org', '02612e 036f7267 00', 'a\\..org.'],
    ['\\000\\255.', '0200ff 00', '\\000\\255.'],
    ['a b.', '03612062 00', 'a\\032b.'],
    ['a@b;c.', '05 6140623b63 00', 'a\\@b\\;c.'],
    ['ü.', '02c3bc 00', '\\195\\188.'],
    ['\\ü.', '02c3bc 00', '\\195\\188.'],
    ['😀.', '04f09f9880 00', '\\240\\159\\152\\128.'],
    ['*._tcp.', '012a 045f746370 00', '*._tcp.']
  ])('%s', (text, octets, spelled) => {
    expect(Buffer.from(nameOctets(text)).toString('hex')).toBe(octets.replaceAll(' ', ''))
    expect(spelledName(text)).toBe(spelled)
    expect(canonicalName(text)).toBe(spelled.toLowerCase())
  })
})

describe('refuses as a name', () => {
  test.each([
    ['', 'an empty name'],
    ['..', 'an empty label'],
    ['.a', 'an empty label'],
    ['a..b', 'an empty label'],
    ['a..', 'an empty label'],
    ['a\\', 'a backslash at the end'],
    ['a\\1', 'a bad escape'],
    ['a\\12x', 'a bad escape'],
    ['a\\1 2', 'a bad escape'],
    ['a\\256', 'a bad escape'],
    [label(64), 'a label longer than 63'],
    [`${'ü'.repeat(32)}.`, 'a label longer than 63'],
    [`${label(63)}.${label(63)}.${label(63)}.${label(62)}.`, 'a name longer than 255'],
    [`${label(63)}.${label(63)}.${label(63)}.${label(62)}`, 'a name longer than 255'],
    ['a.'.repeat(128), 'a name longer than 255'],
    [label(100_000), 'longer than'],
    [`${label(63)}.${label(63)}.${label(63)}.${label(60)}😀`, 'longer than']
  ])('%.40s', (text, problem) => {
    expect(() => nameOctets(text)).toThrow(RecordError)
    expect(() => canonicalName(text)).toThrow(problem)
  })
})

test('takes labels of 63 octets and names of 255', () => {
  const longest = `${label(63)}.${label(63)}.${label(63)}.${label(61)}`
  expect(nameOctets(longest)).toHaveLength(255)
  expect(nameOctets(`${longest}.`)).toHaveLength(255)
  expect(nameOctets('a.'.repeat(127))).toHaveLength(255)
  expect(countLabels('a.'.repeat(127))).toBe(127)
})

test('any octets survive as text', () => {
  const labels = fc.array(fc.uint8Array({ minLength: 1, maxLength: 63 }), { maxLength: 3 })
  fc.assert(
    fc.property(labels, (list) => {
      const octets = Buffer.concat([...list.map((each) => Buffer.concat([Uint8Array.of(each.length), each])), Uint8Array.of(0)])
      const text = readName(octets, 0)
      expect(text).toMatch(/^[\x21-\x7e]+$/)
      expect(Buffer.from(nameOctets(text)).equals(octets)).toBe(true)
      expect(spelledName(text)).toBe(text)
      expect(nameOfLabels(labelsOf(text))).toBe(text)
      expect(countLabels(text)).toBe(list.length)
      expect(labelsOf(parentName(text))).toEqual(labelsOf(text).slice(1))
    }),
    { numRuns: 2000 }
  )
})

test('any text makes a name or a RecordError', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'Z', '.', '\\', '0', '2', '5', 'ü', '😀', '\ud800', ' ', '\u0000'), maxLength: 300 })
  fc.assert(
    fc.property(text, (name) => {
      try {
        expect(nameOctets(spelledName(name))).toEqual(nameOctets(name))
      } catch (error) {
        expect(error).toBeInstanceOf(RecordError)
      }
    }),
    { numRuns: 5000 }
  )
})

describe('follows pointers', () => {
  test.each([
    ['at the end of a name', '0161 00 0162 c00c', 15, 'b.a.', 19],
    ['to a pointer', '0161 00 c00c 0162 c00f', 17, 'b.a.', 21],
    ['to the root', '00 0161 c00c', 13, 'a.', 17],
    ['alone', '0161 00 c00c', 15, 'a.', 17]
  ])('%s', (_, octets, at, name, end) => {
    const message = hex(header + octets)
    expect(readName(message, at)).toBe(name)
    expect(nameEnd).toBe(end)
    expect(skipName(message, at)).toBe(end)
    const copy = new Uint8Array(255)
    expect(copy.subarray(0, copyName(message, at, copy))).toEqual(nameOctets(name))
  })

  test('to offsets of 14 bits', () => {
    const message = Buffer.alloc(0x4100)
    message.set([1, 0x61, 0], 0x3fff)
    message.set([0xff, 0xff], 0x4080)
    expect(readName(message, 0x4080)).toBe('a.')
    message.set([1, 0x62, 0xc1, 0x10], 0x200)
    expect(readName(message, 0x200)).toBe('b.')
  })
})

describe('refuses in a message', () => {
  test.each([
    ['a pointer to itself', 'c00c', 12],
    ['a pointer forward', 'c00e 0161 00', 12],
    ['a pointer into the header', '0161 c000', 12],
    ['a pointer to the last octet of the header', 'c00b', 12],
    ['a pointer into the name being read', '0161 c00c', 12],
    ['a loop over two pointers', '0161 c011 0162 c00c', 16],
    ['a pointer back into a part that leads here again', '0161 0162 c00e', 12],
    ['half a pointer', '0161 c0', 12],
    ['a label past the end', '0a616161', 12],
    ['no root', '0161', 12],
    ['a label of type 01', '40 00', 12],
    ['a label of type 10', '80 00', 12],
    ['nothing at all', '', 12],
    ['a name of 256 octets', `${'0161'.repeat(128)}00`, 12],
    ['a name of 256 octets by pointers', `${'0161'.repeat(120)}00 ${'0162'.repeat(8)}c00c`, 12 + 241]
  ])('%s', (_, octets, at) => {
    const message = hex(header + octets)
    expect(() => readName(message, at)).toThrow(FormatError)
    expect(() => skipName(message, at)).toThrow(FormatError)
  })

  test('a chain of thousands of pointers, at once', () => {
    const octets = Buffer.alloc(0xffff)
    octets.set([1, 0x61, 0], 12)
    let last = 12
    for (let at = 16; at < 0x3ffe; at += 2) {
      octets.writeUInt16BE(0xc000 | last, at)
      last = at
    }
    // Of this process: others may keep the machine busy.
    const before = process.cpuUsage()
    for (let i = 0; i < 4000; i++) expect(() => skipName(octets, last)).toThrow('more pointers than labels')
    expect(process.cpuUsage(before).user / 1000).toBeLessThan(1500)
    // As many as a name of one-octet labels may need.
    expect(readName(octets, 16 + 2 * 126)).toBe('a.')
  })
})

test('skipping and reading agree on any octets', () => {
  const octet = fc.oneof(fc.constantFrom(0, 1, 2, 0xc0, 0xc0, 12, 13, 14, 15, 16, 20, 63, 64), fc.nat(255))
  fc.assert(
    fc.property(fc.array(octet, { minLength: 12, maxLength: 60 }), fc.integer({ min: 12, max: 60 }), (list, at) => {
      const octets = Uint8Array.from(list)
      let read: string | undefined
      try {
        read = readName(octets, at)
      } catch (error) {
        expect(error).toBeInstanceOf(FormatError)
        expect(() => skipName(octets, at)).toThrow(FormatError)
      }
      if (read !== undefined) expect([skipName(octets, at), nameOctets(read).length <= 255]).toEqual([nameEnd, true])
    }),
    { numRuns: 5000 }
  )
})

describe('tells what is within what', () => {
  test.each([
    ['a.org.', 'org.', true],
    ['org.', 'org.', true],
    ['a.org.', '.', true],
    ['.', '.', true],
    ['.', 'org.', false],
    ['org.', 'a.org.', false],
    ['aorg.', 'org.', false],
    ['a\\.org.', 'org.', false],
    ['a\\\\.org.', 'org.', true],
    ['a\\\\\\.org.', 'org.', false],
    ['b.a\\.org.', 'a\\.org.', true],
    ['b.a\\.org.', 'org.', false],
    ['\\.org.', 'org.', false],
    ['a\\032b.', '032b.', false],
    ['x.a\\032b.', 'a\\032b.', true]
  ])('%s in %s: %s', (name, apex, expected) => {
    expect(isWithin(name, apex)).toBe(expected)
  })

  test('as its labels say', () => {
    const name = fc.array(fc.string({ unit: fc.constantFrom('.', '\\', 'a', '0'), minLength: 1, maxLength: 3 }), { maxLength: 3 })
    fc.assert(
      fc.property(name, name, (a, b) => {
        const expected = b.length <= a.length && a.slice(a.length - b.length).every((each, i) => each === b[i])
        expect(isWithin(nameOfLabels(a)!, nameOfLabels(b)!)).toBe(expected)
      }),
      { numRuns: 2000 }
    )
  })
})

describe('takes names apart', () => {
  test.each([
    ['.', 0, '.'],
    ['org.', 1, '.'],
    ['a.org.', 2, 'org.'],
    ['a\\.b.org.', 2, 'org.'],
    ['a\\\\.org.', 2, 'org.'],
    ['\\046.\\000\\..', 2, '\\000\\..']
  ])('%s', (name, count, parent) => {
    expect(countLabels(name)).toBe(count)
    expect(parentName(name)).toBe(parent)
  })
})

test('compares without case', () => {
  expect(sameName('A.\\195.', 'a.\\195.')).toBe(true)
  expect(sameName('a.b.', 'a\\.b.')).toBe(false)
})

test.each([
  ['an empty label', ['a', '']],
  ['a long label', [label(64)]],
  ['too many', Array.from({ length: 128 }, () => 'a')],
  ['no octets', ['ü😀']]
])('makes no name of labels with %s', (_, labels) => {
  expect(nameOfLabels(labels)).toBeUndefined()
})
