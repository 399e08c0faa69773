import type { Plugin } from 'skein/plugin'
import { Cache, cacheHit } from './cache.js'
import { readOptions, schema } from './options.js'

/** Keeps answers as long as their TTLs say, and answers from them. */
export default {
  name: 'cache',
  api: 1,
  facts: [cacheHit],
  schema,
  setup(config, host) {
    const options = readOptions(config)
    const cache = new Cache(options, host)
    return {
      reach: { zones: options.zones, answers: false },
      inPlace: true,
      handle: (query, next) => cache.handle(query, next),
      start: () => cache.start(),
      refreshed: () => cache.refreshed(),
      stop: () => cache.stop()
    }
  }
} satisfies Plugin<typeof schema>
