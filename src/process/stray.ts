import { namedThrownText, stackLines } from '../message/one-line.js'
import type { Log } from '../plugin.js'

/** Tells of what no query can be told of: one line, and below it where it was thrown. */
export function tellStray(log: Pick<Log, 'error'>, what: string, error: unknown): void {
  log.error(`${what}: ${namedThrownText(error)}`)
  for (const line of stackLines(error)) log.error(line)
}
