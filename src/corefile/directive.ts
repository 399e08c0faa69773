import { cut, oneLine } from '../message/one-line.js'

/** Where something stands in the configuration. Lines, and columns of UTF-16 units as editors have them, count from 1. */
export interface Place {
  readonly file: string
  readonly line: number
  readonly column: number
}

/** Words longer than this are cut in messages. */
const LONGEST_SHOWN = 60

/** The configuration is wrong. The message is one line, and starts with where: `Corefile:3: cache: …`. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly code = 'SKEIN_CONFIG'
  /** The message without the place. */
  readonly problem: string
  readonly at: Place | undefined

  constructor(problem: string, at?: Place, options?: ErrorOptions) {
    // A plugin may say anything, and of what a terminal would take for commands.
    const line = oneLine(problem)
    super(at === undefined ? line : `${placeText(at)}: ${line}`, options)
    this.problem = line
    this.at = at
  }
}

/** What not every {@link Directive} has. */
interface AboutDirective {
  readonly parent?: Directive | undefined
  readonly block?: ((parent: Directive) => readonly Directive[]) | undefined
  readonly spelled?: string | undefined
  readonly toml?: TomlForm | undefined
  readonly origins?: readonly Directive[] | undefined
}

/** A table, an item of `lines`, or true or false. */
export type TomlForm = 'table' | 'line' | boolean

/**
 * One line of a server block with the lines of its block: a tree, read by a loop and a switch.
 * The lines of a block are directives themselves, so every option knows its own file and line.
 */
export class Directive {
  readonly name: string
  readonly args: readonly string[]
  /** The lines between its braces; `undefined` where it has no braces. */
  readonly block: readonly Directive[] | undefined
  readonly at: Place
  /** The zones of the server block it stands in: canonical names. */
  readonly zones: readonly string[]
  /** The directive that this is an option of. */
  readonly parent: Directive | undefined
  /** The line with its environment variables, where it has any. */
  readonly spelled: string | undefined
  /** For each argument the line that it came from, where arguments stood by their names. */
  readonly origins: readonly Directive[] | undefined
  /** What it was in TOML, where that was no list of words: in a table arguments may stand by their names, in `lines` nothing does. */
  readonly toml: TomlForm | undefined

  constructor(name: string, args: readonly string[], at: Place, zones: readonly string[], about: AboutDirective = {}) {
    this.name = name
    this.args = args
    this.at = at
    this.zones = zones
    this.parent = about.parent
    this.spelled = about.spelled
    this.toml = about.toml
    this.origins = about.origins
    this.block = about.block?.(this)
  }

  /** The options in its block, none where it has no block. */
  get options(): readonly Directive[] {
    return this.block ?? []
  }

  noMoreThan(count: number): void {
    const extra = this.args[count]
    if (extra !== undefined)
      this.fail(`expected ${count === 0 ? 'no argument' : `at most ${count} argument${count === 1 ? '' : 's'}`}, not ${shown(extra)}`)
  }

  noBlock(): void {
    if (this.block !== undefined) this.fail(this.toml === undefined ? 'takes no block in braces' : 'takes no options')
  }

  /** Fails with the option's own place: `Corefile:4: etcd: ttl: expected …`. */
  fail(problem: string): never {
    throw new ConfigError(`${pathOf(this)}: ${problem}${this.#origin}`, this.at)
  }

  /** Fails since this option is none that its directive knows. `also` may be meant, but is not worth listing. */
  unknown(known: readonly string[], also: readonly string[] = []): never {
    const near = nearest(this.name, known) ?? nearest(this.name, also)
    const expected = known.length === 0 ? 'expected none' : `expected one of ${known.join(', ')}`
    throw new ConfigError(
      `${this.parent === undefined ? 'server block' : pathOf(this.parent)}: unknown option ${shown(this.name)}, ${near === undefined ? expected : `did you mean ${near}?`}${this.#origin}`,
      this.at
    )
  }

  /** Whoever reads a value that came from elsewhere must learn where. */
  get #origin(): string {
    return this.spelled === undefined ? '' : ` (from ${[...new Set(this.spelled.match(/\{\$[^}]+\}|\{%.+?%\}/gs))].join(', ')})`
  }
}

/** A place as messages have it: `Corefile:3`. */
export function placeText({ file, line }: Pick<Place, 'file' | 'line'>): string {
  return `${file}:${line}`
}

/** A place as it is named from another: imported lines stand in files of their own. */
export function placeFrom(place: Place, from: Place): string {
  return place.file === from.file ? `line ${place.line}` : placeText(place)
}

/** A word of the Corefile as messages show it: in quotes, and cut where it is long. */
export function shown(word: string): string {
  return JSON.stringify(cut(word, LONGEST_SHOWN))
}

function pathOf({ name, parent }: Directive): string {
  const own = cut(name, LONGEST_SHOWN)
  return parent === undefined ? own : `${pathOf(parent)}: ${own}`
}

/** The known word that `word` is most likely a slip of, or undefined where none is near. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  // What is longer than any name is no slip of one, and comparing it is slow.
  if (word.length > LONGEST_SHOWN) return undefined
  // What begins one word alone is that word cut short.
  const longer = known.filter((candidate) => candidate.startsWith(word.toLowerCase()))
  if (word.length >= 3 && longer.length === 1) return longer[0]
  let best: string | undefined
  let least = Math.max(1, Math.floor((word.length + 1) / 3)) + 1
  for (const candidate of known) {
    const distance = editDistance(word.toLowerCase(), candidate)
    if (distance < least) {
      least = distance
      best = candidate
    }
  }
  return best
}

/** Insertions, deletions, replacements and swaps of neighbours that turn one word into the other. */
function editDistance(a: string, b: string): number {
  let before: number[] = []
  let row = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1
      let least = Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + cost)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) least = Math.min(least, before[j - 2]! + 1)
      next.push(least)
    }
    before = row
    row = next
  }
  return row[b.length]!
}
