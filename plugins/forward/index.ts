import type { Plugin } from 'skein/plugin'
import { Forwarder } from './forwarder.js'
import { readOptions } from './options.js'

/** Asks other servers, and hands on what they say. */
export default {
  name: 'forward',
  api: 1,
  repeatable: true,
  async setup(directive, host) {
    const forwarder = new Forwarder(await readOptions(directive, host), host)
    return {
      start: () => forwarder.start(),
      handle: (query, next) => forwarder.handle(query, next),
      stop: () => forwarder.stop()
    }
  }
} satisfies Plugin
