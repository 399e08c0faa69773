import { createHook } from 'node:async_hooks'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { type AskOptions, decodes, readAnswer, requestOctets, serverOf, type TestServer, TestSlot } from '../src/testing.js'
import { temporaryFolder } from './processes.js'

const folder = temporaryFolder()
// The first start makes a key beside the Corefile.
const file = join(folder.path, 'Corefile')
afterAll(() => folder.remove())

let server: TestServer | undefined
afterEach(async () => {
  await server?.stop()
  server = undefined
})

/** Corefile.example itself, but for who is asked outside and where numbers are read; with `log` or without. */
const example = (log: string): string =>
  readFileSync(new URL('../../Corefile.example', import.meta.url), 'utf8')
    .replace('/etc/resolv.conf', '192.0.2.53')
    .replace('  prometheus\n', `  prometheus localhost:0\n  ${log}\n`)

test('Corefile.example has the chain of SkyDNS, and nothing else', async () => {
  server = await serverOf(example(''), { file })
  const [block] = server.instance.blocks
  expect(block!.chain.configured.map(({ plugin }) => plugin.name)).toEqual([
    'metrics',
    'errors',
    'roundrobin',
    'cache',
    'stub',
    'chaos',
    'dnssec',
    'etcd-backend',
    'forward'
  ])
})

const services = {
  '/skydns/local/skydns/east/web/1': { host: '10.0.0.1', port: 80 },
  '/skydns/local/skydns/east/web/2': { host: '10.0.0.2', port: 80, weight: 50 },
  '/skydns/local/skydns/east/alias': { host: '1.web.east.skydns.local' },
  '/skydns/local/skydns/bad': '{',
  '/skydns/arpa/in-addr/10/0/0/1': { host: 'web.skydns.local' }
}

interface Cost {
  readonly rcode: string
  readonly records: number
  readonly promises: number
  readonly decodes: number
}

/** Asks within this call, as a datagram does; what the answer cost. */
function costOf(asked: TestServer, question: string, options: AskOptions = {}): Cost | undefined {
  const [endpoint] = asked.instance.endpoints
  let reply: Uint8Array | undefined
  const slot = new TestSlot(requestOctets(question, options), (sent) => (reply = sent))
  let promises = 0
  const before = decodes.count
  const hook = createHook({
    init: (_id, type) => {
      if (type === 'PROMISE') promises++
    }
  }).enable()
  slot.giveTo(endpoint!.receive)
  hook.disable()
  const decoded = decodes.count - before
  if (reply === undefined) return undefined
  const { rcode, answer } = readAnswer(reply)
  return { rcode, records: answer.length, promises, decodes: decoded }
}

