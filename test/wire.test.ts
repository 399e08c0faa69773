/** The wire cases over real sockets, judged here and, as a second opinion, by the probe.py that stands beside them. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { serverOf, type TestServer } from 'skein/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Listeners, openListeners } from '../src/listen/listeners.js'
import { type Outcome, type ServerAddress, sendDatagrams, sendStream } from './dns-client.js'
import { needs, tool } from './tools.js'
import {
  type Expectation,
  type Limits,
  Malformed,
  questionOf,
  readReply,
  requestsOf,
  type WireCase,
  type WireReply,
  wireCases,
  wireFiles
} from './wire-cases.js'

const corefile = `.:0 {
  bind 127.0.0.1
  bufsize 4096
  chaos
  etcd skydns.test {
    store ./data
    api off
  }
}
`

const pool = Array.from({ length: 40 }, (_, index) => [`/skydns/test/skydns/pool/${index + 1}`, { host: `10.0.1.${index + 1}`, port: 80 }])

/** What the README of the cases says that the server has. */
const services: Record<string, unknown> = {
  '/skydns/test/skydns/a': { host: '10.0.0.1' },
  '/skydns/test/skydns/txt': { text: 'x'.repeat(300) },
  '/skydns/test/skydns/v6': { host: '2001:db8::1' },
  ...Object.fromEntries(pool)
}

describe('on the wire', () => {
  let server: TestServer
  let listeners: Listeners
  let where: ServerAddress

  beforeAll(async () => {
    server = await serverOf(corefile, { services })
    listeners = await openListeners(server.instance.endpoints)
    where = listeners.list[0]!
  })
  afterAll(async () => {
    await listeners?.close(500)
    await server?.stop()
    // What the server did not foresee it has logged.
    expect(server.log.lines).toEqual([])
  })

  test('a plain query is answered', async () => {
    expect(await isAlive(where)).toBe(true)
  })

  // Most of a case is waiting for what must not come.
  describe.concurrent('each case', () => {
    test.each(wireCases.map((wireCase) => [wireCase.file, wireCase.title, wireCase] as const))(
      '%s: %s',
      async (_file, _title, wireCase) => {
        expect(await faultsOf(wireCase, where)).toEqual([])
      }
    )
  })

  test('probe.py agrees', needs('python3'), async () => {
    const files = [new URL('probe.py', wireFiles[0]), ...wireFiles].map((url) => fileURLToPath(url))
    const [probe, ...cases] = files
    const args = [probe!, where.address, `${where.port}`, ...cases]
    const { stdout } = await promisify(execFile)(tool('python3'), args).catch((error: { stdout: string }) => error)
    expect(stdout).toBe(`${wireCases.length} passed, 0 failed\n`)
  })
})

test('the cases are all there, and say nothing that is not looked at', () => {
  expect(wireCases).toHaveLength(157)
  const expectations = wireCases.flatMap(({ expect: want }) => [want, ...(want.or ?? []), ...Object.values(want.replies ?? {})])
  expect([...new Set(expectations.flatMap(Object.keys))].filter((key) => !known.includes(key))).toEqual([])
})

const known = (
  'reply replies more or rcode flags question edns ednsVersion maxSize answer answerCount authorityCount additionalCount ' +
  'noOptions noEcho optionLength'
).split(' ')

/** Sends a case to a server; what is wrong with the replies, by each of the expectations where none holds. */
async function faultsOf(wireCase: WireCase, server: ServerAddress): Promise<string[]> {
  const { transport, send, expect } = wireCase
  const wants = [expect, ...(expect.or ?? [])]
  const wanted = Math.max(...wants.map(repliesIn))
  const mustClose = wanted === 0 && wants.some(({ reply }) => reply === 'close')
  const outcome = transport === 'udp' ? await sendDatagrams(server, send, wanted) : await sendStream(server, send, wanted, mustClose)
  if (outcome.messages.every(({ length }) => length === 0) && !(await isAlive(server))) return ['the server no longer answers']
  const faults = wants.map((want) => judge(wireCase, outcome, want))
  return faults.some(({ length }) => length === 0) ? [] : faults.map((each, index) => `${index > 0 ? 'or: ' : ''}${each.join('; ')}`)
}

const plainQuery = 'feed01000001000000000000016106736b79646e7304746573740000010001'

/** Whether a plain query is answered, at the third try at the latest. */
async function isAlive(server: ServerAddress): Promise<boolean> {
  for (let tries = 0; tries < 3; tries++) {
    const { messages } = await sendDatagrams(server, [plainQuery], 1)
    if (messages.length > 0) return true
  }
  return false
}

function repliesIn({ reply = true, replies }: Expectation): number {
  if (replies !== undefined) return Object.values(replies).filter((each) => each.reply !== false).length
  return reply === true ? 1 : 0
}

function judge(wireCase: WireCase, outcome: Outcome, want: Expectation): string[] {
  const { messages, faults, partial, isClosed } = outcome
  const requests = requestsOf(wireCase)
  // `more` is for a server that answers garbage too, and that may be cut short by the end of the case.
  const wrong = [...faults, ...(partial > 0 && want.more !== true ? [`${partial} octets that are no whole message`] : [])]
  if (want.replies !== undefined) return [...wrong, ...judgeEach(want.replies, want.more === true, messages, requests)]
  const { reply = true } = want
  if (reply !== true) {
    if (messages.length > 0) wrong.push(`a reply: ${messages[0]!.toString('hex')}`)
    if (reply === 'close' && !isClosed) wrong.push('the connection stays open')
    return wrong
  }
  if (messages.length === 0) return [...wrong, isClosed ? 'closed without a reply' : 'no reply']
  if (messages.length > 1) wrong.push(`${messages.length} replies`)
  const [request] = requests.values()
  return [...wrong, ...judgeReply(messages[0]!, request!, want)]
}

