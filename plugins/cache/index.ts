import type { Plugin } from 'skein/plugin'
import { Cache, cacheHit } from './cache.js'
import { readOptions, schema } from './options.js'

/** Keeps answers as long as their TTLs say, and answers from them. */
export default {
  name: 'cache',
  api: 1,
  facts: [cacheHit],
  schema,
  setup: (config, host) => new Cache(readOptions(config), host)
} satisfies Plugin<typeof schema>
