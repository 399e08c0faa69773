import { type Cursor, isBare, refuse } from './cursor.js'
import { shown } from './directive.js'
import type { Imports } from './imports.js'
import { neverClosed } from './imports.js'
import type { KeyWord } from './keys.js'
import type { Token } from './lexer.js'

/** The name of the snippet that these words begin, or undefined where they are the keys of a server block. */
export function snippetName(words: readonly KeyWord[]): string | undefined {
  const [first] = words
  if (words.length === 1 && first !== undefined && /^\(.*\)$/s.test(first.token.spelled ?? first.text)) {
    const name = first.text.slice(1, -1)
    if (name === '') refuse(first.token, `${shown(first.text)}: a snippet without a name, expected one in the parentheses`)
    return name
  }
  // CoreDNS reads `(a) b {` as a block with odd zones.
  for (const { text, token } of words) {
    if (!token.quoted && /^\(|\)$/.test(text))
      refuse(token, `${shown(text)}, expected a zone, or the name of a snippet alone in parentheses`)
  }
  return undefined
}

/** Reads the body of a snippet, whose name was taken last. Its words stay as they are: they are read where they are imported. */
export function readSnippet(cursor: Cursor, name: string, imports: Imports): void {
  const word = cursor.last!
  imports.checkName(name, word)
  const body: Token[] = []
  if (isBare(cursor.next, '{}')) cursor.takeRaw()
  else {
    if (!isBare(cursor.next, '{')) refuse(cursor.next ?? word, `the snippet (${name}) has no body, expected { behind its name`)
    const opening = cursor.takeRaw()
    let selfImport: Token | undefined
    for (let depth = 1; ; ) {
      if (cursor.next === undefined) refuse(cursor.last!, neverClosed(opening))
      const isImport = isBare(cursor.next, 'import') && cursor.startsLine
      const token = cursor.takeRaw()
      if (isBare(token, '{')) depth++
      if (isBare(token, '}') && --depth === 0) break
      if (isImport && cursor.next?.text === name && !cursor.startsLine) selfImport = cursor.next
      body.push(token)
    }
    // CoreDNS sees it here too, before any use.
    if (selfImport !== undefined) refuse(cursor.last!, `the snippet (${name}) imports itself in line ${selfImport.line}, expected an end`)
  }
  imports.define(name, body)
}
