import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Answer, serverOf, type TestOptions } from 'skein/testing'
import { afterAll, describe, expect, test } from 'vitest'

const folder = mkdtempSync(join(tmpdir(), 'skein-roundrobin-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const file = join(folder, 'Corefile')

let installed = 0

/** Installs a plugin whose handler is this text; gives its directive. */
function plugin(handle: string, order = ''): string {
  const name = `fake-${++installed}`
  const at = join(folder, 'node_modules', `skein-plugin-${name}`)
  mkdirSync(at, { recursive: true })
  writeFileSync(join(at, 'package.json'), JSON.stringify({ type: 'module', exports: './index.js' }))
  writeFileSync(join(at, 'index.js'), `let held\nexport default { name: '${name}', api: 1, ${order} setup: () => ({ handle: ${handle} }) }`)
  return name
}

/** A record as it stands in a test: `owner TYPE rdata`. */
function record(text: string): object {
  const [owner, type, ...rdata] = text.split(' ')
  if (type === 'MX') return { owner, type, ttl: 60, rdata: { preference: Number(rdata[0]), exchange: rdata[1] } }
  if (type === 'RRSIG') return { owner, type, ttl: 60, rdata: 'octets' }
  return { owner, type, ttl: 60, rdata: rdata[0] }
}

/** A handler that gives one and the same reply to every query; to change it would throw. */
function holding(sections: Readonly<Record<string, readonly string[]>>): string {
  const parts = Object.entries(sections).map(([name, records]) => [name, records.map(record)])
  const text = JSON.stringify(Object.fromEntries(parts)).replaceAll(
    '"octets"',
    `Uint8Array.from({ length: 24 }, (_, i) => i === 18 ? 0 : 1)`
  )
  const frozen = `Object.fromEntries(Object.entries(${text}).map(([name, all]) => [name, Object.freeze(all.map(Object.freeze))]))`
  return `(query) => held ??= query.reply(${frozen})`
}

/** The replies to so many queries, one after the other. */
async function replies(handle: string, times = 1, options: TestOptions = {}): Promise<Answer[]> {
  const server = await serverOf(`. {\n  loadbalance\n  ${plugin(handle)}\n}`, { file, ...options })
  const answers: Answer[] = []
  for (let i = 0; i < times; i++) answers.push(await server.ask('www.example. A'))
  await server.stop()
  expect(server.log.lines).toEqual([])
  return answers
}

/** `owner TYPE rdata` of each, in lower case: names that are compressed take the case of those before. */
function short(records: readonly string[]): string[] {
  return records.map((text) => lowerOwner(text.replace(/ \d+ /, ' ').replace(/^(\S+ RRSIG) .*/, '$1')))
}

function lowerOwner(text: string): string {
  return text.replace(/^\S+/, (owner) => owner.toLowerCase())
}

/** Exchanges each with the first: a b c becomes b c a. */
const first = { random: { below: () => 0 } }

describe('addresses change places with each other alone', () => {
  test.each<[string, readonly string[], readonly string[]]>([
    ['of one name', ['a. A 1.1.1.1', 'a. A 2.2.2.2', 'a. A 3.3.3.3'], ['a. A 2.2.2.2', 'a. A 3.3.3.3', 'a. A 1.1.1.1']],
    ['of IPv6', ['a. AAAA ::1', 'a. AAAA ::2'], ['a. AAAA ::2', 'a. AAAA ::1']],
    ['whatever the case of their owner', ['a. A 1.1.1.1', 'A. A 2.2.2.2'], ['a. A 2.2.2.2', 'a. A 1.1.1.1']],
    [
      'behind a chain',
      ['a. CNAME b.', 'b. CNAME c.', 'c. A 1.1.1.1', 'c. A 2.2.2.2'],
      ['a. CNAME b.', 'b. CNAME c.', 'c. A 2.2.2.2', 'c. A 1.1.1.1']
    ],
    [
      'in a chain that stands in disorder',
      ['c. A 1.1.1.1', 'b. CNAME c.', 'c. A 2.2.2.2', 'a. CNAME b.'],
      ['c. A 2.2.2.2', 'b. CNAME c.', 'c. A 1.1.1.1', 'a. CNAME b.']
    ],
    [
      'each set for itself',
      ['a. A 1.1.1.1', 'b. A 2.2.2.2', 'a. AAAA ::1', 'a. A 3.3.3.3', 'b. A 4.4.4.4', 'a. AAAA ::2'],
      ['a. A 3.3.3.3', 'b. A 4.4.4.4', 'a. AAAA ::2', 'a. A 1.1.1.1', 'b. A 2.2.2.2', 'a. AAAA ::1']
    ],
    [
      'around a signature',
      ['a. A 1.1.1.1', 'a. RRSIG', 'a. A 2.2.2.2', 'a. RRSIG'],
      ['a. A 2.2.2.2', 'a. RRSIG', 'a. A 1.1.1.1', 'a. RRSIG']
    ],
    ['and no MX', ['a. MX 1 b.', 'a. MX 2 c.', 'a. MX 3 d.'], ['a. MX 1 b.', 'a. MX 2 c.', 'a. MX 3 d.']],
    ['and no name', ['a. NS b.', 'a. NS c.'], ['a. NS b.', 'a. NS c.']],
    ['and not one alone', ['a. CNAME b.', 'b. A 1.1.1.1'], ['a. CNAME b.', 'b. A 1.1.1.1']],
    ['and not nothing', [], []]
  ])('%s', async (_title, records, expected) => {
    const [{ answer, additional, authority }] = (await replies(
      holding({ answer: records, additional: records, authority: records }),
      1,
      first
    )) as [Answer]
    expect(short(answer)).toEqual(expected)
    expect(short(additional)).toEqual(expected)
    expect(short(authority)).toEqual(records.map(lowerOwner))
  })
})

describe('the reply that is handed on stays as it is', () => {
  test('when it was made here', async () => {
    // Frozen: to change it would be SERVFAIL. Each reply begins with the same order.
    const handle = holding({ answer: ['a. A 1.1.1.1', 'a. A 2.2.2.2', 'a. A 3.3.3.3'] })
    const orders = (await replies(handle, 4, first)).map(({ answer }) => short(answer).join())
    expect(new Set(orders)).toEqual(new Set(['a. A 2.2.2.2,a. A 3.3.3.3,a. A 1.1.1.1']))
  })

  test('when it was received, and what else it says too', async () => {
    const question = Buffer.from('\x03www\x07example\x00\x00\x01\x00\x01', 'latin1')
    const address = (last: number) => Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, last, 0, 4, 192, 0, 2, last])
    const cname = Buffer.from([0xc0, 12, 0, 5, 0, 1, 0, 0, 0, 9, 0, 2, 0xc0, 16])
    const opt = Buffer.from([0, 0, 41, 4, 0, 0, 0, 0, 0, 0, 0])
    const header = Buffer.from([0, 0, 0x85, 0x80, 0, 1, 0, 3, 0, 0, 0, 1])
    const octets = Buffer.concat([header, question, cname, address(1), address(2), opt]).toString('base64')
    const handle = `(query) => held ??= query.received(Uint8Array.from(Buffer.from('${octets}', 'base64')))`
    for (const { answer, flags, rcode } of await replies(handle, 3, first)) {
      expect({ answer, flags, rcode }).toEqual({
        answer: ['www.example. 9 CNAME example.', 'www.example. 2 A 192.0.2.2', 'www.example. 1 A 192.0.2.1'],
        flags: 'aa rd ra',
        rcode: 'NOERROR'
      })
    }
  })

  test.each([
    ['the reply itself goes on where there is nothing to shuffle', ['a. CNAME b.', 'b. A 1.1.1.1', 'b. AAAA ::1'], true],
    ['and a new one where there is', ['b. A 1.1.1.1', 'b. A 2.2.2.2'], false]
  ])('%s', async (_title, answer, isSame) => {
    const outer = plugin(
      '(query, next) => { const reply = next(query); const again = next(query); return reply === again ? reply : query.fail("YXDOMAIN", "new") }',
      'order: { before: "loadbalance" },'
    )
    // `outer` stands before `loadbalance`: what it gets twice is one reply where nothing was made anew.
    const server = await serverOf(`. {\n  loadbalance\n  ${plugin(holding({ answer }))}\n  ${outer}\n}`, { file })
    expect((await server.ask('www.example. A')).rcode).toBe(isSame ? 'NOERROR' : 'YXDOMAIN')
    await server.stop()
  })
})

