import { type Cursor, isBare, refuse } from './cursor.js'
import { Directive, shown } from './directive.js'
import { hasReference, origin, spelledOf } from './environment.js'
import { CLOSES_NOTHING, neverClosed } from './imports.js'
import { placeOf, type Token } from './lexer.js'

/** No plugin nests deeper than two; the bound keeps a file of braces from exhausting the stack. */
const MAX_DEPTH = 16

/** Reads the directives up to the closing brace, and takes it. The opening one was taken last. */
export function readBlock(cursor: Cursor, zones: readonly string[], parent?: Directive, depth = 0): Directive[] {
  const opening = cursor.last!
  if (depth > MAX_DEPTH) refuse(opening, `blocks inside blocks, expected at most ${MAX_DEPTH} levels`)
  const directives: Directive[] = []
  for (let next = cursor.next; !isBare(next, '}'); next = cursor.next) {
    if (next === undefined) refuse(cursor.last!, neverClosed(opening))
    if (isBare(next, '{') && directives.length > 0) refuse(next, 'a { on a line of its own, expected it on the line of its directive')
    // Inside the block of a directive CoreDNS knows `import` only at the start of a line.
    if (isBare(next, 'import') && (parent === undefined || cursor.startsLine)) cursor.spliceImport()
    else directives.push(readDirective(cursor, zones, parent, depth))
  }
  // In CoreDNS such a brace ends the block, and is an argument of the line as well.
  if (!cursor.startsLine && cursor.last !== opening) refuse(cursor.next!, 'a } after other words, expected it at the start of a line')
  cursor.take()
  return directives
}

/** Reads the directives of a block without braces, which reaches to the end of the file. */
export function readRest(cursor: Cursor, zones: readonly string[]): Directive[] {
  const lastKey = cursor.last!
  const directives: Directive[] = []
  for (let next = cursor.next; next !== undefined; next = cursor.next) {
    if (isBare(next, '}')) refuse(next, CLOSES_NOTHING)
    if (isBare(next, 'import')) {
      cursor.spliceImport()
      continue
    }
    // The keys of a further block, or `// text` was meant as a comment before the first.
    if (!next.quoted && /[.:/]/.test(next.text) && !hasReference(next.text)) {
      refuse(
        next,
        `${shown(next.text)} in the block without braces of line ${lastKey.line}, expected a directive; several blocks need braces${/^\[\[?\w/.test(next.text) ? ', and TOML a file named FILE.toml' : ''}`
      )
    }
    directives.push(readDirective(cursor, zones, undefined, 0))
  }
  return directives
}

function readDirective(cursor: Cursor, zones: readonly string[], parent: Directive | undefined, depth: number): Directive {
  const name = readName(cursor, parent)
  const words = [name]
  for (let next = cursor.next; next !== undefined && !cursor.startsLine && !isBare(next, '{'); next = cursor.next) {
    if (isBare(next, '}')) refuse(next, 'a } after other words, expected it at the start of a line')
    words.push(cursor.take())
  }
  const at = placeOf(name)
  const args = words.slice(1).map(({ text }) => text)
  const about = { parent, spelled: spelledOf(words) }
  if (cursor.startsLine) return new Directive(name.text, args, at, zones, about)
  cursor.take()
  const block = (self: Directive) => readBlock(cursor, zones, self, depth + 1)
  const directive = new Directive(name.text, args, at, zones, { ...about, block })
  // CoreDNS reads what follows as one more line of this directive, so a directive written here would be lost.
  if (cursor.next !== undefined && !cursor.startsLine)
    refuse(cursor.next, `${shown(cursor.next.text)} after a }, expected it on a line of its own`)
  return directive
}

function readName(cursor: Cursor, parent: Directive | undefined): Token {
  const token = cursor.next!
  const what = parent === undefined ? 'a directive' : `an option of ${shown(parent.name)}`
  if (isBare(token, '{')) refuse(token, `a { that nothing stands before, expected ${what}`)
  if (token.quoted && /^[{}]$/.test(token.text)) refuse(token, `a brace in quotes is a word, expected a bare brace or ${what}`)
  if (!token.quoted && /[^{]\{$/.test(token.text)) refuse(token, `${shown(token.text)}, expected a space before the {`)
  if (!token.quoted && token.text.startsWith(','))
    refuse(token, 'a comma at the start of a line, expected it at the end of the line before')
  if (parent !== undefined) return cursor.take()
  if (/^\(.*\)$/s.test(token.text)) refuse(token, `${shown(token.text)}: a snippet in a block, expected it outside of all blocks`)
  const name = cursor.take()
  if (name.text === '') refuse(token, `an empty name${origin(name)}, expected a directive`)
  return name
}
