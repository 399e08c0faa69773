// A vitest reporter beside the one that is read: leaves the counts, as JSON, in the file that SKEIN_TALLY names.
import { writeFileSync } from 'node:fs'

/** Counts tests, files that cannot even be loaded, and errors outside any test; a skipped test names the tools that it lacks. */
export default class Tally {
  onTestRunEnd(modules, unhandledErrors) {
    const tally = { passed: 0, failed: unhandledErrors.length, skipped: 0, lacking: {} }
    for (const module of modules) {
      for (const test of module.children.allTests()) count(tally, test)
      tally.failed += errorsAround(module)
    }
    if (process.env.SKEIN_TALLY) writeFileSync(process.env.SKEIN_TALLY, JSON.stringify(tally))
  }
}

function count(tally, test) {
  const { state } = test.result()
  if (state === 'passed') tally.passed++
  else if (state === 'failed') tally.failed++
  else tally.skipped++ // 'skipped'; or 'pending', which a run that was cut short leaves behind
  const lacking = state === 'skipped' ? (test.meta().lacking ?? []) : []
  if (lacking.length > 0) tally.lacking[lacking.join(', ')] = (tally.lacking[lacking.join(', ')] ?? 0) + 1
}

// A file that throws while it loads, or a hook that does, fails no test of its own.
function errorsAround(module) {
  const suites = [...module.children.allSuites()]
  return [module, ...suites].reduce((sum, suite) => sum + suite.errors().length, 0)
}
