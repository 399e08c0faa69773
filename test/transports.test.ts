/** The gate before the plugins is the same on every transport. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Listeners, openListeners } from '../src/listen/listeners.js'
import { requestOctets, serverOf, type TestServer } from '../src/testing.js'
import { sendDatagrams, sendStream } from './dns-client.js'

const TRANSPORTS = ['udp', 'tcp', 'tls', 'https', 'quic'] as const

let server: TestServer
let listeners: Listeners
beforeAll(async () => {
  server = await serverOf('.:0 {\nbind 127.0.0.1\nwhoami\n}')
  listeners = await openListeners(server.instance.endpoints)
})
afterAll(async () => {
  await listeners?.close(500)
  await server?.stop()
  expect(server.log.lines).toEqual([])
})

const plain = Buffer.from(requestOctets('example.org. A', { id: 0xabcd }))
const withOpcode = (opcode: number): Buffer => {
  const octets = Buffer.from(plain)
  octets[2] = (opcode << 3) | 1
  return octets
}
/** With other counts of questions, answers, authorities and additional records than there are. */
const withCounts = (...counts: number[]): Buffer => {
  const octets = Buffer.from(plain)
  for (const [index, count] of counts.entries()) octets.writeUInt16BE(count, 4 + 2 * index)
  return octets
}

const NAMES: Readonly<Record<number, string>> = { 1: 'IQUERY', 2: 'STATUS', 4: 'NOTIFY', 5: 'UPDATE', 6: 'DSO' }
const opcodes = Array.from({ length: 15 }, (_, index) => index + 1)
/** What is turned away, and with which rcode; nothing is silence. */
const turnedAway: [string, Buffer, number | undefined][] = [
  ...opcodes.map((opcode): [string, Buffer, number] => [`opcode ${opcode} ${NAMES[opcode] ?? ''}`, withOpcode(opcode), 4]),
  ['an UPDATE that counts what is not there', Buffer.concat([withOpcode(5).subarray(0, 4), Buffer.alloc(8, 0xff)]), 4],
  ['no question', withCounts(0, 0, 0, 0), 1],
  ['two questions', withCounts(2, 0, 0, 0), 1],
  ['65535 questions', withCounts(65_535, 0, 0, 0), 1],
  ['65535 answers', withCounts(1, 65_535, 0, 0), 1],
  ['65535 authorities', withCounts(1, 0, 65_535, 0), 1],
  ['65535 additional records', withCounts(1, 0, 0, 65_535), 1],
  ['all of them', withCounts(65_535, 65_535, 65_535, 65_535), 1],
  ['a header alone', plain.subarray(0, 12), 1],
  ['a reply', Buffer.concat([plain.subarray(0, 2), Buffer.of(0x81), plain.subarray(3)]), undefined],
  ['half a header', plain.subarray(0, 6), undefined]
]

describe('what is turned away, is so on every transport alike', () => {
  test.each(turnedAway)('%s', async (_title, request, rcode) => {
    const replies: (Uint8Array | undefined)[] = []
    for (const transport of TRANSPORTS) replies.push(await server.exchange(request, { transport }))
    for (const reply of replies) expect(reply).toEqual(replies[0])
    expect(replies[0] === undefined ? undefined : replies[0][3]! & 0xf).toBe(rcode)
    if (rcode !== undefined) expect(Buffer.from(replies[0]!).subarray(0, 2)).toEqual(request.subarray(0, 2))
  })

  test.each(turnedAway.filter(([, , rcode]) => rcode !== undefined))('and over sockets: %s', async (_title, request, rcode) => {
    const where = listeners.list[0]!
    const octets = request.toString('hex')
    const length = request.length.toString(16).padStart(4, '0')
    const [udp, tcp] = [await sendDatagrams(where, [octets], 1), await sendStream(where, [`${length}${octets}`], 1, false)]
    expect([udp.faults, tcp.faults, udp.messages.length, tcp.messages.length]).toEqual([[], [], 1, 1])
    expect(tcp.messages[0]).toEqual(udp.messages[0])
    expect(udp.messages[0]![3]! & 0xf).toBe(rcode)
  })
})

test.each(TRANSPORTS)('a plain query is answered over %s', async (transport) => {
  const reply = await server.exchange(plain, { transport })
  expect([reply![0], reply![1], reply![3]! & 0xf]).toEqual([0xab, 0xcd, 0])
})
