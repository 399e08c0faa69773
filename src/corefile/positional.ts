/** Arguments by name, as TOML tables have them: `[server.forward]` with `from = "."` is `forward .`. */
import { Directive, shown } from './directive.js'
import { hasReference } from './environment.js'
import { RESERVED } from './reserved.js'
import type { Argument, Option, Schema } from './schema.js'
import { expected } from './value.js'

type Options = Readonly<Record<string, Option>>

/**
 * The directive with its arguments as words in order, and with what true and false mean for its options. One of a Corefile has
 * them so already and is returned as it is. Throws ConfigError.
 */
export function positional(directive: Directive, schema: Schema): Directive {
  return hasToml(directive) ? placed(directive, directive.parent, schema.args ?? [], schema.options) : directive
}

/** The keys that arguments have in a table; undefined for one without: its name is no key, or is an option's. */
export function argumentKeys(known: readonly Argument[], options: Options = {}): (string | undefined)[] {
  return known.map(({ name }) => {
    const key = name.toLowerCase()
    const isTaken = Object.hasOwn(options, key) || Object.hasOwn(RESERVED, key)
    return /^[a-z][a-z0-9_-]*$/.test(key) && !isTaken ? key : undefined
  })
}

/** The words of each argument, none for one that is left out. Words that are nobody's are not among them. */
export function wordsOfEach(words: readonly string[], known: readonly Argument[]): string[][] {
  let at = 0
  return known.map(({ rest, when }, index) => {
    const isLeftOut = at >= words.length || when?.test(words[at]!) === false
    // One behind the rest knows its own word.
    const end = known[index + 1]?.when?.test(words.at(-1) ?? '') === true ? words.length - 1 : words.length
    const own = isLeftOut ? [] : words.slice(at, rest === true ? Math.max(at, end) : at + 1)
    at += own.length
    return own
  })
}

/** Whether arguments stand by their names in a line: all of them, or none. */
export function isNaming({ toml, args, origins }: Directive): boolean {
  return toml === 'table' && (args.length === 0 || origins !== undefined)
}

function hasToml({ toml, options }: Directive): boolean {
  return toml !== undefined || options.some(hasToml)
}

function placed(line: Directive, parent: Directive | undefined, known: readonly Argument[], options: Options | undefined): Directive {
  const keys = line.toml === 'table' ? argumentKeys(known, options) : []
  const named = line.options.filter(({ name, toml }) => toml !== 'line' && keys.includes(name))
  const [first] = named
  if (first !== undefined && line.args.length > 0) first.fail(`stands beside ${RESERVED.args}, expected one of the two`)
  const words = first === undefined ? undefined : wordsOf(line, named, known, keys)
  const rest = line.options.filter((one) => !named.includes(one))
  const hasBlock = line.block !== undefined && (rest.length > 0 || named.length === 0)
  const block = (self: Directive): Directive[] => rest.flatMap((option) => placedOption(option, self, options))
  return new Directive(line.name, words?.map(({ text }) => text) ?? switchedOn(line, known), line.at, line.zones, {
    parent,
    spelled: words === undefined ? line.spelled : spelledOf(line, words),
    toml: line.toml,
    origins: words?.map(({ from }) => from),
    ...(hasBlock ? { block } : {})
  })
}

function placedOption(line: Directive, parent: Directive, known: Options = {}): Directive[] {
  const option = Object.hasOwn(known, line.name) ? known[line.name] : undefined
  const args = option?.args ?? []
  if (line.toml === false && option !== undefined && !isSwitch(args)) {
    if (args.some(({ optional }) => optional !== true)) line.fail('is false, expected a value')
    return []
  }
  return [placed(line, parent, args, option?.options)]
}

/** `true` and `false` are what a switch can be as well. */
function switchedOn({ toml, args }: Directive, known: readonly Argument[]): readonly string[] {
  return typeof toml === 'boolean' && isSwitch(known) ? [toml ? 'on' : 'off'] : args
}

function isSwitch(args: readonly Argument[]): boolean {
  return args.length === 1 && args[0]!.type === 'switch'
}

/** A word, and the line that it came from. */
interface Word {
  readonly text: string
  readonly from: Directive
}

function wordsOf(line: Directive, named: readonly Directive[], known: readonly Argument[], keys: readonly (string | undefined)[]): Word[] {
  const words: Word[] = []
  let missing: string | undefined
  for (const [index, argument] of known.entries()) {
    const [given, again] = named.filter(({ name }) => name === keys[index])
    again?.fail('stands several times, expected it once')
    if (given === undefined) {
      // The next one is told from one that may be left out by its looks alone.
      if (argument.when === undefined && argument.rest !== true) missing ??= keys[index] ?? argument.name
      continue
    }
    // Perhaps what is missing is there, with a slip in its name: that is told by who reads the options.
    if (missing !== undefined && line.options.length === named.length) given.fail(`stands without ${missing}, expected both`)
    given.noBlock()
    if (given.args.length === 0) given.fail('expected a value')
    if (argument.rest !== true) given.noMoreThan(1)
    words.push(...given.args.map((text) => ({ text, from: given })))
  }
  checkLooks(words, known, keys)
  return words
}

function lastOf(words: readonly Word[], key: string | undefined): Word | undefined {
  return words.filter(({ from }) => from.name === key).at(-1)
}

/** Without its name a word must be read as the same argument: in a Corefile, and by a plugin that looks at the words. */
function checkLooks(words: readonly Word[], known: readonly Argument[], keys: readonly (string | undefined)[]): void {
  for (const [index, argument] of known.entries()) {
    const own = words.find(({ from }) => from.name === keys[index])
    // Behind one that takes the rest it would be the last word of that, else the next one.
    const next =
      own ?? (known[index - 1]?.rest === true ? lastOf(words, keys[index - 1]) : words.find(({ from }) => keys.indexOf(from.name) > index))
    if (argument.when === undefined || next === undefined || hasReference(next.text)) continue
    if (argument.when.test(next.text) === (next === own)) continue
    const what = expected(argument)
    next.from.fail(
      own === undefined ? `${shown(next.text)} looks like ${argument.name}, which is ${what}` : `expected ${what}, not ${shown(next.text)}`
    )
  }
}

/** The line as a Corefile would have it, with its variables; undefined where there are none. */
function spelledOf(line: Directive, words: readonly Word[]): string | undefined {
  if (words.every(({ from }) => from.spelled === undefined)) return undefined
  const origins = [...new Set(words.map(({ from }) => from))]
  return [line.name, ...origins.map((from) => from.spelled?.slice(from.name.length + 1) ?? from.args.join(' '))].join(' ')
}
