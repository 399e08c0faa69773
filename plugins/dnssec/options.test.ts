/** What stands in a Corefile for `dnssec`, and what lies in the folders that it names. */
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generateKeyPair } from 'skein/plugin'
import { serverOf } from 'skein/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

const folder = mkdtempSync(join(tmpdir(), 'skein-dnssec-'))
afterAll(() => rmSync(folder, { recursive: true }))
const file = join(folder, 'Corefile')
const DO = { edns: 1232, dnssecOk: true }

/** The names of key pairs without ending: two of example.org, one each of others. */
let org: string
let second: string
let com: string

/** Makes a key pair, and writes it into a folder below that of the test; gives its name. */
async function keyIn(place: string, zone: string, algorithm = 13): Promise<string> {
  const { name, publicText, privateText } = await generateKeyPair(zone, algorithm)
  mkdirSync(join(folder, place), { recursive: true })
  writeFileSync(join(folder, place, `${name}.key`), publicText)
  writeFileSync(join(folder, place, `${name}.private`), privateText)
  return name
}

/** Copies one half of a pair, under the name of another pair where that is given. */
function half(ending: 'key' | 'private', base: string, place: string, as = base): void {
  mkdirSync(join(folder, place), { recursive: true })
  copyFileSync(join(folder, `${base}.${ending}`), join(folder, place, `${as}.${ending}`))
}

const damage = (place: string, text: string): void => writeFileSync(join(folder, place), text)

beforeAll(async () => {
  ;[org, second, com] = [await keyIn('.', 'example.org'), await keyIn('.', 'example.org'), await keyIn('.', 'example.com')]
  writeFileSync(join(folder, 'plain'), '')
  half('key', org, 'mixed', 'Kmixed')
  half('private', second, 'mixed', 'Kmixed')
  half('key', org, 'alone')
  half('key', org, 'beside')
  for (const ending of ['key', 'private'] as const) half(ending, second, 'beside')
  for (const place of ['bad-key', 'bad-private', 'no-format', 'foreign'])
    for (const ending of ['key', 'private'] as const) half(ending, org, place)
  damage(`bad-key/${org}.key`, 'example.org. IN A 192.0.2.1\n')
  damage(`bad-private/${org}.private`, readFileSync(join(folder, `${org}.private`), 'utf8').replace(/(PrivateKey: \S{8})\S+/, '$1!'))
  damage(`no-format/${org}.private`, '')
  for (const ending of ['key', 'private'] as const) half(ending, com, 'foreign', org)
})

/** Names of keys in a text are of this run. */
const named = (text: string): string => text.replace('ORG', org).replace('SECOND', second).replace('COM', com)
const unnamed = (text: string): string =>
  text.replaceAll(`${folder}/`, '').replaceAll(org, 'ORG').replaceAll(second, 'SECOND').replaceAll(com, 'COM')

/** The problem of a directive, without the folder, or undefined where it is accepted. */
async function problemOf(directive: string): Promise<string | undefined> {
  try {
    const server = await serverOf(`. {\n${named(directive)}\nwhoami\n}`, { file })
    await server.stop()
    return undefined
  } catch (error) {
    return unnamed((error as Error).message)
  }
}

