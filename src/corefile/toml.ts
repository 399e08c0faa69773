/** TOML as a tree in which every value knows its place. The only importer of the package `toml`. */
import { createRequire } from 'node:module'
import type { TomlAssignment, TomlNode, TomlSyntaxError, TomlValue } from 'toml/lib/parser.js'
import { ConfigError, type Place, shown } from './directive.js'
import { decode } from './lexer.js'

const require = createRequire(import.meta.url)

/** A text, or a number as it is written in a Corefile. */
export interface Word {
  readonly kind: 'word'
  readonly text: string
  readonly isNumber: boolean
  readonly at: Place
}

/** `true` or `false`. */
export interface Truth {
  readonly kind: 'truth'
  readonly value: boolean
  readonly at: Place
}

/** `[a, b]`, or the tables of `[[a]]`. */
export interface List {
  readonly kind: 'list'
  readonly items: Value[]
  readonly at: Place
}

/** `[a]`, `{ … }`, or what keys with dots go through. Its keys are in the order of the file. */
export interface Table {
  readonly kind: 'table'
  readonly entries: Map<string, Entry>
  readonly at: Place
}

/** A value of a table, and where its key stands first. */
export interface Entry {
  readonly value: Value
  readonly at: Place
}

/** Any of them. */
export type Value = Word | Truth | List | Table

/** The table that a file is. Throws ConfigError where it is no TOML, or has what a configuration has not: dates and fractions. */
export function readToml(text: string | Buffer, file: string): Table {
  // Most configurations are a Corefile, and a start does not wait for what it does not read.
  const { parse } = require('toml') as typeof import('toml')
  const parser = require('toml/lib/parser.js') as typeof import('toml/lib/parser.js')['default']
  const source = decode(text, file)
  const places = new Places(source, file)
  try {
    // The nodes have the places; what may stand twice, and where, is for the compiler to say.
    const nodes = parser.parse(source)
    parse(source)
    return treeOf(nodes, places)
  } catch (error) {
    if (error instanceof ConfigError) throw error
    throw new ConfigError(problemOf(error as Partial<TomlSyntaxError>), places.ofError(error), { cause: error })
  }
}

function treeOf(nodes: readonly TomlNode[], places: Places): Table {
  const root = tableAt(places.of(0))
  let context = root
  for (const node of nodes) {
    const at = places.of(node.offset)
    if ('key' in node) assign(context, node, places)
    else context = (node.type === 'ArrayPath' ? appended : walk)(root, node.value, at)
  }
  return root
}

/** The table at the end of a path; those that are missing are made. */
function walk(table: Table, path: readonly string[], at: Place): Table {
  let current = table
  for (const key of path) {
    const found = current.entries.get(key)?.value
    const next = found?.kind === 'list' ? found.items.at(-1) : found
    if (next === undefined) {
      const made = tableAt(at)
      current.entries.set(key, { value: made, at })
      current = made
    } else current = next as Table
  }
  return current
}

function appended(root: Table, path: readonly string[], at: Place): Table {
  const parent = walk(root, path.slice(0, -1), at)
  const name = path.at(-1)!
  const list = (parent.entries.get(name)?.value ?? { kind: 'list', items: [], at }) as List
  if (list.items.length === 0) parent.entries.set(name, { value: list, at })
  const table = tableAt(at)
  list.items.push(table)
  return table
}

function assign(context: Table, { key, value, offset }: TomlAssignment, places: Places): void {
  const at = places.of(offset)
  walk(context, key.slice(0, -1), at).entries.set(key.at(-1)!, { value: toValue(value, places), at })
}

function toValue({ type, value, offset }: TomlValue, places: Places): Value {
  const at = places.of(offset)
  switch (type) {
    case 'String':
      return { kind: 'word', text: value as string, isNumber: false, at }
    case 'Integer':
      return { kind: 'word', text: String(value), isNumber: true, at }
    case 'Boolean':
      return { kind: 'truth', value: value as boolean, at }
    case 'Array':
      return { kind: 'list', items: (value as TomlValue[]).map((item) => toValue(item, places)), at }
    case 'InlineTable': {
      const table = tableAt(at)
      for (const entry of value as TomlAssignment[]) assign(table, entry, places)
      return table
    }
    default:
      // How it was spelled is lost, and a Corefile would have to show it.
      throw new ConfigError(`a ${type === 'Float' ? 'number with a fraction' : 'date or time'}, expected it as a text in quotes`, at)
  }
}

function tableAt(at: Place): Table {
  return { kind: 'table', entries: new Map(), at }
}

/** What the grammar or the compiler of the package says, in our words. */
function problemOf({ message = '', expected, found }: Partial<TomlSyntaxError>): string {
  const [, twice] = /^Cannot redefine existing key '(.*)'\.$/s.exec(message) ?? []
  if (twice !== undefined)
    return `${shown(twice)} stands twice, expected it once: several lines of one name are a list of lists, or [[${twice}]]`
  if (/^Integer |losslessly/.test(message)) return 'a number that is too large, expected it as a text in quotes'
  if (expected === undefined) return `${message.charAt(0).toLowerCase()}${message.slice(1).replace(/\.$/, '')}, expected TOML`
  const what = found === null || found === undefined ? 'the file ends here' : found === '\n' ? 'the line ends here' : `${shown(found)} here`
  return `${what}, expected ${wanted(expected.map(({ text = '' }) => text))}`
}

function wanted(texts: readonly string[]): string {
  if (texts.includes('true')) return 'a value: a text in quotes, a number, true, false, a list or a table'
  if (texts.includes('=')) return '= behind a key of letters, digits, - and _; a key of other characters stands in quotes'
  if (texts.includes(']')) return texts.includes(',') ? 'a comma or ]' : ']'
  if (texts.includes('}')) return 'a comma or }'
  if (texts.includes('[')) return 'KEY = VALUE, [TABLE] or [[TABLE]] on a line of its own'
  if (texts.includes('"""') || texts.includes("'''")) return 'three closing quotes'
  if (texts.includes('"') && texts.includes("'")) return 'a key'
  if (texts.includes('"') || texts.includes("'")) return 'a closing quote on the same line'
  return texts.includes('\n') ? 'the end of the line' : 'a digit'
}

/** Lines and columns of a text. */
class Places {
  readonly #starts: readonly number[]
  readonly #file: string

  constructor(text: string, file: string) {
    this.#starts = [0, ...[...text.matchAll(/\n/g)].map(({ index }) => index + 1)]
    this.#file = file
  }

  of(offset: number): Place {
    let low = 0
    for (let high = this.#starts.length - 1; low < high; ) {
      const middle = (low + high + 1) >> 1
      if (this.#starts[middle]! <= offset) low = middle
      else high = middle - 1
    }
    return { file: this.#file, line: low + 1, column: offset - this.#starts[low]! + 1 }
  }

  /** The grammar tells an offset, the compiler line and column; anything else is a fault of ours. */
  ofError(error: unknown): Place {
    const { location, line, column } = error as Partial<TomlSyntaxError> & { line?: number; column?: number }
    if (location !== undefined) return this.of(location.start.offset)
    if (line === undefined || column === undefined) throw error
    return { file: this.#file, line, column }
  }
}
