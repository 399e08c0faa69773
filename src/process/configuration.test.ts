import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { readAgain, readConfiguration } from './configuration.js'

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

describe('read again for a server that runs with one', () => {
  const good = '. {\n  import part\n}\n'
  const pipe = (path: string): void => {
    rmSync(path)
    execFileSync('mkfifo', [path])
  }
  const device = (path: string): void => {
    rmSync(path)
    symlinkSync('/dev/zero', path)
  }

  test.each<[title: string, change: (corefile: string, part: string) => void, message: RegExp]>([
    ['a Corefile that is gone', (corefile) => rmSync(corefile), /^cannot read the Corefile .*: there is no such file$/],
    ['an empty one', (corefile) => writeFileSync(corefile, ''), /Corefile has no server block any more$/],
    ['one of comments', (corefile) => writeFileSync(corefile, '# soon\n'), /Corefile has no server block any more$/],
    ['a pipe', (corefile) => pipe(corefile), /^cannot read the Corefile .*: it is no regular file$/],
    ['a device', (corefile) => device(corefile), /: it is no regular file$/],
    ['one of 3 GB', (corefile) => truncateSync(corefile, 3e9), /^cannot read the Corefile .*: it has more than 16 MiB$/],
    ['an import of a pipe', (_corefile, part) => pipe(part), /Corefile:2: cannot import ".*": it is no regular file/],
    [
      'an import of 17 MiB',
      (_corefile, part) => truncateSync(part, 17 * 1024 * 1024),
      /Corefile:2: cannot import ".*": it has more than 16 MiB/
    ]
  ])('%s is refused', (_title, change, message) => {
    const home = write({ Corefile: good, part: 'log\n' })
    const corefile = join(home, 'Corefile')
    const before = readConfiguration(corefile)
    change(corefile, join(home, 'part'))
    expect(() => readAgain(corefile, before)).toThrow(message)
  })

  test('a ./Corefile that is gone is refused too, and the default goes on where it was that', () => {
    const at = process.cwd()
    const home = write({ Corefile: '. {\n}\n' })
    process.chdir(home)
    try {
      const before = readConfiguration(undefined)
      rmSync('Corefile')
      expect(() => readAgain(undefined, before)).toThrow(/^there is no Corefile any more$/)
      const none = readConfiguration(undefined)
      expect(readAgain(undefined, none).isDefault).toBe(true)
    } finally {
      process.chdir(at)
    }
  })
})
