import { isUtf8 } from 'node:buffer'
import { ConfigError, type Place } from './directive.js'

/** One word of a Corefile, with the line on which it starts. */
export interface Token extends Place {
  readonly text: string
  /** A quoted word is never syntax: no brace, no `import`, no comma. CoreDNS forgets this. */
  readonly quoted: boolean
  /** The line ends inside a quoted word. What follows it stands on the line on which it ends. */
  readonly newlines: number
  /** As it stands in the file, where values of environment variables were put into `text`. */
  readonly spelled?: string
}

// White space as in Go's unicode.IsSpace. `\s` of JavaScript has U+FEFF besides and lacks U+0085.
const WORD_END = /[\t\n\v\f\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000#]/g
const NOT_CR = /[^\r]/g

/** The words of a Corefile, split as CoreDNS splits them. Throws ConfigError. */
export function readTokens(text: string | Buffer, file: string): Token[] {
  const source = decode(text, file)
  const tokens: Token[] = []
  let line = 1
  let lineStart = 0
  let wordEnd = -1
  for (let at = 0; at < source.length; ) {
    const char = source[at]
    const place = { file, line, column: at - lineStart + 1 }
    const end = char === '"' ? closingQuote(source, at, place) + 1 : find(WORD_END, source, at)
    if (end > at) {
      const token = tokenOf(source.slice(at, end), char === '"', place)
      tokens.push(token)
      line += token.newlines
      if (token.newlines > 0) lineStart = source.lastIndexOf('\n', end - 1) + 1
      at = end
      if (!token.quoted) wordEnd = end
    } else if (char === '#') {
      // CoreDNS lets a comment glued to a word end at the next space; nobody means that.
      const newline = source.indexOf('\n', at)
      const stop = newline < 0 ? source.length : newline
      const glued = wordEnd === at && /\s\{$/.test(source.slice(at, stop).trimEnd())
      if (glued) throw new ConfigError('a { in a comment that is glued to a word, expected a space before the # or no {', place)
      at = stop
    } else {
      at = char === '\r' ? afterCarriageReturns(source, at, place) : at + 1
      if (char !== '\n') continue
      line++
      lineStart = at
    }
  }
  return tokens
}

/** The place of a token alone, for what outlives the tokens. */
export function placeOf({ file, line, column }: Place): Place {
  return { file, line, column }
}

function tokenOf(spelled: string, quoted: boolean, place: Place): Token {
  if (!quoted) return { text: spelled, quoted, ...place, newlines: 0 }
  // A backslash before anything but a quote stays, so that regular expressions need no doubling.
  const text = spelled.slice(1, -1).replace(/\\[\s\S]/g, (pair) => (pair === '\\"' ? '"' : pair))
  return { text, quoted, ...place, newlines: text.split('\n').length - 1 }
}

function closingQuote(source: string, opening: number, at: Place): number {
  for (let index = opening + 1; index < source.length; index++) {
    if (source[index] === '\\') index++
    else if (source[index] === '"') return index
  }
  throw new ConfigError('a quote that is never closed, expected another "', at)
}

/** CoreDNS deletes a CR wherever it stands, which glues words and lines; here it must belong to a line end. */
function afterCarriageReturns(source: string, at: number, place: Place): number {
  const next = find(NOT_CR, source, at)
  if (source[next] !== '\n') throw new ConfigError('a carriage return without line feed, expected lines to end in LF or CRLF', place)
  return next
}

/** Where the pattern matches first from `from` on, or the end. */
function find(pattern: RegExp, source: string, from: number): number {
  pattern.lastIndex = from
  return pattern.exec(source)?.index ?? source.length
}

/** The text of a file, without byte order marks. Throws ConfigError where it is not UTF-8. */
export function decode(text: string | Buffer, file: string): string {
  if (typeof text !== 'string' && !isUtf8(text)) {
    const [first, second] = text
    const utf16 = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)
    if (utf16) throw new ConfigError('the file is UTF-16, expected UTF-8', { file, line: 1, column: 1 })
    throw new ConfigError('an octet that is not UTF-8, expected a file in UTF-8', { file, ...placeNotUtf8(text) })
  }
  // Editors leave byte order marks, and the root zone after a second one would become a zone of that name.
  return text.toString().replace(/^\ufeff+/, '')
}

function placeNotUtf8(text: Buffer): { line: number; column: number } {
  let line = 1
  for (let start = 0; ; line++) {
    const newline = text.indexOf(0x0a, start)
    const end = newline < 0 ? text.length : newline
    if (newline < 0 || !isUtf8(text.subarray(start, end))) return { line, column: text.toString('utf8', start, end).indexOf('\ufffd') + 1 }
    start = newline + 1
  }
}
