import { describe, expect, test } from 'vitest'
import { nameOctets } from '../message/name.js'
import { generateKeyPair, readKeyPair } from './key-file.js'

/** The examples of RFC 6605 §6 and RFC 8080 §6.1: a key pair, its DS, and the signature of a record. */
const EXAMPLES = [
  {
    algorithm: '13 (ECDSAP256SHA256)',
    secret: 'GU6SnQ/Ou+xC5RumuIUIuJZteXT2z0O/ok1s38Et6mQ=',
    dnskey:
      'example.net. 3600 IN DNSKEY 257 3 13 ( GojIhhXUN/u4v54ZQqGSnyhWJwaubCvTmeexv7bR6edb krSqQpF64cYbcB7wNcP+e+MAnLr+Wi9xMWyQLc8NAA== )',
    ds: 'example.net. IN DS 55648 13 2 B4C8C1FE2E7477127B27115656AD6256F424625BF5C1E2770CE6D6E37DF61D17',
    times: ['20100909100439', '20100812100439'],
    signature: 'qx6wLYqmh+l9oCKTN6qIc+bw6ya+KJ8oMz0YP107epXAyGmt+3SNruPFKG7tZoLBLlUzGGus7ZwmwWep666VCw=='
  },
  {
    algorithm: '14 (ECDSAP384SHA384)',
    secret: 'WURgWHCcYIYUPWgeLmiPY2DJJk02vgrmTfitxgqcL4vwW7BOrbawVmVe0d9V94SR',
    dnskey:
      'example.net. 3600 IN DNSKEY 257 3 14 ( xKYaNhWdGOfJ+nPrL8/arkwf2EY3MDJ+SErKivBVSum1 w/egsXvSADtNJhyem5RCOpgQ6K8X1DRSEkrbYQ+OB+v8 /uX45NBwY8rp65F6Glur8I/mlVNgF6W/qTI37m40 )',
    ds: 'example.net. IN DS 10771 14 4 72D7B62976CE06438E9C0BF319013CF801F09ECC84B8D7E9495F27E305C6A9B0563A9B5F4D288405C3008A946DF983D6',
    times: ['20100909102025', '20100812102025'],
    signature:
      '/L5hDKIvGDyI1fcARX3z65qrmPsVz73QD1Mr5CEqOiLP95hxQouuroGCeZOvzFaxsT8Glr74hbavRKayJNuydCuzWTSSPdz7wnqXL5bdcJzusdnI0RSMROxxwGipWcJm'
  },
  {
    algorithm: '15 (ED25519)',
    secret: 'ODIyNjAzODQ2MjgwODAxMjI2NDUxOTAyMDQxNDIyNjI=',
    dnskey: 'example.com. 3600 IN DNSKEY 257 3 15 ( l02Woi0iS8Aa25FQkUd9RMzZHJpBoRQwAQEX1SxZJA4= )',
    ds: 'example.com. IN DS 3613 15 2 3AA5AB37EFCE57F737FC1627013FEE07BDF241BD10F3B1964AB55C78E79A304B',
    times: [1440021600, 1438207200],
    signature: 'oL9krJun7xfBOIWcGHi7mag5/hdZrKWw15jPGrHpjQeRAvTdszaPD+QLs3fx8A4M3e23mRZ9VrbpMngwcrqNAg=='
  }
]

const pairs = await Promise.all([8, 10, 13, 14, 15].map((algorithm) => generateKeyPair('example.org', algorithm)))
const keys = pairs.map(({ key }) => [key.mnemonic, key] as const)

describe('the examples of the RFCs', () => {
  test.each(EXAMPLES)('of algorithm $algorithm', async ({ algorithm, secret, dnskey, ds, times, signature }) => {
    const key = readKeyPair('K', dnskey, `Private-key-format: v1.2\nAlgorithm: ${algorithm}\nPrivateKey: ${secret}\n`)
    expect(key.dsText(ds.includes(' 14 4 ') ? 4 : 2)).toBe(ds)
    const octets = signedOctets(key.zone, key.algorithm, key.tag, times)
    const given = Buffer.from(signature, 'base64')
    expect(key.verifies(octets, given)).toBe(true)
    const own = await key.sign(octets)
    expect([own.length, key.verifies(octets, own)]).toEqual([given.length, true])
    // Ed25519 signs the same octets the same way each time.
    if (key.algorithm === 15) expect(Buffer.from(own).equals(given)).toBe(true)
  })
})

