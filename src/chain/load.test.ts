import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { type ConfigError, Directive } from '../corefile/directive.js'
import { serverOf } from '../testing.js'
import { loadPlugin } from './load.js'
import { BUILT_IN, directiveName, STANDARD_ORDER } from './order.js'

const made: string[] = []
afterAll(() => {
  for (const folder of made) rmSync(folder, { recursive: true, force: true })
})

/** A folder with, as npm would install it, the package skein-plugin-NAME. */
function installed(name: string, source: string, manifest: object = {}): string {
  const folder = mkdtempSync(join(tmpdir(), 'skein-load-'))
  made.push(folder)
  const at = join(folder, 'node_modules', `skein-plugin-${name}`)
  mkdirSync(at, { recursive: true })
  writeFileSync(
    join(at, 'package.json'),
    JSON.stringify({ name: `skein-plugin-${name}`, type: 'module', exports: './index.js', ...manifest })
  )
  writeFileSync(join(at, 'index.js'), source)
  return folder
}

const directive = (name: string): Directive => new Directive(name, [], { file: 'Corefile', line: 7, column: 3 }, ['.'])

const hello = (name = 'hello', more = ''): string => `export default { name: '${name}', api: 1, ${more}
  schema: { about: '', args: [{ name: 'WHO', type: 'text' }] },
  setup: ({ args }) => ({
  handle: (query) => query.reply({ answer: [{ owner: query.qname, type: 'TXT', ttl: 0, rdata: ['hello ' + args[0]] }] })
}) }`

async function problemOf(name: string, folder = tmpdir()): Promise<string> {
  try {
    await loadPlugin(directive(name), folder)
  } catch (error) {
    expect((error as ConfigError).code).toBe('SKEIN_CONFIG')
    return (error as Error).message
  }
  throw new Error('it was loaded')
}

describe('a plugin is loaded by the name of its directive', () => {
  test('from a package next to the Corefile, without a rebuild', async () => {
    const folder = installed('hello', hello())
    const server = await serverOf('. {\n  hello reader\n}', { file: join(folder, 'Corefile') })
    expect((await server.ask('example.org. TXT')).answer).toEqual(['example.org. 0 TXT "hello reader"'])
    await server.stop()
  })

  test.each(BUILT_IN)('and the built-in %s the same way', async (name) => {
    expect((await loadPlugin(directive(directiveName(name)), tmpdir())).plugin.name).toBe(name)
  })

  test('with an exports map that has `default`', async () => {
    const folder = installed('hello', hello(), { exports: { '.': { default: './index.js' } } })
    expect((await loadPlugin(directive('hello'), folder)).plugin.name).toBe('hello')
  })

  test('also where CoreDNS has a directive that Skein has yet to get', async () => {
    expect((await loadPlugin(directive('rewrite'), installed('rewrite', hello('rewrite')))).plugin.name).toBe('rewrite')
  })

  test('and every built-in one has its place in the order', () => {
    expect(BUILT_IN.filter((name) => !STANDARD_ORDER.includes(name))).toEqual([])
    expect(new Set(STANDARD_ORDER).size).toBe(STANDARD_ORDER.length)
  })
})

