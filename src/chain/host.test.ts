import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { Directive } from '../corefile/directive.js'
import type { Log, Offer, Setting, StoreOptions } from '../plugin.js'
import { hashAt, hashOf, PluginHost } from './host.js'
import { BlockScope, type ProcessServices, Settings, type Stores } from './scope.js'

const folder = mkdtempSync(join(tmpdir(), 'skein-host-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const lines: string[] = []
const opened: StoreOptions[] = []
const told = (text: string): void => void lines.push(text)
const log: Log = { debug: told, info: told, warn: told, error: told, line: told }
const services = {
  log,
  version: 'Skein-test'
} as unknown as ProcessServices

const stores = { use: (options: StoreOptions) => void opened.push(options) } as unknown as Stores
const scope = (): BlockScope => {
  const scopes: BlockScope[] = []
  const made = new BlockScope(services, { folder, stores, scopes }, (query) => query.fail('SERVFAIL', 'fault'))
  scopes.push(made)
  return made
}
const hostOf = (block: BlockScope, name: string, line: number): PluginHost =>
  new PluginHost(block, new Directive(name, [], { file: 'Corefile', line, column: 1 }, ['.']))

describe('what a plugin is lent', () => {
  test('files hang on the folder of the Corefile', async () => {
    writeFileSync(join(folder, 'hosts'), 'here')
    const host = hostOf(scope(), 'hosts', 3)
    expect((await host.readFile('hosts')).toString()).toBe('here')
    expect(host.resolvePath('./a/../b')).toBe(join(folder, 'b'))
    expect(host.resolvePath('/etc/hosts')).toBe('/etc/hosts')
  })

  test('a file that is read again counts as it was read last, by each directive', async () => {
    const block = scope()
    const [hosts, file] = [hostOf(block, 'hosts', 3), hostOf(block, 'file', 4)]
    for (const [text, host] of [
      ['one', hosts],
      ['one', file],
      ['two', hosts]
    ] as const) {
      writeFileSync(join(folder, 'again'), text)
      await host.readFile('again')
    }
    const hash = (text: string): string => hashOf(Buffer.from(text))
    expect(block.files.map((read) => [read.directive.name, read.hash])).toEqual([
      ['file', hash('one')],
      ['hosts', hash('two')]
    ])
  })

  test.each([
    ['gone', 'Corefile:3: hosts: cannot read gone: there is no such file'],
    ['.', 'Corefile:3: hosts: cannot read .: it is a folder'],
    ['pipe', 'Corefile:3: hosts: cannot read pipe: it is no regular file'],
    ['/dev/zero', 'Corefile:3: hosts: cannot read /dev/zero: it is no regular file']
  ])('a file that cannot be read is an error with file and line: %s', async (path, message) => {
    if (path === 'pipe') execFileSync('mkfifo', [join(folder, path)])
    await expect(hostOf(scope(), 'hosts', 3).readFile(path)).rejects.toMatchObject({ code: 'SKEIN_CONFIG', message })
  })

  test('the names in a folder are sorted, and none where it is missing', async () => {
    const host = hostOf(scope(), 'dnssec', 3)
    expect(await host.readFolder('keys')).toEqual([])
    mkdirSync(join(folder, 'keys/b'), { recursive: true })
    for (const name of ['c', 'a']) writeFileSync(join(folder, 'keys', name), '')
    expect(await host.readFolder('./keys')).toEqual(['a', 'b', 'c'])
    expect(await host.readFolder(join(folder, 'keys/b'))).toEqual([])
  })

  test('a folder is known again by its names: missing, empty, and with others', async () => {
    const [block, at] = [scope(), join(folder, 'again.d')]
    const host = hostOf(block, 'dnssec', 3)
    const hashes = new Set<string | undefined>()
    const steps = [() => {}, () => mkdirSync(at), () => writeFileSync(join(at, 'a'), ''), () => writeFileSync(join(at, 'b'), '')]
    for (const step of steps) {
      step()
      await host.readFolder('again.d')
      const [read] = block.files
      expect(block.files).toHaveLength(1)
      expect(read!.hash).toBe(await hashAt(at))
      hashes.add(read!.hash)
    }
    expect(hashes.size).toBe(4)
  })

  test('what is no folder is an error with file and line', async () => {
    writeFileSync(join(folder, 'flat'), '')
    await expect(hostOf(scope(), 'dnssec', 3).readFolder('flat')).rejects.toMatchObject({
      code: 'SKEIN_CONFIG',
      message: 'Corefile:3: dnssec: cannot read flat: it is no folder'
    })
  })

  test('so do the folders and sockets of stores', () => {
    hostOf(scope(), 'etcd', 3).store({ folder: 'data', api: 'unix:api.sock' })
    expect(opened).toEqual([{ folder: join(folder, 'data'), api: `unix:${join(folder, 'api.sock')}` }])
  })

  test('lines of the log carry its name, but for bare ones', () => {
    const { log: own } = hostOf(scope(), 'cache', 3)
    for (const level of ['debug', 'info', 'warn', 'error', 'line'] as const) own[level](level)
    expect(lines).toEqual(['plugin/cache: debug', 'plugin/cache: info', 'plugin/cache: warn', 'plugin/cache: error', 'line'])
  })
})

describe('offers are found by their name within the server block', () => {
  const zones: Offer<readonly string[]> = { name: 'zones' }

  test('all of them, in order', () => {
    const block = scope()
    hostOf(block, 'etcd', 3).offer(zones, ['a.'])
    hostOf(block, 'file', 4).offer(zones, ['b.'])
    expect(hostOf(block, 'dnssec', 5).find(zones)).toEqual([['a.'], ['b.']])
    expect(hostOf(scope(), 'dnssec', 9).find(zones)).toEqual([])
  })
})

describe('what is shared', () => {
  const made: string[] = []
  const shares = {
    take: (key: string, create: () => unknown) => {
      made.push(key)
      return create()
    }
  }
  const hostIn = (isWorker: boolean): PluginHost => {
    const generation = { folder, stores, scopes: [] }
    const block = new BlockScope({ ...services, shares, isWorker } as unknown as ProcessServices, generation, (query) =>
      query.fail('SERVFAIL', 'fault')
    )
    return new PluginHost(block, new Directive('a', [], { file: 'Corefile', line: 3, column: 1 }, ['.']))
  }

  test('once a process is made in the main thread alone; a worker gets something without a value, to be given back', async () => {
    expect((await hostIn(false).shared('port', () => ({ value: 1 }))).value).toBe(1)
    const share = await hostIn(true).shared('port', () => ({ value: 2 }))
    expect(() => share.value).toThrow('"port" is shared once a process, so a worker thread has none')
    await share.release()
    expect(made.splice(0)).toEqual(['port'])
  })

  test('once a thread is made in each', async () => {
    for (const isWorker of [false, true]) expect((await hostIn(isWorker).shared('cache', () => ({ value: 3 }), 'thread')).value).toBe(3)
    expect(made.splice(0)).toEqual(['cache', 'cache'])
  })
})

describe('settings', () => {
  const size: Setting<number> = { name: 'size', scope: 'process' }
  const addresses: Setting<readonly string[]> = { name: 'addresses', scope: 'block' }

  test('of the process are one for all blocks: another value is an error that names both lines', () => {
    const all = new Settings()
    const add = (line: number, value: number): void => {
      const block = scope()
      hostOf(block, 'bufsize', line).set(size, value)
      all.setAll(block.processSettings)
    }
    add(3, 1232)
    add(8, 1232)
    expect(all.get(size)).toBe(1232)
    expect(() => add(12, 4096)).toThrow('Corefile:12: bufsize: differs from what Corefile:8 says, expected the same')
    expect(all.get(size)).toBe(1232)
  })

  test("of a block are that block's", () => {
    const [one, two] = [scope(), scope()]
    hostOf(one, 'bind', 3).set(addresses, ['127.0.0.1'])
    hostOf(two, 'bind', 8).set(addresses, ['127.0.0.2'])
    expect([one, two].map(({ settings }) => settings.get(addresses))).toEqual([['127.0.0.1'], ['127.0.0.2']])
    expect(() => hostOf(one, 'other', 4).set(addresses, ['::1'])).toThrow('Corefile:4: other: differs from what Corefile:3 says')
    expect(scope().settings.get(addresses)).toBeUndefined()
  })
})
