import { type Plugin, storeChanges, storeReads, zoneCuts } from 'skein/plugin'
import { Forwarder } from './forwarder.js'
import { readOptions, schema } from './options.js'
import { StubZones } from './stub-zones.js'

/** Asks the servers of stub zones, which stand in the Corefile and in the store. */
export default {
  name: 'stub',
  api: 1,
  facts: [storeReads],
  schema,
  setup(config, host) {
    const options = readOptions(config)
    const store = options.store === undefined ? undefined : host.store({ folder: options.store })
    const zones = new StubZones(options, store, host)
    const forwarder = new Forwarder(zones, host)
    return {
      reach: {
        ...(store === undefined ? { zones: [...options.zones.keys()] } : {}),
        ends: [...options.zones.keys()],
        asks: [...options.zones].flatMap(([zone, servers]) => servers.map(({ address, port }) => ({ address, port, zones: [zone] })))
      },
      start() {
        zones.start()
        host.offer(zoneCuts, () => zones.cuts())
        // What was cached of other servers ends when a zone comes or goes.
        if (store !== undefined) for (const key of zones.keys) host.offer(storeChanges, (changed) => store.watch(key, changed))
      },
      inPlace: true,
      handle: (query, next) => forwarder.handle(query, next),
      async stop() {
        zones.stop()
        await forwarder.stop()
      }
    }
  }
} satisfies Plugin<typeof schema>
