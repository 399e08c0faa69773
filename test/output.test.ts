/** What the command does where nobody takes its output, and where nothing goes on. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { block, MAIN, skein } from './command.js'
import { temporaryFolder } from './processes.js'

const folder = temporaryFolder()
const env = { XDG_RUNTIME_DIR: folder.path }
afterAll(() => folder.remove())
beforeAll(() => writeFileSync(join(folder.path, 'Corefile'), block('whoami')))

/** Gives the exit code and what is on standard error, standard output being this. */
async function ended(args: readonly string[], output: number | 'gone'): Promise<[number | null, string]> {
  const stdio = ['ignore', output === 'gone' ? 'pipe' : output, 'pipe'] as const
  const child = spawn(process.execPath, [MAIN, ...args], { cwd: folder.path, env: { ...process.env, ...env }, stdio: [...stdio] })
  child.stdout?.destroy()
  let err = ''
  child.stderr!.setEncoding('utf8').on('data', (chunk: string) => (err += chunk))
  const [code] = (await once(child, 'close')) as [number | null]
  return [code, err]
}

const COMMANDS = [
  ['-help'],
  ['-version'],
  ['check'],
  ['check', '-json'],
  ['convert'],
  ['plugins'],
  ['explain', 'a', '-json'],
  ['kv', 'help'],
  ['keys', 'help']
]
const asWords = COMMANDS.map((args) => [args.join(' '), args] as const)

describe('where the reader of its output has gone', () => {
  test.each(asWords)('`skein %s` ends without a word more', async (_title, args) => {
    const [code, err] = await ended(args, 'gone')
    expect([code, err.replace(/^skein: no server runs with .*\n/, '')]).toEqual([0, ''])
  })
})

describe.runIf(existsSync('/dev/full'))('where there is no space for its output', () => {
  test.each(asWords)('`skein %s` says so in one line', async (_title, args) => {
    const [code, err] = await ended(args, openSync('/dev/full', 'w'))
    expect([code, err.replace(/^skein: no server runs with .*\n/, '')]).toEqual([1, 'skein: cannot write: no space is left\n'])
  })
})

test('where the import of a plugin never ends and nothing else goes on, that is said', async () => {
  const plugin = `await new Promise(() => {}); export default { name: 'never', api: 1, setup: () => ({}) }`
  writeFileSync(join(folder.path, 'never.mjs'), plugin)
  writeFileSync(join(folder.path, 'Never'), block('plugin ./never.mjs', 'never'))
  expect(await skein(['run', '-conf', 'Never'], folder.path, { env })).toEqual({
    code: 13,
    out: '',
    err: 'skein: ended before it was done: something that it waits for never comes, the import of a plugin say\n'
  })
})
