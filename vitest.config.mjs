import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { BaseSequencer } from 'vitest/node'

const isLong = process.env.SKEIN_LONG === '1'
const include = [isLong ? 'dist/**/*.long.test.js' : 'dist/**/*.test.js']
const exclude = ['**/node_modules/**', ...(isLong ? [] : ['**/*.long.test.js'])]
// Tests wait more than they work; vitest would leave a processor free, which on a small machine is half of it.
const maxWorkers = Math.max(2, availableParallelism() - 1)

/** Long tests that measure times, or take all the processor that there is: one after another, when the others are over. */
const alone = ['bench/bench', 'test/prepare', 'test/reload-load', 'test/workers-dying'].map((name) => `dist/${name}.long.test.js`)

/** What takes longest begins first; what validates signatures follows in one row, so that such tests do not meet each other. */
const first = ['etcd-connections', 'dnssec-validators', 'dnssec-roll', 'dnssec-later', 'dnssec-changes', 'etcd-members', 'etcd-followers']

class LongestFirst extends BaseSequencer {
  async sort(specs) {
    const place = ({ moduleId }) => (first.findIndex((name) => moduleId.endsWith(`/${name}.long.test.js`)) + 1 || first.length + 1)
    return (await super.sort(specs)).toSorted((one, other) => place(one) - place(other))
  }
}

const long = {
  sequence: { sequencer: LongestFirst },
  projects: [
    { extends: true, test: { name: 'beside others', include, exclude: [...exclude, ...alone], maxWorkers, sequence: { groupOrder: 0 } } },
    { extends: true, test: { name: 'alone', include: alone, exclude, maxWorkers: 1, sequence: { groupOrder: 1 } } }
  ]
}

// Tests run on what is shipped: the compiled files, imported by Node itself and not by vite.
export default defineConfig({
  test: {
    pool: 'forks',
    isolate: false,
    server: { deps: { external: [/\/dist\/(?!.*\.test\.js)/] } },
    testTimeout: isLong ? 300_000 : 20_000,
    hookTimeout: isLong ? 300_000 : 20_000,
    ...(isLong ? long : { include, exclude, maxWorkers })
  }
})
