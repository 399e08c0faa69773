/** The reason codes, which the log has as `{why}` and clients as extended errors (RFC 8914); docs/reasons.md lists them. */
import { EXTENDED_ERROR, type ExtendedError, type Message } from './message.js'
import type { EdnsOption } from './writer.js'

/** What a reason says. */
export interface Reason {
  readonly about: string
  /** The info code that a client is told with an rcode other than NOERROR; none where the reason is for the log alone. */
  readonly info?: number
}

/** Info codes (RFC 8914 §4). */
const OTHER = 0
const NOT_READY = 14
const NOT_AUTHORITATIVE = 20
const NOT_SUPPORTED = 21
const NO_REACHABLE_AUTHORITY = 22
/** RFC 9824 §9. */
const INVALID_TYPE = 30

/** All reasons that Skein and its own plugins give. */
export const REASONS: Readonly<Record<string, Reason>> = {
  any: { about: 'type ANY gets a short answer' },
  apex: { about: 'told of the zone itself: its SOA, its keys' },
  cached: { about: 'told from the cache; a client is told the reason that the answer came with' },
  chaos: { about: 'told of the server itself' },
  'edns-version': { about: 'the query has a version of EDNS other than 0', info: OTHER },
  fault: { about: 'a plugin threw, or its reply cannot be written', info: OTHER },
  forwarded: { about: 'an upstream says so', info: OTHER },
  found: { about: 'the store has it' },
  'invalid-type': { about: 'the type stands in proofs alone, and cannot be asked for', info: INVALID_TYPE },
  malformed: { about: 'the query cannot be read', info: OTHER },
  'meta-type': { about: 'the type asks for something else than records', info: NOT_SUPPORTED },
  ndots: { about: 'the name has too few labels to be forwarded', info: OTHER },
  'no-recursion': { about: 'clients get nothing from upstreams here', info: NOT_AUTHORITATIVE },
  'no-such-name': { about: 'the zone is served here, and has no such name', info: OTHER },
  'no-upstream': { about: 'there is nobody to ask for names of others here', info: NOT_AUTHORITATIVE },
  nodata: { about: 'the name exists, and has no such records' },
  'not-ready': { about: 'the replica that answers for the zone has not read anything of etcd yet', info: NOT_READY },
  'not-implemented': { about: 'the opcode is not QUERY', info: NOT_SUPPORTED },
  'not-served': { about: 'no plugin answers for the name', info: NOT_AUTHORITATIVE },
  'signing-failed': { about: 'the answer could not be signed', info: OTHER },
  stopping: { about: 'the server stops', info: OTHER },
  'store-failed': { about: 'the store cannot be read', info: OTHER },
  stub: { about: 'a server of a stub zone says so', info: OTHER },
  'stub-failed': { about: 'no server of the stub zone answers', info: NO_REACHABLE_AUTHORITY },
  'target-failed': { about: 'the name that the answer leads to could not be looked up', info: NO_REACHABLE_AUTHORITY },
  'too-deep': { about: 'one look-up leads to another too often', info: OTHER },
  'too-many': { about: 'more is asked for than the server does at once', info: OTHER },
  'upstream-failed': { about: 'no upstream gave a proper answer', info: NO_REACHABLE_AUTHORITY },
  whoami: { about: 'who asked, and how' },
  'wildcard-owner': { about: 'a name whose first label is * is not signed, as the signature would hold for others', info: OTHER }
}

/** What a reason that is sent looks like; others come from plugins, which may say anything. */
const SENDABLE = /^[a-z0-9-]{1,32}$/

/** One list for each reason, so that its option is made once. */
const known = new Map(
  Object.entries(REASONS).map(([text, { info }]): [string, readonly ExtendedError[]] => [
    text,
    info === undefined ? [] : [{ code: info, text }]
  ])
)
const prepared = new WeakMap<readonly ExtendedError[], readonly EdnsOption[]>()
const NO_OPTIONS: readonly EdnsOption[] = []

/**
 * The extended errors that a client is told with a reply: those that it has and, where its rcode is not NOERROR, its reason,
 * in front of the first one's text. What another server has said is enough, also from the cache.
 */
export function reasonsOf(reply: Pick<Message, 'rcode' | 'why' | 'extendedErrors' | 'origin'>): readonly ExtendedError[] {
  const { rcode, why, extendedErrors, origin } = reply
  const first = extendedErrors[0]
  if (rcode === 'NOERROR') return extendedErrors
  if (first === undefined) return why === undefined ? extendedErrors : toldAs(why)
  if (origin?.kind === 'upstream' || origin?.kind === 'cache' || !isSendable(why)) return extendedErrors
  return [{ code: first.code, text: first.text ? `${why}: ${first.text}` : why }, ...extendedErrors.slice(1)]
}

/** The extended error of a reason, with code 0 where it is a plugin's own; none where it cannot be sent. */
export function toldAs(why: string): readonly ExtendedError[] {
  return known.get(why) ?? (isSendable(why) ? [{ code: OTHER, text: why }] : [])
}

/** The EDNS options that carry extended errors. */
export function errorOptions(errors: readonly ExtendedError[]): readonly EdnsOption[] {
  if (errors.length === 0) return NO_OPTIONS
  let options = prepared.get(errors)
  if (options === undefined) {
    options = errors.map(({ code, text = '' }) => [
      EXTENDED_ERROR,
      Buffer.concat([Uint8Array.of(code >> 8, code & 0xff), Buffer.from(text)])
    ])
    prepared.set(errors, options)
  }
  return options
}

function isSendable(why: unknown): why is string {
  return typeof why === 'string' && SENDABLE.test(why)
}
