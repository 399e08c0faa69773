import type { Log } from '../plugin.js'

/** Beyond so many characters that nobody takes, lines are left out and counted: a stuck terminal must not eat the memory. */
const MOST_WAITING = 4 * 1024 * 1024

/** Writes lines to a stream, all of one turn of the event loop at once. */
export class StreamLog implements Log {
  readonly #stream: NodeJS.WritableStream & { readonly writableLength?: number }
  readonly #alwaysDebug: boolean
  #debug: boolean
  #lines = ''
  #waiting = false
  #leftOut = 0

  /** With `alwaysDebug` lines for debugging are written whatever the configuration says. */
  constructor(stream: NodeJS.WritableStream, alwaysDebug = false) {
    this.#stream = stream
    this.#alwaysDebug = alwaysDebug
    this.#debug = alwaysDebug
    // Whoever read our lines has gone; answering goes on.
    stream.on('error', () => {})
  }

  showDebug(on: boolean): void {
    this.#debug = on || this.#alwaysDebug
  }

  debug(text: string): void {
    if (this.#debug) this.line(`[DEBUG] ${text}`)
  }

  info(text: string): void {
    this.line(`[INFO] ${text}`)
  }

  warn(text: string): void {
    this.line(`[WARNING] ${text}`)
  }

  error(text: string): void {
    this.line(`[ERROR] ${text}`)
  }

  line(text: string): void {
    if (this.#lines.length + (this.#stream.writableLength ?? 0) > MOST_WAITING) {
      this.#leftOut++
      return
    }
    this.#lines += `${text}\n`
    if (this.#waiting) return
    this.#waiting = true
    setImmediate(() => this.flush())
  }

  /** Writes what is waiting now. */
  flush(): void {
    this.#waiting = false
    if (this.#leftOut > 0) {
      this.#lines += `[WARNING] ${this.#leftOut} lines were left out: nobody takes them fast enough\n`
      this.#leftOut = 0
    }
    if (this.#lines !== '') this.#stream.write(this.#lines)
    this.#lines = ''
  }
}
