import { expect, test } from 'vitest'
import { base32Hex } from './base32.js'

// RFC 4648 §10, without padding.
test.each([
  ['', ''],
  ['f', 'co'],
  ['fo', 'cpng'],
  ['foo', 'cpnmu'],
  ['foob', 'cpnmuog'],
  ['fooba', 'cpnmuoj1'],
  ['foobar', 'cpnmuoj1e8'],
  ['\xff\xff\xff\xff\xff', 'vvvvvvvv']
])('base 32 with the hex alphabet of %j is %s', (octets, wanted) => {
  expect(base32Hex(Buffer.from(octets, 'latin1'))).toBe(wanted)
})
