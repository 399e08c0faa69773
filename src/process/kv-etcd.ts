/** `skein kv put` and `del` with `-to etcd`: the cluster is written to, and not the replica of it. */
import { thrownText } from '../message/one-line.js'
import type { EtcdSource } from '../plugin.js'
import { type EtcdClient, EtcdError } from '../store/etcd/client.js'
import { keyOfEtcdPath } from '../store/etcd/etcd-path.js'
import { loadClient } from '../store/etcd/load-client.js'
import { octetsOfShownPath } from '../store/key.js'
import { StoreError } from '../store/store.js'
import type { KvArguments } from './kv-verbs.js'

/** What writes. */
export type EtcdVerb = 'put' | 'del'

/** A member that hangs is given up after this, and the next one asked. */
const PATIENCE = { callMs: 4000, quietMs: 4000 }

/** Writes to the cluster: to the first of its endpoints that can be reached. Throws StoreError. */
export async function writeToEtcd(source: EtcdSource, verb: EtcdVerb, asked: KvArguments, input: AsyncIterable<Buffer>): Promise<void> {
  const { key: shown = '/', ttl, recursive = false } = asked
  const path = octetsOfShownPath(shown)
  check(path, shown, source, verb, recursive)
  if (verb === 'put') {
    const chunks: Buffer[] = []
    for await (const chunk of input) chunks.push(chunk)
    return atAnEndpoint(source, (client) => client.put(path, Buffer.concat(chunks), ttl))
  }
  const found = await atAnEndpoint(source, (client) => client.delete(path, recursive))
  if (!found) throw new StoreError(`there is no key ${shown} in etcd${recursive ? '' : '; what is below a key is deleted with -r'}`)
}

/** What is written elsewhere would never be seen here. Of what cannot be seen, v3 may have some that is to be deleted. */
function check(path: Buffer, shown: string, { path: top, version }: EtcdSource, verb: EtcdVerb, recursive: boolean): void {
  const isTop = path.toString('utf8') === top
  if (isTop && verb === 'del' && recursive) return
  const isOutside = !path.toString('latin1').startsWith(`${Buffer.from(top).toString('latin1')}/`)
  if (isOutside)
    throw new StoreError(
      `${shown} is not below ${top === '' ? '/' : top}, which the \`etcd\` of the Corefile is fed with: expected a key below it`
    )
  const key = keyOfEtcdPath(path, top)
  if (typeof key === 'string' && (verb === 'put' || version === 2)) throw new StoreError(`the key ${shown} ${key}`)
  if (version === 2 && path.subarray(Buffer.byteLength(top)).includes('/_'))
    throw new StoreError(`the key ${shown} has a segment that begins with _, which the v2 API of etcd hides`)
}

async function atAnEndpoint<T>(source: EtcdSource, act: (client: EtcdClient) => Promise<T>): Promise<T> {
  const make = await loadClient(source.version)
  const unreached: string[] = []
  for (const endpoint of source.endpoints) {
    let client: EtcdClient | undefined
    try {
      client = make(source, endpoint, PATIENCE)
      return await act(client)
    } catch (error) {
      const text = `${endpoint} (${thrownText(error)})`
      if (!(error instanceof EtcdError) || error.kind !== 'unreachable') throw new StoreError(`etcd refuses at ${text}`, { cause: error })
      unreached.push(text)
    } finally {
      client?.close()
    }
  }
  throw new StoreError(`etcd cannot be reached at ${unreached.join(', nor at ')}`)
}
