import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { needs, tool } from './tools.js'
import {
  type Asked,
  digEach,
  type ListeningStandIn,
  outsideRecords,
  type Said,
  standIn,
  startStandIn,
  startUpstream,
  type Upstream
} from './upstream.js'

const conformance = fileURLToPath(new URL('../../test/conformance/', import.meta.url))
const types = ['A', 'AAAA', 'CNAME', 'MX', 'NS', 'PTR', 'SOA', 'SRV', 'TXT']

// Class CH never leaves the server that is asked, so no upstream has a say in it.
function questionsOutside(): Asked[] {
  const asks = new Set<string>()
  for (const folder of ['skydns', 'skydns-golden']) {
    for (const file of readdirSync(`${conformance}${folder}`)) {
      const { cases } = JSON.parse(readFileSync(`${conformance}${folder}/${file}`, 'utf8')) as { cases: { ask: string }[] }
      for (const { ask } of cases) if (!/(^|\.)skydns\.test\. /i.test(ask) && !ask.endsWith(' CH')) asks.add(ask)
    }
  }
  return [...asks].map(toQuestion)
}

function toQuestion(ask: string): Asked {
  const [qname = '', qtype = ''] = ask.split(' ')
  return { qname, qtype }
}

function everyRecordAsked(): Asked[] {
  const owners = new Set(outsideRecords().map(({ owner }) => owner))
  const others = ['nothere.example.net.', 'a.www.example.net.', 'org.', 'skydns.testing.', '100.51.198.in-addr.arpa.']
  return [...owners, ...others].flatMap((qname) => types.map((qtype) => ({ qname, qtype })))
}

// A section is a set, and names compare without case: a server that compresses a name into the question takes over the asker's spelling.
function plain({ rcode, answer }: Said): Said {
  return { rcode, answer: answer.map((record) => record.toLowerCase()).sort() }
}

describe('the stand-in', () => {
  test.each<[string, string, string[]]>([
    [
      'LOOP.example.net. A',
      'NOERROR',
      ['LOOP.example.net. 300 CNAME www.example.net.', 'www.example.net. 300 CNAME web.example.net.', 'web.example.net. 300 A 192.0.2.10']
    ],
    ['www.example.net. PTR', 'NOERROR', ['www.example.net. 300 CNAME web.example.net.']],
    ['www.example.net. CNAME', 'NOERROR', ['www.example.net. 300 CNAME web.example.net.']],
    ['txt.example.net. TXT', 'NOERROR', ['txt.example.net. 300 TXT "outside" "world"']],
    ['ns.example.net. A', 'NOERROR', ['ns.example.net. 300 A 127.0.0.1']],
    ['host.example.org. AAAA', 'NOERROR', []],
    ['nothere.example.org. A', 'NXDOMAIN', []],
    ['org. A', 'NXDOMAIN', []]
  ])('answers %s', (ask, rcode, answer) => {
    expect(standIn(toQuestion(ask))).toEqual({ rcode, answer })
  })
})

describe('the real pair', needs('nsd', 'unbound', 'dig'), () => {
  let pair: Upstream
  beforeAll(async () => {
    pair = await startUpstream()
  })
  afterAll(() => pair?.stop())

  test('says what the stand-in says to each question of the conformance files outside skydns.test', async () => {
    const questions = questionsOutside()
    expect(questions.length).toBeGreaterThan(20)
    await expectAgreement(pair, questions)
  })

  test('says what the stand-in says to each name of its zones in each type', () => expectAgreement(pair, everyRecordAsked()))
})

describe('the listening stand-in', needs('dig'), () => {
  let server: ListeningStandIn
  beforeAll(async () => {
    server = await startStandIn()
  })
  afterAll(() => server?.stop())

  test('says over UDP what the pure one says', async () => {
    await expectAgreement(server, everyRecordAsked())
    expect(server.asked).toContain('www.example.net. A')
  })

  test('answers over TCP, several questions on one connection', async () => {
    const args = [`@${server.address}`, '-p', `${server.port}`, '+tcp', '+keepopen', '+short']
    const { stdout } = await promisify(execFile)(tool('dig'), ['-r', ...args, 'v6.example.net', 'AAAA', 'host.example.org', 'A'])
    expect(stdout).toBe('2001:db8::6\n198.51.100.7\n')
  })
})

async function expectAgreement(server: Upstream, questions: Asked[]): Promise<void> {
  const replies = await digEach(server, questions)
  expect(replies.map(plain)).toEqual(questions.map(standIn).map(plain))
  const flags = replies.filter(({ rcode }) => rcode === 'NOERROR').map((reply) => reply.flags)
  expect(new Set(flags)).toEqual(new Set(['rd ra']))
}
