import { type Key, MAX_KEY_OCTETS, spelledOctets } from '../key.js'

/** The key that a path of etcd is in the store; or why it can be none, in words. */
export function keyOfEtcdPath(path: Buffer, below: string): Key | string {
  const text = path.toString('latin1')
  const start = `${Buffer.from(below, 'utf8').toString('latin1')}/`
  if (!text.startsWith(start)) return `is not below ${start}`
  if (text.endsWith('/')) return 'is the mark of a directory'
  const key = text.slice(1).split('/')
  // Another key is spelled so without it: one of them would hide the other.
  if (key.includes('')) return 'has an empty segment'
  return spelledOctets(key).length > MAX_KEY_OCTETS ? `is longer than the ${MAX_KEY_OCTETS} octets that a key may have` : key
}

/** The path in etcd of a key that {@link keyOfEtcdPath} gave. */
export function etcdPathOfKey(key: Key): Buffer {
  return Buffer.from(`/${key.join('/')}`, 'latin1')
}
