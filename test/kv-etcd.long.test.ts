/** `skein kv` with an etcd: what is written to the cluster, and what is read of its replica, running or stopped. */
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { kv as kvInProcess } from '../src/process/kv.js'
import { makeCertificates } from './certificates.js'
import { block, kv, start } from './command.js'
import { type Etcd, startEtcd } from './etcd.js'
import { enableAuthV2, enableAuthV3, etcdV2, etcdV3 } from './etcd-calls.js'
import { freePort, type Running, temporaryFolder } from './processes.js'
import { needs } from './tools.js'

const folder = temporaryFolder()
afterAll(() => folder.remove())
let made = 0

/** A folder of its own with a Corefile. */
interface Place {
  readonly cwd: string
  /** Temporary folders are in it. */
  readonly env: { readonly TMPDIR: string }
  /** Calls the command; what it prints, errors and the code of them behind it. */
  readonly run: (...args: string[]) => Promise<string>
  /** The same without a process of its own, for what prints nothing: the message of the error. */
  readonly kv: (...args: string[]) => Promise<string>
}

/** A place with an `etcd` that has these lines. */
function place(...lines: readonly string[]): Place {
  const cwd = join(folder.path, `${made++}`)
  const env = { TMPDIR: join(cwd, 'tmp') }
  mkdirSync(env.TMPDIR, { recursive: true })
  const corefile = block('etcd skydns.test {', ...lines.map((line) => `  ${line}`), '}')
  writeFileSync(join(cwd, 'Corefile'), corefile)
  const inProcess = (args: string[]): Promise<string> =>
    kvInProcess([...args, '-conf', join(cwd, 'Corefile')]).then(
      () => '',
      (error: Error) => error.message.replaceAll(`${cwd}/`, '')
    )
  return { cwd, env, run: (...args) => kv(cwd, args, '', env), kv: (...args) => inProcess(args) }
}

