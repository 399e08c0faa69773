import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'

/** Who may call the keys API. */
export interface KeysGuard {
  /** Asked of every call where it is given. */
  readonly token?: string | undefined
  /** Names in `Host` beside those of the loopback; `any` for a Unix socket, where no browser comes by. */
  readonly allowedHosts?: readonly string[] | 'any' | undefined
}

/** Why a call is refused: its HTTP status and a sentence. */
export interface Refusal {
  readonly status: 401 | 403
  readonly reason: string
}

/**
 * Refuses what a browser sends for somebody else's page: with a foreign `Origin`, marked cross-site, or under a name
 * that a page's author has pointed at the loopback (DNS rebinding).
 */
export function browserRefusal({ headers }: IncomingMessage, { allowedHosts = [] }: KeysGuard): Refusal | undefined {
  const { host = '', origin } = headers
  if (allowedHosts !== 'any' && !isAllowedHost(host, allowedHosts))
    return { status: 403, reason: 'the Host header names neither the loopback nor the address that this API listens on' }
  if (origin !== undefined && origin !== `http://${host}` && origin !== `https://${host}`)
    return { status: 403, reason: 'a web page of another origin may not use this API' }
  const site = headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin' && site !== 'none')
    return { status: 403, reason: 'a web page of another site may not use this API' }
  return undefined
}

/** Refuses a call without the token. */
export function tokenRefusal({ headers }: IncomingMessage, { token }: KeysGuard): Refusal | undefined {
  if (token === undefined) return undefined
  const given = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1] ?? ''
  // Digests have one length, so that comparing them tells nothing of the token's.
  if (timingSafeEqual(digest(given), digest(token))) return undefined
  return { status: 401, reason: 'this API asks for its token: Authorization: Bearer …' }
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

function isAllowedHost(host: string, allowedHosts: readonly string[]): boolean {
  const name = nameOfHost(host)
  if (name === undefined) return false
  if (name === 'localhost' || name === '::1' || (isIP(name) === 4 && name.startsWith('127.'))) return true
  return allowedHosts.some((allowed) => allowed.toLowerCase().replace(/^\[|\]$/g, '') === name)
}

/** The name or address before the port. */
function nameOfHost(host: string): string | undefined {
  const [, bracketed, plain] = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]+))(?::\d{1,5})?$/.exec(host) ?? []
  return (bracketed ?? plain)?.toLowerCase()
}
