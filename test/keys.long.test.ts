/** `skein keys` as people and scripts use it, beside BIND's tools. */
import { execFile } from 'node:child_process'
import { chmodSync, copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { skein } from './command.js'
import { temporaryFolder } from './processes.js'
import { needs, type ToolName, tool } from './tools.js'

const folder = temporaryFolder()
const cwd = folder.path
afterAll(() => folder.remove())

async function keys(...args: string[]): Promise<string> {
  const { code, out, err } = await skein(['keys', ...args], cwd)
  expect([code, err]).toEqual([0, ''])
  return out
}

async function ask(name: ToolName, args: string[], place: string): Promise<string> {
  return (await promisify(execFile)(tool(name), args, { cwd: place })).stdout.trim()
}

describe('generate', { timeout: 30_000 }, () => {
  test('prints the name and the DS, which ds and list find again', async () => {
    const [base = '', ds = ''] = (await keys('generate', 'Example.ORG')).split('\n')
    const tag = Number(base.slice(-5))
    expect(base).toMatch(/^Kexample\.org\.\+013\+\d{5}$/)
    expect(ds).toMatch(new RegExp(`^example\\.org\\. IN DS ${tag} 13 2 [0-9A-F]{64}$`))
    expect(readdirSync(join(cwd, 'keys')).sort()).toEqual([`${base}.key`, `${base}.private`])
    const ways = [[], ['example.org'], [base], [`keys/${base}`], [`keys/${base}.key`, '-digest', '2'], ['EXAMPLE.org.', 'example.org']]
    for (const words of ways) expect(await keys('ds', ...words)).toBe(`${ds}\n`)
    expect(await keys('list', 'example.org')).toBe(`example.org. ${tag} ECDSAP256SHA256 CSK keys/${base}\n`)
  })

  test.each<[string[], RegExp, string]>([
    [['-algorithm', '8'], /^Kzone\.test\.\+008\+\d{5}\nzone\.test\. IN DS \d+ 8 2 \S+\n$/, 'RSASHA256 CSK'],
    [['-algorithm', 'ED25519', '-ksk'], /^Kzone\.test\.\+015\+\d{5}\nzone\.test\. IN DS \d+ 15 2 \S+\n$/, 'ED25519 CSK'],
    [['-algorithm=14', '-zsk'], /^Kzone\.test\.\+014\+\d{5}\n$/, 'ECDSAP384SHA384 ZSK']
  ])('with %s', async (flags, printed, listed) => {
    const place = `for-${flags.join('').replace(/\W/g, '')}`
    expect(await keys('generate', 'zone.test', ...flags, '-folder', place)).toMatch(printed)
    expect(await keys('list', '-folder', place)).toContain(` ${listed} ${place}/Kzone.test.+`)
  })

  test('a KSK is one where a ZSK of its algorithm lies beside it, and the DS is its own alone', async () => {
    const [ksk = '', ds = ''] = (await keys('generate', 'split.test', '-folder', 'split')).split('\n')
    const zsk = (await keys('generate', 'split.test', '-zsk', '-folder', 'split')).trim()
    await keys('generate', 'other.test', '-folder', 'split')
    expect(await keys('ds', 'split.test', '-folder', 'split')).toBe(`${ds}\n`)
    const lines = (await keys('list', 'split.test', '-folder', 'split')).trim().split('\n')
    const expected = [
      [ksk, 'KSK'],
      [zsk, 'ZSK']
    ].map(([base = '', role]) => `split.test. ${Number(base.slice(-5))} ECDSAP256SHA256 ${role} split/${base}`)
    expect(lines.sort()).toEqual(expected.sort())
    expect((await keys('ds', '-folder', 'split')).trim().split('\n').length).toBe(2)
    rmSync(join(cwd, 'split', `${ksk}.key`))
    expect(await keys('ds', 'split.test', '-folder', 'split')).toMatch(new RegExp(`^split\\.test\\. IN DS ${Number(zsk.slice(-5))} `))
  })
})

describe('ds prints what dnssec-dsfromkey does', { timeout: 30_000, ...needs('dnssec-keygen', 'dnssec-dsfromkey') }, () => {
  const place = join(cwd, 'bind')
  const made: Promise<unknown>[] = []
  const zones = ['bind.test', 'a\\.b\\032c.test', '*.test', '.']
  beforeAll(async () => {
    mkdirSync(place)
    for (const name of ['RSASHA1', 'NSEC3RSASHA1', 'RSASHA256', 'RSASHA512'])
      made.push(ask('dnssec-keygen', ['-q', '-a', name, '-b', '2048', '-f', 'KSK', 'bind.test'], place))
    for (const name of ['ECDSAP256SHA256', 'ECDSAP384SHA384', 'ED25519'])
      for (const zone of zones) made.push(ask('dnssec-keygen', ['-q', '-a', name, '-f', 'KSK', zone], place))
    await Promise.all(made)
  })

  test.each([
    ['2', 'SHA-256'],
    ['4', 'SHA-384']
  ])('with digest %s', async (number, name) => {
    const bases = readdirSync(place).filter((file) => file.endsWith('.key'))
    const expected = await Promise.all(bases.map((base) => ask('dnssec-dsfromkey', ['-a', name, base], place)))
    expect(expected.length).toBe(16)
    const printed = await keys('ds', '-folder', 'bind', '-digest', number)
    expect(printed.trim().split('\n').sort()).toEqual(expected.sort())
    expect((await keys('ds', ...zones, '-folder', 'bind', '-digest', number)).trim().split('\n').sort()).toEqual(expected.sort())
  })

  test('and list has them all', async () => {
    expect((await keys('list', '-folder', 'bind')).trim().split('\n').length).toBe(16)
  })
})

describe('list', { timeout: 30_000 }, () => {
  test('tells of each broken file, lists the others, and ends with 1', async () => {
    const place = join(cwd, 'broken')
    const whole = (await keys('generate', 'a.test', '-folder', 'broken')).split('\n')[0]!
    const lone = (await keys('generate', 'b.test', '-folder', 'broken')).split('\n')[0]!
    rmSync(join(place, `${lone}.private`))
    const cut = (await keys('generate', 'c.test', '-folder', 'broken')).split('\n')[0]!
    writeFileSync(join(place, `${cut}.private`), readFileSync(join(place, `${cut}.private`), 'latin1').slice(0, 70))
    for (const ending of ['key', 'private']) copyFileSync(join(place, `${whole}.${ending}`), join(place, `Kd.test.+013+00001.${ending}`))
    mkdirSync(join(place, 'Ke.test.+013+00002.key'))
    writeFileSync(join(place, 'README'), 'no key')
    const { code, out, err } = await skein(['keys', 'list', '-folder', 'broken'], cwd)
    expect(code).toBe(1)
    expect(out).toBe(`a.test. ${Number(whole.slice(-5))} ECDSAP256SHA256 CSK broken/${whole}\n`)
    expect(err.split('\n')).toEqual([
      `skein: cannot read broken/${lone}.private: there is no such file`,
      `skein: broken/${cut}.private: its line privatekey: is no base64, or cut short`,
      'skein: broken/Kd.test.+013+00001.key: is a key of a.test., and its name says d.test.',
      'skein: broken/Ke.test.+013+00002.key is no file',
      ''
    ])
    expect((await skein(['keys', 'list', 'a.test', '-folder', 'broken'], cwd)).code).toBe(0)
  })

  test.each([[['split.test']], [[]]])('has no DS of a ZSK where the KSK beside it has lost a half: %j', async (zones) => {
    const folder = `half${zones.length}`
    const [ksk] = (await keys('generate', 'split.test', '-ksk', '-folder', folder)).split('\n')
    await keys('generate', 'split.test', '-zsk', '-folder', folder)
    rmSync(join(cwd, folder, `${ksk}.private`))
    const { code, out, err } = await skein(['keys', 'ds', ...zones, '-folder', folder], cwd)
    const problem = `there is ${folder}/${ksk}.key without its .private, expected both or neither`
    expect([code, out, err]).toEqual([1, '', `skein: ${problem}\n`])
  })

  test.skipIf(process.getuid?.() !== 0)('says that a private key is not for this user', async () => {
    const base = (await keys('generate', 'mine.test', '-folder', 'mine')).split('\n')[0]!
    for (const path of [cwd, join(cwd, 'mine')]) chmodSync(path, 0o755)
    const listed = await skein(['keys', 'list', '-folder', 'mine'], cwd, { uid: 65534 })
    expect([listed.code, listed.out, listed.err]).toEqual([1, '', `skein: cannot read mine/${base}.private: no permission\n`])
    const ds = await skein(['keys', 'ds', '-folder', 'mine'], cwd, { uid: 65534 })
    expect([ds.code, ds.err]).toEqual([0, ''])
    const made = await skein(['keys', 'generate', 'x.test', '-folder', 'mine'], cwd, { uid: 65534 })
    expect([made.code, made.err]).toEqual([1, expect.stringMatching(/^skein: cannot write mine\/Kx\.test\.\+013\+\d{5}: no permission\n$/)])
  })
})

describe('a call that is wrong is told in one line', () => {
  test.each<[string, number, RegExp]>([
    ['make', 2, /^unknown command keys make, expected generate, ds or list$/],
    ['generate', 2, /^keys generate: expected one zone, such as example\.org$/],
    ['generate a b', 2, /^keys generate: expected one zone, such as example\.org$/],
    ['generate a..b', 2, /^expected a zone: an empty label in the name "a\.\.b"$/],
    ['generate a -ksk -zsk', 2, /^keys generate: expected -ksk or -zsk, not both$/],
    ['generate a -algorithm 5', 2, /^-algorithm: no key is made for RSASHA1, which rests on SHA-1: expected 8 \(RSASHA256\), 10 /],
    ['generate a -algorithm rsa', 2, /^-algorithm: unknown algorithm "rsa", expected 5 \(RSASHA1\), /],
    ['generate a -digest 2', 2, /^unknown flag -digest, expected one of -algorithm, -ksk, -zsk, -folder, -help$/],
    ['ds a -digest 1', 2, /^-digest: expected 2 or 4, not "1"$/],
    ['ds a -folder nothere', 1, /^cannot read nothere: there is no such folder: name the folder of the keys with -folder$/],
    ['ds a -folder empty', 1, /^there is no key pair of a\. in empty$/],
    ['ds none.key', 1, /^cannot read keys\/none\.key: there is no such file$/],
    ['list a -folder empty', 1, /^there is no key pair of a\. in empty$/],
    ['list a b', 2, /^keys list: expected one zone at most, not "b"$/],
    ['list -folder file', 1, /^cannot read file: .*: name the folder of the keys with -folder$/]
  ])('%s', async (line, code, says) => {
    mkdirSync(join(cwd, 'empty'), { recursive: true })
    writeFileSync(join(cwd, 'file'), '')
    const ended = await skein(['keys', ...line.split(' ')], cwd)
    expect([ended.code, ended.out]).toEqual([code, ''])
    expect(ended.err).toMatch(/^skein: [^\n]*\n$/)
    expect(ended.err.slice('skein: '.length, -1)).toMatch(says)
  })

  test.each([['keys'], ['keys help'], ['keys -help'], ['keys ds -h'], ['help keys']])('%s prints the help', async (line) => {
    const { code, out } = await skein(line.split(' '), cwd)
    expect([code, out.split('\n')[0]]).toEqual([0, 'skein keys: make, list and tell of the keys that sign zones'])
  })
})
