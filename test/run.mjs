// The test command: sets the checkout and the tools up, runs vitest, and ends with a line of counts that a program can read.
//   node test/run.mjs [--long] [VITEST ARGUMENT…]
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { giveUp, interruptible, prepare, root, run } from '../src/prepare.mjs'
import { installTools } from './install-tools.mjs'

const isLong = process.argv.includes('--long')
const filters = process.argv.slice(2).filter((argument) => argument !== '--long')

try {
  await interruptible(runTests)
} catch (error) {
  giveUp(error)
}

async function runTests() {
  await prepare()
  const missing = await installTools()
  const tally = await runVitest()
  printLacking(tally.lacking)
  if (process.env.CI) {
    // There every tool can be had, so a test left out for want of one would hide a fault for ever.
    for (const name of missing) console.log(`missing tool, a failure where CI is set: ${name}`)
    tally.failed += missing.length
  }
  console.log(`${tally.passed} passed, ${tally.failed} failed${tally.skipped > 0 ? `, ${tally.skipped} skipped` : ''}`)
  process.exitCode = tally.failed > 0 || tally.passed === 0 ? 1 : 0
}

async function runVitest() {
  const folder = mkdtempSync(join(tmpdir(), 'skein-run-'))
  // Tests that give up their rights must still reach their folders in it.
  chmodSync(folder, 0o711)
  const remove = () => rmSync(folder, { recursive: true, force: true })
  process.once('exit', remove)
  const path = join(folder, 'tally.json')
  // Tests are written in TypeScript and run compiled; whoever names a file names the one that was written.
  const args = filters.map((filter) => filter.replace(/\.ts$/, '.js'))
  const reporters = ['--reporter=default', `--reporter=${join(root, 'test/tally.mjs')}`]
  // TMPDIR: a run that is stopped leaves none of the tests' folders behind.
  const env = { ...process.env, TMPDIR: folder, SKEIN_TALLY: path, SKEIN_LONG: isLong ? '1' : '' }
  const vitest = join(root, 'node_modules/vitest/vitest.mjs')
  const { code } = await run(process.execPath, [vitest, 'run', ...reporters, ...args], { env, show: true })
  const tally = readTally(path)
  // vitest has its own reasons to fail (no file matches, a worker lost): the last line must not contradict it.
  if (code !== 0 && tally.failed === 0) tally.failed = 1
  return tally
}

function readTally(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    if (error.code !== 'ENOENT') throw error
    return { passed: 0, failed: 0, skipped: 0, lacking: {} }
  }
}

function printLacking(lacking) {
  const kinds = Object.entries(lacking)
  if (kinds.length === 0) return
  const sum = kinds.reduce((total, [, count]) => total + count, 0)
  console.log(`skipped for want of a tool: ${sum}`)
  for (const [names, count] of kinds) console.log(`  ${names}: ${count}`)
}
