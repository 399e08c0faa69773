import { readBlock, readRest } from './block.js'
import { Cursor, isBare, refuse } from './cursor.js'
import { type Directive, type Place, shown } from './directive.js'
import { type Key, readKey } from './key.js'
import { type KeyWord, readKeyWords } from './keys.js'
import { placeOf, readTokens } from './lexer.js'

/** Directives and the keys that they serve. */
export interface ServerBlock {
  readonly keys: readonly Key[]
  readonly directives: readonly Directive[]
  readonly at: Place
}

/**
 * Reads a Corefile into its server blocks, in the order of the file. `file` is its name in messages.
 * Throws ConfigError, and nothing else. Knows no plugin: whether a directive exists is not asked here.
 */
export function parseCorefile(text: string | Buffer, file: string): ServerBlock[] {
  const cursor = new Cursor(readTokens(text, file))
  const blocks: ServerBlock[] = []
  while (cursor.next !== undefined) blocks.push(readServerBlock(cursor))
  return blocks
}

function readServerBlock(cursor: Cursor): ServerBlock {
  const first = cursor.next!
  const followsBrace = !cursor.startsLine
  const words = readKeyWords(cursor)
  refuseSnippet(words)
  const keys = words.map(({ text, token }) => readKey(text, token.quoted, placeOf(token)))
  const braces = isBare(cursor.next, '{') || isBare(cursor.next, '{}')
  // CoreDNS would serve the words of `} // end of example.org` as zones.
  if (followsBrace && !braces) refuse(first, `${shown(first.text)} after a }, expected a server block with braces or a new line`)
  return { keys, directives: readBody(cursor, [...new Set(keys.map((key) => key.zone))], braces), at: placeOf(first) }
}

function readBody(cursor: Cursor, zones: readonly string[], braces: boolean): Directive[] {
  if (!braces) return readRest(cursor, zones)
  // To CoreDNS `. {}` is two zones; nobody means that.
  return cursor.take().text === '{}' ? [] : readBlock(cursor, zones)
}

/** Snippets come together with import. CoreDNS reads `(a) b {` as a block with odd zones. */
function refuseSnippet(words: readonly KeyWord[]): void {
  for (const { text, token } of words) {
    const parentheses = text.startsWith('(') || (!token.quoted && text.endsWith(')'))
    if (words.length === 1 && text.startsWith('(') && text.endsWith(')')) {
      refuse(token, `import is not supported yet, nor is its snippet ${shown(text)}, expected the text itself in its place`)
    }
    if (parentheses && !token.quoted) refuse(token, `${shown(text)}, expected a zone, or the name of a snippet alone in parentheses`)
  }
}
