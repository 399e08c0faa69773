/** Reads a directive by its schema. Built-in plugins and those from npm have no other way. */
import { type Directive, placeFrom, shown } from './directive.js'
import { argumentKeys, isNaming, positional, wordsOfEach } from './positional.js'
import type { Argument, Config, Option, Schema } from './schema.js'
import { expected, readValue } from './value.js'

/** What a directive takes, or an option. */
type Takes = Pick<Schema, 'args' | 'options'>

/** The directive's values; throws ConfigError at the line that is wrong. */
export function readBySchema<S extends Schema>(line: Directive, schema: S): Config<S> {
  const lines = new Map<string, Directive>()
  const directive = positional(line, schema)
  const { args, options } = readBoth(directive, schema, lines)
  const config: Config = {
    args: args as never,
    options: options as never,
    directive,
    line: (option) => lines.get(option) ?? directive.fail(`${option}: is not set`),
    fail: (problem, option) => (option === undefined ? directive : (lines.get(option) ?? directive)).fail(problem)
  }
  return config as Config<S>
}

function readBoth(line: Directive, takes: Takes, lines: Map<string, Directive>): { args: unknown[]; options: Record<string, unknown> } {
  // An argument by name may be missing since its name has a slip in it.
  const first = isNaming(line) ? readOptions(line, takes, lines) : undefined
  const args = readArguments(line, takes.args ?? [])
  return { args, options: first ?? readOptions(line, takes, lines) }
}

function readOptions(parent: Directive, { args, options }: Takes, lines: Map<string, Directive>): Record<string, unknown> {
  if (options === undefined && !(isNaming(parent) && args?.length)) parent.noBlock()
  const known = options ?? {}
  const values: Record<string, unknown> = {}
  for (const [name, option] of Object.entries(known)) {
    if (option.status !== undefined) continue
    values[name] = option.default ?? (option.repeats ? [] : option.args === undefined && option.options === undefined ? false : undefined)
  }
  const seen = new Map<string, Directive>()
  for (const line of parent.options) {
    const option = Object.hasOwn(known, line.name) ? known[line.name]! : unknown(line, parent, args, known)
    if (option.status === 'later') line.fail(`is not supported yet, expected ${option.instead ?? 'the line left out'}`)
    if (option.status === 'ignored') {
      if (option.args !== undefined) readLine(line, option)
      continue
    }
    const before = seen.get(line.name)
    if (before !== undefined && option.repeats !== true) line.fail(`stands in ${placeFrom(before.at, line.at)} already, expected it once`)
    seen.set(line.name, line)
    lines.set(line.name, line)
    const value = readLine(line, option)
    if (option.repeats === true) values[line.name] = before === undefined ? [value] : [...(values[line.name] as unknown[]), value]
    else values[line.name] = value
  }
  return values
}

function readLine(line: Directive, option: Option): unknown {
  const { args, options } = readBoth(line, option, new Map())
  if (option.options !== undefined) return { args, options }
  if (option.args === undefined) return true
  return option.args.length === 1 ? args[0] : args
}

function readArguments(line: Directive, known: readonly Argument[]): unknown[] {
  const each = wordsOfEach(line.args, known)
  let at = 0
  const values = known.map((argument, index) => {
    const words = each[index]!
    const from = at
    at += words.length
    if (words.length === 0 && argument.optional !== true) lacks(line, known, argument)
    if (words.length === 0) return argument.default ?? (argument.rest === true ? [] : undefined)
    const read = words.map((word, place) => readValue(argument, word, line.origins?.[from + place] ?? line, orNothing(argument)))
    return argument.rest === true ? read.flat() : read[0]
  })
  if (line.args.length > at && known.some((argument) => argument.type === 'text' && argument.secret === true)) {
    line.fail(`expected at most ${at} argument${at === 1 ? '' : 's'}, and quotes around what has spaces`)
  }
  line.noMoreThan(at)
  return values
}

/** Fails since arguments are missing, from this one on: says all that has to come. */
function lacks(line: Directive, known: readonly Argument[], first: Argument): never {
  // A name in small letters is the word itself, or words to choose from: `on|off`. Words of the plugin's own say it without a name.
  const saysAll = !/^\p{Lu}/u.test(first.name) || ('expected' in first && first.expected !== undefined)
  if (known.length === 1 && saysAll) line.fail(`expected ${expected(first)}, not nothing`)
  const missing = known.slice(known.indexOf(first)).filter(({ optional }) => optional !== true)
  const last = line.args.at(-1)
  const names = missing.map(({ name, rest }) => (rest === true ? `${name}…` : name)).join(' ')
  line.fail(`expected ${names}${last === undefined ? '' : ` after ${shown(last)}`}: ${missing.map(expected).join(', then ')}`)
}

/** What an argument has to be, for messages. Where it is one word, that word can be left out as well. */
function orNothing(argument: Argument): string {
  return argument.type === 'choice' && argument.of.length === 1 && argument.optional === true
    ? `no argument or ${expected(argument)}`
    : expected(argument)
}

/** Fails since a line in a block is no option; in a table it may be meant as an argument. */
function unknown(line: Directive, parent: Directive, args: readonly Argument[] = [], known: Readonly<Record<string, Option>>): never {
  const keys = isNaming(parent) ? argumentKeys(args, known).filter((key) => key !== undefined) : []
  return line.unknown([...keys, ...visible(known)], Object.keys(known))
}

/** The options that are worth naming in a message. */
function visible(known: Readonly<Record<string, Option>>): string[] {
  return Object.entries(known).flatMap(([name, { status }]) => (status === undefined ? [name] : []))
}
