/** Server blocks from TOML: the same tree as a Corefile's. */
import { ConfigError, Directive, nearest, type Place, shown } from './directive.js'
import { Environment, origin, type References, spelledOf } from './environment.js'
import { type KeyWord, partsOf } from './keys.js'
import type { Token } from './lexer.js'
import { nothingOutside, type Outside } from './outside.js'
import { keysOf, type ParsedCorefile, type ServerBlock } from './parser.js'
import { RESERVED } from './reserved.js'
import { type List, readToml, type Table, type Value, type Word } from './toml.js'
import { Warnings } from './warnings.js'

/** As deep as blocks of a Corefile go. */
const MAX_DEPTH = 16
const LINE = 'a line as a list: its name, its words, and its block as a last list'

/**
 * Reads a configuration in TOML; docs/corefile.md has its forms. Variables are those of `outside`. Throws ConfigError, and nothing
 * else.
 */
export function parseToml(
  text: string | Buffer,
  file: string,
  outside: Outside = nothingOutside,
  references: References = 'values'
): ParsedCorefile {
  const warnings = new Warnings()
  const root = readToml(text, file)
  const reader = new Reader(new Environment(outside.variables, warnings, references), warnings)
  return { blocks: reader.blocks(root), files: [{ path: file, octets: Buffer.from(text) }], warnings: warnings.list }
}

/** What a line hangs on. */
interface Above {
  readonly zones: readonly string[]
  readonly parent?: Directive
  readonly depth: number
}

class Reader {
  readonly #environment: Environment
  readonly #warnings: Warnings

  constructor(environment: Environment, warnings: Warnings) {
    this.#environment = environment
    this.#warnings = warnings
  }

