/** `skein kv` as people and scripts use it, on a running server's store and on a stopped one's. */
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, describe, expect, test } from 'vitest'
import { kv, MAIN, skein, start } from './command.js'
import { startProcess, temporaryFolder } from './processes.js'

const COREFILE = '.:0 {\n  bind 127.0.0.1\n  etcd skydns.test {\n    store mine\n    api off\n  }\n}\n'

const folder = temporaryFolder()
afterAll(() => folder.remove())

describe.each(['a running server’s store', 'a stopped one’s'])('kv on %s', { concurrent: true, timeout: 60_000 }, (mode) => {
  async function inStore(
    use: (run: (...args: string[]) => Promise<string>, cwd: string) => Promise<void>,
    corefile = COREFILE
  ): Promise<void> {
    const cwd = join(folder.path, `kv-${Math.random()}`)
    mkdirSync(cwd)
    writeFileSync(join(cwd, 'Corefile'), corefile)
    const server = mode.startsWith('a running')
      ? await startProcess(process.execPath, [MAIN, 'run'], { cwd, ready: /Skein-\d/ })
      : undefined
    await use((...args) => kv(cwd, args), cwd)
    await server?.stop()
  }

  test('reads and changes it', () =>
    inStore(async (run, cwd) => {
      expect(await run('put', '/skydns/test/skydns/a', '{"host":"10.0.0.1"}')).toBe('')
      expect(await run('put', '/skydns/test/skydns/b/c', '{"host":"10.0.0.2"}', '-ttl', '1000')).toBe('')
      expect(await run('get', '/skydns/test/skydns/a')).toBe('{"host":"10.0.0.1"}\n')
      expect(await run('ls', '/skydns/test/skydns')).toBe('/skydns/test/skydns/a\n/skydns/test/skydns/b/\n')
      expect(await run('ls', '-r', '/')).toBe('/skydns/test/skydns/a\n/skydns/test/skydns/b/c\n')
      expect((await run('export', '/skydns/test/skydns/b')).replace(/"ttl":(9\d\d|1000)/, '"ttl":N')).toBe(
        '{"key":"/skydns/test/skydns/b/c","value":"{\\"host\\":\\"10.0.0.2\\"}","ttl":N}\n'
      )
      expect(await run('del', '/skydns/test/skydns/b')).toBe(
        'skein: /skydns/test/skydns/b has keys below it and no value: delete them with -r\nexit 1'
      )
      expect(await run('del', '/skydns/test/skydns/b', '-r')).toBe('')
      expect(await run('get', '/skydns/test/skydns/b/c')).toBe('skein: there is no key /skydns/test/skydns/b/c\nexit 1')
      writeFileSync(join(cwd, 'bad'), '{"key":"/x","value":"1"}\nnonsense\n')
      expect(await run('import', 'bad')).toMatch(/^skein: line 2: expected an object of JSON .+ nothing was imported\nexit 1$/)
      expect(await run('import', '.')).toBe('skein: cannot read .: it is a folder\nexit 1')
      expect(await run('get', '/x')).toMatch(/no key/)
      writeFileSync(join(cwd, 'good'), '{"key":"/x","value":"1"}\n{"key":"/y/z","value":"2"}\n')
      expect(await run('import', 'good')).toBe('2 keys imported\n')
      expect(await run('get', '/y/z')).toBe('2\n')
    }))

  test('finds it below the root of its server block', () =>
    inStore(
      async (run, cwd) => {
        expect(await run('put', '/a', '1')).toBe('')
        expect(await run('get', '/a')).toBe('1\n')
        expect([join(cwd, 'state/mine'), join(cwd, 'mine')].map((path) => existsSync(path))).toEqual([true, false])
      },
      `a:0 {\n  root elsewhere\n}\n${COREFILE.replace('etcd', 'root state\n  etcd')}`
    ))

  test('keeps values octet for octet, large ones too', () =>
    inStore(async (run, cwd) => {
      const octets = Buffer.from(Array.from({ length: 70_000 }, (_, i) => (i * 7919) & 0xff))
      expect(await kv(cwd, ['put', '/octets', '-'], octets)).toBe('')
      expect(Buffer.from(await run('get', '/octets', '-raw'), 'latin1').equals(octets)).toBe(true)
      expect(await run('put', '/text', 'é'.repeat(30_000))).toBe('')
      expect(Buffer.from(await run('get', '/text', '-raw'), 'latin1').toString()).toBe('é'.repeat(30_000))
    }))

  test('ends quietly when whoever reads it has had enough', () =>
    inStore(async (run, cwd) => {
      writeFileSync(join(cwd, 'many'), Array.from({ length: 5000 }, (_, i) => `{"key":"/k/${i}","value":"${'x'.repeat(200)}"}\n`).join(''))
      expect(await run('import', 'many')).toBe('5000 keys imported\n')
      const { stdout } = await promisify(execFile)('sh', ['-c', `"${process.execPath}" "${MAIN}" kv export 2>&1 | head -1`], { cwd })
      expect(stdout).toMatch(/^\{"key":"\/k\/0",.+\}\n$/)
    }))

  test('lists the keys that are no services', () =>
    inStore(async (run, cwd) => {
      const values = ['no', '', 'null', '[]', '{"port":70000}', '{"priority":-1}', '{"ttl":"x"}', '{"host":"192.0.2.1"}']
      const lines = values.map((value, index) => JSON.stringify({ key: `/skydns/test/skydns/${index}`, value }))
      writeFileSync(join(cwd, 'values'), lines.join('\n'))
      expect(await run('import', 'values')).toBe('8 keys imported\n')
      expect(await run('put', `/skydns/test/${'x'.repeat(2500)}`, 'no')).toMatch(
        /^skein: the key .+ takes 2\d{3} octets: 1900 is the limit\nexit 1$/
      )
      expect(await run('bad')).toBe(
        [
          '/skydns/test/skydns/0: is no JSON\n/skydns/test/skydns/1: is no JSON\n',
          '/skydns/test/skydns/2: is no JSON object\n/skydns/test/skydns/3: is no JSON object\n',
          '/skydns/test/skydns/4: has port 70000, expected a whole number from 0 to 65535\n',
          '/skydns/test/skydns/5: has priority -1, expected a whole number from 0 to 65535\n',
          '/skydns/test/skydns/6: has ttl "x", expected a whole number from 0 to 2147483647\n'
        ].join('')
      )
      expect(await run('bad', '/skydns/test/skydns/2')).toBe('/skydns/test/skydns/2: is no JSON object\n')
      if (mode.startsWith('a running')) return
      expect(await run('bad', '-conf', '/dev/null', '-store', 'mine')).toBe(
        'skein: nobody says what values are to be: name a Corefile whose `etcd` uses this store\nexit 1'
      )
    }))
})

test('keys that are no services are listed of a store that `etcd` uses since a reload', { timeout: 60_000 }, async () => {
  const cwd = join(folder.path, 'reloaded')
  mkdirSync(cwd)
  const stub = COREFILE.replace(/etcd [^}]+\}/, 'stub skydns.test {\n    store mine\n  }')
  writeFileSync(join(cwd, 'Corefile'), stub)
  const server = await start(cwd)
  try {
    expect(await kv(cwd, ['put', '-store', 'mine', '/skydns/a', 'no'])).toBe('')
    expect(await kv(cwd, ['bad', '-store', 'mine'])).toMatch(/^skein: nobody says what values are to be/)
    writeFileSync(join(cwd, 'Corefile'), COREFILE.replace('etcd', `${/stub [^}]+\}/.exec(stub)![0]}\n  etcd`))
    expect((await skein(['reload'], cwd)).code).toBe(0)
    expect(await kv(cwd, ['bad'])).toBe('/skydns/a: is no JSON\n')
  } finally {
    await server.stop()
  }
})
