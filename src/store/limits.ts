/** What a key and a value may have at most. */
import { type Key, MAX_KEY_OCTETS, pathOfKey, spelledOctets } from './key.js'
import { StoreError } from './store.js'

/** The longest value. */
export const MAX_VALUE_OCTETS = 1 << 20

/** The octets of a key that can be stored: LMDB would end a longer one, or the root, with an error of its own. */
export function checkedOctets(key: Key): Buffer {
  if (key.length === 0) throw new StoreError('the root holds no value: name a key')
  const octets = spelledOctets(key)
  if (octets.length > MAX_KEY_OCTETS)
    throw new StoreError(`the key ${pathOfKey(key).slice(0, 60)}… takes ${octets.length} octets: ${MAX_KEY_OCTETS} is the limit`)
  return octets
}
