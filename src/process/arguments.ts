/** The command line: CoreDNS's flags with one dash, their long forms with two. */
import type { LogFormat } from './log.js'

/** The command line is wrong. The message says what was expected. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
  readonly code = 'SKEIN_USAGE'
}

/** A flag of a command. */
export interface Flag {
  /** Without dashes; the first is the name that {@link Arguments} has it under. */
  readonly spellings: readonly string[]
  /** What its value is called in messages; undefined for a flag without one. */
  readonly value?: string
  /** Of a flag without a value: `-flag=false` is another thing than no flag, and is `false`. */
  readonly tellsNo?: true
  readonly about: string
}

/** A command line taken apart. */
export interface Arguments {
  readonly flags: ReadonlyMap<string, string>
  readonly words: readonly string[]
}

/** Reads words such as `-conf FILE`, `--conf=FILE`, `-quiet`; what follows `--` are words. Throws UsageError. */
export function readArguments(argv: readonly string[], known: readonly Flag[]): Arguments {
  const flags = new Map<string, string>()
  const words: string[] = []
  for (let i = 0; i < argv.length; i++) {
    const word = argv[i]!
    if (word === '--') return { flags, words: [...words, ...argv.slice(i + 1)] }
    if (!word.startsWith('-') || word === '-') {
      words.push(word)
      continue
    }
    const [, spelling = '', given] = /^--?([^=]*)(?:=([\s\S]*))?$/.exec(word) ?? []
    const flag = known.find(({ spellings }) => spellings.includes(spelling))
    if (flag === undefined)
      throw new UsageError(`unknown flag ${word}, expected one of ${known.map(({ spellings }) => `-${spellings[0]}`).join(', ')}`)
    const name = flag.spellings[0]!
    if (flag.value === undefined) {
      const isYes = readSwitch(given, name)
      if (isYes || flag.tellsNo) flags.set(name, String(isYes))
      else flags.delete(name)
      continue
    }
    const value = given ?? argv[++i]
    if (value === undefined) throw new UsageError(`-${name}: expected ${flag.value} after it`)
    flags.set(name, value)
  }
  return { flags, words }
}

/** Go's words for yes and no, as in `-quiet=false`; a flag alone is a yes. */
function readSwitch(given: string | undefined, name: string): boolean {
  if (given === undefined || /^(1|t|T|true|True|TRUE)$/.test(given)) return true
  if (/^(0|f|F|false|False|FALSE)$/.test(given)) return false
  throw new UsageError(`-${name}: expected no value, or true or false, not ${JSON.stringify(given)}`)
}

/** The lines of a help text that list flags. */
export function shownFlags(flags: readonly Flag[]): string {
  const left = flags.map(
    ({ spellings, value }) => spellings.map((name) => `-${name}`).join(', ') + (value === undefined ? '' : ` ${value}`)
  )
  const width = Math.max(...left.map((text) => text.length))
  return flags.map(({ about }, index) => `  ${left[index]!.padEnd(width)}  ${about}`).join('\n')
}

/** The word of -log-format; throws UsageError. */
export function readLogFormat(text: string): LogFormat {
  if (text === 'text' || text === 'json') return text
  throw new UsageError(`-log-format: expected text or json, not ${JSON.stringify(text)}`)
}

/** A port as a number; throws UsageError. */
export function readPort(text: string, flag: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65535)
    throw new UsageError(`-${flag}: expected a port from 0 to 65535, not ${JSON.stringify(text)}`)
  return Number(text)
}
