/**
 * Go's regular expressions (RE2), as far as whether a text matches. JavaScript's own are others, and some texts keep them busy
 * for years; here a text is read once, with all ways to match it at the same time.
 */
import { type CharacterSet, PatternText, readCharacters } from './character-set.js'

/** More than any that are meant: CoreDNS's limit for a pattern, Go's for how deep it goes and how often something is repeated. */
const LONGEST_PATTERN = 10_000
const DEEPEST = 1000
const MOST_REPEATS = 1000
/** For each of its characters a text takes at most so many steps. A pattern without repeats has room. */
const MOST_STEPS = 2 * LONGEST_PATTERN

/** Whether something holds between two characters; undefined are those beyond the ends. */
type Between = (before: string | undefined, after: string | undefined) => boolean

type Step =
  | { readonly kind: 'character'; readonly has: CharacterSet; readonly next: number }
  | { readonly kind: 'between'; readonly holds: Between; readonly next: number }
  | { readonly kind: 'fork'; readonly to: readonly number[] }
  | { readonly kind: 'match' }

/** Puts a part in front of the step `next`; gives the step that it begins with. */
type Part = (next: number) => number

const isWord = (character: string | undefined): boolean => character !== undefined && /^\w$/.test(character)
const isStart: Between = (before) => before === undefined
const isEnd: Between = (_before, after) => after === undefined
const BETWEEN: Readonly<Record<string, Between>> = {
  '^': isStart,
  '\\A': isStart,
  $: isEnd,
  '\\z': isEnd,
  '\\b': (before, after) => isWord(before) !== isWord(after),
  '\\B': (before, after) => isWord(before) === isWord(after),
  '^m': (before) => before === undefined || before === '\n',
  $m: (_before, after) => after === undefined || after === '\n'
}

/** A compiled expression. */
export class Expression {
  readonly #steps: readonly Step[]
  readonly #start: number
  /** For each step the position in the text that it was last reached at. */
  readonly #reached: Int32Array

  /** Throws SyntaxError, which says what is wrong with the pattern. */
  constructor(pattern: string) {
    const { steps, start } = compile(pattern)
    this.#steps = steps
    this.#start = start
    this.#reached = new Int32Array(steps.length)
  }

  /** Whether a part of the text matches. */
  matches(text: string): boolean {
    const characters = [...text]
    this.#reached.fill(-1)
    let here: number[] = []
    for (let at = 0; at <= characters.length; at++) {
      // A match may begin anywhere.
      const waiting = this.#reach([...here, this.#start], at, characters)
      if (waiting === undefined) return true
      here = []
      for (const step of waiting) if (at < characters.length && step.has(characters[at]!)) here.push(step.next)
    }
    return false
  }

  /** The characters that may come now, each way once; undefined where one way is at its end. */
  #reach(open: number[], at: number, characters: readonly string[]): Extract<Step, { kind: 'character' }>[] | undefined {
    const waiting = []
    for (let index = open.pop(); index !== undefined; index = open.pop()) {
      if (this.#reached[index] === at) continue
      this.#reached[index] = at
      const step = this.#steps[index]!
      if (step.kind === 'match') return undefined
      if (step.kind === 'character') waiting.push(step)
      else if (step.kind === 'fork') open.push(...step.to)
      else if (step.holds(characters[at - 1], characters[at])) open.push(step.next)
    }
    return waiting
  }
}

function compile(pattern: string): { steps: readonly Step[]; start: number } {
  if (pattern.length > LONGEST_PATTERN) throw new SyntaxError(`it has more than ${LONGEST_PATTERN} characters`)
  const reader = new Reader(pattern)
  const whole = reader.whole()
  return { start: whole(reader.push({ kind: 'match' })), steps: reader.steps }
}

/** Reads a pattern into parts, and puts them together. */
class Reader {
  readonly steps: Step[] = []
  readonly #text: PatternText
  readonly #names = new Set<string>()
  #flags = new Set<string>()
  #depth = 0
  #spent = 0

