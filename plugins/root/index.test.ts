import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { serverOf, type TestServer } from 'skein/testing'
import { afterAll, describe, expect, test } from 'vitest'

const folder = mkdtempSync(join(tmpdir(), 'skein-root-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const reads = join(folder, 'node_modules/skein-plugin-reads')
for (const path of [reads, join(folder, 'zones')]) mkdirSync(path, { recursive: true })
writeFileSync(join(reads, 'package.json'), '{"type":"module","exports":"./index.js"}')
writeFileSync(
  join(reads, 'index.js'),
  `export default {
    name: 'reads', api: 1, schema: { about: '', args: [{ name: 'FILE', type: 'path' }] },
    setup: async ({ args: [path] }, host) => { host.log.info(host.resolvePath(path) + ' ' + await host.readFile(path)); return {} }
  }`
)
writeFileSync(join(folder, 'a'), 'beside the Corefile')
writeFileSync(join(folder, 'zones/a'), 'below the root')

/** What is told while a server block with these lines starts, and what it fails with; the folder's own name is left out. */
async function told(...blocks: string[]): Promise<readonly string[]> {
  const corefile = blocks.map((lines, index) => `z${index}. {\n${lines}\n}\n`).join('')
  let server: TestServer
  try {
    server = await serverOf(corefile, { file: join(folder, 'Corefile') })
  } catch (error) {
    return [(error as Error).message.replaceAll(`${folder}/`, '')]
  }
  await server.stop()
  return server.log.lines.map((line) => line.replaceAll(`${folder}/`, ''))
}

const BESIDE = '[INFO] plugin/reads: a beside the Corefile'
const BELOW = '[INFO] plugin/reads: zones/a below the root'

describe('relative paths of the server block hang on the folder', () => {
  test.each<[string, string, string]>([
    ['which hangs on that of the Corefile itself', 'root zones\nreads a', BELOW],
    ['or on nothing', `root ${join(folder, 'zones')}\nreads a`, BELOW],
    ['wherever its line stands', 'reads a\nroot ./x/../zones', BELOW],
    ['and may leave it', 'root zones\nreads ../a', BESIDE],
    ['while absolute ones hang on nothing', `root zones\nreads ${join(folder, 'a')}`, BESIDE],
    ['and without it on that of the Corefile', 'reads a', BESIDE]
  ])('%s', async (_title, lines, line) => {
    expect(await told(lines)).toEqual([line])
  })

  test('and those of no other', async () => {
    expect(await told('root zones\nreads a', 'reads a')).toEqual([BELOW, BESIDE])
  })

  test('but not those of plugins', async () => {
    expect(await told('root zones\nplugin ./node_modules/skein-plugin-reads/index.js\nreads a')).toEqual([BELOW])
  })
})

test('a folder that is not there is a warning, since it may come later', async () => {
  expect(await told('root missing')).toEqual([
    '[WARNING] plugin/root: there is no folder missing yet; relative paths hang on it all the same'
  ])
})

describe('a wrong line is an error with file and line', () => {
  test.each([
    ['root', 'Corefile:2: root: expected DIR: a path'],
    ['root ""', 'Corefile:2: root: expected a path, not ""'],
    ['root zones zones', 'Corefile:2: root: expected at most 1 argument, not "zones"'],
    ['root zones {\n}', 'Corefile:2: root: takes no block in braces'],
    ['root a', 'Corefile:2: root: expected a folder, and a is none'],
    ['root a/b', 'Corefile:2: root: expected a folder, and a/b cannot be reached (ENOTDIR)'],
    ['root zones\nroot zones', 'Corefile:3: root: may stand only once in a server block, and stands in line 2 already'],
    ['root zones\nreads gone', 'Corefile:3: reads: cannot read gone: there is no such file']
  ])('%j', async (lines, message) => {
    expect(await told(lines)).toEqual([message])
  })
})