describe('a dnssec that is wrong is told with its place', () => {
  const inBlock = (line: string, zones = 'example.org'): string => `dnssec ${zones} {\n${line}\n}`
  test.each<[string, string]>([
    [inBlock('key'), 'Corefile:3: dnssec: key: expected KIND FILES…: file, then a path'],
    [inBlock('key file'), 'Corefile:3: dnssec: key: expected FILES… after "file": a path'],
    [inBlock('key fil ORG'), 'Corefile:3: dnssec: key: expected file, not "fil": did you mean file?'],
    [inBlock('key ORG'), 'Corefile:3: dnssec: key: expected file, not "ORG"'],
    [inBlock('key aws_secretsmanager ORG'), 'Corefile:3: dnssec: key: expected file, not "aws_secretsmanager"'],
    [inBlock('key file ORG none'), 'Corefile:3: dnssec: cannot read none.key: there is no such file'],
    [inBlock('key file ORG\nkey file none.private'), 'Corefile:4: dnssec: cannot read none.key: there is no such file'],
    [inBlock('key file alone/ORG'), 'Corefile:3: dnssec: cannot read alone/ORG.private: there is no such file'],
    [inBlock('key file .'), 'Corefile:3: dnssec: cannot read ..key: there is no such file'],
    [inBlock('key file bad-key/ORG'), 'Corefile:3: dnssec: key: bad-key/ORG.key: has "A", expected a DNSKEY of class IN'],
    [
      inBlock('key file bad-private/ORG'),
      'Corefile:3: dnssec: key: bad-private/ORG.private: its line privatekey: is no base64, or cut short'
    ],
    [inBlock('key file no-format/ORG'), 'Corefile:3: dnssec: key: no-format/ORG.private: has no line Private-key-format:'],
    [inBlock('key file mixed/Kmixed'), 'Corefile:3: dnssec: key: mixed/Kmixed: .key and .private are halves of different keys'],
    [inBlock('key file COM'), 'Corefile:3: dnssec: key: the key "COM" is for example.com., expected one for example.org.'],
    [
      inBlock('key file ORG', 'sub.example.org b.test'),
      'Corefile:3: dnssec: key: the key "ORG" is for example.org., expected one for sub.example.org. or b.test.'
    ],
    [inBlock('keys'), 'Corefile:3: dnssec: keys: expected FOLDER: a path'],
    [inBlock('keys a b'), 'Corefile:3: dnssec: keys: expected at most 1 argument, not "b"'],
    [inBlock('keys a\nkeys b'), 'Corefile:4: dnssec: keys: stands in line 3 already, expected it once'],
    [inBlock('denial nsec3\nkeys plain'), 'Corefile:4: dnssec: cannot read plain: it is no folder'],
    [inBlock('keys plain/keys'), 'Corefile:3: dnssec: cannot read plain/keys: it is no folder'],
    [inBlock('keys bad-key'), 'Corefile:3: dnssec: keys: bad-key/ORG.key: has "A", expected a DNSKEY of class IN'],
    [inBlock('keys no-format'), 'Corefile:3: dnssec: keys: no-format/ORG.private: has no line Private-key-format:'],
    [inBlock('keys alone'), 'Corefile:3: dnssec: keys: there is alone/ORG.key without its .private, expected both or neither'],
    [inBlock('keys beside'), 'Corefile:3: dnssec: keys: there is beside/ORG.key without its .private, expected both or neither'],
    [
      inBlock('keys foreign'),
      'Corefile:3: dnssec: keys: the key "foreign/ORG" is for example.com., expected one for example.org., as its name has it'
    ],
    [inBlock('denial'), 'Corefile:3: dnssec: denial: expected KIND: one of nsec, nsec3'],
    [inBlock('denial nsec4'), 'Corefile:3: dnssec: denial: expected one of nsec, nsec3, not "nsec4": did you mean nsec?'],
    [inBlock('cache_capacity 0'), 'Corefile:3: dnssec: cache_capacity: expected a whole number from 1 to 1000000, not "0"'],
    [inBlock('cache_capacity 1e3'), 'Corefile:3: dnssec: cache_capacity: expected a whole number from 1 to 1000000, not "1e3"'],
    [inBlock('verify -1'), 'Corefile:3: dnssec: verify: expected a whole number from 0 to 100, not "-1"'],
    [inBlock('verify 101'), 'Corefile:3: dnssec: verify: expected a whole number from 0 to 100, not "101"'],
    [inBlock('verify 1 %'), 'Corefile:3: dnssec: verify: expected at most 1 argument, not "%"'],
    [inBlock('scache 10'), 'Corefile:3: dnssec: unknown option "scache", expected one of key, keys, denial, cache_capacity, verify'],
    ['dnssec a..b', 'Corefile:2: dnssec: "a..b": no domain name: an empty label in the name "a..b", expected one such as example.org'],
    ['dnssec 192.0.2.1', 'Corefile:2: dnssec: expected a zone such as . or example.org, not the address "192.0.2.1"'],
    ['dnssec example.org\ndnssec example.com', 'Corefile:3: dnssec: may stand only once in a server block, and stands in line 2 already']
  ])('%j', async (directive, problem) => {
    expect(await problemOf(directive)).toBe(problem)
    expect(readdirSync(folder)).not.toContain('keys')
  })
})

