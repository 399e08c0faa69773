import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type AskOptions, MemoryStore, serverOf, type TestOptions, type TestServer } from 'skein/testing'
import { afterAll, afterEach, describe, expect, test } from 'vitest'

const folder = mkdtempSync(join(tmpdir(), 'skein-roundrobin-cached-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const file = join(folder, 'Corefile')
const servers: TestServer[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop()
})

/** A plugin at the end of the chain that says three addresses behind a CNAME, signed, and counts how often it was asked. */
function install(name: string, handle: string): void {
  const at = join(folder, 'node_modules', `skein-plugin-${name}`)
  mkdirSync(at, { recursive: true })
  writeFileSync(join(at, 'package.json'), '{"type":"module","exports":"./index.js"}')
  writeFileSync(
    join(at, 'index.js'),
    `const asked = (globalThis.skeinAsked ??= { times: 0 })
    const record = (owner, type, rdata) => ({ owner, type, ttl: 60, rdata })
    // It ends in 2038, and the root has signed it.
    const fields = { 8: 0x7f, 18: 0 }
    const signature = (owner, last) => record(owner, 'RRSIG', Uint8Array.from({ length: 24 }, (_, i) => (i === 23 ? last : (fields[i] ?? 1))))
    export default { name: '${name}', api: 1, setup: () => ({ handle: ${handle} }) }`
  )
}

install(
  'made',
  `(query) => {
    asked.times++
    const addresses = ['192.0.2.1', '192.0.2.2', '192.0.2.3'].map((text) => record('b.', 'A', text))
    const answer = [record(query.qname, 'CNAME', 'b.'), signature(query.qname, 5), ...addresses, signature('b.', 1), signature('b.', 2)]
    return query.reply({ answer, additional: ['::1', '::2', '::3'].map((text) => record('c.', 'AAAA', text)) })
  }`
)
install(
  'received',
  `(query) => {
    asked.times++
    const answers = [1, 2, 3].map((last) => Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, last]))
    const octets = Buffer.concat([query.octets(0), ...answers])
    octets.writeUInt16BE(0x8180, 2)
    octets.writeUInt16BE(3, 6)
    return query.received(octets)
  }`
)
const asked = (): { times: number } => ((globalThis as { skeinAsked?: { times: number } }).skeinAsked ??= { times: 0 })

async function started(plugin: string, options: TestOptions = {}): Promise<TestServer> {
  asked().times = 0
  const server = await serverOf(`. {\n  loadbalance\n  cache\n  ${plugin}\n}`, { file, ...options })
  servers.push(server)
  return server
}

/** The sections as lists of the last word of each record, so many times. */
async function orders(server: TestServer, times: number, question: string, options: AskOptions): Promise<string[]> {
  const lists: string[] = []
  for (let i = 0; i < times; i++) {
    const { answer, additional } = await server.ask(question, options)
    lists.push([...answer, ...additional].map((text) => text.split(' ').at(-1)).join(' '))
  }
  return lists
}

/** The same with the addresses in order: what stays as it is. */
const sorted = (list: string): string => {
  const addresses = list
    .split(' ')
    .filter((word) => /^192\.|^::/.test(word))
    .toSorted()
  return list.replace(/(?<!\S)(?:192\.|::)\S+/g, () => addresses.shift()!)
}

describe('an answer of the cache is shuffled anew each time', () => {
  test.each<[string, AskOptions]>([
    ['made', {}],
    ['made', { dnssecOk: true }],
    ['received', {}]
  ])('whether it was made or received: %s, %j', async (plugin, options) => {
    const lists = await orders(await started(plugin), 60, 'a. A', options)
    expect(asked().times).toBe(1)
    // Each of the six orders is missing once in 50000 runs or so; half of them hardly ever.
    expect(new Set(lists).size).toBeGreaterThan(3)
    // Aliases and signatures stay in their places, and nobody is lost.
    expect(new Set(lists.map(sorted)).size).toBe(1)
  })

  test('an answer of the store, too', async () => {
    const services = MemoryStore.of(
      Object.fromEntries([1, 2, 3].map((last) => [`/skydns/local/skydns/web/${last}`, { host: `192.0.2.${last}` }]))
    )
    const server = await started('log "{common} {why}"\n  etcd skydns.local {\n    store\n    api off\n  }', { services })
    const lists = await orders(server, 60, 'web.skydns.local. A', {})
    expect(server.log.lines.filter((line) => line.endsWith(' cached'))).toHaveLength(59)
    expect(new Set(lists).size).toBeGreaterThan(3)
  })
})

test.each(['made', 'received'])('and the copy that is kept stays as it came: %s', async (plugin) => {
  // Each exchange is with the first: a copy that were changed would turn on with each answer.
  const lists = await orders(await started(plugin, { random: { below: () => 0 } }), 10, 'a. A', {})
  expect(new Set(lists).size).toBe(1)
  expect(lists[0]).toMatch(/192\.0\.2\.2 192\.0\.2\.3 192\.0\.2\.1/)
})
