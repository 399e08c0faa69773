import { base32Hex } from 'skein/plugin'
import { describe, expect, test } from 'vitest'
import { coveringNsec3, hashOf, matchingNsec3 } from './nsec3.js'

test.each([
  // As ldns-nsec3-hash -t 0 says.
  ['example.', '3msev9usmd4br9s97v51r2tdvmr9iqo1'],
  ['skydns.local.', 'qve1oqbu86nrp22off05j2e0n3nuhdin'],
  ['a\\046b.skydns.local.', 'hlcjii4of81g4qo10pjlpcv0b9krlieg'],
  ['.', 'bekjp7dgpvsjukll47bk43i3urmq4u2f']
])('the hash of %s is %s', (name, wanted) => {
  expect(base32Hex(hashOf(name))).toBe(wanted)
})

describe('an NSEC3 record', () => {
  const rdataOf = (record: { rdata: unknown }): string => Buffer.from(record.rdata as Uint8Array).toString('hex')
  const hash = (name: string): bigint => BigInt(`0x${Buffer.from(hashOf(name)).toString('hex')}`)
  const text = (number: bigint): string => base32Hex(Buffer.from(number.toString(16).padStart(40, '0'), 'hex'))

  test('at a name has its hash as owner, and the next hash behind it', () => {
    const record = matchingNsec3('a.example.org.', [1, 46], 'example.org.', 60)
    expect(record).toMatchObject({ owner: `${text(hash('a.example.org.'))}.example.org.`, type: 'NSEC3', ttl: 60 })
    const next = (hash('a.example.org.') + 1n).toString(16).padStart(40, '0')
    expect(rdataOf(record)).toBe(`0100000000${'14'}${next}0006400000000002`)
  })

  test('that covers a name begins one before its hash and ends one behind it, and has no types', () => {
    const record = coveringNsec3('a.example.org.', 'example.org.', 60)
    expect(record.owner).toBe(`${text(hash('a.example.org.') - 1n)}.example.org.`)
    expect(rdataOf(record)).toBe(`010000000014${(hash('a.example.org.') + 1n).toString(16).padStart(40, '0')}`)
  })

  test('of the root has the hash alone as owner', () => {
    expect(matchingNsec3('.', [], '.', 60).owner).toMatch(/^[0-9a-v]{32}\.$/)
  })
})
