import { describe, expect, test } from 'vitest'
import { type ResourceRecord, writtenOnce } from './record.js'
import { coveredType, expirationOf, originalTtlOf } from './rrsig.js'

/** A signature over TYPE AAAA, whose rdata has so many octets. */
function rdataOf(length = 27): Buffer {
  const rdata = Buffer.alloc(27)
  rdata.writeUInt16BE(28, 0)
  rdata.writeUInt32BE(3600, 4)
  rdata.writeUInt32BE(0xfedcba98, 8)
  return rdata.subarray(0, length)
}
const recordOf = (rdata: unknown, type = 'RRSIG'): ResourceRecord => ({ owner: 'a.example.', type, ttl: 60, rdata }) as ResourceRecord
const fields = (record: ResourceRecord): unknown[] => [coveredType(record), originalTtlOf(record), expirationOf(record)]
/** Octets that stand somewhere within others. */
const within = (octets: Uint8Array): Uint8Array => Buffer.concat([Buffer.alloc(3, 255), octets, Buffer.alloc(3, 255)]).subarray(3, -3)

describe('the fields of a signature', () => {
  test.each<[string, ResourceRecord]>([
    ['as octets', recordOf(rdataOf())],
    ['within other octets', recordOf(within(rdataOf()))],
    ['that was read from a message', writtenOnce(recordOf(rdataOf()))],
    ['without a signer', recordOf(rdataOf(18))]
  ])('%s', (_, record) => {
    expect(fields(record)).toEqual(['AAAA', 3600, 0xfedcba98])
  })

  test.each<[string, ResourceRecord]>([
    ['too short', recordOf(rdataOf(17))],
    ['too short, and read from a message', writtenOnce(recordOf(rdataOf(17)))],
    ['empty', recordOf(new Uint8Array(0))],
    ['no octets', recordOf('text')],
    ['missing', recordOf(undefined)],
    ['of another type', recordOf(rdataOf(), 'DS')]
  ])('are not known of rdata that is %s', (_, record) => {
    expect(fields(record)).toEqual([undefined, undefined, undefined])
  })
})