  blocks(root: Table): ServerBlock[] {
    for (const [name, { at }] of root.entries) {
      if (name !== 'server') fail(`${shown(name)} outside of all server blocks, expected [[server]]${hint(name)}`, at)
    }
    const servers = root.entries.get('server')?.value
    if (servers === undefined) fail('no server block, expected [[server]] with keys such as ".:53"', root.at)
    if (servers.kind === 'table') return [this.#block(servers)]
    if (servers.kind !== 'list') fail(`server is ${kindOf(servers)}, expected [[server]]`, servers.at)
    return servers.items.map((item) =>
      item.kind === 'table' ? this.#block(item) : fail(`${kindOf(item)}, expected a server block as a table`, item.at)
    )
  }

  #block(table: Table): ServerBlock {
    const given = table.entries.get(RESERVED.keys)?.value
    if (given === undefined) {
      const slip = [...table.entries].find(([name]) => nearest(name, [RESERVED.keys]) !== undefined)
      if (slip !== undefined) fail(`${shown(slip[0])} in a server block without keys: did you mean keys?`, slip[1].at)
      fail('a server block without keys, expected keys = ["example.org", ".:1053"] or the like', table.at)
    }
    const words = wordsOf(given, 'keys', 'a zone such as "example.org"').flatMap((word) => this.#keys(word))
    const keys = keysOf(words, this.#warnings, true)
    const zones = [...new Set(keys.map(({ zone }) => zone))]
    return { keys, keyTexts: words.map(({ text }) => text), directives: this.#lines(table, { zones, depth: 0 }), at: table.at }
  }

  #keys(word: Word): KeyWord[] {
    if (word.isNumber) fail(`the number ${word.text}, expected a zone such as "example.org", its port behind a colon`, word.at)
    return keyWords(this.#take(word))
  }

  /** The lines of a server block, or those in the block of a directive. */
  #lines(table: Table, above: Above): Directive[] {
    if (above.depth > MAX_DEPTH) fail(`tables in tables, expected at most ${MAX_DEPTH} levels`, table.at)
    const isServer = above.parent === undefined
    const named = [...table.entries].flatMap(([name, { value, at }]) => {
      if (name === (isServer ? RESERVED.keys : RESERVED.args) || name === RESERVED.lines) return []
      return this.#named(this.#take({ text: name, at }), value, above)
    })
    const listed = table.entries.get(RESERVED.lines)?.value
    return listed === undefined ? named : [...named, ...listOf(listed, LINE).map((line) => this.#listed(line, above))]
  }

  /** What stands under the name of a line: one line, or several. */
  #named(name: Token, value: Value, above: Above): Directive[] {
    checkName(name, above)
    if (value.kind !== 'list') return this.#line(name, value, above)
    if (value.items.length === 0) fail(`${shown(name.text)}: an empty list, expected words, or true for a line without any`, value.at)
    if (value.items.every(({ kind }) => kind === 'word')) return [this.#directive([name, ...this.#words(value.items as Word[])], above)]
    return value.items.flatMap((item) => {
      if (item.kind === 'word')
        fail(`${shown(name.text)}: words beside lists, expected a list of words for one line, or a list of lists for several`, item.at)
      if (item.kind !== 'list') return this.#line({ ...name, ...item.at }, item, above)
      return this.#directive([{ ...name, ...item.at }, ...this.#words(wordsIn(item, name.text))], above)
    })
  }

  #line(name: Token, value: Exclude<Value, List>, above: Above): Directive[] {
    if (value.kind === 'word') return [this.#directive([name, this.#take(value)], above)]
    if (value.kind === 'table') return [this.#fromTable(name, value, above)]
    // Of an option its plugin's schema knows what false means; a slip in a directive's name would be lost with it.
    if (!value.value && above.parent === undefined) fail(`${shown(name.text)} is false, expected true, or the line left out`, name)
    return [this.#directive([name], above, { toml: value.value })]
  }

  #fromTable(name: Token, table: Table, above: Above): Directive {
    const args = table.entries.get(RESERVED.args)?.value
    const words = args === undefined ? [] : this.#words(wordsOf(args, RESERVED.args, 'the words of the line'))
    const hasBlock = table.entries.size > (args === undefined ? 0 : 1)
    const block = (parent: Directive): Directive[] => this.#lines(table, { zones: above.zones, parent, depth: above.depth + 1 })
    return this.#directive([name, ...words], above, { toml: 'table', ...(hasBlock ? { block } : {}) })
  }

  /** A line of the exact form, `["cache", "30", [["keepttl"]]]`. */
  #listed(line: Value, above: Above): Directive {
    const items = listOf(line, LINE)
    const last = items.at(-1)
    const [name, ...words] = this.#words((last?.kind === 'list' ? items.slice(0, -1) : items).map((item) => wordOf(item, LINE)))
    if (name === undefined) fail(`a line without a name, expected ${LINE}`, line.at)
    if (last?.kind !== 'list') return this.#directive([name, ...words], above, { toml: 'line' })
    if (above.depth >= MAX_DEPTH) fail(`blocks inside blocks, expected at most ${MAX_DEPTH} levels`, last.at)
    const block = (parent: Directive): Directive[] =>
      last.items.map((item) => this.#listed(item, { zones: above.zones, parent, depth: above.depth + 1 }))
    return this.#directive([name, ...words], above, { toml: 'line', block })
  }

  #directive(words: readonly Token[], { zones, parent }: Above, about: ConstructorParameters<typeof Directive>[4] = {}): Directive {
    const [name, ...args] = words as [Token, ...Token[]]
    const at = { file: name.file, line: name.line, column: name.column }
    const texts = args.map(({ text }) => text)
    return new Directive(name.text, texts, at, zones, { ...about, parent, spelled: spelledOf(words) })
  }

  #words(words: readonly Word[]): Token[] {
    return words.map((word) => this.#take(word))
  }

  #take({ text, at }: { readonly text: string; readonly at: Place }): Token {
    return this.#environment.expand({ text, quoted: true, newlines: 0, ...at })
  }
}

/** The value of a variable may be a list with commas, as in a Corefile. */
function keyWords(token: Token): KeyWord[] {
  const texts = token.spelled === undefined ? [token.text] : partsOf({ ...token, quoted: false })
  if (texts.length > 1 && texts.at(-1) === '') texts.pop()
  for (const text of texts) {
    if (text === '') fail(`an empty key${origin(token)}, expected a zone such as "example.org"`, token)
    if (/^\(.*\)$/s.test(text)) fail(`${shown(text)}: TOML has no snippets, expected a zone`, token)
  }
  return texts.map((text) => ({ text, token }))
}

function checkName({ text, spelled, ...at }: Token, { parent }: Above): void {
  if (parent !== undefined) return
  if (text === '') fail('an empty name, expected a directive', at)
  if (text === 'import' && spelled === undefined) fail('import is of Corefiles, expected the lines themselves', at)
}

/** The words of `x = "a"` and of `x = ["a", "b"]`. */
function wordsOf(value: Value, name: string, what: string): readonly Word[] {
  if (value.kind === 'word') return [value]
  if (value.kind !== 'list' || value.items.length === 0) fail(`${name} is ${kindOf(value)}, expected ${what}, or a list of them`, value.at)
  return wordsIn(value, name)
}

function wordsIn({ items }: List, name: string): readonly Word[] {
  return items.map((item) =>
    item.kind === 'word' ? item : fail(`${shown(name)}: ${kindOf(item)} in a list, expected a text or a number`, item.at)
  )
}

function wordOf(value: Value, what: string): Word {
  return value.kind === 'word' ? value : fail(`${kindOf(value)}, expected ${what}`, value.at)
}

function listOf(value: Value, what: string): readonly Value[] {
  return value.kind === 'list' ? value.items : fail(`${kindOf(value)}, expected ${what}`, value.at)
}

function kindOf(value: Value): string {
  switch (value.kind) {
    case 'word':
      // It may be a secret.
      return value.isNumber ? 'a number' : 'a text'
    case 'truth':
      return String(value.value)
    case 'list':
      return value.items.length === 0 ? 'an empty list' : 'a list'
    case 'table':
      return 'a table'
  }
}

function hint(name: string): string {
  return nearest(name, ['server']) === undefined ? '' : ': did you mean server?'
}

function fail(problem: string, at: Place): never {
  throw new ConfigError(problem, { file: at.file, line: at.line, column: at.column })
}
