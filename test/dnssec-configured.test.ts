/** Keys of `dnssec` over the life of a server: what check says, what the first start makes, and what reloads and restarts find. */
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { check } from '../src/check/check.js'
import { isBatchingKnown } from '../src/listen/batch/libc.js'
import { generateKeyPair } from '../src/plugin.js'
import { readAnswer, requestOctets } from '../src/testing.js'
import { skein, start } from './command.js'
import { openClient } from './dns-client.js'
import { freePort } from './processes.js'
import { block, folder, read, started, stopServers } from './reloading.js'
import { ownFolder, removeFolders } from './worker-scene.js'

afterAll(() => {
  removeFolders()
})

/** Writes a configuration into a folder of its own; gives that. */
function configured(text: string, name = 'Corefile'): string {
  const cwd = ownFolder()
  writeFileSync(join(cwd, name), text)
  return cwd
}

/** The tags of the keys that a server has at a zone's apex, by one that signs it each; asked from a socket of its own. */
async function tagsAt(port: number, zone = 'example.org.'): Promise<number[]> {
  const client = await openClient('udp', { address: '127.0.0.1', port })
  const { answer } = readAnswer(await client.ask(requestOctets(`${zone} CDS`, { edns: 1232, dnssecOk: true })))
  client.close()
  const cds = answer.filter((record) => /^\S+ \d+ CDS /.test(record))
  expect(answer.filter((record) => record.includes(' RRSIG '))).toHaveLength(cds.length)
  return cds.map((record) => Number(/ CDS (\d+)/.exec(record)![1])).sort()
}

const tagsIn = (path: string): number[] => [...new Set(readdirSync(path).map((name) => Number(/\+(\d{5})\./.exec(name)![1])))].sort()

describe('what is wrong in TOML is told with its place', () => {
  test.each<[string, number, string]>([
    [
      'dnssec = ["example.org", "a..b"]',
      4,
      'dnssec: "a..b": no domain name: an empty label in the name "a..b", expected one such as example.org'
    ],
    ['dnssec = [["example.org"], ["example.com"]]', 4, 'dnssec: may stand only once in a server block, and stands in line 4 already'],
    ['[server.dnssec]\nkey = true', 5, 'dnssec: key: expected KIND FILES…: file, then a path'],
    ['[server.dnssec]\nkey = "Kexample.org.+013+00001"', 5, 'dnssec: key: expected file, not "Kexample.org.+013+00001"'],
    ['[server.dnssec]\nkey = ["aws_secretsmanager", "a"]', 5, 'dnssec: key: expected file, not "aws_secretsmanager"'],
    ['[server.dnssec]\nkey = [["file", "none"]]', 5, 'dnssec: cannot read none.key: there is no such file'],
    ['[server.dnssec]\nzones = "example.org"\nkeys = "skein.toml"', 6, 'dnssec: cannot read skein.toml: it is no folder'],
    [
      '[server.dnssec]\nzones = "example.org"\nkeys = "bad"',
      6,
      'dnssec: keys: bad/Kexample.org.+013+00001.key: has no record, expected a DNSKEY'
    ],
    ['[server.dnssec]\nzones = "example.org"\nkeys = ["a", "b"]', 6, 'dnssec: keys: expected at most 1 argument, not "b"'],
    ['[server.dnssec]\ndenial = "nsec5"', 5, 'dnssec: denial: expected one of nsec, nsec3, not "nsec5": did you mean nsec?'],
    ['[server.dnssec]\ncache_capacity = 0', 5, 'dnssec: cache_capacity: expected a whole number from 1 to 1000000, not "0"'],
    ['[server.dnssec]\nverify = 101', 5, 'dnssec: verify: expected a whole number from 0 to 100, not "101"'],
    ['[server.dnssec]\nscache = 1', 5, 'dnssec: unknown option "scache", expected one of zones, key, keys, denial, cache_capacity, verify']
  ])('%j', async (toml, line, problem) => {
    const cwd = configured(`[[server]]\nkeys = "."\nwhoami = true\n${toml}\n`, 'skein.toml')
    mkdirSync(join(cwd, 'bad'))
    for (const ending of ['key', 'private']) writeFileSync(join(cwd, 'bad', `Kexample.org.+013+00001.${ending}`), '')
    const conf = join(cwd, 'skein.toml')
    const { findings } = await check({ conf, defaultPort: 53, builtInOnly: false, version: 'Skein-test' })
    const errors = findings.filter(({ severity }) => severity === 'error')
    expect(errors.map(({ at, problem: told }) => [at?.file, at?.line, told])).toEqual([[conf, line, problem]])
  })
})

test('check says which keys the start will make, and makes none', async () => {
  const cwd = configured('.:1053 {\n  bind 127.0.0.1\n  dnssec example.org . example.com {\n    keys some/keys\n  }\n  whoami\n}\n')
  const { out, code } = await skein(['check'], cwd)
  const notes = ['org', 'com'].map((top) => `note: Corefile:3: dnssec: the start makes a key for example.${top}. in some/keys`)
  expect([out.split('\n').filter((line) => line.startsWith('note')), code]).toEqual([notes, 0])
  expect(existsSync(join(cwd, 'some'))).toBe(false)
})

