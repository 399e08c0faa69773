import { cut } from '../../message/one-line.js'
import { EtcdError } from './client.js'

/** What the v2 API answers where it refuses. */
export interface V2Refusal {
  readonly errorCode: number
  readonly message?: string
  readonly cause?: string
}

/** Of the API's error codes those that are no failures everywhere. */
export const KEY_NOT_FOUND = 100
/** The path is a directory. */
export const NOT_A_FILE = 102
/** Something above the path is a key, so there is nothing at it. */
export const NOT_A_DIRECTORY = 104
const UNAUTHORIZED = 110
const EVENT_CLEARED = 401

const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'the connection was lost',
  EPIPE: 'the connection was lost',
  ETIMEDOUT: 'connection timed out',
  ENETUNREACH: 'network is unreachable',
  EHOSTUNREACH: 'no route to host',
  ENOTFOUND: 'the host has no address',
  EAI_AGAIN: 'the address of the host could not be looked up',
  UNABLE_TO_GET_ISSUER_CERT: 'its certificate is not signed by an authority that is trusted',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its certificate is not signed by an authority that is trusted',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate is not signed by an authority that is trusted',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is not signed by an authority that is trusted',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is not signed by an authority that is trusted',
  CERT_SIGNATURE_FAILURE: 'its certificate is not signed by an authority that is trusted',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another host',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it does not speak TLS on this port',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'it does not speak TLS on this port'
}

/** The error of a connection, in words. */
export function connectionError(error: NodeJS.ErrnoException, when?: 'in an answer'): EtcdError {
  if (error instanceof EtcdError) return error
  const code = error.code ?? ''
  // What the certificate and key of the configuration are refused for when they are read is nothing that the server does.
  if (code.startsWith('ERR_OSSL_')) return new EtcdError('failed', `the certificates for TLS cannot be used: ${oneLine(error.message)}`)
  if (code.startsWith('ERR_INVALID_')) return new EtcdError('failed', oneLine(error.message))
  // So does etcd where it is spoken to with TLS on a port without, or the other way round.
  const isEarly = code === 'ECONNRESET' && when === undefined
  const words = isEarly ? 'the connection was closed without an answer' : (WORDS[code] ?? alert(code) ?? oneLine(error.message || code))
  return new EtcdError('unreachable', words, { cause: error })
}

/** The alerts by which a server refuses the client in the handshake. */
function alert(code: string): string | undefined {
  const [, words] = /_ALERT_(.+)$/.exec(code) ?? []
  if (words === undefined) return undefined
  const said = words.toLowerCase().replaceAll('_', ' ')
  if (/certificate|unknown ca/.test(said)) return `it does not take the client's certificate, or wants one: TLS alert "${said}"`
  return `TLS alert "${said}"`
}

/** The error that an answer is. */
export function refusalError({ errorCode, message = '', cause = '' }: V2Refusal): EtcdError {
  const said = oneLine(`${message}${cause === '' ? '' : ` (${cause})`}`)
  if (errorCode === UNAUTHORIZED)
    return new EtcdError('denied', `etcd does not know the user and password, or they have no right to this path: ${said}`)
  if (errorCode === EVENT_CLEARED) return new EtcdError('compacted', `etcd does not have the changes any more: ${said}`)
  // The raft and the server itself: without a leader, or while it starts.
  if (errorCode >= 300 && errorCode < 400) return new EtcdError('unreachable', `etcd cannot answer now: ${said}`)
  return new EtcdError('failed', `etcd says: ${said}`)
}

/** The error of an answer that is none of the v2 API's. */
export function strangeAnswer(status: number, text: string): EtcdError {
  if (status === 401) return new EtcdError('denied', 'the user and password are not taken')
  if (status === 404) return new EtcdError('failed', 'there is no v2 API here: etcd has it with --enable-v2')
  const said = oneLine(text)
  return new EtcdError('unreachable', `what answers is not the v2 API of etcd: status ${status}${said === '' ? '' : `, ${said}`}`)
}

function oneLine(text: string): string {
  const line = text.replace(/[\s\x00-\x1f\x7f]+/g, ' ').trim()
  return cut(line, 200)
}
