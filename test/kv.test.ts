/** `skein kv` as people and scripts use it, on a running server's store and on a stopped one's. */
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, describe, expect, test } from 'vitest'
import { startProcess, temporaryFolder } from './processes.js'

const MAIN = fileURLToPath(new URL('../src/main.js', import.meta.url))
const COREFILE = '.:0 {\n  bind 127.0.0.1\n  etcd skydns.test {\n    store mine\n    api off\n  }\n}\n'

const folder = temporaryFolder()
afterAll(() => folder.remove())

/** Runs `skein kv` there; gives its output, errors behind it, and a code that is not 0. */
function kv(cwd: string, args: readonly string[], input: string | Buffer = ''): Promise<string> {
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [MAIN, 'kv', ...args], { cwd, timeout: 15_000, encoding: 'latin1' }, (error, out, err) => {
      resolve(`${out}${err}${error === null ? '' : `exit ${error.code}`}`)
    })
    child.stdin!.on('error', () => {})
    child.stdin!.end(input)
  })
}

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
})
