/** The examples of docs/plugins.md are true: the plugin in JavaScript runs, that in TypeScript compiles, and the schema reads what the page says. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import { parseCorefile } from '../src/corefile/parser.js'
import { readBySchema } from '../src/corefile/read-schema.js'
import type { Schema } from '../src/corefile/schema.js'
import { fakeUpstream, prefixed, replyTo, serverOf } from '../src/testing.js'
import { temporaryFolder } from './processes.js'
import { root } from './rules/source-file.js'

const page = readFileSync(join(root, 'docs/plugins.md'), 'utf8')
const folder = temporaryFolder()
afterAll(() => folder.remove())

/** The first fenced block in a language that holds a text. */
function example(language: string, text: string): string {
  const blocks = [...page.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)]
  const found = blocks.find(([, marked, body]) => marked === language && body?.includes(text))?.[2]
  if (found === undefined) throw new Error(`docs/plugins.md has no block in ${language} with ${text}`)
  return found
}

describe('the plugin of docs/plugins.md', () => {
  const file = join(folder.path, 'Corefile')
  const installed = join(folder.path, 'node_modules/skein-plugin-hello')
  mkdirSync(installed, { recursive: true })
  writeFileSync(join(installed, 'package.json'), '{ "name": "skein-plugin-hello", "type": "module", "exports": "./index.js" }')
  writeFileSync(join(installed, 'index.js'), example('js', '// skein-plugin-hello/index.js'))

  test.each([
    ['hello reader', 'hello reader'],
    ['hello', 'hello world']
  ])('answers with %j in a server block', async (line, greeting) => {
    const server = await serverOf(`. {\n  ${line}\n}`, { file })
    expect(await server.ask('example.org. TXT')).toMatchObject({ flags: 'aa rd', answer: [`example.org. 60 TXT "${greeting}"`] })
    expect((await server.ask('example.org. A')).rcode).toBe('REFUSED')
    expect(server.log.lines[0]).toBe(`[INFO] plugin/hello: greets ${greeting.slice('hello '.length)}`)
    await server.stop()
  })

  test.each([
    ['hello a b', 'hello: expected at most 1 argument, not "b"'],
    ['hello {\n}', 'hello: takes no block in braces']
  ])('is not set up where a line is wrong: %j', async (line, problem) => {
    await expect(serverOf(`. {\n  ${line}\n}`, { file })).rejects.toMatchObject({ message: `${file}:2: ${problem}` })
  })

  test('compiles in TypeScript against what is shipped', () => {
    const project = join(folder.path, 'typed')
    mkdirSync(join(project, 'node_modules/@types'), { recursive: true })
    symlinkSync(root, join(project, 'node_modules/skein'))
    symlinkSync(join(root, 'node_modules/@types/node'), join(project, 'node_modules/@types/node'))
    writeFileSync(join(project, 'package.json'), '{ "type": "module" }')
    writeFileSync(join(project, 'index.ts'), example('ts', 'satisfies Plugin<typeof schema>'))
    const options = { module: 'NodeNext', target: 'ES2023', types: ['node'], strict: true, noEmit: true }
    writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, files: ['index.ts'] }))
    const { stdout, status } = spawnSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', project])
    expect([status, stdout.toString()]).toEqual([0, ''])
  }, 60_000)
})

test('the plugin of docs/plugins.md that asks another server hands on what that says', async () => {
  mkdirSync(join(folder.path, 'node_modules'), { recursive: true })
  symlinkSync(root, join(folder.path, 'node_modules/skein'))
  const asks = `import { askUpstream, readUpstream, upstreamEdns } from 'skein/plugin'
export default { name: 'asks', api: 1, schema: { about: 'Asks.', args: [{ name: 'TO', type: 'text' }] },
setup({ args: [to], fail }, host) {
  const upstream = readUpstream(to, fail)
  return {\n${example('js', 'askUpstream(')}}\n} }`
  writeFileSync(join(folder.path, 'asks.mjs'), asks)
  const fake = await fakeUpstream({
    udp: ({ octets, before }, answer) => answer(replyTo(octets, before === 0 ? {} : { flags: 0x8380, answer: [] })),
    tcp: ({ octets, before }, socket) => (before === 2 ? socket.write(prefixed(replyTo(octets))) : socket.end())
  })
  const server = await serverOf(`. {\nplugin ./asks.mjs\nasks 127.0.0.1:${fake.port}\n}`, { file: join(folder.path, 'Corefile') })
  const told: string[] = []
  for (let i = 0; i < 3; i++) told.push((await server.ask('example.org. A')).rcode)
  expect([told, fake.asked.map(({ transport }) => transport).join(' ')]).toEqual([
    ['NOERROR', 'NOERROR', 'SERVFAIL'],
    'udp udp tcp udp tcp'
  ])
  await server.stop()
  await fake.stop()
})

test('the schema of docs/plugins.md reads its line as the page says', async () => {
  const path = join(folder.path, 'schema.mjs')
  writeFileSync(path, `export default {\n${example('js', 'except: {')}}`)
  const { schema } = ((await import(pathToFileURL(path).href)) as { default: { schema: Schema } }).default
  const [, line = '', block = '', args = '', options = ''] =
    /for `(hello [^{]*)\{ ([^}]*) \}` the `args` are `(.*?)` and the `options` `(.*?)`/.exec(page) ?? []
  const { blocks } = parseCorefile(`. {\n${line}{\n${block}\n}\n}`, 'Corefile')
  const config = readBySchema(blocks[0]!.directives[0]!, schema)
  expect(args).toBe(`['${(config.args as readonly string[]).join("', '")}']`)
  const shown = Object.entries(config.options).map(([name, value]) => `${name}: ${JSON.stringify(value)}`)
  expect(options).toBe(`{ ${shown.join(', ')} }`)
})

test('docs/plugins.md explains every type of value', () => {
  const source = readFileSync(join(root, 'src/corefile/schema.ts'), 'utf8')
  const types = [...source.slice(0, source.indexOf('export type Argument')).matchAll(/readonly type: '(\w+)'/g)].map(([, type]) => type)
  const rows = [...page.matchAll(/^\| `(\w+)` \|(?:[^|\n]*\|){3}$/gm)].map(([, type]) => type)
  expect(types.length).toBeGreaterThan(8)
  expect(rows.toSorted()).toEqual(types.toSorted())
})
