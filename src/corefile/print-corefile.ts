import type { Directive } from './directive.js'
import type { ServerBlock } from './parser.js'

/** What ends a bare word, or would make it syntax: white space as the lexer has it, `#`, quotes, braces, a comma. */
const NEEDS_QUOTES = /^$|^[{}]+$|^[(,]|["\s\u0085#]|[,{)]$|^import$/
/** In quotes it would take the quote behind it for a part of the word. */
const LONE_BACKSLASH = /(?<!\\)(?:\\\\)*\\(?:"|$)/

/** Server blocks as a Corefile. Not every word can stand in one: who prints reads the result, and compares. */
export function printCorefile(blocks: readonly ServerBlock[]): string {
  return blocks.map(({ keyTexts, directives }) => `${keyTexts.map(keyWord).join(' ')} {\n${lines(directives, '  ')}}\n`).join('\n')
}

function lines(directives: readonly Directive[], indent: string): string {
  return directives
    .map(({ name, args, block }) => {
      const words = [name, ...args].map((text) => shownWord(text)).join(' ')
      return `${indent}${words}${block === undefined ? '' : ` {\n${lines(block, `${indent}  `)}${indent}}`}\n`
    })
    .join('')
}

/** A comma separates keys. */
function keyWord(text: string): string {
  return shownWord(text, text.includes(','))
}

/** A word as a Corefile has it: in quotes where it needs them. */
export function shownWord(text: string, isQuoted = false): string {
  const needsQuotes = isQuoted || NEEDS_QUOTES.test(text)
  return needsQuotes && !LONE_BACKSLASH.test(text) ? `"${text.replaceAll('"', '\\"')}"` : text
}
