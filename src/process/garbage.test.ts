import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'

const MODULE = new URL('./garbage.js', import.meta.url).href

/** What part of its processor time a process that makes garbage spends in other threads than its main one. */
function partOfHelpers(before: string): number {
  const script = `
    ${before}
    import { readdirSync, readFileSync } from 'node:fs'
    const kept = []
    for (let i = 0; i < 3e6; i++) kept[i % 100_000] = { i, list: [i] }
    const ticks = readdirSync('/proc/self/task').map((thread) => {
      const fields = readFileSync('/proc/self/task/' + thread + '/schedstat', 'utf8').split(' ')
      return { isMain: thread === String(process.pid), time: Number(fields[0]) }
    })
    const sum = (all) => all.reduce((total, { time }) => total + time, 0)
    console.log(sum(ticks.filter(({ isMain }) => !isMain)) / sum(ticks))`
  return Number(execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' }))
}

test.runIf(process.platform === 'linux')('the thread that has made garbage collects what is young of it alone', () => {
  const alone = partOfHelpers(`import { collectAlone } from '${MODULE}'; collectAlone()`)
  expect(alone).toBeLessThan(partOfHelpers('') / 2)
})
