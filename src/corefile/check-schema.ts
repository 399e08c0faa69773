/** Whether a schema is one: the mistakes of a plugin's author, told when the plugin is loaded and not by a stack when its line is read. */

import { checkDefault, checkValue } from './check-default.js'
import { nearest, shown } from './directive.js'
import type { Given } from './given.js'
import type { Argument, Option, Schema, ValueType } from './schema.js'

/** As deep as blocks of a Corefile go. */
const MAX_DEPTH = 16

/** The types, and what belongs to each alone. */
const TYPES: Readonly<Record<ValueType['type'], readonly string[]>> = {
  text: ['pattern', 'expected', 'secret'],
  integer: ['min', 'max', 'expected'],
  duration: ['min', 'max', 'bare'],
  choice: ['of'],
  switch: [],
  name: [],
  zone: [],
  address: [],
  path: []
}

/** What others call them. */
const OTHER_TYPES: Readonly<Record<string, ValueType['type']>> = {
  string: 'text',
  word: 'text',
  regexp: 'text',
  int: 'integer',
  number: 'integer',
  port: 'integer',
  time: 'duration',
  seconds: 'duration',
  milliseconds: 'duration',
  enum: 'choice',
  bool: 'switch',
  boolean: 'switch',
  domain: 'name',
  hostname: 'name',
  network: 'zone',
  ip: 'address',
  file: 'path',
  folder: 'path'
}

const SCHEMA_KEYS: readonly (keyof Schema)[] = ['about', 'args', 'options']
const OPTION_KEYS: readonly (keyof Option)[] = ['about', 'args', 'default', 'repeats', 'options', 'status', 'instead']
const ARGUMENT_KEYS: readonly (keyof Argument)[] = ['name', 'type', 'about', 'rest', 'optional', 'when', 'default']

const OTHER_KEYS = { arguments: 'did you mean args?', description: 'did you mean about?', help: 'did you mean about?' }
/** Where an author has said of an option what belongs to its argument. */
const OF_ARGUMENT = Object.fromEntries(
  [...ARGUMENT_KEYS, ...Object.values(TYPES).flat()].map((key) => [key, 'what it takes stands in args: [{ name, type }]'])
)
const OTHER_OPTION_KEYS = { ...OF_ARGUMENT, ...OTHER_KEYS, repeatable: 'did you mean repeats?', multiple: 'did you mean repeats?' }
const OTHER_ARGUMENT_KEYS = {
  ...OTHER_KEYS,
  required: 'an argument is required where it is not optional',
  repeats: 'did you mean rest?',
  values: 'did you mean of?',
  choices: 'did you mean of?',
  regex: 'did you mean pattern?',
  regexp: 'did you mean pattern?'
}

/** Throws GivenError where it is none. */
export function checkSchema(schema: Given): void {
  schema.members("an object such as { about: '…', args: […], options: {…} }")
  schema.onlyKeys(SCHEMA_KEYS, { ...OF_ARGUMENT, ...OTHER_KEYS })
  checkTakes(schema, 0)
}

