import { type Plugin, serviceStore, storeChanges, storeReads, zoneCuts } from 'skein/plugin'
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
    const { source } = options
    const inFolder = source?.kind === 'folder' ? { store: host.store({ folder: source.folder }), path: source.path } : undefined
    const zones = new StubZones(options, host)
    const forwarder = new Forwarder(zones, host)
    return {
      reach: {
        ...(source === undefined ? { zones: [...options.zones.keys()] } : {}),
        ends: [...options.zones.keys()],
        asks: [...options.zones].flatMap(([zone, servers]) => servers.map(({ address, port }) => ({ address, port, zones: [zone] })))
      },
      verify() {
        if (source?.kind === 'etcd' && host.find(serviceStore).length === 0)
          config.fail('no `etcd` stands in this server block, expected one, or `store [DIR]` here', 'etcd')
      },
      start() {
        zones.start(source?.kind === 'etcd' ? host.find(serviceStore)[0] : inFolder)
        host.offer(zoneCuts, () => zones.cuts())
        // What was cached of other servers ends when a zone comes or goes. Whoever offers a store tells of its changes too.
        if (inFolder !== undefined) for (const key of zones.keys) host.offer(storeChanges, (changed) => inFolder.store.watch(key, changed))
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
