/** Messages as generators make them, for tests. */
import fc from 'fast-check'
import { nameOctets } from './name.js'
import { shapeOf } from './rdata.js'
import { typeNumber } from './registry.js'

/** A record as a generator makes it: the owner and names in rdata whole, in octets. */
export interface Made {
  readonly owner: Uint8Array
  readonly type: number
  readonly klass: number
  readonly ttl: number
  readonly rdata: Uint8Array
}

const names = [
  '.',
  'org.',
  'Example.org.',
  'www.example.ORG.',
  'a\\.b.example.org.',
  '\\000\\255.c.org.',
  `${'l'.repeat(63)}.x.`,
  'john\\.doe.org.'
]
/** A name in wire format. */
export const name = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...names).map(nameOctets) },
  fc
    .array(fc.uint8Array({ minLength: 1, maxLength: 9 }), { maxLength: 9 })
    .map((labels) => Buffer.concat([...labels.flatMap((label) => [Uint8Array.of(label.length), label]), Uint8Array.of(0)]))
)
const string = fc
  .oneof(fc.uint8Array({ maxLength: 12 }), fc.uint8Array({ minLength: 255, maxLength: 255 }))
  .map((each) => Buffer.concat([Uint8Array.of(each.length), each]))
const octets = fc.uint8Array({ maxLength: 40 })

/** The types with a shape, some that dns-packet reads, and some that nobody does. */
const types = fc.oneof(
  fc.constantFrom(...Array.from({ length: 256 }, (_, type) => type).filter((type) => shapeOf(type) !== undefined)),
  fc.constantFrom(
    ...['CAA', 'DS', 'DNSKEY', 'TLSA', 'SSHFP', 'LOC', 'URI', 'NSEC3', 'TYPE0', 'TYPE65280', 'TYPE65535'].map((type) => typeNumber(type)!)
  )
)

function rdataOf(type: number): fc.Arbitrary<Uint8Array> {
  const shape = shapeOf(type)
  if (shape === undefined) return octets
  const fields = shape.map((field): fc.Arbitrary<Uint8Array> => {
    if (typeof field === 'number') return fc.uint8Array({ minLength: field, maxLength: field })
    if (field === 'name' || field === 'plain') return name
    if (field === 'string') return string
    return field === 'strings' ? fc.array(string, { minLength: 1, maxLength: 4 }).map((list) => Buffer.concat(list)) : octets
  })
  return fc.tuple(...fields).map((parts) => Buffer.concat(parts))
}

const made: fc.Arbitrary<Made> = types.chain((type) =>
  fc.record({
    owner: name,
    type: fc.constant(type),
    klass: fc.constantFrom(1, 1, 1, 3, 4, 42, 65535),
    ttl: fc.oneof(fc.constantFrom(0, 1, 3600, 0x7fffffff), fc.nat(0x7fffffff)),
    rdata: rdataOf(type)
  })
)
const emptied: fc.Arbitrary<Made> = fc.record({
  owner: name,
  type: types,
  klass: fc.constantFrom(254, 255),
  ttl: fc.constant(0),
  rdata: fc.constant(new Uint8Array(0))
})
const section = fc.array(fc.oneof({ weight: 9, arbitrary: made }, emptied), { maxLength: 8 })
/** The records of the three sections. */
export const sections = fc.tuple(section, section, section)

/** A message without compression, written by nothing of what is tested. */
export function plainMessage(qname: Uint8Array, list: readonly (readonly Made[])[]): Buffer {
  const header = Buffer.alloc(12)
  header.writeUInt16BE(0x8000, 2)
  header.writeUInt16BE(1, 4)
  for (const [i, records] of list.entries()) header.writeUInt16BE(records.length, 6 + 2 * i)
  const records = list.flat().map(({ owner, type, klass, ttl, rdata }) => {
    const fixed = Buffer.alloc(10)
    fixed.writeUInt16BE(type, 0)
    fixed.writeUInt16BE(klass, 2)
    fixed.writeUInt32BE(ttl, 4)
    fixed.writeUInt16BE(rdata.length, 8)
    return Buffer.concat([owner, fixed, rdata])
  })
  return Buffer.concat([header, qname, Buffer.from([0, 1, 0, 1]), ...records])
}
