import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

const isLong = process.env.SKEIN_LONG === '1'

// Tests run on what is shipped: the compiled files, imported by Node itself and not by vite.
export default defineConfig({
  test: {
    include: [isLong ? 'dist/**/*.long.test.js' : 'dist/**/*.test.js'],
    exclude: ['**/node_modules/**', ...(isLong ? [] : ['**/*.long.test.js'])],
    pool: 'forks',
    isolate: false,
    // Tests wait more than they work; vitest would leave a processor free, which on a small machine is half of it.
    ...(!isLong && { maxWorkers: Math.max(2, availableParallelism() - 1) }),
    server: { deps: { external: [/\/dist\/(?!.*\.test\.js)/] } },
    testTimeout: isLong ? 300_000 : 20_000,
    hookTimeout: isLong ? 300_000 : 20_000
  }
})
