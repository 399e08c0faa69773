import type { Log } from '../plugin.js'

/** A log whose lines are left out while it is quiet, but for errors. */
export class QuietLog implements Log {
  readonly #log: Log
  readonly format: 'text' | 'json'
  isQuiet = true

  constructor(log: Log) {
    this.#log = log
    this.format = log.format ?? 'text'
  }

  debug(text: string): void {
    if (!this.isQuiet) this.#log.debug(text)
  }

  info(text: string): void {
    if (!this.isQuiet) this.#log.info(text)
  }

  warn(text: string): void {
    if (!this.isQuiet) this.#log.warn(text)
  }

  error(text: string): void {
    this.#log.error(text)
  }

  line(text: string): void {
    if (!this.isQuiet) this.#log.line(text)
  }

  named(plugin: string): Log {
    const named = this.#log.named?.(plugin) ?? this.#log
    const unlessQuiet = (tell: (text: string) => void) => (text: string) => {
      if (!this.isQuiet) tell(text)
    }
    return {
      format: this.format,
      debug: unlessQuiet((text) => named.debug(text)),
      info: unlessQuiet((text) => named.info(text)),
      warn: unlessQuiet((text) => named.warn(text)),
      error: (text) => named.error(text),
      line: unlessQuiet((text) => named.line(text))
    }
  }

  flush(): void {
    this.#log.flush?.()
  }

  showDebug(on: boolean): void {
    this.#log.showDebug?.(on)
  }
}
