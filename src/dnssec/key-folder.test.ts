import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { temporaryFolder } from '../../test/processes.js'
import { generateKeyPair, readKeyPair } from './key-file.js'
import { makeKeyFile, writePair } from './key-folder.js'
import { KeyProblem } from './key-problem.js'

const folder = temporaryFolder()
afterAll(() => folder.remove())
let folders = 0

function newFolder(): string {
  return join(folder.path, String(folders++), 'keys')
}

function modeOf(path: string): string {
  return (statSync(path).mode & 0o777).toString(8)
}

describe('a key pair that is written', () => {
  test('is there whole, the private half for this user alone, in a folder of its own', async () => {
    const path = newFolder()
    const base = await makeKeyFile(path, 'Example.org')
    expect(readdirSync(path).sort()).toEqual([`${base}.key`, `${base}.private`])
    expect([path, join(path, `${base}.key`), join(path, `${base}.private`)].map(modeOf)).toEqual(['700', '644', '600'])
    const [publicText = '', privateText = ''] = ['key', 'private'].map((ending) => readFileSync(join(path, `${base}.${ending}`), 'latin1'))
    const key = readKeyPair(base, publicText, privateText)
    expect([key.name, key.zone, key.algorithm, key.flags]).toEqual([base, 'example.org.', 13, 257])
  })

  test('leaves a folder that is there as it is', async () => {
    const path = newFolder()
    mkdirSync(path, { recursive: true })
    chmodSync(path, 0o751)
    await makeKeyFile(path, 'example.org', 15, 256)
    expect(modeOf(path)).toBe('751')
  })

  test.each(['key', 'private'])('takes the place of no .%s', async (ending) => {
    const path = newFolder()
    mkdirSync(path, { recursive: true })
    const made = await generateKeyPair('example.org')
    writeFileSync(join(path, `${made.name}.${ending}`), 'mine')
    expect(writePair(path, made)).toBe(false)
    expect(readdirSync(path)).toEqual([`${made.name}.${ending}`])
    expect(readFileSync(join(path, `${made.name}.${ending}`), 'latin1')).toBe('mine')
  })

  test('takes the place of what one that was killed has left of its own', async () => {
    const path = newFolder()
    mkdirSync(path, { recursive: true })
    const made = await generateKeyPair('example.org')
    writeFileSync(join(path, `${made.name}.private.${process.pid}.new`), 'half')
    expect(writePair(path, made)).toBe(true)
    expect(readFileSync(join(path, `${made.name}.private`), 'latin1')).toBe(made.privateText)
    expect(readdirSync(path).length).toBe(2)
  })
})

describe('a key pair that cannot be written is told', () => {
  test.each<[string, string, RegExp]>([
    ['where a file is', 'example.org', /^cannot write \S+file\/Kexample\.org\.\+013\+\d{5}: there is a file where its folder would be$/],
    ['below a file', 'example.org', /^cannot write \S+file\/a\/Kexample\.org\.\S+: there is a file where its folder would be$/],
    ['under a name too long', Array(4).fill('1'.repeat(60)).join('.'), /^cannot write .*: the name is too long for a file$/]
  ])('%s', async (where, zone, problem) => {
    const file = join(folder.path, 'file')
    writeFileSync(file, '')
    const place = where === 'where a file is' ? file : where === 'below a file' ? join(file, 'a') : newFolder()
    const error = await makeKeyFile(place, zone).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(KeyProblem)
    expect((error as KeyProblem).message).toMatch(problem)
  })
})