describe('a directive that nobody has is an error that helps', () => {
  test.each<[string, string]>([
    ['lgo', 'unknown directive "lgo": did you mean log?'],
    ['etcd-backend', 'unknown directive "etcd-backend": did you mean etcd?'],
    [
      'nowhere-near',
      `unknown directive "nowhere-near": known are ${BUILT_IN.map(directiveName).sort().join(', ')}. For a plugin from npm: npm install skein-plugin-nowhere-near`
    ],
    ['hosts', 'hosts: CoreDNS has this directive, Skein does not have it yet'],
    ['rewrite', 'rewrite: CoreDNS has this directive, Skein does not have it yet'],
    ['acl', 'acl: CoreDNS has this directive, Skein does not have it yet'],
    ['pprof', 'pprof: Skein does not have this directive of CoreDNS: Node has a profiler of its own, see docs/profiling.md'],
    ['../../etc', '"../../etc" is no directive: a name has lower-case letters, digits, "-" and "_"'],
    ['/etc/passwd', '"/etc/passwd" is no directive: a name has lower-case letters, digits, "-" and "_"'],
    ['Log', 'unknown directive "Log": did you mean log?'],
    ['Etcd-Backend-2', '"Etcd-Backend-2" is no directive: a name has lower-case letters, digits, "-" and "_"'],
    ['oder', 'unknown directive "oder": did you mean order?'],
    ['import', 'import: takes in a file or a snippet, in a Corefile; it is no plugin'],
    ['constructor', 'unknown directive "constructor": known are']
  ])('%s', async (name, message) => {
    expect(await problemOf(name)).toContain(`Corefile:7: ${message}`)
  })
})

describe('a package that is no such plugin is an error with file and line', () => {
  test.each<[string, string, object, string]>([
    ['another interface', hello().replace('api: 1', 'api: 9'), {}, 'hello: it speaks plugin interface 9, this Skein speaks 1'],
    ['no default export', 'export const setup = 1', {}, 'hello: it has no default export, found the named setup, expected a plugin: '],
    [
      'an import that is missing',
      `import 'no-such-package'\n${hello()}`,
      {},
      `hello: skein-plugin-hello cannot be loaded: Cannot find package 'no-such-package'`
    ],
    [
      'a mistake in its text',
      'export default {',
      {},
      'hello: skein-plugin-hello cannot be loaded: Unexpected end of input (node --check /'
    ],
    [
      'one in CommonJS',
      '\nmodule.exports = { x: foo bar }',
      { type: 'commonjs' },
      "hello: skein-plugin-hello cannot be loaded: Unexpected identifier 'bar' (at index.js:2)"
    ],
    ['nothing to import', '', { exports: undefined, main: undefined }, 'hello: there is nothing to import in /'],
    [
      'an import that another of its files has not',
      "\nimport { nope } from './package.json' with { type: 'json' }",
      {},
      "does not provide an export named 'nope' (at index.js:2)"
    ],
    [
      'a fault while it is read',
      '\n\nthrow new Error("one\\ntwo\\u001b[31m")',
      {},
      'hello: skein-plugin-hello cannot be loaded: one two [31m (at index.js:3)'
    ],
    [
      'something thrown that has no text',
      'throw Object.create(null)',
      {},
      'hello: skein-plugin-hello cannot be loaded: something without a text'
    ],
    ['nothing thrown', 'throw null', {}, 'hello: skein-plugin-hello cannot be loaded: null'],
    ['exports that are not there', hello(), { exports: './gone.js' }, 'hello: skein-plugin-hello cannot be loaded: Cannot find module'],
    [
      'an exports map for `import` alone',
      hello(),
      { exports: { '.': { import: './index.js' } } },
      'hello: skein-plugin-hello cannot be loaded: the `exports` of its package.json must be a path, or have `default`'
    ],
    [
      'a main file that is not there',
      hello(),
      { exports: undefined, main: './gone.js', type: 'commonjs' },
      'hello: skein-plugin-hello cannot be loaded: Cannot find module'
    ]
  ])('%s', async (_title, source, manifest, message) => {
    const name = 'hello'
    const folder = installed(name, source, manifest)
    if ('main' in manifest) rmSync(join(folder, 'node_modules', 'skein-plugin-hello', 'index.js'))
    expect(await problemOf(name, folder)).toMatch(/^Corefile:7: /)
    expect(await problemOf(name, folder)).toContain(message)
  })
})

describe('a slip of a directive is told from one that nobody has', () => {
  const folder = installed('greeting', hello('greeting'))
  const mine = { plugin: { name: 'mine', api: 1, setup: () => ({}) } } as const

  test.each<[string, string]>([
    ['greting', 'unknown directive "greting": did you mean greeting?'],
    ['Greeting', 'unknown directive "Greeting": did you mean greeting?'],
    ['mien', 'unknown directive "mien": did you mean mine?']
  ])('%s, among what is installed and named', async (name, problem) => {
    await expect(loadPlugin(directive(name), folder, new Map([['mine', mine]]))).rejects.toThrow(`Corefile:7: ${problem}`)
  })
})

