/** All SkyDNS cases: in process, over UDP, over TCP, and once more with real nameservers as the outside world. */
import { isDeepStrictEqual } from 'node:util'
import { type Answer, readAnswer, requestOctets, serverOf, type TestServer } from 'skein/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openListeners } from '../src/listen/listeners.js'
import { systemClock } from '../src/process/clock.js'
import { type Case, type CaseFile, caseFiles, comparable, corefileOf } from './conformance-cases.js'
import { openClient } from './dns-client.js'
import { needs } from './tools.js'
import { startStandIn, startUpstream, type Upstream } from './upstream.js'

/** Sends a request, one way or another. */
type Exchange = (request: Uint8Array) => Promise<Uint8Array | undefined>
/** Makes the way to a server for the time of a function. */
type Way = (server: TestServer, use: (exchange: Exchange) => Promise<string[]>) => Promise<string[]>

const inProcess: Way = (server, use) => use((request) => server.exchange(request))

const over =
  (transport: 'udp' | 'tcp'): Way =>
  async (server, use) => {
    const listeners = await openListeners(server.instance.endpoints)
    const where = listeners.list.find((listener) => listener.transport === transport)!
    const client = await openClient(transport, where)
    try {
      return await use((request) => client.ask(request))
    } finally {
      client.close()
      await listeners.close(0)
    }
  }

const files = [...caseFiles('skydns'), ...caseFiles('skydns-golden')]

test('the cases are all there', () => {
  expect(files.reduce((sum, { cases }) => sum + cases.length, 0)).toBe(1433)
})

describe('with a stand-in for the outside world', () => {
  answersAll(startStandIn, { 'in process': inProcess, 'over UDP': over('udp'), 'over TCP': over('tcp') })
})

describe('with real nameservers as the outside world', needs('unbound', 'nsd', 'dig'), () => {
  answersAll(startUpstream, { 'in process': inProcess })
})

function answersAll(start: () => Promise<Upstream>, ways: Readonly<Record<string, Way>>): void {
  let upstream: Upstream
  beforeAll(async () => {
    upstream = await start()
  })
  afterAll(() => upstream?.stop())

  describe.each(Object.entries(ways))('%s', (_name, way) => {
    test.each(files.map((file) => [file.path, file] as const))('answers %s', async (_path, file) => {
      const failures = await failuresOf(file, upstream, way)
      expect(failures, failures.join('\n')).toEqual([])
    })
  })
}

/** Asks everything of a file at once; a line or more for each case that is answered wrongly. */
async function failuresOf(file: CaseFile, { address, port }: Upstream, way: Way): Promise<string[]> {
  // The machine's clock: a forwarder that loses a datagram must be able to ask again.
  const server = await serverOf(corefileOf(file, `${address}:${port}`), { services: file.services, clock: systemClock })
  try {
    const failures = await way(server, async (exchange) => {
      const found = await Promise.all(file.cases.map((each, index) => failureOf(each, index + 1, exchange)))
      return found.flat()
    })
    return [...failures, ...server.log.lines.filter((line) => line.includes('a plugin failed'))]
  } finally {
    await server.stop()
  }
}

async function failureOf(each: Case, id: number, exchange: Exchange): Promise<string[]> {
  let answer: Answer
  try {
    const octets = await exchange(requestOctets(each.ask, { id, edns: 4096 }))
    if (octets === undefined) return [`${each.ask}: no reply`]
    answer = readAnswer(octets)
  } catch (error) {
    return [`${each.ask}: ${String(error)}`]
  }
  const { got, wanted } = comparable(answer, each)
  if (answer.edns === undefined) return [`${each.ask}: no OPT record`]
  if (isDeepStrictEqual(got, wanted)) return []
  return [`${each.ask}\n   got ${JSON.stringify(got)}\nwanted ${JSON.stringify(wanted)}`]
}
