/** Octets of requests and of cached answers are used again: nobody may see others' in them. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, expect, test } from 'vitest'
import { serverOf, type TestServer } from '../src/testing.js'

const folder = mkdtempSync(join(tmpdir(), 'skein-in-place-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
let server: TestServer | undefined
afterEach(async () => {
  await server?.stop()
  server = undefined
})

/** Installs a plugin of this layer; `seen` is a list that the test reads. */
function install(name: string, order: string, layer: string): void {
  const at = join(folder, 'node_modules', `skein-plugin-${name}`)
  mkdirSync(at, { recursive: true })
  writeFileSync(join(at, 'package.json'), '{"type":"module","exports":"./index.js"}')
  writeFileSync(
    join(at, 'index.js'),
    `export default { name: '${name}', api: 1, order: ${order}, setup: () => { const seen = (globalThis.skeinSeen ??= []); return ${layer} } }`
  )
}

const seen = (): string[] => (globalThis as unknown as { skeinSeen: string[] }).skeinSeen

/** Asks for two names, each answered synchronously, and twice, so that the cache has them; gives what was seen in the end. */
async function seenOf(name: string): Promise<string[]> {
  seen()?.splice(0)
  server = await serverOf(`. {\n  ${name}\n  cache\n  template-a\n}`, { file: join(folder, 'Corefile') })
  for (const qname of ['first.example.', 'SECOND.example.', 'first.example.', 'second.example.']) {
    await server.ask(`${qname} A`, { edns: 1232, client: { address: qname.startsWith('f') ? '192.0.2.1' : '192.0.2.2' } })
  }
  return seen()
}

install(
  'template-a',
  "{ before: 'forward' }",
  `{ handle: (query) => query.reply({ answer: [1, 2].map((n) => ({ owner: query.qname, type: 'A', ttl: 60, rdata: '192.0.2.' + (query.qname.length + n) })) }) }`
)
const told = `(query, reply) => [query.question.name, query.client.address, query.edns.size].join(' ') + ': ' +
  reply.answer.map(({ owner, rdata }) => owner + ' ' + rdata)`
const expected = [
  'first.example. 192.0.2.1 1232: first.example. 192.0.2.15,first.example. 192.0.2.16',
  'SECOND.example. 192.0.2.2 1232: second.example. 192.0.2.16,second.example. 192.0.2.17',
  'first.example. 192.0.2.1 1232: first.example. 192.0.2.15,first.example. 192.0.2.16',
  'second.example. 192.0.2.2 1232: second.example. 192.0.2.16,second.example. 192.0.2.17'
]

test.each<[string, string]>([
  [
    'a query and a cached answer after the reply was sent',
    `{ handle(query, next) { const reply = next(query); setTimeout(() => seen.push((${told})(query, reply)), 20); return reply } }`
  ],
  ['a query and an answer that it observed', `{ observe(query, { reply }) { setTimeout(() => seen.push((${told})(query, reply)), 20) } }`],
  [
    'a query that it derived another from',
    `{ handle(query, next) { const reply = next(query.with({ zone: '.' })); setTimeout(() => seen.push((${told})(query.with({}), reply)), 20); return reply } }`
  ]
])('a plugin that knows nothing of it can read %s', async (title, layer) => {
  const name = `late-${title.length}`
  install(name, "{ before: 'cache' }", layer)
  await seenOf(name)
  await expect.poll(() => seen(), { timeout: 5000 }).toHaveLength(4)
  expect([...seen()].sort()).toEqual([...expected].sort())
})

test('a layer that works in place and awaits can read the cached answer it awaited, whatever is cached meanwhile', async () => {
  install(
    'awaits',
    "{ before: 'cache' }",
    `{
      inPlace: true,
      async handle(query, next) {
        await null
        const reply = await next(query)
        if (seen.length === 1 && globalThis.skeinGoOn === undefined) await new Promise((resolve) => { globalThis.skeinGoOn = resolve })
        seen.push(query.qname)
        return reply
      }
    }`
  )
  install(
    'large',
    "{ before: 'forward' }",
    "{ handle: (query) => query.reply({ answer: [{ owner: query.qname, type: 'TXT', ttl: 60, rdata: Array(240).fill(query.qname[0].repeat(250)) }] }) }"
  )
  seen()?.splice(0)
  server = await serverOf('. {\n  awaits\n  cache {\n    success 64\n  }\n  large\n}', { file: join(folder, 'Corefile') })
  const ask = (name: string) => server!.ask(`${name} TXT`, { client: { transport: 'tcp' } })
  await ask('first.example.')
  const again = ask('first.example.')
  // Some of the other answers come to stand where the first one was.
  for (let i = 0; i < 1200; i++) await server.ask(`x${i}.example. TXT`)
  ;(globalThis as unknown as { skeinGoOn: () => void }).skeinGoOn()
  expect((await again).answer).toEqual([`first.example. 60 TXT${` "${'f'.repeat(250)}"`.repeat(240)}`])
})
