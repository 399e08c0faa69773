import { describe, expect, test } from 'vitest'
import { accept } from '../message/gate.js'
import { Query } from '../query.js'
import { type AskOptions, requestOctets } from '../testing.js'
import { questionKey, upstreamEdns } from './question.js'

function asked(question: string, options: AskOptions = {}): Query {
  const request = accept({ octets: requestOctets(question, options) }, 1232)
  if (request.kind !== 'asked') throw new Error('the gate turned it away')
  return Query.fromRequest(request, { address: '192.0.2.1', port: 4711, transport: 'udp', local: '127.0.0.1' }, '.')
}

const plain = questionKey(asked('example.org. A'))

describe('the key of a question', () => {
  test.each<[string, AskOptions]>([
    ['EXAMPLE.org. A', { id: 7 }],
    ['example.org. A', { edns: 4096 }],
    ['example.org. A', { options: [[10, Buffer.from('cookie!!')]] }]
  ])('is the same for %s with %j', (question, options) => {
    expect(questionKey(asked(question, options))).toBe(plain)
  })

  test.each<[string, AskOptions]>([
    ['example.org. AAAA', {}],
    ['example.org. A CH', {}],
    ['a.example.org. A', {}],
    ['example.org. A', { rd: false }],
    ['example.org. A', { flags: 0x0010 }],
    ['example.org. A', { flags: 0x0020 }],
    ['example.org. A', { dnssecOk: true }]
  ])('is another for %s with %j', (question, options) => {
    expect(questionKey(asked(question, options))).not.toBe(plain)
  })
})

test.each<[AskOptions, number, boolean]>([
  [{}, 1232, false],
  [{ edns: 4096 }, 1232, false],
  [{ edns: 700 }, 700, false],
  [{ edns: 100 }, 512, false],
  [{ edns: 600, dnssecOk: true }, 600, true]
])('a client with %j is asked for with the size %d and DO %s', (options, size, dnssecOk) => {
  expect(upstreamEdns(asked('example.org. A', options))).toEqual({ size, dnssecOk })
})
