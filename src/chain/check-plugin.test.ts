import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { check } from '../check/check.js'
import { checkSchema } from '../corefile/check-schema.js'
import { Given, problemOf } from '../corefile/given.js'
import { serverOf } from '../testing.js'
import { CHAIN_SCHEMAS } from './said.js'

const folder = mkdtempSync(join(tmpdir(), 'skein-check-plugin-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
let made = 0

/** A folder's Corefile with the package skein-plugin-hello of this source. */
function corefileOf(source: string): string {
  const own = join(folder, String(++made))
  const at = join(own, 'node_modules/skein-plugin-hello')
  mkdirSync(at, { recursive: true })
  writeFileSync(join(at, 'package.json'), '{"type":"module","exports":"./index.js"}')
  writeFileSync(join(at, 'index.js'), source)
  writeFileSync(join(own, 'Corefile'), '. {\n  hello\n  whoami x\n}\n')
  return join(own, 'Corefile')
}

/** What the start says, which has to be what `skein check` says of that line. */
async function problemOfSource(source: string): Promise<string> {
  const conf = corefileOf(source)
  const { findings, instance } = await check({ conf, defaultPort: 53, builtInOnly: false, version: 'Skein-test' })
  const message = await serverOf('. {\n  hello\n}', { file: conf }).then(
    () => 'it has started',
    (error: { code?: unknown; message: string }) => (error.code === 'SKEIN_CONFIG' ? error.message : `no ConfigError: ${error.message}`)
  )
  // The rest of the configuration is checked all the same.
  expect(instance?.blocks).toHaveLength(1)
  expect(findings.map(({ problem }) => problem).at(-1)).toBe('whoami: expected no argument, not "x"')
  expect(message).toBe(`${conf}:2: ${findings[0]?.problem}`)
  return findings[0]!.problem
}

const plugin = (more: string): string => `export default { name: 'hello', api: 1, setup: () => ({}), ${more} }`
const layer = (text: string): string => `export default { name: 'hello', api: 1, setup: () => (${text}) }`

describe('a module that exports no plugin says what it exports', () => {
  test.each<[string, string]>([
    ['export const a = 1, b = 2', 'has no default export, found the named a, b, expected a plugin: an object with name, api and setup'],
    ['', 'has no default export, found none at all, expected a plugin'],
    ['export default null', 'exports null by default, expected a plugin: an object with name, api and setup'],
    ['export default () => ({})', 'exports a function by default, expected a plugin'],
    ['export default undefined', 'exports undefined by default, expected a plugin'],
    [
      "export default { default: { name: 'hello', api: 1, setup() {} } }",
      'exports its plugin as default of its default, expected "type": "module"'
    ],
    ["export default { get name() { throw new Error('one\\ntwo') } }", 'its name cannot be read: one two'],
    ['export default new Proxy({}, { get() { throw undefined } })', 'its name cannot be read: undefined'],
    ['export default new Proxy({}, { getPrototypeOf() { throw undefined } })', 'cannot be read: undefined']
  ])('%s', async (source, problem) => {
    expect(await problemOfSource(source)).toMatch(new RegExp(`^hello: (it )?${problem.replace(/[()[\]{}?.]/g, '\\$&')}`))
  })
})

describe('a mistake in a plugin is told with the way to it', () => {
  test.each<[string, string]>([
    ['{ api: 1, setup() {} }', 'hello: it has no name, expected name: "hello"'],
    ['{ name: 5, api: 1, setup() {} }', 'hello: its name is 5, expected name: "hello"'],
    ["{ name: 'my plug', api: 1, setup() {} }", 'hello: its name is the text "my plug", expected "hello"'],
    ["{ name: 'other', api: 1, setup() {} }", 'hello: it exports a plugin named other, expected hello'],
    ["{ name: 'hello', setup() {} }", 'hello: it has no api, expected api: 1'],
    ["{ name: 'hello', api: '1', setup() {} }", 'hello: its api is the text "1", expected the number 1'],
    ["{ name: 'hello', api: 2, setup() {} }", 'hello: it speaks plugin interface 2, this Skein speaks 1'],
    ["{ name: 'hello', api: 1 }", 'hello: it has no setup, expected a function setup(config, host)'],
    ["{ name: 'hello', api: 1, setup: {} }", 'hello: its setup is an object, expected a function setup(config, host)']
  ])('%s', async (source, problem) => {
    expect(await problemOfSource(`export default ${source}`)).toBe(problem)
  })

  test.each<[string, string]>([
    ["schemas: { about: '' }", 'it has "schemas", which means nothing there: did you mean schema?'],
    ['handle() {}', 'it has "handle", which means nothing there: setup returns it: setup() { return { handle(query, next) {…} } }'],
    ["args: ['NAME']", 'it has "args", which means nothing there: it belongs into its schema'],
    ['schema: null', "its schema is null, expected an object such as { about: '…', args: […], options: {…} }"],
    [
      "schema: { about: '', args: [{ name: 'N', type: 'string' }] }",
      'its schema.args[0].type is the text "string", expected one of text, integer, duration, choice, switch, name, zone, address, path: did you mean text?'
    ],
    ["directives: 'hello'", 'its directives is the text "hello", expected a list of the words that configure it'],
    ['directives: []', 'its directives is an empty list, expected a list of the words that configure it'],
    [
      "directives: ['hello', 'Two Words']",
      'its directives[1] is the text "Two Words", expected a lower-case letter, then lower-case letters, digits, "-" and "_"'
    ],
    ["directives: ['hello', 1]", 'its directives[1] is 1, expected a word'],
    ["directives: ['other']", 'its plugin hello is configured by other'],
    ["classes: 'CH'", "its classes is the text \"CH\", expected a list such as ['CH'] or ['*']"],
    ['classes: []', "its classes is an empty list, expected a list such as ['CH'] or ['*']"],
    ["classes: ['in']", 'it asks for questions of class "in", which is none: did you mean IN?'],
    ['classes: [1]', 'its classes[0] is 1, expected the name of a class such as IN or CH, or *'],
    ["order: 'before cache'", 'its order is the text "before cache", expected { before: NAME } or { after: NAME }'],
    ["order: { befor: 'cache' }", 'its order has "befor", which means nothing there: did you mean before?'],
    ["order: { before: 'cache', after: 'log' }", 'its order has both before and after, expected { before: NAME } or { after: NAME }'],
    ['order: {}', 'its order is empty, expected { before: NAME } or { after: NAME }'],
    ["order: { before: 'cahce' }", 'it asks to stand before "cahce", which is no built-in plugin: did you mean cache?'],
    [
      "order: { after: 'somewhere-else' }",
      'it asks to stand after "somewhere-else", which is no built-in plugin, expected one such as cache or forward'
    ],
    ['order: { after: 1 }', 'its order.after is 1, expected the name of a built-in plugin, such as cache'],
    ["repeatable: 'yes'", 'its repeatable is the text "yes", expected true or false'],
    ["facts: { name: 'x' }", "its facts is an object, expected a list of facts, such as [fact('hello/name')]"],
    ["facts: ['x']", 'its facts[0] is the text "x", expected a fact such as fact(\'hello/name\')']
  ])('%s', async (more, problem) => {
    expect(await problemOfSource(plugin(more))).toBe(`hello: ${problem}`)
  })
})

describe('what a plugin sets up is looked at when it is loaded', () => {
  test.each<[string, string]>([
    ['undefined', 'its setup returned undefined, expected { handle(query, next) }'],
    ['null', 'its setup returned null, expected { handle(query, next) }'],
    ['1', 'its setup returned 1, expected { handle(query, next) }'],
    ['(query) => query', 'its setup returned a function, expected { handle(query, next) }'],
    ['[{ handle() {} }]', 'its setup returned a list, expected { handle(query, next) }'],
    ["{ handle: 'no' }", 'its handle is the text "no", expected a function'],
    ['{ handle: null }', 'its handle is null, expected a function'],
    ['{ observe: {} }', 'its observe is an object, expected a function'],
    ['{ start: true }', 'its start is true, expected a function'],
    ['{ ready: true }', 'its ready is true, expected a function'],
    ['{ verify: 1 }', 'its verify is 1, expected a function'],
    ['{ refreshed: 1 }', 'its refreshed is 1, expected a function'],
    ['{ stop: 1 }', 'its stop is 1, expected a function'],
    ['{ handel() {} }', 'it set up a layer with handel and nothing that is asked for: did you mean handle?'],
    ["{ tellsErrors: 'yes' }", 'its tellsErrors is the text "yes", expected true or false'],
    ["{ reach: '.' }", 'its reach is the text ".", expected an object such as { zones, ends, asks }'],
    ["{ reach: { end: ['.'] } }", 'its reach has "end", which means nothing there: did you mean ends?'],
    ["{ reach: { ends: '.' } }", 'its reach.ends is the text ".", expected a list of zones'],
    [
      "{ reach: { ends: ['Example.org'] } }",
      'its reach.ends[0] is the text "Example.org", expected a canonical name such as "example.org."'
    ],
    ['{ reach: { zones: [1] } }', 'its reach.zones[0] is 1, expected a canonical name such as "example.org."'],
    ['{ reach: { zones: [] } }', 'its reach.zones is an empty list, expected zones, or no list at all for those of the server block'],
    ["{ reach: { get zones() { throw new Error('boom') } } }", 'its reach.zones cannot be read: boom'],
    ["{ get reach() { throw new Error('boom') } }", 'its reach cannot be read: boom'],
    ["{ get handle() { throw new Error('boom') } }", 'its handle cannot be read: boom'],
    ["{ reach: { makes: 'a key' } }", 'its reach.makes is the text "a key", expected a list of texts'],
    ['{ reach: { makes: [1] } }', 'its reach.makes[0] is 1, expected a text such as "makes a key in ./keys"'],
    ["{ reach: { asks: ['192.0.2.1'] } }", 'its reach.asks[0] is the text "192.0.2.1", expected an object { address, port }'],
    ["{ reach: { asks: { address: '192.0.2.1', port: 53 } } }", 'its reach.asks is an object, expected a list of { address, port }'],
    [
      "{ reach: { asks: [{ address: 'ns', port: 53 }] } }",
      'its reach.asks[0].address is the text "ns", expected an IP address without brackets'
    ],
    [
      "{ reach: { asks: [{ address: '::1', port: '53' }] } }",
      'its reach.asks[0].port is the text "53", expected a port, a number from 0 to 65535'
    ],
    ["{ reach: { asks: [{ address: '::1', port: 65536 }] } }", 'its reach.asks[0].port is 65536, expected a port, a number from 0 to 65535']
  ])('%s', async (returned, problem) => {
    expect(await problemOfSource(layer(returned))).toBe(`hello: ${problem}`)
  })
})

describe('what is right is taken', () => {
  test.each([
    plugin(
      "order: { after: 'etcd' }, classes: ['CH', '*', 'CLASS7'], directives: ['hello', 'hi'], repeatable: false, facts: [{ name: 'hello/x' }]"
    ),
    "const hello = new (class { name = 'hello'; api = 1; count = 0; setup() { return new (class { handle(query, next) { return next(query) } }) } })\nexport default hello",
    "export const x = 1\nexport default { name: 'hello', api: 1, schema: undefined, setup: async () => Object.create(null) }",
    layer("{ reach: { zones: ['a.'], ends: [], asks: [], makes: ['makes a key'] }, start() {}, stop() {}, own: 1 }"),
    layer('{ data: 1 }')
  ])('%s', async (source) => {
    await (await serverOf('. {\n  hello\n}', { file: corefileOf(source) })).stop()
  })

  test.each([...CHAIN_SCHEMAS])('the schema of %s', (_name, schema) => {
    expect(problemOf(() => checkSchema(Given.of(schema, 'schema')))).toBeUndefined()
  })
})