describe('whatever a plugin throws while it is set up is an error at its line', () => {
  test.each<[string, string]>([
    ["throw new Error('boom')", 'its plugin failed to set up: boom (at index.js:2)'],
    ["throw Object.assign(new Error('boom'), { code: 'SKEIN_BOOM' })", 'its plugin failed to set up: boom (at index.js:2)'],
    ["throw new Error('one\\ntwo\\u001b[31m')", 'its plugin failed to set up: one two [31m (at index.js:2)'],
    ["await null; throw new TypeError('late')", 'its plugin failed to set up: late (at index.js:2)'],
    ['undefined.x', "its plugin failed to set up: Cannot read properties of undefined (reading 'x') (at index.js:2)"],
    ['new URL("nonsense")', 'its plugin failed to set up: Invalid URL (at index.js:2)'],
    ['throw Object.create(null)', 'its plugin failed to set up: something without a text'],
    ["throw 'a text'", 'its plugin failed to set up: a text'],
    ['throw undefined', 'its plugin failed to set up: undefined'],
    ['throw new Proxy({}, { getPrototypeOf() { throw 1 } })', 'its plugin failed to set up: something without a text'],
    ["config.fail('one\\ntwo')", 'one two']
  ])('%s', async (body, problem) => {
    const folder = installed('hello', `export default { name: 'hello', api: 1, async setup(config) {\n${body} } }`)
    const file = join(folder, 'Corefile')
    await expect(serverOf('. {\n  hello\n}', { file })).rejects.toMatchObject({
      code: 'SKEIN_CONFIG',
      message: `${file}:2: hello: ${problem}`
    })
  })

  test('as is that it never comes to an end', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    onTestFinished(() => void vi.useRealTimers())
    const waits = new Promise<void>((resolve) => Object.assign(globalThis, { skeinSetUp: resolve }))
    const setup = 'setup: () => { globalThis.skeinSetUp(); return new Promise(() => {}) }'
    const folder = installed('hello', `export default { name: 'hello', api: 1, ${setup} }`)
    const refused = expect(serverOf('. {\n  hello\n}', { file: join(folder, 'Corefile') })).rejects.toThrow(
      'Corefile:2: hello: its plugin failed to set up: it has not within 60 s, and is not waited for'
    )
    await waits
    await vi.advanceTimersByTimeAsync(60_000)
    await refused
  })

  test('which names a file of its package, and none of another', async () => {
    const folder = installed(
      'hello',
      "import { parse } from 'other'\nimport { use } from './lib/use.js'\nexport default { name: 'hello', api: 1, setup: () => use(parse) }"
    )
    for (const [path, text] of [
      ['skein-plugin-hello/lib/use.js', '\n\nexport const use = (parse) => parse()'],
      ['other/index.js', "export function parse() { throw new Error('boom') }"],
      ['other/package.json', '{"type":"module","exports":"./index.js"}']
    ] as const) {
      mkdirSync(dirname(join(folder, 'node_modules', path)), { recursive: true })
      writeFileSync(join(folder, 'node_modules', path), text)
    }
    await expect(serverOf('. {\n  hello\n}', { file: join(folder, 'Corefile') })).rejects.toThrow(
      'hello: its plugin failed to set up: boom (at lib/use.js:3)'
    )
  })
})

describe('what a plugin sets up', () => {
  test('may be a layer of nothing', async () => {
    const folder = installed('hello', `export default { name: 'hello', api: 1, setup: async () => ({}) }`)
    const server = await serverOf('. {\n  hello\n}', { file: join(folder, 'Corefile') })
    expect((await server.ask('example.org. A')).rcode).toBe('REFUSED')
    await server.stop()
  })
})
