import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { name } from './messages.testing.js'
import { FormatError, isWithin, nameOctets, parentName, readName } from './name.js'
import { hashName, Question } from './question.js'

const header = new Uint8Array(12)
const tail = Uint8Array.of(0, 28, 0, 3)

const read = (octets: Uint8Array, length = octets.length): Question => Question.read({ octets }, length)

test('a question says what was asked, as it was spelled and in lower case', () => {
  const question = read(Buffer.concat([header, nameOctets('WwW.Example\\.x.\\000.'), tail]))
  const { name: spelled, qname, qtype, qclass, isLower, nameLength } = question
  expect({ spelled, qname, qtype, qclass, isLower, nameLength }).toEqual({
    spelled: 'WwW.Example\\.x.\\000.',
    qname: 'www.example\\.x.\\000.',
    qtype: 28,
    qclass: 3,
    isLower: false,
    nameLength: 17
  })
  expect(Question.of('a.b.', 1, 1)).toMatchObject({ name: 'a.b.', qname: 'a.b.', qtype: 1, qclass: 1, isLower: true })
})

test('no prefix of a question is one, whatever stands behind it', () => {
  fc.assert(
    fc.property(name, fc.constantFrom(0, 1, 0x3f, 0xff), (qname, filler) => {
      const octets = Buffer.concat([header, qname, tail, Buffer.alloc(300, filler)])
      const length = header.length + qname.length + tail.length
      expect(read(octets, length).end).toBe(length)
      for (let cut = header.length; cut < length; cut++) expect(() => read(octets, cut)).toThrow(FormatError)
    }),
    { numRuns: 100 }
  )
})

describe('names are compared where they are', () => {
  const other = fc.oneof(name, fc.constantFrom('.', 'org.', 'example.org.', 'ample.org.', 'b.example.org.').map(nameOctets))

  test('with what stands elsewhere, without case', () => {
    fc.assert(
      fc.property(name, other, (one, two) => {
        const [question, there] = [read(Buffer.concat([header, one, tail])), canonical(two)]
        const isSame = question.qname === readName(there, 0)
        expect(question.nameLength === there.length && question.isNameAt(there, 0)).toBe(isSame)
        if (isSame) expect(question.hash).toBe(hashName(there, 0))
        const copy = new Uint8Array(300)
        question.copyName(copy, 3)
        expect(question.isNameAt(copy, 3)).toBe(true)
      })
    )
  })

  test('with a zone, by whole labels', () => {
    fc.assert(
      fc.property(name, other, (one, two) => {
        const [question, apex] = [read(Buffer.concat([header, one, tail])), canonical(two)]
        expect(question.isBelow(apex)).toBe(isWithin(question.qname, readName(apex, 0)))
      }),
      { numRuns: 500 }
    )
  })

  test('with every zone that it is in, whose hash is that of the rest of the name', () => {
    fc.assert(
      fc.property(name, (octets) => {
        const question = read(Buffer.concat([header, octets, tail]))
        for (let zone = question.qname; zone !== '.'; zone = parentName(zone)) {
          const apex = nameOctets(zone)
          expect(question.isBelow(apex)).toBe(true)
          expect(question.hashFrom(question.nameLength - apex.length)).toBe(hashName(apex, 0))
        }
      })
    )
  })
})

function canonical(wire: Uint8Array): Uint8Array {
  return nameOctets(readName(wire, 0).toLowerCase())
}
