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
    const options = await readOptions(config, host)
    const forwarder = new Forwarder(options, host)
    const { from, except, upstreams } = options
    return {
      reach: { zones: from, ends: except.length === 0 ? from : [], asks: upstreams },
      start: () => forwarder.start(),
      inPlace: true,
      handle: (query, next) => forwarder.handle(query, next),
      stop: () => forwarder.stop()
    }
  }
} satisfies Plugin<typeof schema>