describe('a key that the first start makes', () => {
  const corefile = (ports: readonly number[], ...lines: string[]): string =>
    ports.map((port) => `.:${port} {\n  bind 127.0.0.1\n  ${[...lines, 'dnssec example.org', 'whoami'].join('\n  ')}\n}\n`).join('')

  test('serves all server blocks of the zone, a reload and a restart', async () => {
    const ports = [await freePort(), await freePort()] as const
    const cwd = configured(corefile(ports))
    const first = await start(cwd)
    const tags = tagsIn(join(cwd, 'keys'))
    expect(tags).toHaveLength(1)
    expect(await Promise.all(ports.map((port) => tagsAt(port)))).toEqual([tags, tags])
    expect(first.output().match(/made the key/g)).toHaveLength(1)
    writeFileSync(join(cwd, 'Corefile'), corefile(ports, 'errors'))
    expect(await skein(['reload'], cwd)).toMatchObject({ code: 0, err: '' })
    expect(await Promise.all(ports.map((port) => tagsAt(port)))).toEqual([tags, tags])
    expect(await first.stop()).toBe(0)
    const second = await start(cwd)
    expect(await tagsAt(ports[1])).toEqual(tags)
    expect(await second.stop()).toBe(0)
    expect(tagsIn(join(cwd, 'keys'))).toEqual(tags)
    expect(`${first.output()}${second.output()}`.match(/made the key/g)).toHaveLength(1)
  })

  test.skipIf(!isBatchingKnown())('is that of all threads, and so is one that comes for a reload', async () => {
    const port = await freePort()
    const cwd = configured(corefile([port], 'multisocket 2'))
    const server = await start(cwd)
    const tags = tagsIn(join(cwd, 'keys'))
    expect(tags).toHaveLength(1)
    // The kernel chooses a thread by the client's port.
    for (let i = 0; i < 20; i++) expect(await tagsAt(port)).toEqual(tags)
    expect((await skein(['keys', 'generate', 'example.org'], cwd)).code).toBe(0)
    const both = tagsIn(join(cwd, 'keys'))
    expect(both).toHaveLength(2)
    expect((await skein(['reload'], cwd)).code).toBe(0)
    for (let i = 0; i < 20; i++) expect(await tagsAt(port)).toEqual(both)
    expect(await server.stop()).toBe(0)
    expect(tagsIn(join(cwd, 'keys'))).toEqual(both)
    expect(server.output().match(/made the key/g)).toHaveLength(1)
  })
})

describe('a reload', () => {
  afterEach(stopServers)

  async function keyIn(place: string): Promise<string> {
    const { name, publicText, privateText } = await generateKeyPair('example.org')
    mkdirSync(join(folder.path, place), { recursive: true })
    writeFileSync(join(folder.path, place, `${name}.key`), publicText)
    writeFileSync(join(folder.path, place, `${name}.private`), privateText)
    return name
  }
  const tagOf = (name: string): number => Number(name.slice(-5))

  test.each(['made', 'there'] as const)('keeps a block whose key was %s, and rolls to what lies in the folder', async (origin) => {
    const old = origin === 'there' ? await keyIn(origin) : undefined
    const text = block('.', 'dnssec example.org {', `  keys ${origin}`, '}', 'whoami')
    const port = await freePort()
    const { server } = await started(text, port)
    const [tag] = tagsIn(join(folder.path, origin))
    expect(await tagsAt(port)).toEqual([tag])
    expect(await server.reload(read(text))).toEqual({ kept: ['.'], built: [], dropped: [] })
    const next = await keyIn(origin)
    expect((await server.reload(read(text))).built).toEqual(['.'])
    expect(await tagsAt(port)).toEqual([tag!, tagOf(next)].sort())
    for (const name of readdirSync(join(folder.path, origin))) if (!name.startsWith(`${next}.`)) rmSync(join(folder.path, origin, name))
    expect((await server.reload(read(text))).built).toEqual(['.'])
    expect(await tagsAt(port)).toEqual([tagOf(next)])
    expect(old === undefined || tagOf(old) === tag).toBe(true)
  })

  test.each(['made', 'there'])('with no key left of a zone whose key was %s changes nothing, and makes none', async (origin) => {
    const place = `lost-${origin}`
    if (origin === 'there') await keyIn(place)
    const text = block('.', 'dnssec example.org {', `  keys ${place}`, '}', 'whoami')
    const port = await freePort()
    const { server } = await started(text, port)
    const [tag] = tagsIn(join(folder.path, place))
    for (const name of readdirSync(join(folder.path, place))) rmSync(join(folder.path, place, name))
    await expect(server.reload(read(text))).rejects.toThrow(`keys: the key of example.org. is gone from ${place}: expected it there`)
    expect([await tagsAt(port), readdirSync(join(folder.path, place))]).toEqual([[tag], []])
  })

  test('with a damaged key changes nothing', async () => {
    const name = await keyIn('damaged')
    const text = block('.', 'dnssec example.org {', '  keys damaged', '}', 'whoami')
    const port = await freePort()
    const { server } = await started(text, port)
    writeFileSync(join(folder.path, 'damaged', `${name}.private`), '')
    await expect(server.reload(read(text))).rejects.toThrow(`keys: damaged/${name}.private: has no line Private-key-format:`)
    expect(await tagsAt(port)).toEqual([tagOf(name)])
  })
})