describe('what is answered from the store is answered at once: no promise, no decoded message', () => {
  test.each<[string, string, AskOptions, string, number]>([
    ['A', '1.web.east.skydns.local. A', {}, 'NOERROR', 1],
    ['A of several', 'web.east.skydns.local. A', { edns: 1232 }, 'NOERROR', 2],
    ['A with its signature', 'web.east.skydns.local. A', { edns: 1232, dnssecOk: true }, 'NOERROR', 3],
    ['a proof', 'nowhere.skydns.local. A', { edns: 4096, dnssecOk: true }, 'NXDOMAIN', 0],
    ['A behind a CNAME', 'alias.east.skydns.local. A', {}, 'NOERROR', 2],
    ['SRV', 'web.east.skydns.local. SRV', {}, 'NOERROR', 2],
    ['SRV by a pattern', '*.east.skydns.local. SRV', { edns: 4096 }, 'NOERROR', 3],
    ['no such name', 'nowhere.skydns.local. A', {}, 'NXDOMAIN', 0],
    ['no data', 'web.east.skydns.local. AAAA', {}, 'NOERROR', 0],
    ['a bad value', 'bad.skydns.local. A', {}, 'NOERROR', 0],
    ['SOA', 'skydns.local. SOA', {}, 'NOERROR', 1],
    ['PTR', '1.0.0.10.in-addr.arpa. PTR', {}, 'NOERROR', 1],
    ['ANY', 'skydns.local. ANY', {}, 'REFUSED', 0],
    ['version.bind', 'version.bind. TXT CH', {}, 'NOERROR', 1],
    ['a class that nobody serves', 'web.east.skydns.local. A HS', {}, 'REFUSED', 0]
  ])('%s', async (_title, question, options, rcode, records) => {
    for (const log of ['', 'log']) {
      server = await serverOf(example(log), { services, file })
      const expected = { rcode, records, promises: 0, decodes: 0 }
      // The second time too: nothing is put off to the next query.
      expect([costOf(server, question, options), costOf(server, question, options)]).toEqual([expected, expected])
      expect(server.log.lines.filter((line) => line.includes(' - 1 "'))).toHaveLength(log === '' ? 0 : 2)
      await server.stop()
      server = undefined
    }
  })

  test('and the measure sees promises where there are some', async () => {
    server = await serverOf('. {\n etcd skydns.local {\n store\n }\n}', {
      services: { '/skydns/local/skydns/out': { host: 'www.example.net' } }
    })
    expect(costOf(server, 'out.skydns.local. A')).toBeUndefined()
    await new Promise(setImmediate)
  })
})

describe('a class other than IN never meets the data of IN', () => {
  const questions = [
    'web.east.skydns.local. A',
    'skydns.local. SOA',
    '1.0.0.10.in-addr.arpa. PTR',
    'web.east.skydns.local. SRV',
    'example.org. A'
  ]

  test.each(['CH', 'HS', 'NONE', 'ANY', 'CLASS0', 'CLASS65280'])('%s', async (qclass) => {
    server = await serverOf(example('log'), { services, file })
    for (const question of questions) {
      const { rcode, answer, authority, additional } = await server.ask(`${question} ${qclass}`)
      expect({ question, rcode, answer, authority, additional }).toEqual({
        question,
        rcode: 'REFUSED',
        answer: [],
        authority: [],
        additional: []
      })
    }
  })

  test.each(['', 'chaos'])('version.bind is for `chaos` alone: %s', async (chaos) => {
    server = await serverOf(`. {\n  ${chaos}\n  whoami\n}`)
    expect((await server.ask('version.bind. TXT CH')).rcode).toBe(chaos === '' ? 'REFUSED' : 'NOERROR')
  })
})

describe('the order of the Corefile decides nothing', () => {
  test.each(['whoami\nany refuse\nchaos\nlog', 'log\nchaos\nany refuse\nwhoami'])('%j', async (block) => {
    server = await serverOf(`. {\n${block}\n}`)
    expect((await server.ask('example.org. ANY')).rcode).toBe('REFUSED')
    expect((await server.ask('example.org. A')).additional).toHaveLength(2)
    expect(server.log.lines).toHaveLength(2)
  })
})

describe('a question comes back as it was spelled', () => {
  test.each(['wWw.eXample.ORG. A', 'WEB.East.SkyDNS.local. A', 'version.BIND. TXT CH', 'nowhere.SKYDNS.local. A', 'SkyDNS.local. ANY'])(
    '%s',
    async (question) => {
      server = await serverOf(example('').replace('forward . 192.0.2.53 {\n    ndots 2\n  }', 'whoami'), { services, file })
      const { qname, answer } = await server.ask(question)
      expect(qname).toBe(question.split(' ')[0])
      expect(answer.every((record) => record.startsWith(`${qname} `))).toBe(true)
    }
  )
})

describe('a block without plugins', () => {
  test('refuses, and there is nothing to log', async () => {
    server = await serverOf('example.net { }')
    expect((await server.ask('example.net. A')).rcode).toBe('REFUSED')
    expect((await server.ask('example.org. A')).rcode).toBe('REFUSED')
    expect(server.log.lines).toEqual([])
  })
})
