import { readBlock, readRest } from './block.js'
import { Cursor, isBare, refuse } from './cursor.js'
import { type Directive, type Place, shown } from './directive.js'
import { Environment, hasReference, type References } from './environment.js'
import { type ConfigurationFile, Imports } from './imports.js'
import { type Key, readKeys } from './key.js'
import { type KeyWord, readKeyWords } from './keys.js'
import { placeOf } from './lexer.js'
import { nothingOutside, type Outside } from './outside.js'
import { readSnippet, snippetName } from './snippet.js'
import { type Warning, Warnings } from './warnings.js'

/** Directives and the keys that they serve. */
export interface ServerBlock {
  readonly keys: readonly Key[]
  /** The keys as they were written, one after another. */
  readonly keyTexts: readonly string[]
  readonly directives: readonly Directive[]
  readonly at: Place
}

/** What a Corefile says. */
export interface ParsedCorefile {
  /** In the order of the file, imports in their places. */
  readonly blocks: readonly ServerBlock[]
  /** The Corefile and what it imports, each once. A pattern that no file matches leaves no trace here. */
  readonly files: readonly ConfigurationFile[]
  /** What is most likely not meant. */
  readonly warnings: readonly Warning[]
}

/**
 * Reads a Corefile, with what it imports from `outside`. `file` is its path as messages show it, and what relative imports hang
 * on. Throws ConfigError, and nothing else. Knows no plugin: whether a directive exists is not asked here.
 */
export function parseCorefile(
  text: string | Buffer,
  file: string,
  outside: Outside = nothingOutside,
  references: References = 'values'
): ParsedCorefile {
  const warnings = new Warnings()
  const imports = new Imports(outside, warnings)
  const environment = new Environment(outside.variables, warnings, references)
  const cursor = new Cursor(imports.addFile(file, text), environment, imports)
  const blocks: ServerBlock[] = []
  while (cursor.next !== undefined) {
    if (isBare(cursor.next, 'import') && cursor.startsLine) cursor.spliceImport()
    else readPart(cursor, imports, environment, warnings, blocks)
  }
  return { blocks, files: imports.files, warnings: warnings.list }
}

/** Reads a server block, or a snippet. */
function readPart(cursor: Cursor, imports: Imports, environment: Environment, warnings: Warnings, blocks: ServerBlock[]): void {
  const first = cursor.next!
  const followsBrace = !cursor.startsLine
  // CoreDNS takes it for a zone.
  if (followsBrace && isBare(first, 'import')) refuse(first, 'import after a }, expected it on a line of its own')
  const words = readKeyWords(cursor)
  const snippet = snippetName(words)
  if (snippet !== undefined) {
    // Its name is looked up, so its variables have their values even where references are kept.
    const isKept = environment.references === 'keep'
    return readSnippet(cursor, isKept ? environment.valueOf({ ...words[0]!.token, text: snippet }).text : snippet, imports)
  }
  const keys = keysOf(words, warnings)
  const keyTexts = words.map(({ text }) => text)
  const braces = isBare(cursor.next, '{') || isBare(cursor.next, '{}')
  // CoreDNS would serve the words of `} // end of example.org` as zones.
  if (followsBrace && !braces) refuse(first, `${shown(first.text)} after a }, expected a server block with braces or a new line`)
  const zones = [...new Set(keys.map((key) => key.zone))]
  blocks.push({ keys, keyTexts, directives: readBody(cursor, zones, braces), at: placeOf(first) })
}

/** What the words say; nothing of one whose variables are kept, as it is no key yet. */
export function keysOf(words: readonly KeyWord[], warnings: Warnings, isToml = false): Key[] {
  const kept = words.filter(({ text, token }) => token.spelled === undefined && hasReference(text))
  const quoted = kept.find(({ token }) => token.quoted && !isToml)
  if (quoted !== undefined) refuse(quoted.token, `${shown(quoted.text)} is one key whatever its value, expected it without quotes`)
  const whole = words.filter((word) => !kept.includes(word))
  return whole.flatMap(({ text, token }) => readKeys(text, token, (problem) => warnings.add(problem, token)))
}

function readBody(cursor: Cursor, zones: readonly string[], braces: boolean): Directive[] {
  if (!braces) return readRest(cursor, zones)
  // To CoreDNS `. {}` is two zones; nobody means that.
  return cursor.take().text === '{}' ? [] : readBlock(cursor, zones)
}
