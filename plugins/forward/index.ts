import type { Plugin } from 'skein/plugin'
import { Forwarder } from './forwarder.js'
import { readOptions, schema } from './options.js'

/** Asks other servers, and hands on what they say. */
export default {
  name: 'forward',
  api: 1,
  repeatable: true,
  schema,
  async setup(config, host) {
    const forwarder = new Forwarder(await readOptions(config, host), host)
    return {
      start: () => forwarder.start(),
      handle: (query, next) => forwarder.handle(query, next),
      stop: () => forwarder.stop()
    }
  }
} satisfies Plugin<typeof schema>
