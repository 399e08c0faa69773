/** The table of options in a plugin's README, made from its schema. */
import type { Argument, Option, Schema, ValueType } from './schema.js'
import { shownDuration } from './value.js'

const HEAD = ['option', 'default', 'meaning']

/**
 * What a directive takes as a Markdown table in the formatter's own shape, without a line's end behind it: arguments, options in
 * the order of the schema, then in a row each those without effect and those not supported yet. `None.` for a schema of nothing.
 */
export function optionTable(schema: Schema): string {
  const options = Object.entries(schema.options ?? {})
  const rows = [
    ...(schema.args ?? []).map(argumentRow),
    ...optionRows(options, ''),
    ...namesRow(options, 'ignored', 'accepted without effect'),
    ...namesRow(options, 'later', 'not supported yet')
  ]
  return rows.length === 0 ? 'None.' : table([HEAD, ...rows])
}

function argumentRow(argument: Argument): string[] {
  const given = argument.optional === true ? codedDefault(argument.default, argument) : 'required'
  return [code(`${argument.name}${argument.rest === true ? '…' : ''}`), given, sentence([argument.about, limits(argument)])]
}

function optionRows(options: readonly (readonly [string, Option])[], outer: string): string[][] {
  return options.flatMap(([name, option]) => {
    if (option.status !== undefined) return []
    const { args = [] } = option
    const isFlag = option.args === undefined && option.options === undefined
    const about = sentence([option.about, ...args.map((one) => limits(one, args.length > 1)), option.repeats && 'may stand several times'])
    const syntax = [`${outer}${name}`, ...args.map(shownArgument)].join(' ')
    return [
      [code(syntax), isFlag && option.repeats !== true ? 'off' : codedDefault(option.default, args[0]), about],
      ...optionRows(Object.entries(option.options ?? {}), `${outer}${name} › `)
    ]
  })
}

/** One row for all options of a kind; those in blocks of options have their name in front. */
function namesRow(options: readonly (readonly [string, Option])[], status: Option['status'], meaning: string): string[][] {
  const names = namesOf(options, status, '')
  return names.length === 0 ? [] : [['', '', `${meaning}: ${names.map(code).join(', ')}`]]
}

function namesOf(options: readonly (readonly [string, Option])[], status: Option['status'], outer: string): string[] {
  return options.flatMap(([name, option]) => [
    ...(option.status === status ? [`${outer}${name}`] : []),
    ...(option.status === undefined ? namesOf(Object.entries(option.options ?? {}), status, `${outer}${name} › `) : [])
  ])
}

/** As the syntax shows it: `[ZONES…]`. */
function shownArgument({ name, rest, optional }: Argument): string {
  const word = `${name}${rest === true ? '…' : ''}`
  return optional === true ? `[${word}]` : word
}

function codedDefault(value: unknown, type: ValueType | undefined): string {
  const isSecret = type?.type === 'text' && type.secret === true
  const text = isSecret ? '' : shownDefault(value, type)
  return text === '' ? '' : code(text)
}

/** A default as an operator would write it; empty for none. */
export function shownDefault(value: unknown, type: ValueType | undefined): string {
  if (value === undefined) return ''
  const words = (Array.isArray(value) ? value : [value]).map((word: unknown) => {
    if (typeof word === 'boolean') return word ? 'on' : 'off'
    return type?.type === 'duration' && typeof word === 'number' ? shownDuration(word) : String(word)
  })
  return words.join(' ')
}

/** What a value may be, where its type alone does not say it; with its name where there are several. */
function limits(argument: Argument, isNamed = false): string | undefined {
  const text = limitsOf(argument)
  return isNamed && text !== undefined ? `${code(argument.name)} ${text}` : text
}

function limitsOf(type: ValueType): string | undefined {
  switch (type.type) {
    case 'integer':
      return `from ${type.min} to ${type.max}`
    case 'duration': {
      const [min, max] = [type.min, type.max].map((ms) => (ms === undefined ? undefined : shownDuration(ms)))
      if (max === undefined) return min === undefined ? undefined : `at least ${min}`
      return min === undefined ? `at most ${max}` : `from ${min} to ${max}`
    }
    case 'choice':
      return type.of.length === 1 ? undefined : `one of ${type.of.map(code).join(', ')}`
    default:
      return undefined
  }
}

function sentence(parts: readonly (string | false | undefined)[]): string {
  return parts.filter((part) => part).join('; ')
}

function code(text: string): string {
  return `\`${text}\``
}

/** Cells stand under each other, as the formatter has them. A bar in a cell would end it. */
function table(rows: readonly (readonly string[])[]): string {
  const cells = rows.map((row) => row.map((cell) => cell.replaceAll('|', '\\|')))
  const widths = HEAD.map((_, column) => Math.max(3, ...cells.map((row) => widthOf(row[column]!))))
  const lines = cells.map((row) => row.map((cell, column) => cell + ' '.repeat(widths[column]! - widthOf(cell))))
  const rule = widths.map((width) => '-'.repeat(width))
  return [lines[0]!, rule, ...lines.slice(1)].map((line) => `| ${line.join(' | ')} |`).join('\n')
}

function widthOf(cell: string): number {
  return [...cell].length
}
