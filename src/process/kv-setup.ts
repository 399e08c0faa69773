/** Sets up what the Corefile says of stores, for `skein kv`. */
import { buildChain } from '../chain/build.js'
import { BlockScope, type Generation, type PlacedStore, type ProcessServices } from '../chain/scope.js'
import type { ServerBlock } from '../corefile/parser.js'
import type { Log } from '../plugin.js'
import { StoreError } from '../store/store.js'
import { systemClock } from './clock.js'
import { folderOf } from './configuration.js'
import { PromRegistry } from './metrics.js'
import { SystemRandom } from './random.js'
import { Sharing } from './shares.js'
import { ProcessStores } from './stores.js'

/**
 * The stores that the `etcd` lines of server blocks use, which are set up and not started. Nothing else of the blocks is: it may be of
 * another machine, or have a mistake that is none of this. Throws ConfigError.
 */
export async function storesSetUp(file: string, blocks: readonly ServerBlock[]): Promise<readonly PlacedStore[]> {
  const metrics = new PromRegistry()
  const pool = new ProcessStores({ clock: systemClock, log: NO_LOG, metrics })
  const services: ProcessServices = {
    log: NO_LOG,
    clock: systemClock,
    random: new SystemRandom(),
    metrics,
    stores: pool,
    shares: new Sharing(),
    version: ''
  }
  const lease = pool.lease()
  const generation: Generation = { folder: folderOf(file), stores: lease, scopes: [] }
  for (const { directives, at } of blocks) {
    const own = directives.filter(({ name }) => ['root', 'etcd'].includes(name))
    await buildChain({ directives: own, at }, new BlockScope(services, generation, neverAsked))
  }
  return lease.used.map(({ options }) => options)
}

const NO_LOG: Log = { debug() {}, info() {}, warn() {}, error() {}, line() {} }

function neverAsked(): never {
  throw new StoreError('a chain that is set up for its stores alone answers nothing')
}
