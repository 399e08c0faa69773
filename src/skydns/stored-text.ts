/** Reads the text of the stored object, from etcd or from the embedded store. */
import { existsSync } from 'node:fs'
import { request } from 'node:http'
import type { ServerBlock } from '../corefile/parser.js'
import { thrownText } from '../message/one-line.js'
import { storesSetUp } from '../process/kv-setup.js'
import { loadClient } from '../store/etcd/load-client.js'
import type { EtcdSource } from '../store/etcd/source.js'
import { keyOfPath } from '../store/key.js'
import { controlPath, isLocked, lockFolder } from '../store/lock.js'
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

/** From the first member that can be reached. */
async function fromEtcd(source: EtcdSource, path: string): Promise<Buffer | undefined> {
  const make = await loadClient(source.version)
  const failures: string[] = []
  for (const endpoint of source.endpoints) {
    const client = make(source, endpoint, PATIENCE)
    try {
      return await client.get(Buffer.from(path))
    } catch (error) {
      failures.push(`${endpoint}: ${thrownText(error)}`)
    } finally {
      client.close()
    }
  }
  throw new StoreError(failures.join('; '))
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

function fromServer(folder: string, path: string): Promise<Buffer | undefined> {
  return new Promise((done, failed) => {
    const asked = `/kv/get?arguments=${encodeURIComponent(JSON.stringify({ key: path, raw: true }))}`
    const sent = request({ socketPath: controlPath(folder), method: 'POST', path: asked, timeout: PATIENCE.callMs }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () => {
        const body = Buffer.concat(chunks)
        if (response.statusCode === 200) done(body)
        else if (body.toString('utf8').startsWith('there is no key')) done(undefined)
        else failed(new StoreError(body.toString('utf8')))
      })
    })
    sent.on('timeout', () => sent.destroy(new StoreError('no answer')))
    sent.on('error', (error) => failed(new StoreError(`the server of ${folder} does not answer: ${error.message}`)))
    sent.end()
  })
}
