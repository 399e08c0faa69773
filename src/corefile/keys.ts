import { type Cursor, isBare, refuse } from './cursor.js'
import { origin } from './environment.js'
import { CLOSES_NOTHING } from './imports.js'
import type { Token } from './lexer.js'

/** A word that stands for a key, or the part of one between commas. */
export interface KeyWord {
  readonly text: string
  readonly token: Token
}

/**
 * Reads the keys of a server block up to its opening brace or, without brace, to the end of their line.
 * A comma behind a key lets the list go on on the next line.
 */
export function readKeyWords(cursor: Cursor): KeyWord[] {
  const words: KeyWord[] = []
  let goesOn = true
  while (cursor.next !== undefined && (goesOn || !cursor.startsLine)) {
    if (isBare(cursor.next, 'import') && cursor.startsLine) {
      cursor.spliceImport()
      continue
    }
    const next = cursor.next
    if (isOpening(next) && words.length === 0) refuse(next, 'a block without keys, expected a zone before the {')
    if (isOpening(next) && goesOn) refuse(next, 'a { after a comma, expected another key')
    if (isOpening(next)) return words
    if (isBare(next, '}')) refuse(next, CLOSES_NOTHING)
    const token = readWord(cursor)
    const parts = partsOf(token)
    goesOn = parts.length > 1 && parts.at(-1) === ''
    if (goesOn) parts.pop()
    for (const text of parts) {
      if (text === '') refuse(token, `an empty key${origin(token)}, expected a zone such as example.org`)
      words.push({ text, token })
    }
  }
  if (goesOn) refuse(cursor.last!, 'the file ends after a comma, expected another key')
  return words
}

function readWord(cursor: Cursor): Token {
  const { startsLine } = cursor
  const token = cursor.take()
  // In CoreDNS it is one, but here only, and not inside of blocks.
  if (startsLine && token.spelled !== undefined && token.text === 'import') {
    refuse(token, `"import"${origin(token)} is a word, expected import itself or a zone`)
  }
  return token
}

function isOpening(token: Token): boolean {
  return isBare(token, '{') || isBare(token, '{}')
}

/** CoreDNS takes a comma inside a word for a part of the zone name; nobody means that. An escaped one is. */
export function partsOf({ text, quoted, spelled = text }: Token): string[] {
  // The name of a snippet may hold commas.
  if (quoted || spelled.startsWith('(')) return [text]
  const parts: string[] = []
  let start = 0
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '\\') at++
    else if (text[at] === ',') {
      parts.push(text.slice(start, at))
      start = at + 1
    }
  }
  return [...parts, text.slice(start)]
}