describe('the order is random', () => {
  test('and each comes first about as often', async () => {
    const handle = holding({ answer: ['a. CNAME b.', 'b. A 1.1.1.1', 'b. A 2.2.2.2', 'b. A 3.3.3.3'] })
    const counts = new Map<string, number>()
    for (const { answer } of await replies(handle, 3000)) {
      const order = short(answer)
      expect(order[0]).toBe('a. CNAME b.')
      counts.set(order.join(), (counts.get(order.join()) ?? 0) + 1)
    }
    expect(counts.size).toBe(6)
    // 500 expected, with a deviation of 20 or so.
    for (const count of counts.values()) expect(Math.abs(count - 500)).toBeLessThan(150)
  })

  test('as large as a reply may be', async () => {
    const many = Array.from({ length: 200 }, (_, i) => `a. A 10.0.0.${i}`)
    const server = await serverOf(`. {\n  loadbalance\n  ${plugin(holding({ answer: many }))}\n}`, { file })
    const { answer } = await server.ask('www.example. A', { client: { transport: 'tcp' } })
    expect(short(answer)).not.toEqual(many)
    expect(short(answer).toSorted()).toEqual(many.toSorted())
    await server.stop()
  })
})

describe('what is no answer goes on', () => {
  test('a reply that comes later', async () => {
    const handle = holding({ answer: ['a. A 1.1.1.1', 'a. A 2.2.2.2'] }).replace('(query) =>', 'async (query) =>')
    const [{ answer }] = (await replies(handle, 1, first)) as [Answer]
    expect(short(answer)).toEqual(['a. A 2.2.2.2', 'a. A 1.1.1.1'])
  })

  test.each([
    ['a drop', '() => Symbol.for("skein.drop")'],
    ['a drop that comes later', 'async () => Symbol.for("skein.drop")']
  ])('%s', async (_title, handle) => {
    await expect(replies(handle)).rejects.toThrow('no reply')
  })

  test.each([
    ['nothing', '() => {}'],
    ['what is no reply', '() => ({})'],
    ['a throw', '() => { throw new Error("boom") }']
  ])('%s is SERVFAIL', async (_title, handle) => {
    const server = await serverOf(`. {\n  loadbalance\n  errors\n  ${plugin(handle)}\n}`, { file })
    expect((await server.ask('www.example. A')).rcode).toBe('SERVFAIL')
    await server.stop()
  })
})

describe('a wrong line is an error with file and line', () => {
  test.each([
    ['loadbalance random', 'Corefile:2: loadbalance: expected round_robin (weighted is not supported yet), not "random"'],
    ['loadbalance weighted ./weights', 'Corefile:2: loadbalance: expected round_robin (weighted is not supported yet), not "weighted"'],
    ['loadbalance round_robin ./weights', 'Corefile:2: loadbalance: expected at most 1 argument, not "./weights"'],
    ['loadbalance {\n    prefer 10.0.0.0/8\n  }', 'Corefile:3: loadbalance: prefer: is not supported yet, expected the line left out'],
    ['loadbalance\n  loadbalance', 'Corefile:3: loadbalance: may stand only once in a server block, and stands in line 2 already']
  ])('%j', async (line, message) => {
    await expect(serverOf(`. {\n  ${line}\n}`)).rejects.toMatchObject({ code: 'SKEIN_CONFIG', message })
  })

  test.each(['loadbalance', 'loadbalance round_robin', 'loadbalance {\n}'])('and %j is none', async (line) => {
    await (await serverOf(`. {\n  ${line}\n}`)).stop()
  })
})
