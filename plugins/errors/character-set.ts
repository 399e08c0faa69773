/** What stands for one character in Go's regular expressions: escapes, and classes in brackets. */

/** Whether a character, a code point as text, is one of them. */
export type CharacterSet = (character: string) => boolean

/** A pattern while it is read. */
export class PatternText {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  /** What comes next, which is read with it, or undefined. The expression is sticky. */
  take(expression: RegExp): RegExpExecArray | undefined {
    expression.lastIndex = this.#at
    const found = expression.exec(this.#text) ?? undefined
    if (found !== undefined) this.#at = expression.lastIndex
    return found
  }

  get isAtEnd(): boolean {
    return this.#at === this.#text.length
  }

  /** The last characters that were read, for messages. */
  get before(): string {
    return this.#text.slice(Math.max(0, this.#at - 10), this.#at)
  }
}

const NAMED = /\\([dDsSwW])/y
const UNICODE = /\\([pP])(?:\{(\^?)([A-Za-z_]+)\}|([A-Z]))/y
const ESCAPED = /\\(?:x([\dA-Fa-f]{2})|x\{([\dA-Fa-f]{1,6})\}|(0[0-7]{0,2}|[1-7][0-7]{1,2})|([aftnrv])|([!-/:-@[-`{-~]))/y
const ANY = /[^\\]/suy
const CONTROLS: Readonly<Record<string, string>> = { a: '\u0007', f: '\f', t: '\t', n: '\n', r: '\r', v: '\v' }

/** Only ASCII, as in Go. */
const PERL: Readonly<Record<string, RegExp>> = { d: /^\d$/, s: /^[\t\n\f\r ]$/, w: /^[\dA-Za-z_]$/ }
const POSIX: Readonly<Record<string, RegExp>> = {
  alnum: /^[\dA-Za-z]$/,
  alpha: /^[A-Za-z]$/,
  ascii: /^[\0-\x7f]$/,
  blank: /^[\t ]$/,
  cntrl: /^[\0-\x1f\x7f]$/,
  digit: /^\d$/,
  graph: /^[!-~]$/,
  lower: /^[a-z]$/,
  print: /^[ -~]$/,
  punct: /^[!-/:-@[-`{-~]$/,
  space: /^[\t\n\v\f\r ]$/,
  upper: /^[A-Z]$/,
  word: PERL.w!,
  xdigit: /^[\dA-Fa-f]$/
}

/** Reads what stands for one character: itself, an escape or a class. Throws SyntaxError. */
export function readCharacters(text: PatternText, foldsCase: boolean): CharacterSet {
  const found = text.take(/\[\^?/y)
  const set = found === undefined ? (namedSet(text) ?? only(readCharacter(text))) : readClass(text)
  const folded = foldsCase ? folding(set) : set
  return found?.[0] === '[^' ? not(folded) : folded
}

/** The inside of brackets; a ] right at its beginning is one of its characters. */
function readClass(text: PatternText): CharacterSet {
  const sets: CharacterSet[] = []
  while (sets.length === 0 || text.take(/\]/y) === undefined) {
    if (text.isAtEnd) throw new SyntaxError('a [ is not closed')
    sets.push(posixSet(text) ?? namedSet(text) ?? readRange(text))
  }
  return (character) => sets.some((has) => has(character))
}

function readRange(text: PatternText): CharacterSet {
  const first = readCharacter(text)
  if (text.take(/-(?!\])/y) === undefined) return only(first)
  const [from, to] = [first, readCharacter(text)].map((character) => character.codePointAt(0)!) as [number, number]
  if (from > to) throw new SyntaxError(`the range ${text.before} is backwards`)
  return (character) => character.codePointAt(0)! >= from && character.codePointAt(0)! <= to
}

function readCharacter(text: PatternText): string {
  const plain = text.take(ANY)
  if (plain !== undefined) return plain[0]
  const escaped = text.take(ESCAPED)
  if (escaped === undefined) throw new SyntaxError(text.isAtEnd ? 'it ends too early' : `no such escape: ${text.take(/\\.?/suy)?.[0]}`)
  const [, two, hex = two, octal, control, itself] = escaped
  if (itself !== undefined) return itself
  if (control !== undefined) return CONTROLS[control]!
  const code = hex === undefined ? Number.parseInt(octal!, 8) : Number.parseInt(hex, 16)
  if (code > 0x10ffff) throw new SyntaxError(`there is no character ${escaped[0]}`)
  return String.fromCodePoint(code)
}

function posixSet(text: PatternText): CharacterSet | undefined {
  const [all, not_, name = ''] = text.take(/\[:(\^?)(\w*):\]/y) ?? []
  if (all === undefined) return undefined
  const expression = Object.hasOwn(POSIX, name) ? POSIX[name]! : undefined
  if (expression === undefined) throw new SyntaxError(`there is no class ${all}`)
  return matching(expression, not_ === '^')
}

function namedSet(text: PatternText): CharacterSet | undefined {
  const letter = text.take(NAMED)?.[1]
  if (letter !== undefined) return matching(PERL[letter.toLowerCase()]!, /[DSW]/.test(letter))
  const [all, p, hat, long, name = long] = text.take(UNICODE) ?? []
  if (all === undefined) return undefined
  for (const property of [name, `Script=${name}`]) {
    try {
      return matching(new RegExp(`^\\p{${property}}$`, 'u'), (p === 'P') !== (hat === '^'))
    } catch {
      // Go names scripts as it names categories.
    }
  }
  throw new SyntaxError(`there is no class ${all}`)
}

function only(one: string): CharacterSet {
  return (character) => character === one
}

function not(set: CharacterSet): CharacterSet {
  return (character) => !set(character)
}

function matching(expression: RegExp, isNegated: boolean): CharacterSet {
  return (character) => expression.test(character) !== isNegated
}

function folding(set: CharacterSet): CharacterSet {
  return (character) => set(character) || [character.toLowerCase(), character.toUpperCase()].some(set)
}
