import type { IncomingMessage } from 'node:http'
import { KeysError } from './keys-error.js'
import { MAX_API_VALUE } from './keys-request.js'

// A value of which every octet is percent-encoded, and the other fields.
const MAX_BODY = MAX_API_VALUE * 3 + 4096

/** The form in a request's body, one character an octet; refused where it is too long, too slow, or no form. */
export function readForm(request: IncomingMessage, timeoutMs: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = []
    let length = 0
    const fail = (error: KeysError): void => {
      clearTimeout(timer)
      request.removeAllListeners('data')
      request.resume()
      reject(error)
    }
    const timer = setTimeout(() => fail(new KeysError(210, `the body did not come within ${timeoutMs} ms`, 408)), timeoutMs)
    request.on('data', (part: Buffer) => {
      length += part.length
      if (length > MAX_BODY) fail(new KeysError(210, `a body has at most ${MAX_BODY} octets, and a value ${MAX_API_VALUE}`, 413))
      else parts.push(part)
    })
    request.on('error', () => fail(new KeysError(210, 'the body was cut short')))
    request.on('close', () => clearTimeout(timer))
    request.on('end', () => {
      clearTimeout(timer)
      const body = Buffer.concat(parts).toString('latin1')
      const type = (request.headers['content-type'] ?? '').split(';')[0]!.trim().toLowerCase()
      // etcd would take such a body for none, and store an empty value.
      if (body !== '' && type !== 'application/x-www-form-urlencoded')
        reject(new KeysError(210, `the body must be application/x-www-form-urlencoded (value=…), not ${type || 'of no type'}`))
      else resolve(body)
    })
  })
}
