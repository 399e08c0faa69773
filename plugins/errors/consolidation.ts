import type { Clock, Log } from 'skein/plugin'
import type { Expression } from './expression.js'

/** The levels of the lines. */
export const LEVELS = ['warning', 'error', 'info', 'debug'] as const
export type Level = (typeof LEVELS)[number]

/** One line of the configuration. */
export interface Rule {
  readonly milliseconds: number
  /** As it was written, and compiled. */
  readonly pattern: string
  readonly expression: Expression
  readonly level: Level
  readonly showsFirst: boolean
}

/** Counts the errors that match, from the first one on for a while, and then tells of them in one line. */
export class Consolidation {
  readonly rule: Rule
  readonly #log: Log
  readonly #clock: Clock
  #count = 0
  #timer: { cancel(): void } | undefined

  constructor(rule: Rule, log: Log, clock: Clock) {
    this.rule = rule
    this.#log = log
    this.#clock = clock
  }

  /** Counts one that matches. Whether it is to be told at once all the same. */
  count(): boolean {
    this.#count++
    this.#timer ??= this.#clock.after(this.rule.milliseconds, () => this.tell())
    return this.#count === 1 && this.rule.showsFirst
  }

  /** Tells of what was counted and not told, and begins anew. */
  tell(): void {
    const { pattern, level, showsFirst, milliseconds } = this.rule
    this.#timer?.cancel()
    this.#timer = undefined
    if (this.#count > (showsFirst ? 1 : 0))
      write(this.#log, level, `${this.#count} errors like '${oneLine(pattern)}' occurred in last ${goDuration(milliseconds)}`)
    this.#count = 0
  }
}

/** Writes a line. */
export function write(log: Log, level: Level, text: string): void {
  log[level === 'warning' ? 'warn' : level](text)
}

/** A text without line breaks and control characters. */
export function oneLine(text: string): string {
  return text.replace(/[\s\p{Cc}]+/gu, ' ')
}

/** As Go prints durations: `5m0s`, `1.5s`, `300ms`. */
function goDuration(milliseconds: number): string {
  if (milliseconds < 1000) return `${milliseconds}ms`
  const [hours, minutes] = [Math.floor(milliseconds / 3_600_000), Math.floor(milliseconds / 60_000) % 60]
  const seconds = `${(milliseconds % 60_000) / 1000}s`
  if (hours > 0) return `${hours}h${minutes}m${seconds}`
  return minutes > 0 ? `${minutes}m${seconds}` : seconds
}
