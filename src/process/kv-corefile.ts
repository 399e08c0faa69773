/** What the Corefile says of stores, for `skein kv`: in which folder, fed by which cluster, and what their values are to be. */
import { realpathSync } from 'node:fs'
import { resolve } from 'node:path'
import type { PlacedStore } from '../chain/scope.js'
import type { Directive } from '../corefile/directive.js'
import type { EtcdSource } from '../plugin.js'
import { StoreError } from '../store/store.js'
import { type Configuration, folderOf, isSkydns, isSkydnsAlone, readConfiguration } from './configuration.js'
import { askServer, NoServerError, otherVersion } from './control-client.js'
import { runningReplica } from './replica-folder.js'

/** The flags of the command that decide which store is meant. */
export interface Meant {
  /** As `-store` has it. */
  readonly store: string | undefined
  /** As `-conf` has it. */
  readonly conf: string | undefined
}

/** The folder of the store that is meant. Throws StoreError, ConfigError, ControlError. */
export async function folderMeant({ store, conf }: Meant): Promise<string> {
  if (store !== undefined) return resolve(store)
  const running = isSkydns(conf) ? await folderOfRunning(conf) : undefined
  if (running !== undefined) return running
  const configuration = readConfiguration(conf)
  const named = namedFolder(configuration)
  if (named !== undefined) return named
  if (!configuration.blocks.some(({ directives }) => directives.some(isEtcd))) return resolve('data')
  return temporaryFolder(configuration)
}

/** Where the running server has its store, as it says itself; undefined where none runs, and a Corefile has its name. */
async function folderOfRunning(name: string): Promise<string | undefined> {
  const { body } = await askServer('GET', '/server', { file: name }).catch((error: unknown) => {
    if (error instanceof NoServerError && !isSkydnsAlone(name)) return { body: undefined }
    throw error
  })
  if (body === undefined) return undefined
  const [store] = 'stores' in body && Array.isArray(body.stores) ? (body.stores as { folder?: unknown }[]) : []
  if (typeof store?.folder !== 'string') throw otherVersion()
  return store.folder
}

/** The folder of the first store that has one, as far as can be read without setting anything up. */
function namedFolder({ blocks, file }: Configuration): string | undefined {
  const isStore = ({ name }: Directive): boolean => name === 'store'
  for (const { directives } of blocks) {
    const store = directives.find((each) => isEtcd(each) && each.options.some(isStore))?.options.find(isStore)
    const root = directives.find(({ name }) => name === 'root')?.args[0] ?? ''
    if (store !== undefined) return resolve(folderOf(file), root, store.args[0] ?? 'data')
  }
  return undefined
}

/** Where the server that runs with the Corefile has the replica that is named no folder for. */
async function temporaryFolder(configuration: Configuration): Promise<string> {
  const fed = (await storesOf(configuration)).find(({ etcd }) => etcd !== undefined)
  const folder = fed && (await runningReplica(fed.folder))
  if (folder !== undefined) return folder
  throw new StoreError(
    `no server runs here with the etcd of ${configuration.file}, whose replica is temporary without \`store DIR\`: start it, or name a folder with -store`
  )
}

/** The cluster that feeds the store that is meant, or the first that feeds one. Throws StoreError, ConfigError. */
export async function sourceMeant({ store, conf }: Meant): Promise<EtcdSource> {
  const configuration = readConfiguration(conf)
  const fed = (await storesOf(configuration)).find(
    ({ folder, etcd }) => etcd !== undefined && (store === undefined || isSame(folder, store))
  )
  if (fed?.etcd !== undefined) return fed.etcd
  const where = store === undefined ? '' : ` into ${resolve(store)}`
  throw new StoreError(`-to etcd: no \`etcd\` in ${configuration.file} is fed by a cluster${where}: name one there with \`endpoint URL\``)
}

/** The URL of the module that knows what values in the store of a folder are to be; undefined where the Corefile does not use it. */
export async function judgeOf(folder: string, conf: string | undefined): Promise<string | undefined> {
  const stores = await storesOf(readConfiguration(conf))
  return stores.find((each) => isSame(each.folder, folder))?.judge
}

/** The stores that the `etcd` lines use. Most commands need not know, and save the time that it takes to load what sets them up. */
async function storesOf(configuration: Configuration): Promise<readonly PlacedStore[]> {
  const { storesSetUp } = await import('./kv-setup.js')
  return storesSetUp(
    configuration.file,
    configuration.blocks.filter(({ directives }) => directives.some(isEtcd))
  )
}

function isEtcd({ name }: Directive): boolean {
  return name === 'etcd'
}

function isSame(one: string, other: string): boolean {
  return real(one) === real(other)
}

function real(folder: string): string {
  try {
    return realpathSync(folder)
  } catch {
    return resolve(folder)
  }
}
