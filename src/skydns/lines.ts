/** The lines of a Corefile with who has said what stands in them: as text, and read back from it. */
import { ConfigError, Directive } from '../corefile/directive.js'
import { nothingOutside } from '../corefile/outside.js'
import { parseCorefile, type ServerBlock } from '../corefile/parser.js'
import { shownWord } from '../corefile/print-corefile.js'
import type { Settled } from './settings.js'

/** A line, and the settings that it stands for. */
export interface Line {
  readonly words: readonly string[]
  readonly of: readonly Settled[]
  readonly block?: readonly Line[]
}

/** A line without a block. */
export function line(words: readonly (string | number)[], ...of: Settled[]): Line {
  return { words: words.map(String), of }
}

/** A Corefile. */
export interface Printed {
  readonly text: string
  /** Its server blocks; the file of a place is who has said what stands there. */
  readonly blocks: readonly ServerBlock[]
}

const HEAD = '# What the settings of SkyDNS stand for.\n'

/** The Corefile of these server blocks. Throws ConfigError for a word that none can hold, as the text would say something else. */
export function printed(blocks: readonly Line[]): Printed {
  const { text, origins } = textOf(blocks)
  const fileOf = (number: number): string => `skydns${origins[number - 1] ? ` (${origins[number - 1]})` : ''}`
  const read = parse(text, fileOf)
  for (const [index, { block = [] }] of blocks.entries())
    for (const [at, child] of block.entries()) checkSame(child, read[index]?.directives[at])
  return { text, blocks: read.map((block) => ({ ...block, directives: block.directives.map((each) => placed(each, fileOf)) })) }
}

/** The text, and for each of its lines who has said it. */
function textOf(blocks: readonly Line[]): { text: string; origins: string[] } {
  let text = HEAD
  const origins = ['']
  const add = (line: Line, depth: number): void => {
    const { words, block } = line
    const indent = '  '.repeat(depth)
    const written = words.map((word) => shownWord(word)).join(' ')
    text += `${indent}${written}${block === undefined ? '' : ' {'}\n`
    // A word in quotes may go on for several.
    for (const _ of written.split('\n')) origins.push(depth === 0 ? '' : sayers(line).join(', '))
    for (const each of block ?? []) add(each, depth + 1)
    if (block === undefined) return
    text += `${indent}}\n`
    origins.push('')
  }
  for (const block of blocks) add(block, 0)
  return { text, origins }
}

/** Who has said something of a line, or of its block: what is wrong there may be told of the line alone. */
function sayers({ of, block = [] }: Line): string[] {
  const own = of.map(({ from }) => from).filter((from) => from !== 'default')
  return [...new Set([...own, ...block.flatMap(sayers)])]
}

function parse(text: string, fileOf: (line: number) => string): readonly ServerBlock[] {
  try {
    return parseCorefile(text, 'skydns', nothingOutside).blocks
  } catch (error) {
    if (!(error instanceof ConfigError) || error.at === undefined) throw error
    throw new ConfigError(error.problem, { ...error.at, file: fileOf(error.at.line) })
  }
}

/** Whether a line says what it is to say; a word that is a variable in a Corefile does not. */
function checkSame(line: Line, found: Directive | undefined): void {
  const { words, block = [] } = line
  const isSame = found !== undefined && JSON.stringify([found.name, ...found.args]) === JSON.stringify(words) && found.spelled === undefined
  if (!isSame || found.options.length !== block.length) {
    throw new ConfigError(
      `${sayers(line).join(', ') || 'skydns'}: a Corefile cannot hold what is said here, expected no {$ or {% and no backslash at the end`
    )
  }
  for (const [index, child] of block.entries()) checkSame(child, found.options[index])
}

/** The same directive, whose place tells who has said it. */
function placed({ name, args, at, zones, block }: Directive, fileOf: (line: number) => string, parent?: Directive): Directive {
  return new Directive(name, args, { ...at, file: fileOf(at.line) }, zones, {
    parent,
    block: block && ((self) => block.map((option) => placed(option, fileOf, self)))
  })
}
