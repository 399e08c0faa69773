import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { BaseSequencer } from 'vitest/node'

const isLong = process.env.SKEIN_LONG === '1'
const exclude = ['**/node_modules/**', ...(isLong ? [] : ['**/*.long.test.js'])]
// Tests wait more than they work; vitest would leave a processor free, which on a small machine is half of it.
const maxWorkers = Math.max(2, availableParallelism() - 1)

/** Long tests by what they need, one group after the other. */
const groups = {
  // They watch what fails and for how long, and take half a processor; an answer that is late is a fault to them.
  'mostly wait': ['dist/test/etcd-*.long.test.js', 'dist/test/kv-etcd.long.test.js'],
  // All that is in no other group.
  work: ['dist/**/*.long.test.js'],
  // They measure times, take all the processor that there is, or change threads, which wait for each other.
  alone: ['bench/bench*', 'test/prepare*', 'test/reload-load*', 'test/workers-*'].map((name) => `dist/${name}.long.test.js`)
}

const projects = Object.entries(groups).map(([name, files], groupOrder) => {
  const others = name === 'work' ? [...groups['mostly wait'], ...groups.alone] : []
  const workers = name === 'alone' ? 1 : maxWorkers
  return { extends: true, test: { name, include: files, exclude: [...exclude, ...others], maxWorkers: workers, sequence: { groupOrder } } }
})

/** What takes longest begins first: a group is over with its last file. */
class LongestFirst extends BaseSequencer {
  async sort(specs) {
    const longest = ['etcd-connections', 'etcd-members', 'etcd-followers', 'dnssec-validators']
    const place = ({ moduleId }) => (longest.findIndex((name) => moduleId.endsWith(`/${name}.long.test.js`)) + 1 || longest.length + 1)
    return (await super.sort(specs)).toSorted((one, other) => place(one) - place(other))
  }
}

// Tests run on what is shipped: the compiled files, imported by Node itself and not by vite.
export default defineConfig({
  test: {
    pool: 'forks',
    isolate: false,
    server: { deps: { external: [/\/dist\/(?!.*\.test\.js)/] } },
    testTimeout: isLong ? 300_000 : 20_000,
    hookTimeout: isLong ? 300_000 : 20_000,
    ...(isLong ? { projects, sequence: { sequencer: LongestFirst } } : { include: ['dist/**/*.test.js'], exclude, maxWorkers })
  }
})
