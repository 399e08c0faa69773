/** Whether what a module exports is a plugin: the mistakes of its author, each told with the way to it. */
import { checkSchema } from '../corefile/check-schema.js'
import { ConfigError, nearest, type Place, shown } from '../corefile/directive.js'
import { found, Given, isPlain, problemOf } from '../corefile/given.js'
import { classNumber } from '../message/registry.js'
import { API_VERSION, type Plugin } from '../plugin.js'
import { directiveName, pluginName, STANDARD_ORDER } from './order.js'

/** What a directive may be called. It also keeps paths out of the import of a package. */
export const DIRECTIVE_NAME = /^[a-z][a-z0-9_-]*$/
const NAME_RULE = 'a lower-case letter, then lower-case letters, digits, "-" and "_"'

const KEYS: readonly (keyof Plugin)[] = ['name', 'api', 'directives', 'order', 'classes', 'repeatable', 'facts', 'schema', 'setup']
const OTHER_KEYS = {
  args: 'it belongs into its schema',
  options: 'it belongs into its schema',
  about: 'it belongs into its schema',
  config: 'did you mean schema?',
  handle: 'setup returns it: setup() { return { handle(query, next) {…} } }',
  class: 'did you mean classes?',
  version: 'its package.json has it',
  description: 'its package.json has it'
}

/** Checks what a module exports, and throws ConfigError. `spec` is how messages call it; `name` what its plugin has to be called, where that is known. */
export function checkPlugin(module: { readonly default?: unknown }, spec: string, at: Place, name?: string): Plugin {
  const problem = problemOf(() => checkExport(module, name))
  if (problem !== undefined) throw new ConfigError(`${spec}: ${problem}`, at)
  return module.default as Plugin
}

function checkExport(module: { readonly default?: unknown }, name: string | undefined): void {
  const exported = Given.of(module.default)
  const plugin = 'a plugin: an object with name, api and setup'
  if (!('default' in module)) {
    const names = Object.keys(module)
    exported.refuse(
      `has no default export, found ${names.length === 0 ? 'none at all' : `the named ${names.join(', ')}`}, expected ${plugin}`
    )
  }
  if (typeof module.default !== 'object' || module.default === null)
    exported.refuse(`exports ${found(module.default)} by default, expected ${plugin}`)
  // So comes what TypeScript makes of `export default` in a CommonJS package.
  if (exported.get('name').isMissing && !exported.get('default').isMissing)
    exported.refuse('exports its plugin as default of its default, expected "type": "module" in its package.json')
  if (isPlain(module.default)) exported.onlyKeys(KEYS, OTHER_KEYS)
  checkName(exported.get('name'), name)
  checkApi(exported.get('api'))
  if (typeof exported.get('setup').value !== 'function') exported.get('setup').fail('a function setup(config, host)')
  checkChainKeys(exported)
  if (!exported.get('schema').isMissing) checkSchema(exported.get('schema'))
}

function checkName(name: Given, expected: string | undefined): void {
  const text = name.text(`name: ${expected === undefined ? 'the word that configures it' : shown(expected)}`)
  if (!DIRECTIVE_NAME.test(text)) name.fail(expected === undefined ? NAME_RULE : shown(expected))
  if (expected !== undefined && text !== expected) Given.of(undefined).refuse(`exports a plugin named ${text}, expected ${expected}`)
}

function checkApi(api: Given): void {
  if (api.value === API_VERSION) return
  if (api.isMissing) api.fail(`api: ${API_VERSION}`)
  if (typeof api.value === 'number') Given.of(undefined).refuse(`speaks plugin interface ${api.value}, this Skein speaks ${API_VERSION}`)
  api.fail(`the number ${API_VERSION}`)
}

/** What decides where it stands in chains, and what it sees there. */
function checkChainKeys(plugin: Given): void {
  const [directives, classes, order, repeatable, facts] = ['directives', 'classes', 'order', 'repeatable', 'facts'].map((key) =>
    plugin.get(key)
  ) as [Given, Given, Given, Given, Given]
  if (!directives.isMissing) {
    for (const directive of filled(directives, 'a list of the words that configure it'))
      if (!DIRECTIVE_NAME.test(directive.text('a word'))) directive.fail(NAME_RULE)
  }
  if (!classes.isMissing) for (const one of filled(classes, "a list such as ['CH'] or ['*']")) checkClass(one)
  if (!order.isMissing) checkOrder(order)
  repeatable.flag()
  if (facts.isMissing) return
  for (const fact of facts.list("a list of facts, such as [fact('hello/name')]")) {
    fact.members("a fact such as fact('hello/name')")
    fact.get('name').text('a text such as "hello/name"')
  }
}

/** A list that is empty would be a plugin that is never asked for anything. */
function filled(given: Given, expected: string): Given[] {
  const items = given.list(expected)
  return items.length === 0 ? given.fail(expected) : items
}

function checkClass(one: Given): void {
  const name = one.text('the name of a class such as IN or CH, or *')
  if (name === '*' || classNumber(name) !== undefined) return
  const upper = name.toUpperCase()
  const near = classNumber(upper) === undefined ? '' : `: did you mean ${upper}?`
  Given.of(undefined).refuse(`asks for questions of class ${shown(name)}, which is none${near}`)
}

function checkOrder(order: Given): void {
  const expected = '{ before: NAME } or { after: NAME }'
  const members = order.members(expected)
  order.onlyKeys(['before', 'after'])
  if (members.length !== 1) order.refuse(`${members.length === 0 ? 'is empty' : 'has both before and after'}, expected ${expected}`)
  const [side, anchor] = members[0]!
  const name = anchor.text('the name of a built-in plugin, such as cache')
  if (STANDARD_ORDER.includes(pluginName(name))) return
  const near = nearest(name, STANDARD_ORDER.map(directiveName))
  Given.of(undefined).refuse(
    `asks to stand ${side} ${shown(name)}, which is no built-in plugin${near === undefined ? ', expected one such as cache or forward' : `: did you mean ${near}?`}`
  )
}