  constructor(pattern: string) {
    this.#text = new PatternText(
      pattern.replace(/\\Q(.*?)(?:\\E|$)|\\./gsu, (all, quoted?: string) => quoted?.replace(/[!-/:-@[-`{-~]/g, '\\$&') ?? all)
    )
  }

  push(step: Step): number {
    this.#spend()
    return this.steps.push(step) - 1
  }

  whole(): Part {
    const part = this.#alternatives()
    if (!this.#text.isAtEnd) throw new SyntaxError('a ) is too much')
    return part
  }

  #alternatives(): Part {
    const parts = [this.#sequence()]
    while (this.#text.take(/\|/y) !== undefined) parts.push(this.#sequence())
    return parts.length === 1 ? parts[0]! : (next) => this.push({ kind: 'fork', to: parts.map((part) => part(next)) })
  }

  #sequence(): Part {
    const parts: Part[] = []
    while (!this.#text.isAtEnd && this.#text.take(/(?=[|)])/y) === undefined) parts.push(this.#repeated())
    return (next) => parts.reduceRight((after, part) => part(after), next)
  }

  #repeated(): Part {
    const part = this.#part()
    const [all, sign, least, comma, most] = this.#text.take(/(?:([*+?])|\{(\d+)(?:(,)(\d*))?\})\??/y) ?? []
    if (all === undefined) return part ?? ((next) => next)
    if (part === undefined) throw new SyntaxError(`${all} has nothing to repeat`)
    if (this.#text.take(/(?=[*+?]|\{\d+(?:,\d*)?\})/y) !== undefined) throw new SyntaxError(`${all} is repeated itself`)
    if (sign !== undefined) return this.#times(part, sign === '+' ? 1 : 0, sign === '?' ? 1 : Number.POSITIVE_INFINITY)
    const min = Number(least)
    const max = comma === undefined ? min : most === '' ? Number.POSITIVE_INFINITY : Number(most)
    if (min > max || min > MOST_REPEATS || (max > MOST_REPEATS && max !== Number.POSITIVE_INFINITY))
      throw new SyntaxError(`${all} is no number of times, expected at most ${MOST_REPEATS}`)
    return this.#times(part, min, max)
  }

  #times(part: Part, min: number, max: number): Part {
    return (next) => {
      let start = next
      if (max === Number.POSITIVE_INFINITY) {
        const to = [next]
        start = this.push({ kind: 'fork', to })
        to.push(part(start))
      } else for (let count = min; count < max; count++) start = this.push({ kind: 'fork', to: [part(start), next] })
      for (let count = 0; count < min; count++) {
        // Of nothing too many could be repeated without a step.
        this.#spend()
        start = part(start)
      }
      return start
    }
  }

  /** A group, a place or a character; undefined for flags, which are none of these. */
  #part(): Part | undefined {
    const text = this.#text
    const repeats = text.take(/[*+?]|\{\d+(?:,\d*)?\}/y)
    if (repeats !== undefined) throw new SyntaxError(`${repeats[0]} has nothing to repeat`)
    const group = text.take(/\((?:\?(?:P?<([^>]*)>|([imsU]*(?:-[imsU]+)?)([:)])))?/y)
    if (group !== undefined) return this.#group(group)
    const between = text.take(/[$^]|\\[AzbB]/y)?.[0]
    if (between !== undefined) {
      const holds = (this.#flags.has('m') ? BETWEEN[`${between}m`] : undefined) ?? BETWEEN[between]!
      return (next) => this.push({ kind: 'between', holds, next })
    }
    const isDot = text.take(/\./y) !== undefined
    const isAll = this.#flags.has('s')
    const has = isDot ? (character: string) => isAll || character !== '\n' : readCharacters(text, this.#flags.has('i'))
    return (next) => this.push({ kind: 'character', has, next })
  }

  #group([opening, name, flags = '', ending]: RegExpExecArray): Part | undefined {
    if (opening === '(' && this.#text.take(/\?/y) !== undefined) throw new SyntaxError('Go has no such group: (?')
    if (name !== undefined && !/^\w+$/.test(name)) throw new SyntaxError(`${opening} has no name of letters, digits and _`)
    if (name !== undefined && this.#names.has(name)) throw new SyntaxError(`${opening} stands twice`)
    if (name !== undefined) this.#names.add(name)
    const outer = this.#flags
    const [on = '', off = ''] = flags.split('-')
    this.#flags = new Set([...outer, ...on].filter((flag) => !off.includes(flag)))
    if (ending === ')') return undefined
    if (++this.#depth > DEEPEST) throw new SyntaxError('its groups go too deep')
    const part = this.#alternatives()
    if (this.#text.take(/\)/y) === undefined) throw new SyntaxError('a ( is not closed')
    this.#depth--
    this.#flags = outer
    return part
  }

  #spend(): void {
    if (++this.#spent > MOST_STEPS) throw new SyntaxError('it is too large')
  }
}
