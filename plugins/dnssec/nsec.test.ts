import fc from 'fast-check'
import { nameOctets, nameOfLabels } from 'skein/plugin'
import { describe, expect, test } from 'vitest'
import { nsecRecord } from './nsec.js'

const APEX = 'example.org.'

function nextOf(owner: string, apex = APEX): Uint8Array {
  const rdata = nsecRecord(owner, [], apex, 60).rdata as Uint8Array
  return rdata
}

const long = 'a'.repeat(63)
const full = `${'a'.repeat(49)}.${long}.${long}.${long}.example.org.`

describe('what follows a name in its NSEC record is the very next one', () => {
  test.each<[string, string, string]>([
    ['of an ordinary name a \\000 before it', 'www.example.org.', '\\000.www.example.org.'],
    ['of the apex too', 'example.org.', '\\000.example.org.'],
    ['of one with 253 octets too', full.slice(2), `\\000.${full.slice(2)}`],
    ['of one with 254 octets a label that is an octet longer', full.slice(1), `${'a'.repeat(48)}\\000${full.slice(49)}`],
    ['of one with 255 octets a label whose last octet is greater', full, `${'a'.repeat(48)}b${full.slice(49)}`]
  ])('%s', (_, owner, next) => {
    expect(Buffer.from(nextOf(owner))).toEqual(Buffer.from(nameOctets(next)))
  })
})

test('nothing lies between the two, and a name never comes before what it follows', () => {
  const label = fc.uint8Array({ minLength: 1, maxLength: 63 }).map((octets) => Buffer.from(octets).toString('latin1').toLowerCase())
  const spaced = fc.array(fc.oneof(label, fc.constant('\xff'.repeat(63))), { maxLength: 6 })
  fc.assert(
    fc.property(spaced, (labels) => {
      const owner = nameOfLabels([...labels, 'example', 'org'])
      fc.pre(owner !== undefined)
      const next = nextOf(owner)
      const name = nameOctets(owner)
      fc.pre(!Buffer.from(next).equals(Buffer.from(nameOctets(APEX))))
      expect(next.length).toBeLessThanOrEqual(255)
      expect(compared(next, name)).toBeGreaterThan(0)
      // The least that comes after a name is the shortest name below it, where there is room for one.
      if (name.length + 2 <= 255) expect(Buffer.from(next).subarray(2)).toEqual(Buffer.from(name))
    })
  )
})

/** The canonical order of two names (RFC 4034 §6.1). */
function compared(one: Uint8Array, other: Uint8Array): number {
  const [a, b] = [labels(one), labels(other)]
  for (let i = 1; i <= Math.min(a.length, b.length); i++) {
    const order = Buffer.compare(Buffer.from(a.at(-i)!, 'latin1'), Buffer.from(b.at(-i)!, 'latin1'))
    if (order !== 0) return order
  }
  return a.length - b.length
}

function labels(octets: Uint8Array): string[] {
  const list: string[] = []
  for (let at = 0; octets[at] !== 0; at += octets[at]! + 1)
    list.push(Buffer.from(octets.subarray(at + 1, at + 1 + octets[at]!)).toString('latin1'))
  return list
}
