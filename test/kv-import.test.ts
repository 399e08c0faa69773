/** `skein kv import` of what a real etcd has: the dumps that its own client and curl make, into a stopped store and a running server's. */
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { kv as kvInProcess } from '../src/process/kv.js'
import { importInput } from '../src/process/kv-import.js'
import { etcd as corefile, kv, start } from './command.js'
import { type Etcd, startEtcd } from './etcd.js'
import { callEtcd, etcdV2, etcdV3 } from './etcd-calls.js'
import { temporaryFolder } from './processes.js'
import { needs, tool } from './tools.js'

const folder = temporaryFolder()
afterAll(() => folder.remove())
let made = 0

/** A file with this text. */
function file(text: string): string {
  const path = join(folder.path, `dump${made++}`)
  writeFileSync(path, text)
  return path
}

const WEB = '{"host":"10.0.0.1","port":80,"text":"é \\"}{"}'
const line = (key: string, value: string, ttl = ''): string =>
  `${JSON.stringify({ key: `/skydns/test/${key}`, value }).slice(0, -1)}${ttl}}`

describe('kv import of a dump of etcd', { ...needs('etcd', 'etcdctl'), concurrent: true, timeout: 60_000 }, () => {
  let etcd: Etcd
  beforeAll(async () => {
    etcd = await startEtcd()
    const [v3, v2] = [etcdV3(etcd.target), etcdV2(etcd.target)]
    await v3.put('/skydns/test/skydns/web', WEB)
    await v3.put('/skydns/test/skydns/leased', '{"host":"10.0.0.2"}', await v3.grant(1000))
    await v3.put('/skydns/test/skydns/empty', '')
    await v3.put(Buffer.from('/skydns/\xff', 'latin1'), Buffer.of(0xfe, 0))
    await v3.put('/elsewhere/x', '1')
    await v2.put('/skydns/test/skydns/web', WEB)
    await v2.put('/skydns/test/skydns/leased', '{"host":"10.0.0.2"}', 1000)
    await v2.put('/skydns/test/skydns/a\\065\n', '1')
    await v2.put('/skydns/test/skydns/_hidden', '1')
    await v2.mkdir('/skydns/test/ends', 500)
    await v2.put('/skydns/test/ends/below', '1')
    await v2.mkdir('/skydns/empty')
  })
  afterAll(() => etcd?.stop())

  async function etcdctl(api: 2 | 3, ...args: string[]): Promise<string> {
    const env = { ...process.env, ETCDCTL_API: String(api) }
    return (await promisify(execFile)(tool('etcdctl'), [`--endpoints=${etcd.endpoints[0]}`, ...args], { env })).stdout
  }
  const getV2 = async (rest: string): Promise<string> => (await callEtcd(etcd.target, 'GET', `/v2/keys${rest}`)).text
  /** The lines of an export, of which each character is an octet. */
  const rounded = (octets: string): string[] => {
    const text = Buffer.from(octets, 'latin1').toString().trimEnd()
    return text.replace(/"ttl":(\d+)/g, (_all, ttl) => `"ttl":about ${Math.round(Number(ttl) / 100)}00`).split('\n')
  }

  const dumpV3 = (...args: string[]): Promise<string> => etcdctl(3, 'get', '--prefix', '/skydns/', '-w', 'json', ...args)
  const linesV3 = (ttl: string): string[] => [
    line('skydns/empty', ''),
    line('skydns/leased', '{"host":"10.0.0.2"}', ttl),
    line('skydns/web', WEB),
    '{"segments64":["c2t5ZG5z","/w=="],"value64":"/gA="}'
  ]
  const linesV2 = [
    line('ends/below', '1', ',"ttl":about 500'),
    line('skydns/a\\065\n', '1'),
    line('skydns/leased', '{"host":"10.0.0.2"}', ',"ttl":about 1000'),
    line('skydns/web', WEB)
  ]

  test.each<[string, () => Promise<string>, readonly string[], readonly string[]]>([
    ['what etcdctl prints of v3, leases for as long as -ttl says', dumpV3, ['-ttl', '500'], linesV3(',"ttl":about 500')],
    ['what v2 answers by HTTP, with what is left of their time', () => getV2('/skydns?recursive=true'), [], linesV2]
  ])('has the keys in %s', async (_what, dump, args, lines) => {
    const run = (...words: string[]): Promise<string> => kv(folder.path, [...words, '-store', `store${args.length}`])
    expect(await run('import', file(await dump()), ...args)).toBe('4 keys imported\n')
    expect(rounded(await run('export'))).toEqual(lines)
  })

  test('has the same keys in what etcdctl prints of v2', async () => {
    const dump = await etcdctl(2, '-o', 'json', 'ls', '--recursive', '/skydns')
    const { input } = await importInput(Readable.from([Buffer.from(dump)]), undefined)
    const sent: Buffer[] = []
    for await (const chunk of input) sent.push(chunk)
    expect(rounded(Buffer.concat(sent).toString('latin1')).toSorted()).toEqual(linesV2)
  })

  test('goes to a running server, through a pipe too, and leaves it as it was where something is wrong', async () => {
    const cwd = join(folder.path, 'running')
    mkdirSync(cwd)
    writeFileSync(join(cwd, 'Corefile'), corefile('store', 'api off'))
    const [server, dump] = await Promise.all([start(cwd), dumpV3()])
    try {
      expect(await kv(cwd, ['import'], dump.slice(0, -20))).toMatch(/^skein: the dump is cut off .+; nothing was imported\nexit 1$/)
      expect(await kv(cwd, ['export'])).toBe('')
      expect(await kv(cwd, ['import'], dump)).toBe(
        '4 keys imported\nskein: 1 key has a lease in etcd, and a dump does not say until when: imported to stay for ever; with -ttl SECONDS such keys vanish after so many\n'
      )
      expect(rounded(await kv(cwd, ['export']))).toEqual(linesV3(''))
    } finally {
      await server.stop()
    }
  })

  test.each<[string, () => Promise<string>, RegExp]>([
    ['--limit', () => dumpV3('--limit=1'), /^it has 1 of 4 keys: .+ without --limit.+; nothing was imported$/],
    ['--keys-only', () => dumpV3('--keys-only'), /^none of its keys \(4\) has a value.+; nothing was imported$/],
    ['no -w json', () => etcdctl(3, 'get', '--prefix', '/skydns/'), /^it begins with a key .+ with -w json; nothing was imported$/],
    [
      'another command',
      () => etcdctl(3, 'member', 'list', '-w', 'json'),
      /^expected the fields header, .+ not "members".*; nothing was imported$/
    ],
    [
      'an answer that is not recursive',
      () => getV2('/skydns'),
      /^none of its 2 directories, .+ dump with \?recursive=true.+; nothing was imported$/
    ],
    [
      'a key that is not there',
      () => getV2('/nowhere?recursive=true'),
      /etcd answered with error 100 \(Key not found: \/nowhere\); nothing was imported$/
    ]
  ])('refuses %s', async (_what, dump, says) => {
    const path = file(await dump())
    await expect(kvInProcess(['import', path, '-store', join(folder.path, 'none')])).rejects.toThrow(says)
    expect(existsSync(join(folder.path, 'none'))).toBe(false)
  })
})

test('tells where the store is that nobody has named, as it is new', async () => {
  const cwd = join(folder.path, 'unnamed')
  mkdirSync(cwd)
  const imported = (): Promise<string> => kv(cwd, ['import'], '{"key":"/x","value":"1"}')
  expect(await imported()).toBe(`1 key imported\nskein: the store is new, in ${join(cwd, 'data')}: another is named with -store\n`)
  expect(await imported()).toBe('1 key imported\n')
})

test.each([
  [['get', '/a', '-ttl', '5'], '-ttl: expected with put or import alone'],
  [['import', '-ttl', '0'], '-ttl: expected whole seconds from 1 on, not "0"']
])('`skein kv %j` is refused', async (args, message) => {
  await expect(kvInProcess(args)).rejects.toThrow(message)
})
