/** Each reason of docs/reasons.md comes about, with its rcode and info code, for clients with EDNS alone. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { parseCorefile } from '../src/corefile/parser.js'
import { REASONS } from '../src/message/reasons.js'
import { systemClock } from '../src/process/clock.js'
import { buildInstance } from '../src/process/instance.js'
import { PromRegistry } from '../src/process/metrics.js'
import { Sharing } from '../src/process/shares.js'
import { ProcessStores } from '../src/process/stores.js'
import type { Key } from '../src/store/key.js'
import { keyOfPath } from '../src/store/key.js'
import type { Entry } from '../src/store/store.js'
import {
  type FakeUpstream,
  fakeUpstream,
  MemoryStore,
  type ReplyOptions,
  readAnswer,
  replyTo,
  requestOctets,
  serverOf,
  TestLog,
  TestServer
} from '../src/testing.js'
import { freePort, temporaryFolder } from './processes.js'
import { root } from './rules/source-file.js'

const folder = temporaryFolder()
let server: TestServer | undefined
let upstream: FakeUpstream
let silent: FakeUpstream
const store = new (class extends MemoryStore {
  isBroken = false

  override subtree(key: Key, limit?: number): Entry[] {
    if (this.isBroken) throw new Error('broken')
    return super.subtree(key, limit)
  }
})()

beforeAll(async () => {
  const plugin = `export default { name: 'odd', api: 1, schema: { about: 'x' }, setup: (_config, host) => ({
    handle(query) {
      if (query.qname.startsWith('deep')) return host.resolve(query.ask(query.qname, 'A'))
      if (query.qname.endsWith('signed.')) return query.reply({ aa: true })
      throw new Error('boom')
    }
  }) }`
  writeFileSync(join(folder.path, 'odd.mjs'), plugin)
  const refused: ReplyOptions = { flags: 0x8185, answer: [] }
  upstream = await fakeUpstream({ udp: ({ octets }, answer) => answer(replyTo(octets, refused)) })
  silent = await fakeUpstream({ udp() {} })
  for (const path of ['/skydns/test/web', '/skydns/test/out']) {
    store.put(keyOfPath(path), JSON.stringify({ host: path.endsWith('out') ? 'www.example.org' : '10.0.0.1' }))
  }
  // More keys than a look-up takes, one of which the pattern may match.
  for (let i = 0; i < 4001; i++) store.put(keyOfPath(`/skydns/test/big/n${i}`), '{"host":"10.0.0.1"}')
})
afterEach(async () => {
  store.isBroken = false
  await server?.stop()
  server = undefined
})
afterAll(async () => {
  await upstream.stop()
  await silent.stop()
  folder.remove()
})

const ETCD = 'etcd test {\nstore\n}'
const ODD = 'plugin ./odd.mjs\nodd'
const forward = (...lines: string[]): string => `forward . 127.0.0.1:PORT {\n${lines.join('\n')}\n}`
const NOBODY = '127.0.0.1:9'

interface Case {
  readonly lines: string
  readonly question: string
  readonly rcode: string
  /** What is asked before. */
  readonly before?: string
  /** Stops the server while it is asked. */
  readonly stops?: true
  readonly breaks?: true
  /** With the stores of a process, and what feeds them, in place of the one in memory. */
  readonly feeds?: true
  /** With DO, so never without EDNS. */
  readonly dnssecOk?: true
  /** Of the header, instead of a query's. */
  readonly flags?: number
  /** Makes a request of a query. */
  readonly change?: (octets: Uint8Array) => Uint8Array
}

/** `behind` follows the last octet: what is no record. */
const behind = (octets: Uint8Array): Uint8Array => Uint8Array.from([...octets, 0])
/** The version of EDNS is six octets before the end of an OPT record without options; without one there is none to be wrong. */
const version1 = (octets: Uint8Array): Uint8Array => octets.map((octet, at) => (at === octets.length - 5 ? 1 : octet))