/** The zones that are signed, each with how many signatures its SOA has. */
async function signedBy(corefile: string, zones: readonly string[] = ['example.org.', 'example.com.', 'example.']): Promise<string[]> {
  const server = await serverOf(named(corefile), { file })
  try {
    const signed: string[] = []
    for (const zone of zones) {
      const { answer } = await server.ask(`${zone} DNSKEY`, DO)
      const keys = answer.filter((record) => /^\S+ \d+ DNSKEY /.test(record)).length
      const signatures = answer.filter((record) => record.includes(' RRSIG ')).length
      if (keys + signatures > 0) signed.push(`${zone} ${keys} ${signatures}`)
    }
    return signed
  } finally {
    await server.stop()
  }
}

const inRoot = (...lines: string[]): string => `. {\ndnssec {\n${lines.join('\n')}\n}\nwhoami\n}`

describe('a key pair is named', () => {
  test.each<[string, string, string[]]>([
    ['without an ending', inRoot('key file ORG'), ['example.org. 1 1']],
    ['with that of the public half', inRoot('key file ORG.key'), ['example.org. 1 1']],
    ['with that of the private half', inRoot('key file ORG.private'), ['example.org. 1 1']],
    ['by its whole path', inRoot('key file FOLDER/ORG'), ['example.org. 1 1']],
    ['with blanks for plus signs, as SkyDNS has it', inRoot('key file "BLANKS"'), ['example.org. 1 1']],
    ['twice, which is once', inRoot('key file ORG.key ORG.private', 'key file ./ORG "BLANKS"'), ['example.org. 1 1']],
    ['beside others in one line', inRoot('key file ORG SECOND COM'), ['example.org. 2 2', 'example.com. 1 1']],
    [
      'beside others in lines of their own',
      inRoot('key file ORG', 'key file COM', 'key file SECOND'),
      ['example.org. 2 2', 'example.com. 1 1']
    ],
    ['within ZONES', '. {\ndnssec org {\nkey file ORG\n}\nwhoami\n}', ['example.org. 1 1']],
    [
      'within the zones of the server block',
      'org com {\ndnssec {\nkey file ORG COM\n}\nwhoami\n}',
      ['example.org. 1 1', 'example.com. 1 1']
    ]
  ])('%s', async (_, corefile, signed) => {
    const filled = corefile.replace('FOLDER', folder).replace('BLANKS', org.replaceAll('+', ' '))
    expect(await signedBy(filled.replaceAll('ORG', org))).toEqual(signed)
    expect(readdirSync(folder)).not.toContain('keys')
  })
})

/** What a server has logged from its start to its stop. */
async function logOf(corefile: string): Promise<readonly string[]> {
  const server = await serverOf(corefile, { file })
  await server.stop()
  return server.log.lines.filter((line) => !line.includes('plugin/dnssec: signs example.'))
}

test('the log says at each start which keys sign', async () => {
  const server = await serverOf('. {\ndnssec example.org {\nkeys .\n}\nwhoami\n}', { file })
  await server.stop()
  expect(server.log.lines).toEqual([
    expect.stringMatching(/^\[INFO\] plugin\/dnssec: signs example\.org\. with Kexample\.org\.\+013\+\d{5}, Kexample\.org\.\+013\+\d{5}$/)
  ])
})

