/** Reads the text of the stored object, from etcd or from the embedded store. */
import { existsSync } from 'node:fs'
import { Readable } from 'node:stream'
import type { ServerBlock } from '../corefile/parser.js'
import { thrownText } from '../message/one-line.js'
import { askStore, octetsOf } from '../process/kv-client.js'
import { storesSetUp } from '../process/kv-setup.js'
import { noKey } from '../process/kv-verbs.js'
import type { EtcdClient } from '../store/etcd/client.js'
import { loadClient } from '../store/etcd/load-client.js'
import type { EtcdSource } from '../store/etcd/source.js'
import { keyOfPath, shownKey } from '../store/key.js'
import { isLocked, lockFolder } from '../store/lock.js'
import { StoreError } from '../store/store.js'

/** What was found: the text, nothing, or why nobody knows, in words. */
export type StoredText = { readonly text: string } | { readonly absent: true } | { readonly failed: string }

/** Names must resolve soon, also where etcd is away. */
const PATIENCE = { callMs: 2000, quietMs: 2000 }

/** Reads what stands at `path`, in the store that the `etcd` of these blocks has. Throws ConfigError where that is none. */
export async function storedText(blocks: readonly ServerBlock[], path: string): Promise<StoredText> {
  const [store] = await storesSetUp('skydns', blocks)
  if (store === undefined) return { absent: true }
  try {
    const value = store.etcd === undefined ? await fromFolder(store.folder, path) : await fromEtcd(store.etcd, path)
    return value === undefined ? { absent: true } : { text: value.toString('utf8') }
  } catch (error) {
    return { failed: thrownText(error) }
  }
}

/** From the member that answers first: one that does not must not hold up the start. */
async function fromEtcd(source: EtcdSource, path: string): Promise<Buffer | undefined> {
  const make = await loadClient(source.version)
  const clients: EtcdClient[] = []
  const asked = source.endpoints.map(async (endpoint) => {
    try {
      const client = make(source, endpoint, PATIENCE)
      clients.push(client)
      return await client.get(Buffer.from(path))
    } catch (error) {
      throw new StoreError(`${endpoint}: ${thrownText(error)}`, { cause: error })
    }
  })
  try {
    return await Promise.any(asked)
  } catch (error) {
    throw new StoreError((error as AggregateError).errors.map(thrownText).join('; '), { cause: error })
  } finally {
    for (const client of clients) client.close()
  }
}

async function fromFolder(folder: string, path: string): Promise<Buffer | undefined> {
  if (!existsSync(folder)) return undefined
  // A reload reads the store of this very server.
  if (await isLocked(folder)) return fromServer(folder, path)
  const lock = await lockFolder(folder)
  try {
    const { EmbeddedStore } = await import('../store/embedded.js')
    const store = await EmbeddedStore.open(folder, { lock })
    try {
      return store.exact.entry(keyOfPath(path))?.value
    } finally {
      await store.close()
    }
  } finally {
    await lock.release()
  }
}

async function fromServer(folder: string, path: string): Promise<Buffer | undefined> {
  const key = shownKey(keyOfPath(path))
  const call = { verb: 'get', asked: { key, raw: true }, input: Readable.from([]), silentMs: PATIENCE.quietMs } as const
  try {
    return await askStore(folder, call, octetsOf)
  } catch (error) {
    if (error instanceof StoreError && error.message === noKey(key)) return undefined
    throw error
  }
}