const CASES: Readonly<Record<string, Case>> = {
  any: { lines: 'any\nwhoami', question: 'a. ANY', rcode: 'NOERROR' },
  apex: { lines: ETCD, question: 'test. SOA', rcode: 'NOERROR' },
  cached: { lines: `cache\n${ETCD}`, question: 'web.test. A', before: 'web.test. A', rcode: 'NOERROR' },
  chaos: { lines: 'chaos', question: 'version.bind. TXT CH', rcode: 'NOERROR' },
  'edns-version': { lines: 'whoami', question: 'a. A', rcode: 'BADVERS', change: version1 },
  fault: { lines: ODD, question: 'a. A', rcode: 'SERVFAIL' },
  forwarded: { lines: forward(), question: 'www.example.org. A', rcode: 'REFUSED' },
  found: { lines: ETCD, question: 'web.test. A', rcode: 'NOERROR' },
  'invalid-type': { lines: `dnssec test\n${ETCD}`, question: 'web.test. TYPE128', rcode: 'FORMERR' },
  malformed: { lines: 'whoami', question: 'a. A', rcode: 'FORMERR', change: behind },
  'meta-type': { lines: ETCD, question: 'web.test. AXFR', rcode: 'REFUSED' },
  ndots: { lines: forward('ndots 2'), question: 'org. A', rcode: 'SERVFAIL' },
  'no-recursion': { lines: forward('no_rec'), question: 'www.example.org. A', rcode: 'SERVFAIL' },
  'no-such-name': { lines: ETCD, question: 'no.test. A', rcode: 'NXDOMAIN' },
  'no-upstream': { lines: 'forward . none', question: 'www.example.org. A', rcode: 'SERVFAIL' },
  nodata: { lines: ETCD, question: 'web.test. AAAA', rcode: 'NOERROR' },
  'not-implemented': { lines: 'whoami', question: 'a. A', rcode: 'NOTIMP', flags: 0x1000 },
  'not-ready': {
    lines: 'etcd test {\nstore replica\nendpoint http://127.0.0.1:FREE\n}',
    question: 'web.test. A',
    rcode: 'REFUSED',
    feeds: true
  },
  'not-served': { lines: '', question: 'a. A', rcode: 'REFUSED' },
  // Nobody tells the SOA record that the proof needs.
  'signing-failed': { lines: `dnssec signed {\ndenial nsec3\n}\n${ODD}`, question: '*.signed. A', rcode: 'SERVFAIL', dnssecOk: true },
  stopping: { lines: 'forward . 127.0.0.1:SILENT', question: 'www.example.org. A', rcode: 'SERVFAIL', stops: true },
  'store-failed': { lines: ETCD, question: 'web.test. A', rcode: 'SERVFAIL', breaks: true },
  stub: { lines: 'stub {\nzone example.org 127.0.0.1:PORT\n}', question: 'www.example.org. A', rcode: 'REFUSED' },
  'stub-failed': { lines: `stub {\nzone example.org ${NOBODY}\n}`, question: 'www.example.org. A', rcode: 'SERVFAIL' },
  'target-failed': { lines: `${ETCD}\nforward . ${NOBODY}`, question: 'out.test. A', rcode: 'SERVFAIL' },
  'too-deep': { lines: ODD, question: 'deep. A', rcode: 'SERVFAIL' },
  'too-many': { lines: ETCD, question: 'n5.*.big.test. A', rcode: 'SERVFAIL' },
  'upstream-failed': { lines: `forward . ${NOBODY}`, question: 'www.example.org. A', rcode: 'SERVFAIL' },
  whoami: { lines: 'whoami', question: 'a. A', rcode: 'NOERROR' },
  'wildcard-owner': { lines: `dnssec test\n${ETCD}`, question: '*.test. A', rcode: 'REFUSED', dnssecOk: true }
}

/** Further rcodes of reasons that have a case already. */
const OTHERS: readonly (readonly [string, Case])[] = [
  ['no-such-name', { lines: `dnssec test\n${ETCD}`, question: 'no.test. A', rcode: 'NOERROR', dnssecOk: true }]
]
const ALL = [...Object.entries(CASES), ...OTHERS]

/** The rcodes that the page tells of, by reason. */
const page = readFileSync(join(root, 'docs/reasons.md'), 'utf8')
const RCODES = new Map([...page.matchAll(/^\| `(.+?)` \| (.+?) \|/gm)].map(([, reason, rcodes = '']) => [reason, rcodes.split(', ')]))

/** A server with stores of its own: what is to feed them begins when it starts. */
async function serverWithStores(corefile: string, file: string): Promise<TestServer> {
  const [log, metrics] = [new TestLog(), new PromRegistry()]
  const stores = new ProcessStores({ clock: systemClock, log, metrics })
  const services = { log, clock: systemClock, random: { below: () => 0 }, metrics, stores, shares: new Sharing(), version: 'Skein-test' }
  const instance = await buildInstance(parseCorefile(corefile, file).blocks, { services, file, defaultPort: 53 })
  await instance.start()
  return new TestServer(instance, log, metrics)
}

/** Without EDNS it has no version, and no DO. */
const isThere = ([reason, hasEdns, { dnssecOk }]: readonly [string, boolean, Case]): boolean =>
  hasEdns || (reason !== 'edns-version' && dnssecOk !== true)

test('they are all', () => {
  expect(Object.keys(CASES)).toEqual(Object.keys(REASONS).sort())
})

const limited = ALL.filter(([reason]) => RCODES.get(reason)?.[0] !== 'every')
test.each(limited)('the page tells of the rcode of %s', (reason, { rcode }) => {
  expect(RCODES.get(reason)).toContain(rcode)
})

describe('a client is told, and so is the log,', () => {
  test.each(ALL.flatMap(([reason, one]) => [true, false].map((hasEdns) => [reason, hasEdns, one] as const)).filter(isThere))(
    '%s (with EDNS: %s)',
    async (reason, hasEdns, {
      lines,
      question,
      rcode,
      before,
      stops,
      breaks,
      feeds,
      dnssecOk = false,
      flags = 0,
      change = (octets) => octets
    }) => {
      const ports = { PORT: upstream.port, SILENT: silent.port, FREE: await freePort('127.0.0.1') }
      const corefile = Object.entries(ports).reduce(
        (text, [name, port]) => text.replace(name, `${port}`),
        `. {\nlog . "{why}"\n${lines}\n}`
      )
      const file = join(folder.path, 'Corefile')
      server = feeds ? await serverWithStores(corefile, file) : await serverOf(corefile, { services: store, file })
      if (before !== undefined) await server.ask(before)
      store.isBroken = breaks === true
      const asked = server.exchange(change(requestOctets(question, { flags, ...(hasEdns && { edns: 1232, dnssecOk }) })))
      if (stops) await server.stop()
      const { rcode: got, edns } = readAnswer((await asked)!)
      const told = edns?.options.map(([, payload]) => [payload[1], /^[^:]*/.exec(Buffer.from(payload.subarray(2)).toString())![0]])
      const { info } = REASONS[reason]!
      expect([got, told]).toEqual([rcode, hasEdns ? (rcode === 'NOERROR' ? [] : [[info, reason]]) : undefined])
      // What the header gate turns away no chain has seen.
      if (change(Uint8Array.of()).length === 0 && flags === 0 && reason !== 'edns-version')
        expect(server.log.lines.at(-1)).toBe(`[INFO] ${reason}`)
    }
  )
})
