/** All SkyDNS cases: in process, over UDP, over TCP, and once more with real nameservers as the outside world. */
import { serverOf, type TestServer } from 'skein/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openListeners } from '../src/listen/listeners.js'
import { systemClock } from '../src/process/clock.js'
import { type Exchange, failuresAmong } from './conformance-asking.js'
import { type CaseFile, caseFiles, corefileOf } from './conformance-cases.js'
import { openClient } from './dns-client.js'
import { needs } from './tools.js'
import { startStandIn, startUpstream, type Upstream } from './upstream.js'

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

async function failuresOf(file: CaseFile, { address, port }: Upstream, way: Way): Promise<string[]> {
  // The machine's clock: a forwarder that loses a datagram must be able to ask again.
  const server = await serverOf(corefileOf(file, `${address}:${port}`), { services: file.services, clock: systemClock })
  try {
    const failures = await way(server, (exchange) => failuresAmong(file.cases, exchange))
    return [...failures, ...server.log.lines.filter((line) => line.includes('a plugin failed'))]
  } finally {
    await server.stop()
  }
}
