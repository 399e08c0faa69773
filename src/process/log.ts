import type { Log } from '../plugin.js'

/** Beyond so many characters that nobody takes, lines are left out and counted: a stuck terminal must not eat the memory. */
const MOST_WAITING = 4 * 1024 * 1024

/** The levels with their names in JSON, those of Go's slog, which CoreDNS writes with. */
const LEVELS = { DEBUG: 'DEBUG', INFO: 'INFO', WARNING: 'WARN', ERROR: 'ERROR' } as const

type Level = keyof typeof LEVELS

/** What lines are; `text` is CoreDNS's default. */
export type LogFormat = 'text' | 'json'

/** What {@link StreamLog} may be told. */
export interface LogOptions {
  readonly debug?: boolean
  readonly format?: LogFormat
}

/** Writes lines to a stream, all of one turn of the event loop at once. */
export class StreamLog implements Log {
  readonly format: LogFormat
  readonly #stream: NodeJS.WritableStream & { readonly writableLength?: number }
  readonly #alwaysDebug: boolean
  #debug: boolean
  #lines = ''
  #waiting = false
  #leftOut = 0

  /** With `debug` lines for debugging are written whatever the configuration says. */
  constructor(stream: NodeJS.WritableStream, { debug = false, format = 'text' }: LogOptions = {}) {
    this.#stream = stream
    this.#alwaysDebug = debug
    this.#debug = debug
    this.format = format
    // Whoever read our lines has gone; answering goes on.
    stream.on('error', () => {})
  }

  showDebug(on: boolean): void {
    this.#debug = on || this.#alwaysDebug
  }

  debug(text: string): void {
    if (this.#debug) this.#tell('DEBUG', text)
  }

  info(text: string): void {
    this.#tell('INFO', text)
  }

  warn(text: string): void {
    this.#tell('WARNING', text)
  }

  error(text: string): void {
    this.#tell('ERROR', text)
  }

  line(text: string): void {
    if (this.format === 'json' && !text.startsWith('{')) this.#take(jsonLine('INFO', text))
    else this.#take(text.includes('\n') ? onOneLine(text) : text)
  }

  named(plugin: string): Log {
    return {
      format: this.format,
      debug: (text) => {
        if (this.#debug) this.#tell('DEBUG', text, plugin)
      },
      info: (text) => this.#tell('INFO', text, plugin),
      warn: (text) => this.#tell('WARNING', text, plugin),
      error: (text) => this.#tell('ERROR', text, plugin),
      line: (text) => this.line(text)
    }
  }

  /** Writes what is waiting now. */
  flush(): void {
    this.#waiting = false
    if (this.#leftOut > 0) {
      this.#lines += `${this.#shown('WARNING', `${this.#leftOut} lines were left out: nobody takes them fast enough`)}\n`
      this.#leftOut = 0
    }
    if (this.#lines !== '') this.#stream.write(this.#lines)
    this.#lines = ''
  }

  #tell(level: Level, text: string, plugin?: string): void {
    this.#take(this.#shown(level, text, plugin))
  }

  #shown(level: Level, text: string, plugin?: string): string {
    if (this.format === 'json') return jsonLine(level, text, plugin)
    return plugin === undefined ? `[${level}] ${onOneLine(text)}` : `[${level}] plugin/${plugin}: ${onOneLine(text)}`
  }

  #take(line: string): void {
    if (this.#lines.length + (this.#stream.writableLength ?? 0) > MOST_WAITING) {
      this.#leftOut++
      return
    }
    this.#lines += `${line}\n`
    if (this.#waiting) return
    this.#waiting = true
    setImmediate(() => this.flush())
  }
}

/** What a plugin says may hold line ends and commands for a terminal, and come from others: one line must not pass for several. */
function onOneLine(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029]+/gu, ' ')
}

/** A line of the log as JSON, with CoreDNS's names: `time`, `level`, `msg`, and the `plugin` whose line it is. */
export function jsonLine(level: Level, msg: string, plugin?: string): string {
  return JSON.stringify({ time: new Date().toISOString(), level: LEVELS[level], msg, plugin })
}
