/** Arguments by name, as TOML tables have them: `[server.forward]` with `from = "."` is `forward .`. */
import { Directive, shown } from './directive.js'
import { hasReference } from './environment.js'
import type { Argument, Option, Schema } from './schema.js'
import { RESERVED } from './toml-blocks.js'
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
export function isNaming({ toml, args }: Directive): boolean {
  return toml === 'table' && args.length === 0
}

function hasToml({ toml, options }: Directive): boolean {
  return toml !== undefined || options.some(hasToml)
}

function placed(line: Directive, parent: Directive | undefined, known: readonly Argument[], options: Options | undefined): Directive {
  const keys = isNaming(line) ? argumentKeys(known, options) : []
  const named = line.options.filter(({ name, toml }) => toml !== 'line' && keys.includes(name))
  const args = named.length > 0 ? wordsOf(named, known, keys) : switchedOn(line, known)
  const rest = line.options.filter((one) => !named.includes(one))
  const hasBlock = line.block !== undefined && (rest.length > 0 || named.length === 0)
  const block = (self: Directive): Directive[] => rest.flatMap((option) => placedOption(option, self, options))
  return new Directive(line.name, args, line.at, line.zones, {
    parent,
    spelled: line.spelled,
    toml: line.toml,
    ...(hasBlock ? { block } : {})
  })
}

function placedOption(line: Directive, parent: Directive, known: Options = {}): Directive[] {
  const option = Object.hasOwn(known, line.name) ? known[line.name] : undefined
  const args = option?.args ?? []
  if (line.toml === false && !(args.length === 1 && args[0]!.type === 'switch')) {
    if (args.some(({ optional }) => optional !== true)) line.fail('is false, expected a value')
    return []
  }
  return [placed(line, parent, args, option?.options)]
}

/** `true` and `false` are what a switch can be as well. */
function switchedOn({ toml, args }: Directive, known: readonly Argument[]): readonly string[] {
  if (typeof toml !== 'boolean' || known.length !== 1 || known[0]!.type !== 'switch') return args
  return [toml ? 'on' : 'off']
}

function wordsOf(named: readonly Directive[], known: readonly Argument[], keys: readonly (string | undefined)[]): string[] {
  const words: string[] = []
  let missing: string | undefined
  for (const [index, argument] of known.entries()) {
    const [given, again] = named.filter(({ name }) => name === keys[index])
    again?.fail('stands several times, expected it once')
    if (given === undefined) {
      // The next one is told from one that may be left out by its looks alone.
      if (argument.when === undefined && argument.rest !== true) missing ??= keys[index] ?? argument.name
      continue
    }
    if (missing !== undefined) given.fail(`stands without ${missing}, expected both`)
    given.noBlock()
    if (given.args.length === 0) given.fail('expected a value')
    if (argument.rest !== true) given.noMoreThan(1)
    // By its looks it would be the next argument's.
    const strange = argument.when === undefined ? undefined : given.args.find((word) => !argument.when!.test(word) && !hasReference(word))
    if (strange !== undefined) given.fail(`expected ${expected(argument)}, not ${shown(strange)}`)
    words.push(...given.args)
  }
  return words
}
