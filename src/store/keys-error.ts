import { type Key, pathOfKey } from './key.js'

const messages = {
  100: 'Key not found',
  101: 'Compare failed',
  102: 'Not a file',
  104: 'Not a directory',
  105: 'Key already exists',
  107: 'Root is read only',
  108: 'Directory not empty',
  110: 'The request requires user authentication',
  201: 'PrevValue is Required in POST form',
  202: 'The given TTL in POST form is not a number',
  203: 'The given index in POST form is not a number',
  209: 'Invalid field',
  210: 'Invalid POST form',
  211: 'Value provided on refresh',
  212: 'A TTL must be provided on refresh',
  300: 'Raft Internal Error'
} as const

const statuses: Partial<Record<number, number>> = { 100: 404, 101: 412, 102: 403, 105: 412, 108: 403, 110: 401, 300: 500 }

/** What the keys API answers instead of a node: etcd's numbers and words, and the cause. */
export class KeysError extends Error {
  override readonly name = 'KeysError'
  readonly errorCode: keyof typeof messages
  readonly status: number
  /** What the words do not say: mostly the path. */
  readonly detail: string

  constructor(errorCode: keyof typeof messages, detail: string, status = statuses[errorCode] ?? 400) {
    super(messages[errorCode])
    this.errorCode = errorCode
    this.status = status
    this.detail = detail
  }

  /** One about a key. */
  static at(errorCode: keyof typeof messages, key: Key): KeysError {
    return new KeysError(errorCode, pathOfKey(key))
  }
}
