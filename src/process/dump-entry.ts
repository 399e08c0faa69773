import { cut, oneLine } from '../message/one-line.js'
import { shownPath } from '../store/key.js'

/** One key of a dump of etcd. */
export interface DumpEntry {
  readonly path: Buffer
  readonly value: Buffer
  /** When etcd lets it vanish, in milliseconds since 1970; `unknown` where a dump does not say when; undefined where it stays. */
  readonly ends: number | 'unknown' | undefined
}

/** Characters of a key in a message. */
const MOST_SHOWN = 200

/** A key in a message, on one line. */
export function shownKey(path: Buffer): string {
  return cut(shownPath(path), MOST_SHOWN)
}

/** What a dump says in words, in a message, on one line. */
export function shownText(text: string): string {
  return cut(oneLine(text.slice(0, 2 * MOST_SHOWN)), MOST_SHOWN)
}

/** Whether it is an object of JSON. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
