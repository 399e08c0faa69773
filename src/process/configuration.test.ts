import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { readConfiguration } from './configuration.js'

const folder = mkdtempSync(join(tmpdir(), 'skein-configuration-'))
afterAll(() => rmSync(folder, { recursive: true }))

function write(files: Readonly<Record<string, string>>): string {
  const home = mkdtempSync(join(folder, 'case-'))
  mkdirSync(join(home, 'parts'))
  for (const [path, text] of Object.entries(files)) writeFileSync(join(home, path), text)
  return home
}

test('reads a Corefile with the files and the environment of the machine', () => {
  process.env.SKEIN_TEST_ZONE = 'example.org'
  const home = write({ Corefile: '{$SKEIN_TEST_ZONE} {\n  import parts/*\n  {$SKEIN_TEST_NONE}x\n}\n', 'parts/a': 'log\n' })
  const file = join(home, 'Corefile')
  const { blocks, files, warnings, isDefault } = readConfiguration(file)
  expect(isDefault).toBe(false)
  expect(blocks[0]!.keys.map(({ zone }) => zone)).toEqual(['example.org.'])
  expect(blocks[0]!.directives.map(({ name }) => name)).toEqual(['log', 'x'])
  expect(files.map(({ path, octets }) => [path, octets.toString()])).toEqual([
    [file, '{$SKEIN_TEST_ZONE} {\n  import parts/*\n  {$SKEIN_TEST_NONE}x\n}\n'],
    [join(home, 'parts/a'), 'log\n']
  ])
  expect(warnings.map(({ text }) => text)).toEqual([
    `${file}:3: the environment variable "SKEIN_TEST_NONE" is not set, and is read as an empty text`
  ])
  delete process.env.SKEIN_TEST_ZONE
})

test('a Corefile without a server block is the default, and still warns', () => {
  const home = write({ Corefile: 'import parts/*\n' })
  const { blocks, isDefault, files, warnings } = readConfiguration(join(home, 'Corefile'))
  expect(isDefault).toBe(true)
  expect(blocks[0]!.directives.map(({ name }) => name)).toEqual(['whoami', 'log'])
  expect(files).toHaveLength(1)
  expect(warnings).toHaveLength(1)
})

describe('refuses', () => {
  test.each([
    ['a Corefile that is missing', 'none', /^cannot read the Corefile .*none: there is no such file$/],
    ['a folder', 'parts', /^cannot read the Corefile .*parts: it is a folder$/],
    ['an import of a folder', 'Corefile', /Corefile:1: cannot import ".*parts": it is a folder/],
    ['an import of a name with a NUL', 'Nul', /Nul:1: cannot import /]
  ])('%s', (_, name, message) => {
    const home = write({ Corefile: 'import parts\n', Nul: 'import a\0b\n' })
    expect(() => readConfiguration(join(home, name))).toThrow(message)
  })
})