/** What is signed (RFC 4034 §3.1.8.1) of the record of the example. */
function signedOctets(zone: string, algorithm: number, tag: number, times: readonly (string | number)[]): Buffer {
  const isMail = zone === 'example.com.'
  const owner = isMail ? nameOctets(zone) : nameOctets(`www.${zone}`)
  const rdata = isMail ? Buffer.concat([Buffer.of(0, 10), nameOctets(`mail.${zone}`)]) : Buffer.of(192, 0, 2, 1)
  const type = Buffer.of(0, isMail ? 15 : 1)
  const head = [type, Buffer.of(algorithm, isMail ? 2 : 3), number32(3600), ...times.map((time) => number32(secondsOf(time)))]
  const record = [owner, type, Buffer.of(0, 1), number32(3600), Buffer.of(0, rdata.length), rdata]
  return Buffer.concat([...head, Buffer.of(tag >> 8, tag & 255), nameOctets(zone), ...record])
}

function secondsOf(time: string | number): number {
  return typeof time === 'number' ? time : Date.parse(time.replace(/(....)(..)(..)(..)(..)(..)/, '$1-$2-$3T$4:$5:$6Z')) / 1000
}

function number32(value: number): Buffer {
  const octets = Buffer.alloc(4)
  octets.writeUInt32BE(value)
  return octets
}

describe.each(keys)('a key of %s', (_, key) => {
  const octets = Buffer.from('what is signed')

  test('accepts its own signature, and none that differs', async () => {
    const signature = await key.sign(octets)
    expect(signature.length).toBe(key.algorithm < 13 ? 256 : key.algorithm === 14 ? 96 : 64)
    expect(key.verifies(octets, signature)).toBe(true)
    for (const at of [0, 1, signature.length >> 1, signature.length - 1]) {
      const other = Uint8Array.from(signature)
      other[at]! ^= 1
      expect(key.verifies(octets, other)).toBe(false)
    }
    expect(key.verifies(Buffer.from('what was signed'), signature)).toBe(false)
    for (const [, other] of keys) if (other !== key) expect(other.verifies(octets, signature)).toBe(false)
  })

  test.each([0, 1, 31, 63, 65, 95, 97, 255, 257, 5000])('refuses a signature of %d octets', (length) => {
    for (const fill of [0, 1, 255]) expect(key.verifies(octets, Buffer.alloc(length, fill))).toBe(false)
  })

  test('signs many at once, each its own', async () => {
    const all = Array.from({ length: 40 }, (_, index) => Buffer.from(`number ${index}`))
    const signatures = await Promise.all(all.map(async (each) => key.sign(each)))
    expect(signatures.map((signature, index) => key.verifies(all[index]!, signature))).toEqual(all.map(() => true))
  })

  test('signs octets as they were when it was asked', async () => {
    const changing = Buffer.from(octets)
    const signing = key.sign(changing)
    changing.fill(0)
    expect(key.verifies(octets, await signing)).toBe(true)
  })

  test('keeps its private half to itself', () => {
    const { privateText } = pairs.find((pair) => pair.key === key)!
    const secrets = [...privateText.matchAll(/^(?!Modulus|PublicExponent)\w+: ([\w+/=]{20,})$/gm)].map(([, value = '']) => value)
    expect(secrets.length).toBeGreaterThan(0)
    const shown = JSON.stringify(key) + JSON.stringify(Object.entries(Object.getOwnPropertyDescriptors(key)))
    const hex = secrets.map((secret) => Buffer.from(secret, 'base64').toString('hex'))
    expect([...secrets, ...hex].filter((secret) => shown.includes(secret.slice(0, 12)))).toEqual([])
  })
})

describe('when a signature is there', () => {
  test.each(keys)('of %s', (mnemonic, key) => {
    const signed = key.sign(Buffer.from('octets'))
    const isPooled = signed instanceof Promise
    expect(isPooled).toBe(!['ECDSAP256SHA256', 'ED25519'].includes(mnemonic))
  })
})

test('an ECDSA key that was written without the zeros before it is read', async () => {
  for (let tried = 0; tried < 5000; tried++) {
    const { publicText, privateText } = await generateKeyPair('example.org')
    const secret = Buffer.from(/PrivateKey: (.*)/.exec(privateText)![1]!, 'base64')
    if (secret[0] !== 0) continue
    const short = privateText.replace(/PrivateKey: .*/, `PrivateKey: ${secret.subarray(1).toString('base64')}`)
    expect(readKeyPair('K', publicText, short).isPair()).toBe(true)
    return
  }
  throw new Error('no key began with a zero')
})
