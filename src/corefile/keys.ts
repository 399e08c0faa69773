import { refuseStray } from './block.js'
import { type Cursor, isBare, refuse, refuseImport } from './cursor.js'
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
  for (let goesOn = true; cursor.next !== undefined && (goesOn || !cursor.startsLine); ) {
    const token = cursor.next
    if (isOpening(token) && words.length === 0) refuse(token, 'a block without keys, expected a zone before the {')
    if (isOpening(token) && goesOn) refuse(token, 'a { after a comma, expected another key')
    if (isOpening(token)) return words
    if (isBare(token, '}')) refuseStray(token)
    if (cursor.startsLine) refuseImport(token)
    const parts = partsOf(cursor.take())
    goesOn = parts.length > 1 && parts.at(-1) === ''
    if (goesOn) parts.pop()
    for (const text of parts) {
      if (text === '') refuse(token, 'an empty key, expected a zone such as example.org')
      words.push({ text, token })
    }
    if (goesOn && cursor.next === undefined) refuse(token, 'the file ends after a comma, expected another key')
  }
  return words
}

function isOpening(token: Token): boolean {
  return isBare(token, '{') || isBare(token, '{}')
}

/** CoreDNS takes a comma inside a word for a part of the zone name; nobody means that. An escaped one is. */
function partsOf({ text, quoted }: Token): string[] {
  // The name of a snippet may hold commas.
  if (quoted || text.startsWith('(')) return [text]
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
