import type { Directive } from './directive.js'
import { hasReference } from './environment.js'
import type { ServerBlock } from './parser.js'
import { argumentKeys, wordsOfEach } from './positional.js'
import { RESERVED } from './reserved.js'
import type { Argument, Option, Schema } from './schema.js'

type Options = Readonly<Record<string, Option>>

/** What is known of a line: its arguments, and the options of its block. */
interface Known {
  readonly args: readonly Argument[]
  readonly options: Options
}

/** Lines of one name that follow each other. */
interface Run {
  readonly name: string
  readonly lines: readonly Directive[]
}

const NOTHING: Known = { args: [], options: {} }

/** Server blocks as TOML. `schemas` has the names of arguments; without a directive's its words stand in `args`. */
export function printToml(blocks: readonly ServerBlock[], schemas: ReadonlyMap<string, Schema> = new Map()): string {
  const known = (name: string): Known => ({ args: schemas.get(name)?.args ?? [], options: schemas.get(name)?.options ?? {} })
  return blocks
    .map(
      ({ keyTexts, directives }) =>
        `[[server]]\nkeys = ${words(keyTexts)}\n${body(directives, ['server'], [RESERVED.keys, RESERVED.lines, 'import'], known)}`
    )
    .join('\n')
}

/** The lines of a table: keys and values first, and from the first line with a block on each in a table of its own, so that their order stays. */
function body(lines: readonly Directive[], path: readonly string[], reserved: readonly string[], known: (name: string) => Known): string {
  const runs = runsOf(lines)
  const names = runs.map(({ name }) => name)
  // A table has each name once.
  if (new Set(names).size < names.length || names.some((name) => reserved.includes(name))) return exactly(lines)
  const isPlain = ({ lines: run }: Run): boolean => run.every(({ block }) => block === undefined)
  const first = runs.findIndex((run) => !isPlain(run))
  const plain = first < 0 ? runs : runs.slice(0, first)
  const tables = first < 0 ? [] : runs.slice(first)
  return [
    ...plain.map(({ name, lines: run }) => `${key(name)} = ${value(run)}\n`),
    ...tables.flatMap((run) => run.lines.map((line) => table(line, [...path, run.name], run.lines.length > 1, known(run.name))))
  ].join('')
}

function runsOf(lines: readonly Directive[]): Run[] {
  const runs: { name: string; lines: Directive[] }[] = []
  for (const line of lines) {
    const last = runs.at(-1)
    if (last?.name === line.name) last.lines.push(line)
    else runs.push({ name: line.name, lines: [line] })
  }
  return runs
}

/** One line is its words, true for none; several are a list of lists. */
function value(lines: readonly Directive[]): string {
  const [line, another] = lines
  if (another !== undefined) return `[${lines.map(({ args }) => `[${args.map(scalar).join(', ')}]`).join(', ')}]`
  return line!.args.length === 0 ? 'true' : words(line!.args)
}

function table({ args, block }: Directive, path: readonly string[], isRepeated: boolean, { args: known, options }: Known): string {
  const name = path.map(key).join('.')
  const heading = isRepeated ? `[[${name}]]` : `[${name}]`
  return `\n${heading}\n${argumentLines(args, known, options, block)}${block === undefined ? '' : inner(block, path, { args: known, options })}`
}

function inner(block: readonly Directive[], path: readonly string[], { args, options }: Known): string {
  if (block.length === 0) return exactly(block)
  const reserved = [RESERVED.args, RESERVED.lines, ...argumentKeys(args, options).filter((name) => name !== undefined)]
  return body(block, path, reserved, (name) => {
    const option = Object.hasOwn(options, name) ? options[name] : undefined
    return option === undefined ? NOTHING : { args: option.args ?? [], options: option.options ?? {} }
  })
}

function argumentLines(
  args: readonly string[],
  known: readonly Argument[],
  options: Options,
  block: readonly Directive[] | undefined
): string {
  if (args.length === 0) return ''
  // Beside arguments by name an empty block could not be shown.
  const named = block?.length === 0 ? undefined : byName(args, known, options)
  if (named === undefined) return `${RESERVED.args} = ${words(args)}\n`
  return named.map(([name, text]) => `${name} = ${text}\n`).join('')
}

/** The words under the names of their arguments; undefined where they do not fit. */
function byName(args: readonly string[], known: readonly Argument[], options: Options): [string, string][] | undefined {
  const keys = argumentKeys(known, options)
  const each = wordsOfEach(args, known)
  if (each.flat().length < args.length) return undefined
  // Nobody knows yet whether it will be the argument's.
  if (known.some(({ when }) => when !== undefined) && args.some(hasReference)) return undefined
  const named: [string, string][] = []
  for (const [index, { rest }] of known.entries()) {
    const words = each[index]!
    const name = keys[index]
    if (words.length === 0) continue
    if (name === undefined) return undefined
    named.push([name, rest === true ? list(words) : scalar(words[0]!)])
  }
  return named
}

/** The form for what has no other: names that are taken, an order between names, an empty block. */
function exactly(lines: readonly Directive[]): string {
  if (lines.length === 0) return `${RESERVED.lines} = []\n`
  return `${RESERVED.lines} = [\n${lines.map((line) => `  ${exactLine(line)}`).join(',\n')}\n]\n`
}

function exactLine({ name, args, block }: Directive): string {
  const items = [text(name), ...args.map(scalar)]
  if (block !== undefined) items.push(`[${block.map(exactLine).join(', ')}]`)
  return `[${items.join(', ')}]`
}

function words(texts: readonly string[]): string {
  return texts.length === 1 ? scalar(texts[0]!) : list(texts)
}

function list(texts: readonly string[]): string {
  return `[${texts.map(scalar).join(', ')}]`
}

/** Numbers stand as such where they come back with the same digits. */
function scalar(word: string): string {
  return /^(?:0|[1-9]\d{0,14})$/.test(word) ? word : text(word)
}

/** In single quotes where that spares escapes. */
function text(word: string): string {
  if (/["\\]/.test(word) && !/['\0-\x1f\x7f]/.test(word)) return `'${word}'`
  return JSON.stringify(word).replaceAll('\x7f', '\\u007f')
}

function key(name: string): string {
  return /^[A-Za-z0-9_-]+$/.test(name) ? name : text(name)
}