describe('kv and etcd', { ...needs('etcd'), timeout: 60_000 }, () => {
  let etcd: Etcd
  let guarded: Etcd
  let dead: string
  beforeAll(async () => {
    ;[etcd, guarded] = await Promise.all([startEtcd(), startEtcd()])
    dead = `http://127.0.0.1:${await freePort()}`
    await enableAuthV3(guarded.target, 'some', 'word', '/skydns/')
    await enableAuthV2(guarded.target, 'some', 'word', '/skydns/')
  })
  afterAll(async () => {
    await Promise.all([etcd?.stop(), guarded?.stop()])
  })

  /** What the cluster has below a path: values by keys, a time to live behind a slash. */
  async function contentOf(version: number, path: string): Promise<Record<string, string | undefined>> {
    if (version === 3) {
      const v3 = etcdV3(etcd.target)
      const found = await v3.range(path, 'prefix')
      const shown = found.map(async ({ key, value, lease }) => {
        const said = lease === '0' ? undefined : await v3.call('lease/timetolive', { ID: lease })
        return [key, said === undefined ? value : `${value}/${(said as unknown as { grantedTTL: string }).grantedTTL}`] as const
      })
      return Object.fromEntries(await Promise.all(shown))
    }
    const { nodes = [] } = await etcdV2(etcd.target).list(path)
    return Object.fromEntries(nodes.map(({ key, value, ttl }) => [key, ttl === undefined ? value : `${value}/${ttl}`]))
  }

  describe.each([3, 2])('-to etcd by v%i', (version) => {
    test('puts and deletes in the cluster, at the first endpoint that can be reached', async () => {
      const top = `/skydns/to${version}`
      const { run, kv } = place(`endpoint ${dead} ${etcd.endpoints[0]}`, `version ${version}`)
      expect(await kv('put', `${top}/a`, '{"host":"10.0.0.1"}', '-to', 'etcd')).toBe('')
      expect(await run('put', `${top}/b`, '{}', '--to=etcd', '-ttl', '1000')).toBe('')
      expect(await kv('put', `${top}/c/1`, '1', '--to', 'etcd')).toBe('')
      expect(await kv('put', `${top}/c/2`, '2', '--to', 'etcd')).toBe('')
      const before = await contentOf(version, top)
      expect(before[`${top}/a`]).toBe('{"host":"10.0.0.1"}')
      expect(before[`${top}/b`]).toMatch(/^\{\}\/(1000|99\d)$/)
      expect(await kv('del', `${top}/c`, '--to', 'etcd')).toBe(`there is no key ${top}/c in etcd; what is below a key is deleted with -r`)
      expect(await kv('del', `${top}/c`, '-r', '--to', 'etcd')).toBe('')
      expect(await kv('del', `${top}/c`, '-r', '--to', 'etcd')).toBe(`there is no key ${top}/c in etcd`)
      expect(await kv('del', `${top}/b`, '--to', 'etcd')).toBe('')
      expect(await contentOf(version, top)).toEqual({ [`${top}/a`]: '{"host":"10.0.0.1"}' })
    })

    test('uses user and password, and says in a line who refuses what', async () => {
      const [endpoint = ''] = guarded.endpoints
      const lines = [`endpoint ${endpoint}`, `version ${version}`]
      expect(await place(...lines, 'credentials some word').kv('put', '/skydns/x', '1', '-to', 'etcd')).toBe('')
      for (const credentials of [['credentials some wrong'], []]) {
        const said = await place(...lines, ...credentials).kv('put', '/skydns/x', '1', '-to', 'etcd')
        expect(said).toMatch(/^etcd refuses at http:\/\/127\.0\.0\.1:\d+ \(.+\)$/)
        expect(said).toContain(endpoint)
      }
    })

    test('names all endpoints where none can be reached', async () => {
      const other = `http://127.0.0.1:${await freePort()}`
      const said = await place(`endpoint ${dead} ${other}`, `version ${version}`).kv('del', '/skydns/x', '-to', 'etcd')
      expect(said).toMatch(/^etcd cannot be reached at .+$/)
      expect(said).toContain(`${dead} (`)
      expect(said).toContain(`, nor at ${other} (`)
    })
  })

  test.each<[string, readonly string[], readonly string[], string]>([
    ['a verb that writes nothing', [], ['ls', '-to', 'etcd'], '-to: expected with put or del alone'],
    ['another word', [], ['put', '/skydns/a', '1', '-to', 'file'], '-to: expected etcd, not "file"'],
    [
      'a store that is written here',
      ['store'],
      ['put', '/skydns/a', '1', '-to', 'etcd'],
      '-to etcd: no `etcd` in Corefile is fed by a cluster: name one there with `endpoint URL`'
    ],
    [
      'a key elsewhere',
      ['path /here'],
      ['put', '/skydns/a', '1', '-to', 'etcd'],
      '/skydns/a is not below /here, which the `etcd` of the Corefile is fed with: expected a key below it'
    ],
    [
      'a folder that no cluster feeds',
      ['store replica', 'endpoint http://127.0.0.1:1'],
      ['put', '/skydns/a', '1', '-to', 'etcd', '-store', '/nowhere'],
      '-to etcd: no `etcd` in Corefile is fed by a cluster into /nowhere: name one there with `endpoint URL`'
    ],
    [
      'all keys',
      [],
      ['del', '/', '-r', '-to', 'etcd'],
      '/ is not below /skydns, which the `etcd` of the Corefile is fed with: expected a key below it'
    ],
    ['an empty segment', [], ['put', '/skydns//a', '1', '-to', 'etcd'], 'the key /skydns//a has an empty segment'],
    ['the mark of a directory', [], ['put', '/skydns/a/', '1', '-to', 'etcd'], 'the key /skydns/a/ is the mark of a directory'],
    [
      'a key that v2 hides',
      ['version 2'],
      ['put', '/skydns/_a', '1', '-to', 'etcd'],
      'the key /skydns/_a has a segment that begins with _, which the v2 API of etcd hides'
    ],
    [
      'a mistake in the directive',
      ['endpoint x:y'],
      ['put', '/skydns/a', '1', '-to', 'etcd'],
      'Corefile:4: etcd: endpoint: expected a URL such as http://127.0.0.1:2379, https://etcd.example:2379 or http://[::1]:2379, not "x:y"'
    ]
  ])('-to etcd refuses %s', async (_what, lines, args, said) => {
    expect(await place(...lines).kv(...args)).toBe(said)
  })

  describe.each([
    ['a running server’s replica', 'running', ['store replica']],
    ['a running server’s temporary replica', 'running', []],
    ['a stopped server’s replica', 'stopped', ['store replica']]
  ] as const)('%s', (_name, mode, lines) => {
    const long = `/test/${'x'.repeat(2500)}`
    const top = `/skydns-${mode}-${lines.length}`
    const at = (rest: string): string => `${top}${rest}`
    let server: Running | undefined
    let run: (...args: string[]) => Promise<string>

    beforeAll(async () => {
      const v3 = etcdV3(etcd.target)
      const values = ['no', '', 'null', '[]', '{"port":70000}', '{"priority":-1}', '{"ttl":"x"}']
      for (const [index, value] of values.entries()) await v3.put(at(`/test/bad/${index}`), value)
      for (const path of ['/test//x', '/test/x/', long]) await v3.put(at(path), '{}')
      await v3.put(at('/test/leased'), '{"host":"10.0.0.2"}', await v3.grant(1000))
      await v3.put(at('/test/a'), '{"host":"10.0.0.1"}')
      const { cwd, env, run: call } = place(...lines, `path ${top}`, `endpoint ${etcd.endpoints[0]}`)
      run = call
      writeFileSync(join(cwd, 'lines'), '{"key":"/x","value":"1"}')
      server = await start(cwd, [], env)
      if (mode === 'stopped') await server.stop()
    })
    afterAll(() => server?.stop())

    test('is read', async () => {
      expect(await run('get', at('/test/a'))).toBe('{"host":"10.0.0.1"}\n')
      expect(await run('ls', at('/test'))).toBe(`${['a', 'bad/', 'leased'].map((name) => at(`/test/${name}\n`)).join('')}`)
      const exported = await run('export', at('/test/leased'))
      expect(exported).toMatch(/^\{"key":"\S+\/test\/leased","value":"\{\\"host\\":\\"10\.0\.0\.2\\"\}","ttl":[1-9]\d*\}\n$/)
      expect((await run('export', at('/test'))).replace(/"ttl":\d+/, '')).toContain(exported.replace(/"ttl":\d+/, ''))
    })

    test('has its keys listed that are no services', async () => {
      const bad = [
        '/test/bad/0: is no JSON',
        '/test/bad/1: is no JSON',
        '/test/bad/2: is no JSON object',
        '/test/bad/3: is no JSON object',
        '/test/bad/4: has port 70000, expected a whole number from 0 to 65535',
        '/test/bad/5: has priority -1, expected a whole number from 0 to 65535',
        '/test/bad/6: has ttl "x", expected a whole number from 0 to 2147483647',
        '/test//x: has an empty segment',
        '/test/x/: is the mark of a directory',
        `${long}: is longer than the 1900 octets that a key may have`
      ].map((line) => at(`${line}\n`))
      expect(await run('bad')).toBe(bad.join(''))
      expect(await run('bad', at('/test/bad/1'))).toBe(bad[1])
      expect(await run('bad', at('/test/x'))).toBe(bad[8])
      expect(await run('bad', at('/te'))).toBe('')
    })

    test.each([
      ['put', ['/x', '1']],
      ['del', ['/test/a']],
      ['import', ['lines']]
    ])('refuses %s', async (verb, args) => {
      expect(await run(verb, ...args)).toMatch(
        /^skein: the store .+ is a replica of etcd, and read-only: write to etcd itself, as `skein kv put -to etcd` does\nexit 1$/
      )
    })
  })

  test('keys that are no use are deleted in the cluster by the paths that `kv bad` has', async () => {
    const paths = ['/gone//x', '/gone/x/', `/gone/${'x'.repeat(2500)}`, '/gone/\xff\n'].map((path) => Buffer.from(path, 'latin1'))
    for (const path of paths) await etcdV3(etcd.target).put(path, '1')
    const { cwd, env, run, kv } = place('path /gone', `endpoint ${etcd.endpoints[0]}`)
    const server = await start(cwd, [], env)
    try {
      const bad = (await run('bad')).trimEnd().split('\n')
      expect(bad.length).toBe(paths.length)
      for (const line of bad) expect(await kv('del', line.slice(0, line.indexOf(': ')), '-to', 'etcd')).toBe('')
      expect(await etcdV3(etcd.target).range('/gone', 'prefix')).toEqual([])
      for (const deadline = Date.now() + 10_000; (await run('bad')) !== ''; ) expect(Date.now()).toBeLessThan(deadline)
    } finally {
      await server.stop()
    }
  })

  test('says why nothing can be read where a replica was never in step, or has gone with its server', async () => {
    const { cwd, env, run } = place(`endpoint ${dead}`)
    const server = await start(cwd, [], env)
    const said = await run('get', '/skydns/a')
    await server.stop()
    expect(said).toMatch(/^skein: nothing was read of etcd yet: http:\/\/127\.0\.0\.1:\d+: .+\nexit 1$/)
    expect(await run('get', '/skydns/a')).toBe(
      'skein: no server runs here with the etcd of Corefile, whose replica is temporary without `store DIR`: start it, or name a folder with -store\nexit 1'
    )
  })

  test(
    '-to etcd finds the certificates of the Corefile below its `root`, whatever the working directory is',
    needs('openssl'),
    async () => {
      const { authority, server, client } = await makeCertificates()
      const secure = await startEtcd({ tls: { server, authority, clients: authority } })
      try {
        for (const version of [3, 2]) {
          const { cwd, kv } = place()
          mkdirSync(join(cwd, 'pki'))
          const pairs = [client.certificateFile, client.keyFile, authority.certificateFile]
          for (const [index, file] of pairs.entries()) copyFileSync(file, join(cwd, 'pki', `${index}.pem`))
          const lines = [`  endpoint ${secure.endpoints[0]}`, `  version ${version}`, '  tls 0.pem 1.pem 2.pem']
          writeFileSync(join(cwd, 'Corefile'), block('root pki', 'etcd skydns.test {', ...lines, '}'))
          expect(await kv('put', `/skydns/v${version}`, '1', '-to', 'etcd')).toBe('')
        }
        expect((await etcdV3(secure.target).range('/skydns/', 'prefix')).map(({ key }) => key)).toEqual(['/skydns/v3'])
        expect((await etcdV2(secure.target).list('/skydns')).nodes?.map(({ key }) => key)).toEqual(['/skydns/v2'])
      } finally {
        await secure.stop()
      }
    }
  )
})
