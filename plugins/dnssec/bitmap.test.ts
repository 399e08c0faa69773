import { describe, expect, test } from 'vitest'
import { typeBitmap } from './bitmap.js'

describe('the list of types is windows of bits, in order and as short as can be', () => {
  test.each<[string, readonly number[], string]>([
    ['none', [], ''],
    ['A', [1], '000140'],
    ['types of one window, in any order, none twice', [46, 1, 28, 33, 1], '0006400000084002'],
    // RFC 4034 §4.3: A MX RRSIG NSEC TYPE1234.
    ['types of two windows', [1234, 1, 15, 46, 47], '0006400100000003041b000000000000000000000000000000000000000000000000000020'],
    ['the last of a window and the first of the next', [255, 256], `0020${'00'.repeat(31)}01010180`],
    ['the last type', [65535], `ff20${'00'.repeat(31)}01`]
  ])('%s', (_, types, wanted) => {
    expect(Buffer.from(typeBitmap(types)).toString('hex')).toBe(wanted)
  })
})
