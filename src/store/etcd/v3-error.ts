import { oneLine, thrownText } from '../../message/one-line.js'
import { EtcdError } from './client.js'

/** The codes of gRPC that are told apart. */
const CANCELLED = 1
const UNKNOWN = 2
const DEADLINE_EXCEEDED = 4
const PERMISSION_DENIED = 7
const INTERNAL = 13
const UNAVAILABLE = 14
const DATA_LOSS = 15
const UNAUTHENTICATED = 16

/** With these the member or the way to it has failed, not the question. */
const UNREACHABLE: readonly number[] = [CANCELLED, UNKNOWN, DEADLINE_EXCEEDED, INTERNAL, UNAVAILABLE, DATA_LOSS]

/** What etcd says, whatever code comes with it. */
const SAYINGS: readonly (readonly [said: RegExp, kind: EtcdError['kind']])[] = [
  [/required revision has been compacted/, 'compacted'],
  [/permission denied|authentication failed|user name is empty|invalid auth token/, 'denied'],
  [/too many requests|Bandwidth exhausted/, 'unreachable']
]

/** Of a token that etcd does not know (any more): it may have restarted, or its authentication was switched on or changed since. */
const STALE = /invalid auth token|revision in header is old|user name is empty/

/** A failed call in its parts, whether it comes from gRPC or from what etcd3 makes of that: `14 UNAVAILABLE: No connection established…`. */
export interface Failure {
  /** Of gRPC; undefined for what else was thrown. */
  readonly code: number | undefined
  readonly text: string
}

/** Takes what was thrown apart. */
export function failureOf(thrown: unknown): Failure {
  const text = thrownText(thrown)
  const parts = /^(?:rpc error: code = \w+ desc = |(\d+) [A-Z_]+: )(.*)$/.exec(text)
  return { code: parts?.[1] === undefined ? undefined : Number(parts[1]), text: plain(parts?.[2] ?? text) }
}

/** Whether another token may help. */
export function isStaleToken({ text }: Failure): boolean {
  return STALE.test(text)
}

/** Whether etcd has a token for nobody, since it asks for none. */
export function isWithoutAuthentication({ text }: Failure): boolean {
  return text.includes('authentication is not enabled')
}

/** Whether the answer has more octets than are taken at once. */
export function isTooLarge({ message }: EtcdError): boolean {
  return message.includes('message larger than max')
}

/** Whether a revision was asked for that the store does not have: not yet, or not any more. */
export function isOtherRevision({ message }: EtcdError): boolean {
  return /required revision (has been compacted|is a future revision)/.test(message)
}

/** @param ms how long the question might take */
export function etcdError({ code, text }: Failure, ms: number): EtcdError {
  if (code === DEADLINE_EXCEEDED) return new EtcdError('unreachable', `no answer within ${ms} ms`)
  return new EtcdError(kindOf(code, text), text)
}

/** What a call needs of its user. */
export type Right = 'read' | 'write'

/** Says which right a user lacks, where etcd only says that there is one. `from` is where the keys begin: `/skydns/`, or NUL for all keys. */
export function withRight(error: EtcdError, right: Right, from: Buffer): EtcdError {
  if (error.message !== 'permission denied') return error
  const text = `permission denied: expected a user with the right to ${right} the keys below ${from[0] === 0 ? '/' : from.toString('utf8')}`
  return new EtcdError(error.kind, text, { cause: error })
}

function kindOf(code: number | undefined, text: string): EtcdError['kind'] {
  const said = SAYINGS.find(([pattern]) => pattern.test(text))
  if (said !== undefined) return said[1]
  if (code === UNAUTHENTICATED || code === PERMISSION_DENIED) return 'denied'
  return code !== undefined && UNREACHABLE.includes(code) ? 'unreachable' : 'failed'
}

/** What grpc-js wraps around a cause, and what OpenSSL and Node say for those who have their source at hand, in other words. */
const WORDS: readonly (readonly [pattern: RegExp, words: string])[] = [
  [/^etcdserver: (mvcc: )?/, ''],
  [/^No connection established\. Last error: /, ''],
  [/ \(\d{4}-\d\d-\d\dT[\d:.]+Z\)/, ''],
  [/\.? ?Resolution note: ?.*$/, ''],
  [/^(\w*Error( \[\w+\])?: )+/, ''],
  [/^Channel closed before call started$/, 'the connection has failed'],
  [/^Failed to connect$/, 'the connection ended before HTTP/2 began; the endpoint may want https'],
  [
    /^Client network socket disconnected before secure TLS connection was established$/,
    'the connection ended before TLS began; the endpoint may want http'
  ],
  [/^[\dA-F]+:error:[\dA-F]+:SSL routines:[^:]*:(?:ssl|tls)v\d+ alert ([^:]+):.*$/, "etcd refuses TLS, or this client's certificate: $1"],
  [/^[\dA-F]+:error:[\dA-F]+:SSL routines:[^:]*:([^:]+):.*$/, 'TLS: $1'],
  [/^(unable to (get|verify)|self-signed certificate|certificate (has|is)) .*$/, 'the certificate of etcd is not trusted: $&']
]

/** The cause of a failure in words for the operator, on one line. */
export function plain(details: string): string {
  return WORDS.reduce((text, [pattern, words]) => text.replace(pattern, words), oneLine(details))
}
