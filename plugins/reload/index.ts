import { type Plugin, reloadEvery, type Schema } from 'skein/plugin'

const LEAST_MS = 2000
const LEAST_JITTER_MS = 1000

const schema = {
  about: 'Reads the configuration again from time to time, and goes over to it where it has changed.',
  args: [
    { name: 'INTERVAL', type: 'duration', min: LEAST_MS, optional: true, default: 30_000, about: 'how often the files are looked at' },
    {
      name: 'JITTER',
      type: 'duration',
      optional: true,
      default: 15_000,
      about: 'how much the time between two looks varies, at least 1s or 0; half the interval at most'
    }
  ]
} as const satisfies Schema

/** Reads the configuration again from time to time, and goes over to it where it has changed. */
export default {
  name: 'reload',
  api: 1,
  schema,
  setup({ args: [intervalMs, jitterMs], fail }, host) {
    if (jitterMs > 0 && jitterMs < LEAST_JITTER_MS) fail(`expected a JITTER of at least 1s, or 0, not ${jitterMs}ms`)
    host.set(reloadEvery, { intervalMs, jitterMs: Math.min(jitterMs, intervalMs / 2) })
    return {}
  }
} satisfies Plugin<typeof schema>
