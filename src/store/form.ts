import { KeysError } from './keys-error.js'

/** The fields of `a=b&c=d`, as octets; of a field that comes twice, the first counts. */
export function parseForm(text: string): Map<string, Buffer> {
  const fields = new Map<string, Buffer>()
  for (const pair of text.split('&')) {
    if (pair === '') continue
    // Some take a semicolon for a separator and some do not; whoever sends one means either.
    if (pair.includes(';')) throw new KeysError(210, 'invalid semicolon separator in query')
    const at = pair.indexOf('=')
    const name = percentDecoded(at < 0 ? pair : pair.slice(0, at), true).toString('latin1')
    const value = percentDecoded(at < 0 ? '' : pair.slice(at + 1), true)
    if (!fields.has(name)) fields.set(name, value)
  }
  return fields
}

/** The octets of percent-encoded text, given with one character an octet. */
export function percentDecoded(text: string, plusIsSpace: boolean): Buffer {
  if (!/[%+]/.test(text)) return Buffer.from(text, 'latin1')
  const octets = Buffer.allocUnsafe(text.length)
  let length = 0
  for (let i = 0; i < text.length; i++) {
    const character = text.charCodeAt(i)
    if (character === 0x25) {
      const digits = text.slice(i + 1, i + 3)
      if (!/^[0-9a-fA-F]{2}$/.test(digits)) throw new KeysError(210, `invalid URL escape "%${digits}"`)
      octets[length++] = Number.parseInt(digits, 16)
      i += 2
    } else octets[length++] = character === 0x2b && plusIsSpace ? 0x20 : character
  }
  return octets.subarray(0, length)
}
