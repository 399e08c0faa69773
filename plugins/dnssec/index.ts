import { type Plugin, zoneCuts } from 'skein/plugin'
import { loadZones, makeKeys } from './key-files.js'
import { telling } from './numbers.js'
import { readOptions, schema } from './options.js'
import { Signer } from './signer.js'

/** Signs answers of its zones, and proofs of what is not there, for those who ask with DO. */
export default {
  name: 'dnssec',
  api: 1,
  schema,
  async setup(config, host) {
    const options = readOptions(config)
    const { directive } = config
    const { folder = '' } = options
    let loaded = await loadZones(options, host, directive)
    const made = (): Signer => new Signer(loaded.zones, { ...options, clock: host.clock, random: host.random }, host)
    let signer = made()
    let stopTelling: (() => Promise<void>) | undefined
    return {
      reach: {
        zones: options.zones,
        answers: false,
        ...(loaded.keyless.length > 0 && { makes: loaded.keyless.map((zone) => `makes a key for ${zone} in ${folder}`) })
      },
      inPlace: true,
      handle: (query, next) => signer.handle(query, next),
      async start() {
        if (loaded.keyless.length > 0) {
          const { keyless } = loaded
          await makeKeys(loaded, folder, host)
          loaded = await loadZones(options, host, directive)
          signer = made()
          for (const zone of loaded.zones.filter(({ apex }) => keyless.includes(apex)))
            for (const key of zone.keys) host.log.info(`made the key ${folder}/${key.name}; for the parent zone: ${key.dsText(2)}`)
        }
        if (loaded.zones.length === 0) host.log.info('signs nothing: there is no key, and none is made for the root')
        host.offer(zoneCuts, () => loaded.zones.map(({ apex, ds }) => ({ apex, ds })))
        stopTelling = await telling(signer.numbers, host)
      },
      refreshed: () => signer.refreshed(),
      stop: () => stopTelling?.()
    }
  }
} satisfies Plugin<typeof schema>
