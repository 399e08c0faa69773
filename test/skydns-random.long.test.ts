/** What holds of all answers, whatever stands in the store: random services and questions, asked of all of SkyDNS's layers. */
import type { Answer, TestServer } from 'skein/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Below, seeded } from './dnssec-questions.js'
import { startSkyDns } from './skydns-like.js'
import { startStandIn, type Upstream } from './upstream.js'

const LABELS = ['a', 'b', 'c', 'd', 'A', 'ns', 'dns', '_tcp', 'any', '*']
const HOSTS = [
  '10.0.0.1',
  '10.0.0.2',
  'fd00::1',
  '::ffff:10.0.0.3',
  '',
  'www.example.net',
  'nothere.example',
  'a b',
  'a..b',
  '.',
  'A.SKYDNS.TEST'
]
const VALUES = ['', '{', 'null', '[]', '{"host":5}', '{"port":99999}']
const TYPES = ['A', 'AAAA', 'TXT', 'CNAME', 'MX', 'SRV', 'NS', 'SOA', 'CAA', 'TYPE65280']
const TREES = 150

let outside: Upstream
beforeAll(async () => {
  outside = await startStandIn()
})
afterAll(() => outside?.stop())

const pick = <T>(list: readonly T[], below: Below): T => list[below(list.length)]!
const path = (below: Below): string[] => Array.from({ length: 1 + below(4) }, () => pick(LABELS, below))
const nameOf = (labels: readonly string[]): string => [...labels.toReversed(), 'skydns', 'test', ''].join('.')

function value(below: Below): unknown {
  if (below(30) === 0) return pick(VALUES, below)
  return {
    host: below(3) === 0 ? nameOf(path(below)) : pick(HOSTS, below),
    ...(below(2) === 0 && { port: below(3) * 80 }),
    ...(below(3) === 0 && { priority: below(3) * 10, weight: pick([0, 1, 100, 65_535], below) }),
    ...(below(4) === 0 && { text: pick(['t', 'back\\slash "', 'x'.repeat(255)], below) }),
    ...(below(4) === 0 && { mail: true }),
    ...(below(3) === 0 && { ttl: pick([0, 1, 60, 2_147_483_647], below) }),
    ...(below(5) === 0 && { targetstrip: below(5) }),
    ...(below(4) === 0 && { group: pick(['one', 'other', ''], below) })
  }
}

test('no answer breaks a rule', { timeout: 120_000 }, async () => {
  const broken: string[] = []
  let answers = 0
  for (let seed = 1; seed <= TREES; seed++) {
    const below = seeded(seed)
    const keys = Array.from({ length: 1 + below(14) }, () => path(below))
    const services = Object.fromEntries(keys.map((key) => [key.join('/'), value(below)]))
    const config = { round_robin: below(2) === 0, ...(below(3) === 0 && { rcache: 100 }), ...(below(3) === 0 && { ttl: 20, min_ttl: 7 }) }
    const server = await startSkyDns({ services, config, random: { below }, flags: [`-nameservers=${outside.address}:${outside.port}`] })
    try {
      for (const asked of [...keys, ...keys.map((key) => key.slice(0, -1)), ...keys.map((key) => [...key, 'x']), path(below)])
        answers += await ask(server, asked, keys, (rule, question) => broken.push(`tree ${seed}: ${question}: ${rule}`))
    } finally {
      await server.stop()
    }
  }
  expect(broken).toEqual([])
  expect(answers).toBeGreaterThan(TREES * TYPES.length)
})

/** Asks for all types of a name; gives how many. */
async function ask(
  server: TestServer,
  asked: readonly string[],
  keys: readonly string[][],
  breaks: (rule: string, question: string) => void
): Promise<number> {
  for (const type of TYPES) {
    const question = `${nameOf(asked)} ${type}`
    const answer = await server.ask(question, { edns: 4096 })
    for (const rule of brokenBy(answer)) breaks(rule, question)
    if (existence(asked, keys) === (answer.rcode === 'NXDOMAIN')) breaks(`${answer.rcode} is wrong`, question)
    const { rcode } = await server.ask(`${question} CH`)
    if (asked.length > 0 && rcode !== 'REFUSED') breaks(`${rcode} in class CH`, question)
  }
  return TYPES.length
}

/** Whether a name has to exist; undefined of a pattern. */
function existence(asked: readonly string[], keys: readonly string[][]): boolean | undefined {
  const labels = asked.map((label) => label.toLowerCase())
  if (labels.includes('*') || labels.includes('any')) return undefined
  return keys.some((key) => labels.every((label, index) => key[index]?.toLowerCase() === label))
}

function* brokenBy({ rcode, answer, authority, additional }: Answer): Generator<string> {
  if (rcode !== 'NOERROR' && rcode !== 'NXDOMAIN') yield rcode
  if (answer.length === 0 && !authority.some((record) => record.includes(' SOA '))) yield 'a denial without SOA'
  const records = answer.map((record) => record.toLowerCase().split(' '))
  const owners = (type: string): (string | undefined)[] => records.filter((record) => record[2] === type).map(([owner]) => owner)
  for (const owner of owners('cname')) if (records.filter((record) => record[0] === owner).length > 1) yield 'a CNAME that is not alone'
  for (const [index, [, , type, target]] of records.entries())
    if (type === 'cname' && records.slice(0, index).some(([owner]) => owner === target)) yield 'a CNAME behind what it leads to'
  for (const section of [answer, additional]) {
    if (new Set(section).size < section.length) yield 'a record twice'
    const ttls = new Map<string, string>()
    for (const [owner = '', ttl = '', type = ''] of section.map((record) => record.toLowerCase().split(' '))) {
      const set = `${owner} ${type}`
      if ((ttls.get(set) ?? ttl) !== ttl) yield `several TTLs of ${set}`
      ttls.set(set, ttl)
    }
  }
}