/** What a schema and an option have in common. */
function checkTakes(given: Given, depth: number): void {
  if (depth > MAX_DEPTH) given.refuse(`is options in options, expected at most ${MAX_DEPTH} levels`)
  given.get('about').text('a sentence that says what it is for')
  const [args, options] = [given.get('args'), given.get('options')]
  if (!args.isMissing) checkArguments(args)
  if (options.isMissing) return
  for (const [name, option] of options.members("an object such as { NAME: { about: '…' } }")) {
    // What is quoted, or begins a comment or a block, nobody can write as an option.
    if (!/^(?!["{}#])[^\s\p{Cc}]+$/u.test(name) || name === '__proto__')
      options.refuse(`has the option ${shown(name)}, expected a name that is one word`)
    checkOption(option, depth + 1)
  }
}

function checkOption(option: Given, depth: number): void {
  option.members("an object such as { about: '…', args: […] }")
  option.onlyKeys(OPTION_KEYS, OTHER_OPTION_KEYS)
  checkTakes(option, depth)
  option.get('repeats').flag()
  const [status, instead] = [option.get('status'), option.get('instead')]
  if (!status.isMissing && status.value !== 'ignored' && status.value !== 'later') status.fail('ignored or later')
  if (!instead.isMissing) {
    instead.text()
    if (status.value !== 'later') instead.refuse("stands without status: 'later', expected both")
  }
  checkDefault(option)
}

function checkArguments(args: Given): void {
  const items = args.list("a list such as [{ name: 'NAME', type: 'text' }]")
  for (const item of items) checkArgument(item)
  const all = items.map(({ value }) => value as Argument)
  for (const [index, { name, rest, optional, when }] of all.entries()) {
    const item = items[index]!
    const next = all.slice(index + 1)
    // One word behind the rest is told from it by its looks.
    const isLast = next.length === 0 || (next.length === 1 && next[0]!.optional === true && next[0]!.when !== undefined)
    if (rest === true && !isLast)
      item.refuse(
        'takes the rest of the line and is not the last one, expected rest in the last, or before one that is optional and has `when`'
      )
    const required = next.find((other) => other.optional !== true)
    // The word that is there would be read as the one that may be missing.
    if (optional === true && when === undefined && required !== undefined)
      item.refuse(`is optional, and ${required.name} behind it is not: expected \`when\`, a pattern of the words that are its own`)
    if (next.some((other) => other.name.toLowerCase() === name.toLowerCase()))
      item.refuse(`has the name ${name}, and so has another, expected each once`)
  }
}

function checkArgument(argument: Given): void {
  argument.members("an object such as { name: 'NAME', type: 'text' }")
  argument.onlyKeys([...ARGUMENT_KEYS, ...Object.values(TYPES).flat()], OTHER_ARGUMENT_KEYS)
  const type = checkType(argument.get('type'))
  argument.onlyKeys([...ARGUMENT_KEYS, ...TYPES[type]])
  const name = argument.get('name')
  if (!/^[^\s]+$/u.test(name.text('a word for messages, such as SECONDS'))) name.fail('one word for messages, such as SECONDS')
  if (!argument.get('about').isMissing) argument.get('about').text()
  argument.get('rest').flag()
  const isOptional = argument.get('optional').flag()
  for (const key of ['when', 'default']) {
    if (!argument.get(key).isMissing && !isOptional)
      argument.get(key).refuse('stands in an argument that must be there, expected optional: true')
  }
  checkPattern(argument.get('when'))
  checkLimits(argument, type)
  checkValue(argument, argument.get('default'))
}

function checkType(type: Given): ValueType['type'] {
  const known = Object.keys(TYPES)
  const expected = `one of ${known.join(', ')}`
  if (typeof type.value !== 'string') return type.fail(expected)
  if (Object.hasOwn(TYPES, type.value)) return type.value as ValueType['type']
  const near = (Object.hasOwn(OTHER_TYPES, type.value) ? OTHER_TYPES[type.value] : undefined) ?? nearest(type.value, known)
  return type.fail(near === undefined ? expected : `${expected}: did you mean ${near}?`)
}

/** What belongs to a type alone. */
function checkLimits(argument: Given, type: ValueType['type']): void {
  const [expected, min, max] = [argument.get('expected'), argument.get('min'), argument.get('max')]
  if (!expected.isMissing && expected.text() === '') expected.fail('words for what it takes')
  if (type === 'text') {
    argument.get('secret').flag()
    checkPattern(argument.get('pattern'))
    // Nobody can read a pattern in a message.
    if (!argument.get('pattern').isMissing && expected.isMissing)
      argument.refuse('has a pattern and no `expected`, which says in words what fits it')
  }
  if (type === 'choice') {
    const words = argument.get('of').list("a list of words such as ['fast', 'slow']")
    if (words.length === 0) argument.get('of').fail('words to choose from')
    for (const word of words) word.text('a word')
  }
  if (type !== 'integer' && type !== 'duration') return
  for (const limit of [min, max]) {
    if (type === 'integer') limit.number(true)
    else if (!limit.isMissing) limit.number(false, 'a number of milliseconds')
  }
  const [least, most] = [Number(min.value), Number(max.value)]
  if (least > most) min.refuse(`is ${least} and above the max of ${most}, expected at most that`)
  const bare = argument.get('bare')
  if (!bare.isMissing && bare.value !== 's' && bare.value !== 'ms') bare.fail('s or ms')
}

function checkPattern(pattern: Given): void {
  if (pattern.isMissing) return
  if (!(pattern.value instanceof RegExp)) pattern.fail('a regular expression such as /^[a-z]+$/')
  // It would go on where the last word has ended.
  if (pattern.value.global || pattern.value.sticky) pattern.fail('one without the flags g and y')
}
