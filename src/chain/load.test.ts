import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
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
      'unknown directive "nowhere-near": known are any, bind, bufsize, cache, chaos, debug, errors, etcd, forward, health, loadbalance, log, prometheus, ready, root, stub, whoami. For a plugin from npm: npm install skein-plugin-nowhere-near'
    ],
    ['hosts', 'hosts: CoreDNS has this directive, Skein does not have it yet'],
    ['rewrite', 'rewrite: CoreDNS has this directive, Skein does not have it yet'],
    ['acl', 'acl: CoreDNS has this directive, Skein does not have it yet'],
    ['../../etc', '"../../etc" is no directive: a name has lower-case letters, digits, "-" and "_"'],
    ['/etc/passwd', '"/etc/passwd" is no directive: a name has lower-case letters, digits, "-" and "_"'],
    ['Log', '"Log" is no directive: a name has lower-case letters, digits, "-" and "_"'],
    ['constructor', 'unknown directive "constructor": known are']
  ])('%s', async (name, message) => {
    expect(await problemOf(name)).toContain(`Corefile:7: ${message}`)
  })
})

describe('a package that is no such plugin is an error with file and line', () => {
  test.each<[string, string, object, string]>([
    ['another interface', hello().replace('api: 1', 'api: 9'), {}, 'hello: it speaks plugin interface 9, this Skein speaks 1'],
    ['no interface', hello().replace('api: 1,', ''), {}, 'hello: it speaks plugin interface undefined, this Skein speaks 1'],
    ['another name', hello('other'), {}, 'hello: its package does not export a plugin named hello by default'],
    ['no default export', 'export const setup = 1', {}, 'hello: its package does not export a plugin named hello by default'],
    ['a default export that is null', 'export default null', {}, 'hello: its package does not export a plugin named hello by default'],
    ['no setup', `export default { name: 'hello', api: 1 }`, {}, 'hello: its package does not export a plugin named hello by default'],
    ['a class that is none', hello('hello', `classes: ['in'],`), {}, 'hello: it asks for questions of class "in", which is none'],
    [
      'an import that is missing',
      `import 'no-such-package'\n${hello()}`,
      {},
      `hello: skein-plugin-hello cannot be loaded: Cannot find package 'no-such-package'`
    ],
    ['a mistake in its text', 'export default {', {}, 'hello: skein-plugin-hello cannot be loaded: Unexpected end of input'],
    ['a fault while it is read', 'throw new Error("one\\ntwo")', {}, 'hello: skein-plugin-hello cannot be loaded: one two'],
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
    expect(await problemOf(name, folder)).toContain(`Corefile:7: ${message}`)
  })
})

describe('what a plugin sets up is looked at', () => {
  test.each<[string, string]>([
    ['nothing', 'setup() {}'],
    ['a number', 'setup: () => 1'],
    ['a handler that is none', `setup: () => ({ handle: 'no' })`]
  ])('%s is no layer', async (_title, setup) => {
    const folder = installed('hello', `export default { name: 'hello', api: 1, ${setup} }`)
    await expect(serverOf('. {\n  hello\n}', { file: join(folder, 'Corefile') })).rejects.toMatchObject({
      code: 'SKEIN_CONFIG',
      message: `${join(folder, 'Corefile')}:2: hello: its plugin has set up no layer`
    })
  })

  test('a layer of nothing is one', async () => {
    const folder = installed('hello', `export default { name: 'hello', api: 1, setup: async () => ({}) }`)
    const server = await serverOf('. {\n  hello\n}', { file: join(folder, 'Corefile') })
    expect((await server.ask('example.org. A')).rcode).toBe('REFUSED')
    await server.stop()
  })
})
