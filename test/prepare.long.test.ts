import { spawnSync } from 'node:child_process'
import { cpSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { temporaryFolder } from './processes.js'

const repository = fileURLToPath(new URL('../../', import.meta.url))
const made = ['node_modules', 'dist', 'data', '.git']

test('a fresh copy sets itself up with the real npm and compiler, and is then up to date at once', () => {
  const folder = temporaryFolder()
  for (const name of readdirSync(repository).filter((each) => !made.includes(each))) {
    cpSync(join(repository, name), join(folder.path, name), { recursive: true })
  }
  const prepare = () => spawnSync(process.execPath, ['src/prepare.mjs'], { cwd: folder.path, encoding: 'utf8' })
  expect(prepare()).toMatchObject({ status: 0, stderr: 'installing the locked packages…\nbuilding…\n' })
  expect(readdirSync(join(folder.path, 'dist/test'))).toContain('prepare.long.test.js')

  // The real compiler believes its notes, by which this file is there.
  rmSync(join(folder.path, 'dist/test/tools.js'))
  expect(prepare()).toMatchObject({ status: 0, stderr: 'building…\n' })
  expect(readdirSync(join(folder.path, 'dist/test'))).toContain('tools.js')

  // Node itself takes 50 ms where all of it takes 150, and as much longer on a slow machine.
  const bare = bestOf(5, () => spawnSync(process.execPath, ['-e', '']))
  const upToDate = bestOf(5, () => expect(prepare()).toMatchObject({ status: 0, stderr: '' }))
  expect(upToDate / bare).toBeLessThan(5)
  folder.remove()
})

function bestOf(times: number, work: () => unknown): number {
  const taken = Array.from({ length: times }, () => {
    const begin = performance.now()
    work()
    return performance.now() - begin
  })
  return Math.min(...taken)
}