function judgeEach(
  wants: Readonly<Record<string, Expectation>>,
  more: boolean,
  messages: readonly Buffer[],
  requests: ReadonlyMap<string, Buffer>
): string[] {
  const idOf = (octets: Buffer): string => octets.toString('hex', 0, 2)
  const strangers = messages.map(idOf).filter((id) => wants[id] === undefined)
  const wrong = strangers.length > 0 && !more ? [`replies with other IDs: ${strangers.join(' ')}`] : []
  for (const [id, want] of Object.entries(wants)) {
    const got = messages.filter((octets) => idOf(octets) === id)
    if (got.length !== (want.reply === false ? 0 : 1)) wrong.push(`${id}: ${got.length} replies`)
    else wrong.push(...got.flatMap((octets) => judgeReply(octets, requests.get(id)!, want)).map((text) => `${id}: ${text}`))
  }
  return wrong
}

const bits: Readonly<Record<string, number>> = { aa: 0x0400, tc: 0x0200, rd: 0x0100, ra: 0x0080, z: 0x0040, ad: 0x0020, cd: 0x0010 }

function judgeReply(octets: Buffer, request: Buffer, want: Expectation): string[] {
  let reply: WireReply
  try {
    reply = readReply(octets)
  } catch (error) {
    if (error instanceof Malformed) return [`malformed reply: ${error.message}: ${octets.toString('hex')}`]
    throw error
  }
  const wrong: string[] = []
  const check = (isRight: boolean, text: string): unknown => isRight || wrong.push(text)
  check((reply.bits & 0x8000) !== 0, 'QR is not set')
  check(reply.id === request.readUInt16BE(0), `ID ${reply.id}`)
  // Of a request that ends in its ID nothing can be asked back.
  check(reply.opcode === (((request[2] ?? 0) >> 3) & 15), `opcode ${reply.opcode}`)
  check((reply.bits & bits.z!) === 0, 'the Z bit is set')
  check((reply.ednsBits & 0x3fff) === 0, `EDNS flags ${reply.ednsBits}`)
  check(reply.ednsVersion === undefined || reply.ednsVersion === (want.ednsVersion ?? 0), `EDNS version ${reply.ednsVersion}`)
  judgeHeader(reply, request, want, check)
  judgeSections(reply, want, check)
  judgeOptions(reply, want, check)
  return wrong
}

type Check = (isRight: boolean, text: string) => void

function judgeHeader(reply: WireReply, request: Buffer, want: Expectation, check: Check): void {
  if (want.rcode !== undefined) check([want.rcode].flat().includes(reply.rcode), `rcode ${reply.rcode}`)
  for (const [flag, value] of Object.entries(want.flags ?? {})) {
    const isSet = flag === 'do' ? (reply.ednsBits & 0x8000) !== 0 : (reply.bits & bits[flag]!) !== 0
    check(isSet === value, `${flag} is ${isSet ? 'set' : 'clear'}`)
  }
  if (want.question !== undefined) {
    const isEcho = reply.questions === 1 && questionOf(request)?.equals(reply.question) === true
    const state = reply.questions === 0 ? 'absent' : isEcho ? 'echo' : 'other'
    check([want.question].flat().includes(state), `question: ${state}`)
  }
}

function judgeSections({ size, sections, ednsVersion }: WireReply, want: Expectation, check: Check): void {
  if (want.edns !== undefined)
    check((ednsVersion !== undefined) === want.edns, `OPT record ${ednsVersion === undefined ? 'missing' : 'present'}`)
  const folded = (records: readonly string[]): string =>
    records
      .map((record) => record.replace(/^\S+/, (owner) => owner.toLowerCase()))
      .sort()
      .join('\n')
  if (want.answer !== undefined) check(folded(sections[0]) === folded(want.answer), `answer: ${sections[0].join('; ') || 'empty'}`)
  for (const [index, name] of (['answer', 'authority', 'additional'] as const).entries()) {
    const limits = want[`${name}Count`]
    const { length } = sections[index]!
    if (limits !== undefined) check(isWithin(length, limits), `${name}Count ${length}`)
  }
  if (want.maxSize !== undefined) check(size <= want.maxSize, `${size} octets`)
}

function judgeOptions({ options }: WireReply, want: Expectation, check: Check): void {
  for (const code of want.noOptions ?? []) check(!options.has(code), `EDNS option ${code}`)
  for (const [code, payload] of Object.entries(want.noEcho ?? {})) {
    check(options.get(Number(code))?.toString('hex') !== payload, `EDNS option ${code} echoed`)
  }
  for (const [code, limits] of Object.entries(want.optionLength ?? {})) {
    const option = options.get(Number(code))
    check(option === undefined || isWithin(option.length, limits), `EDNS option ${code} of ${option?.length} octets`)
  }
}

function isWithin(count: number, limits: Limits): boolean {
  const [low, high] = typeof limits === 'number' ? [limits, limits] : limits
  return low <= count && count <= high
}