describe('keys of a folder', () => {
  test('sign the zones of their names, where those are ZONES', async () => {
    const place = 'several'
    for (const zone of ['example.org', 'example.org', 'example.com', 'other.test']) await keyIn(place, zone)
    writeFileSync(join(folder, place, 'notes.txt'), 'nothing of a key')
    const corefile = (zones: string): string => `. {\ndnssec ${zones} {\nkeys ${place}\n}\nwhoami\n}`
    expect(await signedBy(corefile('example.org'))).toEqual(['example.org. 2 2'])
    expect(await signedBy(corefile('example.org EXAMPLE.com'))).toEqual(['example.org. 2 2', 'example.com. 1 1'])
    expect(readdirSync(join(folder, place))).toHaveLength(9)
  })

  test('are made for zones that have none: one each, told with its DS, and never again', async () => {
    const corefile = '. {\ndnssec example.org example.com {\nkeys made/here\n}\nwhoami\n}'
    const told = await logOf(corefile)
    const files = readdirSync(join(folder, 'made/here')).sort()
    expect(files.map((name) => name.replace(/\d{5}/, 'TAG'))).toEqual(
      ['com', 'org'].flatMap((top) => ['key', 'private'].map((ending) => `Kexample.${top}.+013+TAG.${ending}`))
    )
    expect(told).toHaveLength(2)
    for (const [index, zone] of ['example.org.', 'example.com.'].entries()) {
      const name = files.find((each) => each.startsWith(`K${zone}`))!.replace('.key', '')
      const ds = `${zone} IN DS ${Number(name.slice(-5))} 13 2 `
      expect(told[index]).toContain(`[INFO] plugin/dnssec: made the key made/here/${name}; for the parent zone: ${ds}`)
    }
    expect(await logOf(corefile)).toEqual([])
    expect(readdirSync(join(folder, 'made/here')).sort()).toEqual(files)
  })

  test('are made too where a private half has lost its other one, and a warning says so', async () => {
    const base = join('lost', await keyIn('lost', 'example.org'))
    rmSync(join(folder, `${base}.key`))
    const told = await logOf('. {\ndnssec example.org {\nkeys lost\n}\nwhoami\n}')
    expect(told).toEqual([
      `[WARNING] plugin/dnssec: there is ${base}.private without its .key: it signs nothing, and example.org. gets another key`,
      expect.stringMatching(/^\[INFO\] plugin\/dnssec: made the key lost\/Kexample\.org\./)
    ])
  })

  test('are made once for a zone of two server blocks, which both sign with it', async () => {
    const block = (port: number, denial: string): string => `.:${port} {\ndnssec example.org {\nkeys both\ndenial ${denial}\n}\nwhoami\n}\n`
    expect(await logOf(block(1053, 'nsec') + block(1054, 'nsec3'))).toHaveLength(1)
    expect(readdirSync(join(folder, 'both'))).toHaveLength(2)
  })

  test('are not made for a zone whose key is named, nor for the root', async () => {
    expect(await signedBy('. {\ndnssec . example.org {\nkey file ORG\nkeys unused\n}\nwhoami\n}', ['.', 'example.org.'])).toEqual([
      'example.org. 1 1'
    ])
    expect(readdirSync(folder)).not.toContain('unused')
  })

  test('that cannot be written end the start with a line', async () => {
    expect(await problemOf('dnssec example.org {\nkeys /proc/none\n}')).toMatch(
      /^Corefile:3: dnssec: keys: cannot write \/proc\/none\/Kexample\.org\.\+013\+\d{5}: \w/
    )
  })
})

test('where there is no zone but the root, nothing is signed, and a warning says so', async () => {
  expect(await logOf('. {\ndnssec\nwhoami\n}')).toEqual([
    '[WARNING] plugin/dnssec: signs nothing: no key is made for the root, expected zones after the directive, as in dnssec example.org'
  ])
  expect(await signedBy('. {\ndnssec\nwhoami\n}')).toEqual([])
  expect(readdirSync(folder)).not.toContain('keys')
})

test('a key whose algorithm rests on SHA-1 signs, and a warning says what to do', async () => {
  const { publicText, privateText } = await generateKeyPair('example.org', 8)
  writeFileSync(join(folder, 'weak.key'), publicText.replace(' 257 3 8 ', ' 257 3 5 '))
  writeFileSync(join(folder, 'weak.private'), privateText.replace('8 (RSASHA256)', '5 (RSASHA1)'))
  expect(await problemOf('dnssec example.org {\nkey file weak\ndenial nsec3\n}')).toMatch(
    /^Corefile:4: dnssec: denial: the key K.* is of RSASHA1, which does not go with nsec3: expected nsec, or a key of another algorithm$/
  )
  const corefile = '. {\ndnssec example.org {\nkey file weak weak.key\nkeys with-weak\n}\nwhoami\n}'
  expect(await logOf(corefile)).toEqual([
    expect.stringMatching(
      /^\[WARNING\] plugin\/dnssec: Kexample\.org\.\+005\+\d{5} is of an algorithm with SHA-1, which many validators do not take: roll to one of algorithm 13$/
    )
  ])
  expect(await signedBy(corefile)).toEqual(['example.org. 1 1'])
})
