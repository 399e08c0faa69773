import { type Plugin, signaturesMade, signsReplies, zoneCuts } from 'skein/plugin'
import { checkKept, loadZones, makeKeys } from './key-files.js'
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
    let loaded = await loadZones(options, host)
    for (const key of loaded.zones.flatMap(({ keys }) => keys))
      if (key.isWeak)
        host.log.warn(`${key.name} is of an algorithm with SHA-1, which many validators do not take: roll to one of algorithm 13`)
    if (loaded.zones.length + loaded.keyless.length === 0)
      host.log.warn('signs nothing: no key is made for the root, expected zones after the directive, as in dnssec example.org')
    const made = (): Signer => new Signer(loaded.zones, { ...options, clock: host.clock, random: host.random }, host)
    let signer = made()
    let releaseKeys: (() => Promise<void>) | undefined
    let stopTelling: (() => Promise<void>) | undefined
    return {
      reach: {
        zones: options.zones,
        answers: false,
        ...(loaded.keyless.length > 0 && { makes: loaded.keyless.map((zone) => `makes a key for ${zone} in ${options.folder}`) })
      },
      inPlace: true,
      handle: (query, next) => signer.handle(query, next),
      async start() {
        releaseKeys = await makeKeys(loaded, options, host)
        if (loaded.keyless.length > 0) {
          loaded = await loadZones(options, host)
          checkKept(loaded, options)
          signer = made()
        }
        const { zones } = loaded
        for (const { apex, keys } of zones) host.log.info(`signs ${apex} with ${keys.map(({ name }) => name).join(', ')}`)
        const cuts = zones.map(({ apex, ds }) => ({ apex, ds }))
        host.offer(zoneCuts, () => cuts)
        host.offer(signsReplies, (query, reply) => signer.sign(query, reply))
        host.offer(signaturesMade, () => signer.numbers.made)
        stopTelling = await telling(signer.numbers, host)
      },
      refreshed: () => signer.refreshed(),
      async stop() {
        await stopTelling?.()
        await releaseKeys?.()
      }
    }
  }
} satisfies Plugin<typeof schema>
