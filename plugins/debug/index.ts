import { debugLog, type Plugin, type Schema } from 'skein/plugin'

const schema = { about: 'Has the log of the whole process carry lines for debugging.' } as const satisfies Schema

/** Has the log of the whole process carry lines for debugging. */
export default {
  name: 'debug',
  api: 1,
  schema,
  setup(_config, host) {
    host.set(debugLog, true)
    return {}
  }
} satisfies Plugin<typeof schema>
